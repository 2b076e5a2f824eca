// A process that puts one artifact repeatedly. It runs the built package, so dist/ must be up to date.
import { fileArtifacts } from '../../../../dist/adapters/json-file/index.js'

const [root] = process.argv.slice(2)
const store = fileArtifacts(root)
for (let n = 0; ; n++) {
  const result = await store.put('r', 'x', String(n % 10).repeat(100_000 + n))()
  process.send(result._tag)
}
