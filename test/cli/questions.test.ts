/** Questions of a program's run, answered at a terminal. */
import { afterEach, expect, test } from 'vitest'
import { linesOf, type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
afterEach(() => place.remove())

const library = new URL('../../dist/', import.meta.url).href

/** A program that is killed in its step that is not idempotent, the first time. */
const program = `
import { appendFileSync, existsSync } from 'node:fs'
import { jsonFileStorage } from '${library}adapters/json-file/index.js'
import { runOutcome, workflow } from '${library}promise/index.js'
const order = workflow('order')
  .step('charge', {
    idempotent: false,
    capture: 'receipt',
    run: () => {
      const isFirst = !existsSync('charged')
      appendFileSync('charged', 'x')
      if (isFirst) process.kill(process.pid, 'SIGKILL')
      return isFirst ? new Promise(() => undefined) : 'second'
    }
  })
  .step('ship', ({ variables }) => 'shipped with ' + variables.get('receipt'))
const outcome = await runOutcome(order, { id: 'o-1', storage: jsonFileStorage('.dogear') })
console.log(outcome._tag, outcome.error?._tag ?? outcome.outputs?.ship)
`

const host = () => place.shell(`'${process.execPath}' host.mjs`)

const killed = async (): Promise<void> => {
  place = sandbox({ 'host.mjs': program })
  expect((await host()).stdout).toBe('')
  expect((await host()).stdout).toBe('Refused Unconfirmed\n')
}

test.each([
  [['done', '--output', '"R-7"'], 'Completed shipped with R-7\n', 'x'],
  [['again'], 'Completed shipped with second\n', 'xx']
])(
  'a question of a killed program is answered at a terminal, and its resume obeys: %s',
  async (words, said, effects) => {
    await killed()
    expect(await place.dogear(['answer', 'o-1', 'charge', ...words])).toMatchObject({
      code: 0,
      stdout: 'Run o-1 has the answer to charge\n',
      stderr: 'Resume it in the program that started it. Show it with:\n  dogear show o-1\n'
    })
    expect((await host()).stdout).toBe(said)
    expect(place.read('charged')).toBe(effects)
  }
)

test.each([
  [['charge', 'maybe'], 2, 'answer: unknown answer "maybe"; use again, keep or done, or --value for a unit that waits'],
  [['charge', 'again', '--output', '1'], 2, '--output: only "done" has an output, not "again"'],
  [['charge', '--output', '1'], 2, '--output: only "done" has an output; pass it as "done --output JSON"'],
  [['charge', 'done', '--output', 'R-7'], 2, '--output: not valid JSON; put a string in double quotes'],
  [
    ['charge', 'done', '--value', '1'],
    2,
    '--value and --value-file cannot be combined with "done"; use --output for an output'
  ],
  [
    ['ship', 'again'],
    4,
    'Cannot answer ship of run o-1: a resume asks no question about it; these units wait for one: charge'
  ]
])('an answer to no question is refused, and nothing is recorded: %j', async (words, code, message) => {
  await killed()
  const refused = await place.dogear(['answer', 'o-1', ...words])
  expect(refused.code).toBe(code)
  expect(linesOf(refused.stderr)[0]).toBe(`dogear: ${message}`)
  expect((await host()).stdout).toBe('Refused Unconfirmed\n')
})
