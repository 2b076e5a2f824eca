// A thread that claims a run and keeps it.
import { parentPort, workerData } from 'node:worker_threads'
import { jsonFileStorage } from '../../../../dist/adapters/json-file/index.js'

const storage = jsonFileStorage(workerData.root)
const result = await storage.claim('a', { host: 'worker', pid: process.pid })()
if (result._tag === 'Right' && workerData.releases) await storage.release(result.right.claim)()
parentPort.postMessage(result._tag === 'Right' ? 'Granted' : result.left._tag)
parentPort.on('message', () => undefined)
