// The primary process of a cluster whose single worker is an owner; it forwards messages between worker and test.
import cluster from 'node:cluster'
import { fileURLToPath } from 'node:url'

cluster.setupPrimary({ exec: fileURLToPath(new URL('owner.mjs', import.meta.url)), args: process.argv.slice(2) })
const worker = cluster.fork()
worker.on('message', (message) => process.send(message))
worker.on('exit', () => process.send({ _tag: 'Told' }))
process.on('message', (message) => (message.op === 'kill' ? worker.process.kill('SIGKILL') : worker.send(message)))
