// Claims a run in the process of another store, then here, and here again after it was killed (argv: the root of the store).
import { jsonFileStorage } from 'dogear/json-file'
import { storageProcess } from 'dogear/node'

const [root] = process.argv.slice(2)
const owner = { host: 'a', pid: process.pid }
const claim = async (storage) => {
  const claimed = await storage.claim('r', owner)()
  return claimed._tag === 'Left' ? claimed.left._tag : 'claimed'
}

const other = await storageProcess(new URL(import.meta.resolve('dogear/json-file')), 'jsonFileStorage', root)
const there = await claim(other.storage)
const refused = await claim(jsonFileStorage(root))
await other.kill()
console.log([there, refused, await claim(jsonFileStorage(root))].join(', '))
process.exit()
