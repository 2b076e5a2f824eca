// Claims a run while another process tries to; then takes over from one that claimed it and ended.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { jsonFileStorage } from '../../../../dist/adapters/json-file/index.js'

const [root, who = 'own', runId = 'a'] = process.argv.slice(2)
const result = await jsonFileStorage(root).claim(runId, { host: 'h', pid: process.pid })()
console.log(who, result._tag === 'Right' ? 'Right' : result.left._tag)

if (who === 'own') {
  const run = (...args) =>
    spawnSync(process.execPath, [fileURLToPath(import.meta.url), root, ...args], { encoding: 'utf8' }).stdout
  process.stdout.write(run('other', 'a'))
  run('first', 'b')
  process.stdout.write(run('ended', 'b'))
}
process.exit()
