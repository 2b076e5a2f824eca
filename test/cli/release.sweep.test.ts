import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { sandbox } from './dogear.js'

const root = resolve(import.meta.dirname, '../..')
const place = sandbox()
afterAll(() => place.remove())

test('the release example makes a tarball of this repository despite an interruption', async () => {
  execFileSync('git', ['clone', '--quiet', root, join(place.folder, 'clone')])
  const cwd = join(place.folder, 'clone')
  symlinkSync(join(root, 'node_modules'), join(cwd, 'node_modules'))
  const running = place.start(['run', 'examples/release.yml'], { cwd })
  await running.said('Executing step 2/6: type-check')
  process.kill(running.pid, 'SIGINT')
  expect((await running.ended).code).toBe(130)
  const { code, stdout, stderr } = await place.dogear(['resume'], { cwd })
  expect(code, stderr).toBe(0)
  expect(stdout).toMatch(/^dogear-.*\.tgz holds dogear /m)
  expect(stderr).not.toContain('Executing step 1/6')
})
