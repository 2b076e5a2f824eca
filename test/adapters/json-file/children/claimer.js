// Claims a run as this process's user and prints the result.
import { hostname } from 'node:os'
import { jsonFileStorage } from '../../../../dist/adapters/json-file/index.js'

const [root] = process.argv.slice(2)
const owner = { host: hostname(), pid: process.pid }
let outcome
for (const runId of ['a', 'b']) {
  const storage = jsonFileStorage(root)
  const claimed = await storage.claim(runId, owner)()
  outcome ??= claimed._tag === 'Left' ? claimed.left._tag : 'Granted'
  if (claimed._tag === 'Right') await storage.release(claimed.right.claim)()
}
process.stdout.write(outcome)
