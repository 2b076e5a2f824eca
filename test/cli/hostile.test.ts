import { execFileSync } from 'node:child_process'
import { chmodSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { afterEach, describe, expect, test } from 'vitest'
import { variablesAsText } from '../../src/cli/steps/stepEnvironment.js'
import { type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
afterEach(() => place.remove())

/** Variables reach a script through its environment and a command as an argument; nothing executes them. */
const workflow = `
steps:
  - { name: via-shell, shell: 'printf %s "$value" > by-shell' }
  - { name: capture, shell: 'printf %s "$value"', capture: captured }
  - { name: captured, shell: 'printf %s "$captured" > by-capture' }
  - name: via-run
    run: [node, -e, 'require("fs").writeFileSync("by-run", process.argv[1])', 'X\${value}X\${captured}X']
`

test.each([
  ['"; touch pwned; $(touch pwned)'],
  ['$(touch pwned)'],
  ['`touch pwned`'],
  ["'; touch pwned; '"],
  ['a\n touch pwned\nb'],
  ['${value}$value$$'],
  ['--version -rf * ~ ? [a-z] {a,b} \\ \\n %s !'],
  ['|| touch pwned & touch pwned > pwned < pwned #']
])('the value %j reaches a step unchanged and runs nothing', async (value) => {
  place = sandbox({ 'w.yml': workflow })
  const { code, stderr } = await place.dogear(['run', 'w.yml', '--input', `value=${value}`])
  expect(code, stderr).toBe(0)
  expect(['by-shell', 'by-capture', 'by-run'].map(place.read)).toEqual([value, value, `X${value}X${value}X`])
  expect(place.exists('pwned')).toBe(false)
})

test('a name that decides which code runs cannot be captured or passed as an input', async () => {
  place = sandbox({
    'capture.yml': 'steps: [{ shell: "echo /evil", capture: PATH }]',
    'input.yml': 'input: { LD_PRELOAD: /evil.so }\nsteps: [{ shell: "true" }]'
  })
  for (const file of ['capture.yml', 'input.yml']) {
    const { code, stderr } = await place.dogear(['run', file])
    expect(code).toBe(2)
    expect(stderr).toContain('cannot be a variable: it would change how commands are found or started')
  }
})

test('a workflow file cannot move the state folder', async () => {
  place = sandbox({ 'w.yml': 'input: { DOGEAR_HOME: /tmp/elsewhere }\nsteps: [{ shell: "true" }]' })
  expect((await place.dogear(['run', 'w.yml'])).stderr).toContain(
    'names that begin with DOGEAR_ are set by dogear itself'
  )
})

test('a dangerous variable name in a stored checkpoint does not reach a step', () => {
  expect(variablesAsText({ variables: new Map([['a', 'b']]) })).toEqual(E.right(new Map([['a', 'b']])))
  expect(E.isLeft(variablesAsText({ variables: new Map([['LD_PRELOAD', '/evil.so']]) }))).toBe(true)
  expect(E.isLeft(variablesAsText({ variables: new Map([['a', 'b\0c']]) }))).toBe(true)
})

const inWorkspace = 'name: w\nworkspace: directory\nsteps: [{ name: a, shell: "touch made" }]'

test('a link in place of the workspaces folder is refused, and nothing behind it is written or deleted', async () => {
  place = sandbox({ 'w.yml': inWorkspace, 'behind/r1/file': 'kept' })
  expect((await place.dogear(['run', 'w.yml', '--id', 'first'])).code).toBe(0)
  rmSync(join(place.folder, '.dogear/workspaces'), { recursive: true })
  symlinkSync(join(place.folder, 'behind'), join(place.folder, '.dogear/workspaces'))
  for (const words of [
    ['run', 'w.yml', '--id', 'r1'],
    ['run', 'w.yml', '--id', 'r2'],
    ['clean', '--all', '--yes'],
    ['clean', 'first', '--yes']
  ]) {
    const { code, stderr } = await place.dogear(words)
    expect(code, words.join(' ')).toBe(5)
    expect(stderr).toMatch(/Cannot use .*workspaces: it is a symbolic link/)
  }
  expect(readdirSync(join(place.folder, 'behind'), { recursive: true })).toEqual(['r1', 'r1/file'])
})

describe.runIf(process.getuid?.() === 0)('state in the current folder', () => {
  const NOBODY = '65534'

  const withState = async (): Promise<void> => {
    place = sandbox({
      'w.yml': 'name: w\nsteps: [{ name: a, shell: "exit 1" }]',
      'theirs.yml': 'name: w\nsteps: [{ name: a, shell: "touch pwned" }]'
    })
    expect((await place.dogear(['run', 'w.yml', '--id', 'r1'])).code).toBe(1)
  }

  test('dogear executes nothing that another user placed in the current folder', async () => {
    await withState()
    place.write('w.yml', place.read('theirs.yml'))
    execFileSync('chown', ['-R', NOBODY, join(place.folder, '.dogear')])
    for (const words of [['resume', 'r1'], ['resume'], ['runs'], ['show', 'r1'], ['run', 'theirs.yml']]) {
      const { code, stderr } = await place.dogear(words)
      expect(code, words.join(' ')).toBe(5)
      expect(stderr).toMatch(/Cannot use .*\.dogear: it belongs to user 65534/)
    }
    expect(place.exists('pwned')).toBe(false)
    expect((await place.dogear(['resume', 'r1'], { environment: { SUDO_UID: NOBODY } })).code).toBe(0)
  })

  test('root runs nothing that another user placed in a folder like /tmp', async () => {
    place = sandbox({ 'tmp/w.yml': 'name: w\nsteps: [{ name: a, shell: "exit 1" }]' })
    const shared = join(place.folder, 'tmp')
    chmodSync(place.folder, 0o711)
    chmodSync(shared, 0o1777)
    const planted = await place.process(['run', 'w.yml', '--id', 'r1'], { cwd: shared, uid: Number(NOBODY) })
    expect(planted.code, planted.stderr).toBe(1)
    place.write('tmp/w.yml', 'name: w\nsteps: [{ name: a, shell: "touch pwned" }]')
    for (const words of [
      ['resume', 'r1'],
      ['run', 'w.yml', '--id', 'r2'],
      ['clean', '--all', '--yes']
    ]) {
      const { code, stderr } = await place.dogear(words, { cwd: shared })
      expect(code, words.join(' ')).toBe(5)
      expect(stderr).toMatch(/Cannot use .*\.dogear: it belongs to user 65534, .*chown/)
    }
    expect(place.exists('tmp/pwned')).toBe(false)
    expect((await place.process(['resume', 'r1'], { cwd: shared, uid: Number(NOBODY) })).code).toBe(0)
  })

  for (const link of ['.dogear', '.dogear/runs', '.dogear/runs/r1', '.dogear/runs/r1/history']) {
    test(`a ${link} that links to another user’s path is refused, and nothing there changes`, async () => {
      await withState()
      const [at, theirs] = [join(place.folder, link), join(place.folder, 'theirs')]
      renameSync(at, theirs)
      symlinkSync(theirs, at)
      execFileSync('chown', ['-R', NOBODY, theirs])
      place.write('w.yml', place.read('theirs.yml'))
      const before = readdirSync(theirs, { recursive: true })
      for (const words of [
        ['resume', 'r1'],
        ['run', 'w.yml', '--id', 'r1']
      ]) {
        const { code, stderr } = await place.dogear(words)
        expect(code, words.join(' ')).toBe(5)
        expect(stderr).toMatch(/Cannot use .*: it (is a symbolic link; to keep|belongs to user 65534.*chown)/)
      }
      expect(readdirSync(theirs, { recursive: true })).toEqual(before)
      expect(place.exists('pwned')).toBe(false)
    })
  }

  test('dogear warns once that every user could delete the state, and uses it', async () => {
    await withState()
    chmodSync(join(place.folder, '.dogear'), 0o777)
    const { code, stderr } = await place.dogear(['run', 'w.yml'])
    expect(code).toBe(1)
    expect(stderr.match(/warning: .*\.dogear: every user can write to it/g)).toHaveLength(1)
  })
})
