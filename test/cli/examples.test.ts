import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import * as E from 'fp-ts/lib/Either.js'
import manifest from '../../package.json' with { type: 'json' }
import { load } from '../../src/cli/workflow/load.js'
import { unknownVariables } from '../../src/cli/workflow/unknownVariables.js'
import { linesOf, sandbox, timeless } from './dogear.js'

const folder = join(import.meta.dirname, '../../examples')
const examples = readdirSync(folder).filter((name) => name.endsWith('.yml'))

test.each(examples)('examples/%s is a valid workflow, without warnings', (name) => {
  const loaded = load(join(folder, name), name)
  if (E.isLeft(loaded)) expect.fail(JSON.stringify(loaded.left))
  const { file } = loaded.right
  expect(file.warnings).toEqual([])
  expect(unknownVariables(file, Object.keys(file.input))).toEqual([])
})

test.each(examples)('the scripts and files of this repository that examples/%s names exist', (name) => {
  const text = readFileSync(join(folder, name), 'utf8')
  const scripts = [...text.matchAll(/npm, run, --silent, '?([\w:]+)/g)].map(([, script = '']) => script)
  expect(scripts.filter((script) => !Object.hasOwn(manifest.scripts, script))).toEqual([])
  const paths = text.match(/\b(node_modules|test|examples)\/[\w./-]+/g) ?? []
  expect(paths.filter((path) => !existsSync(join(folder, '..', path)))).toEqual([])
})

const place = sandbox({ 'demo.yml': readFileSync(join(folder, 'demo.yml'), 'utf8') })
afterAll(() => place.remove())

test('the demo fails at its second step until it is fixed, and then resumes there', async () => {
  const failed = await place.dogear(['run', 'demo.yml'])
  expect(failed.code).toBe(1)
  expect(failed.stderr).toContain('Step 2/3 failed: notes\n')
  expect(failed.stderr).toContain('error: exit code 1: write notes.md first\n')
  place.write('notes.md', '')
  const resumed = await place.dogear(['resume'])
  expect({ code: resumed.code, stdout: resumed.stdout }).toEqual({ code: 0, stdout: 'published 1.2.3\n' })
  expect(linesOf(timeless(resumed.stderr))).toEqual([
    expect.stringMatching(/^Resuming run /),
    'Loaded checkpoint: 1/3 steps completed',
    '↷ 1 step completed earlier: version',
    'Retrying step 2/3: notes (look for the release notes)',
    '✓ notes (T)',
    'Executing step 3/3: publish',
    '✓ publish (T)',
    'Run completed in T: 2 steps ran, 1 skipped'
  ])
})

test('the approval example publishes once it is approved and has slept', async () => {
  place.write('approval.yml', readFileSync(join(folder, 'approval.yml'), 'utf8').replace('sleep: 5s', 'sleep: 50ms'))
  expect((await place.dogear(['run', 'approval.yml', '--id', 'a-1'])).code).toBe(75)
  expect((await place.dogear(['answer', 'a-1', 'approve', '--value', 'true'])).code).toBe(0)
  expect((await place.dogear(['resume', 'a-1'])).code).toBe(75)
  await setTimeout(60)
  expect(await place.dogear(['resume', 'a-1'])).toMatchObject({ code: 0, stdout: 'published app-1.2.3.tgz\n' })
})
