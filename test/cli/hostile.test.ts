import * as E from 'fp-ts/lib/Either.js'
import { afterEach, expect, test } from 'vitest'
import { variablesAsText } from '../../src/cli/steps/stepEnvironment.js'
import { type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
afterEach(() => place.remove())

/** Variables reach a script through its environment and a command as an argument; nothing looks at them as code. */
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
])('the value %j arrives as it is, and runs nothing', async (value) => {
  place = sandbox({ 'w.yml': workflow })
  const { code, stderr } = await place.dogear(['run', 'w.yml', '--input', `value=${value}`])
  expect(code, stderr).toBe(0)
  expect(['by-shell', 'by-capture', 'by-run'].map(place.read)).toEqual([value, value, `X${value}X${value}X`])
  expect(place.exists('pwned')).toBe(false)
})

test('a name that decides which code runs can not be captured, nor given as an input', async () => {
  place = sandbox({
    'capture.yml': 'steps: [{ shell: "echo /evil", capture: PATH }]',
    'input.yml': 'input: { LD_PRELOAD: /evil.so }\nsteps: [{ shell: "true" }]'
  })
  for (const file of ['capture.yml', 'input.yml']) {
    const { code, stderr } = await place.dogear(['run', file])
    expect(code).toBe(2)
    expect(stderr).toContain("can't be a variable: it would change how commands are found or started")
  }
})

test('a workflow file can not name another place for the state', async () => {
  place = sandbox({ 'w.yml': 'input: { DOGEAR_HOME: /tmp/elsewhere }\nsteps: [{ shell: "true" }]' })
  expect((await place.dogear(['run', 'w.yml'])).stderr).toContain(
    'names that begin with DOGEAR_ are set by dogear itself'
  )
})

test('nor does such a name reach a step from state that somebody else has written', () => {
  expect(variablesAsText({ variables: new Map([['a', 'b']]) })).toEqual(E.right(new Map([['a', 'b']])))
  expect(E.isLeft(variablesAsText({ variables: new Map([['LD_PRELOAD', '/evil.so']]) }))).toBe(true)
  expect(E.isLeft(variablesAsText({ variables: new Map([['a', 'b\0c']]) }))).toBe(true)
})
