// A process with two threads that want the same run; the second one starts when the first holds it.
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads'
import { hostname } from 'node:os'
import * as E from 'fp-ts/lib/Either.js'
import { jsonFileStorage } from 'dogear/json-file'

const claimAs = async (root) => {
  const claimed = await jsonFileStorage(root).claim('r', { host: hostname(), pid: process.pid })()
  return E.isRight(claimed)
    ? { end: 'Claimed', epoch: claimed.right.claim.epoch }
    : { end: claimed.left._tag, holder: claimed.left.holder }
}

if (isMainThread) {
  const { world, first } = JSON.parse(process.argv[2])
  const root = `${world}/state`
  const inThread = () =>
    new Promise((resolve, reject) => {
      const worker = new Worker(new URL(import.meta.url), { workerData: { root } })
      worker.on('error', reject)
      worker.on('message', (answer) => resolve({ answer, worker }))
    })
  const holder = first === 'main' ? { answer: await claimAs(root) } : await inThread()
  const other = first === 'main' ? (await inThread()).answer : await claimAs(root)
  const third = (await inThread()).answer
  // A thread that ended without a release is dead, although its process lives.
  const after = first === 'main' ? undefined : (await holder.worker.terminate(), await claimAs(root))
  console.log(JSON.stringify({ outcome: 'Done', holder: holder.answer, other, third, after }))
  process.exit(0)
} else {
  parentPort.postMessage(await claimAs(workerData.root))
  setInterval(() => undefined, 1000)
}
