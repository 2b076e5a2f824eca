// Prints the loaded modules and the listeners before and after the first claim.
import { createRequire } from 'node:module'

const { cache } = createRequire(import.meta.url)
const look = () => ({
  packages: ['proper-lockfile', 'write-file-atomic', 'graceful-fs', 'signal-exit'].filter((name) =>
    Object.keys(cache).some((path) => path.includes(`/node_modules/${name}/`))
  ),
  listeners: ['SIGINT', 'SIGTERM', 'SIGHUP', 'exit'].map((signal) => process.listenerCount(signal))
})

const atFirst = look()
const { jsonFileStorage } = await import('../../../../dist/adapters/json-file/index.js')
const storage = jsonFileStorage(process.argv[2])
await storage.load('a')()
const before = look()
await storage.claim('a', { host: 'h', pid: 1 })()
console.log(JSON.stringify({ atFirst, before, after: look() }))
