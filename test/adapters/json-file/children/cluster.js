// The primary process of a cluster, whose one worker is an owner. What the worker and the test say to each other it passes on.
import cluster from 'node:cluster'
import { fileURLToPath } from 'node:url'

cluster.setupPrimary({ exec: fileURLToPath(new URL('owner.js', import.meta.url)), args: process.argv.slice(2) })
const worker = cluster.fork()
worker.on('message', (message) => process.send(message))
worker.on('exit', () => process.send({ _tag: 'Told' }))
process.on('message', (message) => (message.op === 'kill' ? worker.process.kill('SIGKILL') : worker.send(message)))
