import { afterEach, expect, test } from 'vitest'
import { linesOf, type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
afterEach(() => place.remove())

const two = 'name: two\nsteps: [{ name: a, shell: test -e a }, { name: b, shell: test -e b }]'
const waves = `
name: waves
steps:
  - { wave: first, groups: { a: { shell: test -e a } } }
  - { wave: second, groups: { b: { shell: test -e b }, c: { shell: "true" } } }
`

const progress = async (): Promise<string | undefined> =>
  linesOf((await place.process(['show', 'r'])).stdout).find((line) => line.startsWith('progress'))

test.each([
  ['steps', two],
  ['waves', waves]
])('a run of two %s counts only completed ones: first none, then one, then both', async (kind, workflow) => {
  place = sandbox({ 'w.yml': workflow })
  await place.process(['run', 'w.yml', '--id', 'r'])
  expect(await progress()).toBe(`progress  0/2 ${kind} done (0%)`)
  place.write('a', '')
  await place.process(['resume', 'r'])
  expect(await progress()).toBe(`progress  1/2 ${kind} done (50%)`)
  place.write('b', '')
  await place.process(['resume', 'r'])
  expect(await progress()).toBe(`progress  2/2 ${kind} done (100%)`)
})

test('a run killed in its only step counts no step as done', async () => {
  place = sandbox({ 'w.yml': 'name: w\nsteps: [{ name: only, shell: "kill -9 $PPID; sleep 0.2" }]' })
  await place.process(['run', 'w.yml', '--id', 'r'])
  expect(await progress()).toBe('progress  0/1 steps done (0%)')
  expect((await place.process(['runs'])).stdout).toMatch(/^r +w +interrupted .* 0\/1$/m)
})

test('the last line counts a wave, map or sequence that itself failed', async () => {
  const list = '{ name: list, shell: \'printf "a\\na\\n"\', capture: items }'
  const map = '{ wave: m, forEach: items, key: item, each: { shell: "true" } }'
  const checked = '{ wave: w, before: [test -e nope], groups: { a: { shell: "true" } } }'
  const parts =
    '{ wave: p, groups: { x: { steps: [{ name: s, shell: "true" }], after: [test -e nope] }, y: { shell: "false" } } }'
  place = sandbox({
    'map.yml': `steps: [${list}, ${map}]`,
    'before.yml': `steps: [${checked}]`,
    'parts.yml': `steps: [${parts}]`
  })
  const lastOf = async (file: string): Promise<string> => {
    const { code, stderr } = await place.dogear(['run', file])
    expect(code).toBe(1)
    return / after [^:]*: (.*)/.exec(stderr)?.[1] ?? stderr
  }
  expect(await lastOf('map.yml')).toBe('1 task completed, 1 map failed')
  expect(await lastOf('before.yml')).toBe('1 wave failed')
  expect(await lastOf('parts.yml')).toBe('1 task completed, 1 failed, 1 sequence failed')
})
