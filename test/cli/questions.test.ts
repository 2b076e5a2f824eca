/** Questions of a program's run, answered at a terminal. */
import { afterEach, expect, test } from 'vitest'
import { type Ended, linesOf, type Sandbox, sandbox } from './dogear.js'

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
  'dogear answer answers the question of a killed program, and the program obeys the answer when it resumes the run: %s',
  async (words, said, effects) => {
    await killed()
    expect(await place.dogear(['answer', 'o-1', 'charge', ...words])).toMatchObject({
      code: 0,
      stdout: 'Recorded the answer to "charge" of run o-1\n',
      stderr: 'Resume it in the program that started it. Show it with:\n  dogear show o-1\n'
    })
    expect((await host()).stdout).toBe(said)
    expect(place.read('charged')).toBe(effects)
  }
)

test('an answer that counts the last step as done says that the run is completed', async () => {
  place = sandbox({ 'w.yml': 'steps: [{ name: pay, shell: exit 1, idempotent: false }]' })
  expect((await place.dogear(['run', 'w.yml', '--id', 'p-1'])).code).toBe(1)
  expect(await place.dogear(['answer', 'p-1', 'pay', 'done'])).toMatchObject({
    code: 0,
    stdout: 'Recorded the answer to "pay" of run p-1, which is completed now\n',
    stderr: 'Show the run with:\n  dogear show p-1\n'
  })
})

test('a plan in which no step is left to run prints the command that completes the run', async () => {
  place = sandbox({ 'w.yml': 'steps: [{ name: pay, shell: exit 1, idempotent: false }]' })
  expect((await place.dogear(['run', 'w.yml', '--id', 'p-1'])).code).toBe(1)
  const { stdout } = await place.dogear(['plan', 'p-1', '--confirm', 'pay=done'])
  expect(linesOf(stdout).at(-2)).toBe('To complete the run:')
  expect((await place.shell(linesOf(stdout).at(-1) ?? '')).code).toBe(0)
  const completed = await place.dogear(['plan', 'p-1'])
  expect(completed.stdout).toContain('nothing left to run')
  expect(completed.stdout).not.toContain('dogear resume')
})

test('the answer "done" without the output that a variable needs prints the command that passes the output', async () => {
  await killed()
  const { code, stderr } = await place.dogear(['answer', 'o-1', 'charge', 'done'])
  expect(code).toBe(4)
  expect(stderr).toContain('expected a value for variable "receipt"')
  expect(stderr).toMatch(/\nPass its output:\n {2}dogear answer o-1 charge done --output JSON\n$/)
})

test.each([
  [
    ['charge', 'maybe'],
    2,
    'answer: unknown answer "maybe"; use again or done, or keep if the question is about changed files or commits'
  ],
  [['charge', 'done:R-7'], 2, 'answer: unknown answer "done:R-7"; pass the output of "done" as --output JSON'],
  [['charge', 'again', '--output', '1'], 2, '--output: only "done" has an output, not "again"'],
  [['charge', '--output', '1'], 2, '--output: only "done" has an output; pass it as "done --output JSON"'],
  [['charge', '--confirm', 'ship=again'], 2, '--confirm: needs an answer to the unit: again, keep or done'],
  [
    ['charge', '--value', '1', '--confirm', 'ship=again'],
    2,
    '--confirm cannot be combined with --value or --value-file; it goes with again, keep or done'
  ],
  [['charge', 'again', '--confirm', 'charge=done'], 2, '--confirm: "charge" is answered twice; answer it once'],
  [['charge', 'done', '--output', 'R-7'], 2, '--output: not valid JSON; put a string in double quotes'],
  [
    ['charge', 'done', '--value', '1'],
    2,
    '--value and --value-file cannot be combined with "done"; use --output for an output'
  ],
  [
    ['chagre', 'again'],
    4,
    'Cannot answer "chagre" of run o-1: the run has no such unit; these units need an answer: charge. Did you mean "charge"?'
  ],
  [
    ['ship', 'again'],
    4,
    'Cannot answer "ship" of run o-1: it needs no answer (not started); units with an open question: charge'
  ],
  [['ship', '--value', '1'], 4, 'Cannot answer "ship" of run o-1: it needs no answer (not started)'],
  [['ship'], 4, 'Cannot answer "ship" of run o-1: it needs no answer (not started)'],
  [['shop', '--value', '1'], 4, 'Cannot answer "shop" of run o-1: the run has no such unit; check its path']
])('an answer that fits no open question is refused, and nothing is recorded: %j', async (words, code, message) => {
  await killed()
  const refused = await place.dogear(['answer', 'o-1', ...words])
  expect(refused.code).toBe(code)
  expect(linesOf(refused.stderr)[0]).toBe(`dogear: ${message}`)
  expect((await host()).stdout).toBe('Refused Unconfirmed\n')
})

test('an unknown answer to a unit that does not wait prints an example that answers its question', async () => {
  await killed()
  const refused = await place.dogear(['answer', 'o-1', 'charge', 'dun'])
  expect(refused.code).toBe(2)
  expect(linesOf(refused.stderr).slice(1)).toEqual(['For example:', '  dogear answer o-1 charge again'])
})

test('a refused answer with an output after a colon prints an example that answers the question', async () => {
  await killed()
  const refused = await place.dogear(['answer', 'o-1', 'charge', 'done:R-7'])
  const example = ['answer', 'o-1', 'charge', 'done', '--output', '"R-7"']
  expect(linesOf(refused.stderr).at(-1)).toBe(`  dogear answer o-1 charge done --output '"R-7"'`)
  expect((await place.dogear(example)).code).toBe(0)
})

test('an answer with an unknown unit prints an example that answers the open question', async () => {
  await killed()
  const refused = await place.dogear(['answer', 'o-1', 'chagre', 'again'])
  expect(linesOf(refused.stderr).at(-1)).toBe('  dogear answer o-1 charge again')
})

const both = `
name: pay
steps:
  - wave: all
    groups:
      charge: { idempotent: false, shell: 'echo charge >> log; exit 1' }
      invoice: { idempotent: false, shell: 'echo invoice >> log; exit 1' }
`

test('if several questions are open, the error of a single answer prints one command that answers all of them', async () => {
  place = sandbox({ 'pay.yml': both })
  expect((await place.dogear(['run', 'pay.yml', '--id', 'p-1'])).code).toBe(1)
  const refused = await place.dogear(['answer', 'p-1', 'all/charge', 'done'])
  expect(refused.code).toBe(4)
  const command = linesOf(refused.stderr).at(-1) ?? ''
  expect(command).toBe('  dogear answer p-1 all/charge done --confirm all/invoice=again')
  expect((await place.shell(command.replace('=again', '=done'))).code).toBe(0)
  expect((await place.dogear(['resume', 'p-1'])).code).toBe(0)
  expect(place.read('log').trim().split('\n').sort()).toEqual(['charge', 'invoice'])
})

test('an answer about edited evidence applies to the file in the folder of the run, wherever the command is typed', async () => {
  place = sandbox({
    'w.yml': "steps: [{ name: make, shell: 'echo made > out', artifacts: [out] }, { name: end, shell: 'test -e go' }]"
  })
  await place.dogear(['run', 'w.yml', '--id', 'w-1'])
  place.write('out', 'edited by hand')
  place.write('sub/out', 'another file')
  place.write('go', '')
  const answered = await place.shell('cd sub && dogear answer w-1 make keep --home ../.dogear')
  expect(answered).toMatchObject({ code: 0 })
  expect((await place.dogear(['resume', 'w-1'])).code).toBe(0)
  expect(place.read('out')).toBe('edited by hand')
})

test('the message of a refused answer is about the answer, not about a resume', async () => {
  place = sandbox({ 'pay.yml': both.replace(/ +invoice.*/, '') })
  await place.dogear(['run', 'pay.yml', '--id', 'p-1'])
  const refused = await place.dogear(['answer', 'p-1', 'all/charge', 'keep'])
  expect(refused.code).toBe(4)
  expect(linesOf(refused.stderr)).toEqual([
    'dogear: Cannot answer p-1:',
    '  "all/charge" has nothing to keep: it has not completed, or its evidence is missing or unchanged; answer again or done',
    'For example:',
    '  dogear answer p-1 all/charge again'
  ])
  expect((await follow(refused)).code).toBe(0)
})

/** Runs the command in the last line of a message. */
const follow = ({ stderr }: Ended): Promise<Ended> => place.shell(linesOf(stderr).at(-1) ?? 'exit 99')

const failing = `
name: f
steps:
  - { name: a, shell: exit 0 }
  - { name: b, shell: test -e go }
  - { name: c, shell: exit 0 }
`

test.each([
  ['an unknown answer', ['yes']],
  ['no answer', []],
  ['the answer "done"', ['done']],
  ['a value', ['--value', '1']]
])(
  'a failed step that runs again needs no answer: with %s the message says so, and each command that it prints works',
  async (_, words) => {
    place = sandbox({ 'f.yml': failing })
    await place.dogear(['run', 'f.yml', '--id', 'f-1'])
    const refused = await place.dogear(['answer', 'f-1', 'b', ...words])
    expect([refused.code, linesOf(refused.stderr)]).toEqual([
      4,
      [
        expect.stringMatching(/^dogear: Cannot answer "b" of run f-1: it needs no answer \(failed: /),
        'Resume with:',
        '  dogear resume f-1',
        'To count it and all before it as done:',
        '  dogear resume f-1 --from-step c'
      ]
    ])
    expect((await follow(refused)).code).toBe(0)
    const over = await place.dogear(['answer', 'f-1', 'a', ...words])
    expect([over.code, linesOf(over.stderr)]).toEqual([
      4,
      [
        'dogear: Cannot answer "a" of run f-1: it needs no answer (completed)',
        'Show the run with:',
        '  dogear show f-1',
        'To run again from "a" on:',
        '  dogear resume f-1 --from-step a'
      ]
    ])
    place.write('go', '')
    expect((await follow(over)).code).toBe(0)
  }
)

test('a step that waits for its job takes no answer: the message says so, and each command that it prints works', async () => {
  const job = "{ submit: 'echo 7', poll: 'exit 75' }"
  place = sandbox({ 'j.yml': `name: j\nsteps: [{ name: train, idempotent: false, job: ${job} }]` })
  expect((await place.dogear(['run', 'j.yml', '--id', 'j-1'])).code).toBe(75)
  for (const words of [['done'], ['--value', '1'], ['no'], []]) {
    const refused = await place.dogear(['answer', 'j-1', 'train', ...words])
    expect([refused.code, linesOf(refused.stderr)]).toEqual([
      4,
      [
        expect.stringMatching(/^dogear: Cannot answer "train" of run j-1: it waits for its job, submitted at .+: 7$/),
        'Poll the job with:',
        '  dogear poll j-1',
        'To abandon the job and run again from "train" on:',
        '  dogear resume j-1 --from-step train --confirm train=again'
      ]
    ])
    expect((await place.dogear(['poll', 'j-1'])).code).toBe(75)
    expect((await follow(refused)).code).toBe(75)
  }
})

test('the example printed for an unknown unit answers all open questions', async () => {
  place = sandbox({ 'pay.yml': both })
  await place.dogear(['run', 'pay.yml', '--id', 'p-1'])
  const valued = await place.dogear(['answer', 'p-1', 'all', '--value', '5'])
  expect(linesOf(valued.stderr).at(-1)).toBe('  dogear answer p-1 all/charge again --confirm all/invoice=again')
  const refused = await place.dogear(['answer', 'p-1', 'all', 'again'])
  expect(linesOf(refused.stderr)).toEqual([
    'dogear: Cannot answer "all" of run p-1: a resume asks no question about it; units with an open question: all/charge, all/invoice',
    'For example:',
    '  dogear answer p-1 all/charge again --confirm all/invoice=again'
  ])
  expect((await follow(refused)).code).toBe(0)
})

test('the example after a value for a question answers that question and all others', async () => {
  place = sandbox({
    'w.yml': `steps:
  - { name: a, shell: echo made > out, artifacts: [out] }
  - { name: pay, shell: exit 1, idempotent: false }
`
  })
  await place.dogear(['run', 'w.yml', '--id', 'r-1'])
  place.write('out', 'mine')
  const refused = await place.dogear(['answer', 'r-1', 'pay', '--value', '5'])
  expect(linesOf(refused.stderr).slice(-2)).toEqual(['For example:', '  dogear answer r-1 pay again --confirm a=again'])
  expect((await follow(refused)).code).toBe(0)
})

test('an answer to a program’s run whose workspace is missing is refused without a command that resumes it', async () => {
  place = sandbox({
    'host.mjs': `
import { jsonFileStorage } from '${library}adapters/json-file/index.js'
import { workspaces } from '${library}adapters/node/index.js'
import { runOutcome, workflow } from '${library}promise/index.js'
const order = workflow('order').step('pay', { idempotent: false, run: () => Promise.reject(new Error('no reply')) })
const environment = { workspaces: workspaces('.dogear') }
const storage = jsonFileStorage('.dogear')
const outcome = await runOutcome(order, { id: 'o-1', storage, environment, workspace: 'directory' })
console.log(outcome._tag)
`
  })
  expect((await host()).stdout).toBe('Failed\n')
  await place.shell('rm -r .dogear/workspaces/o-1')
  for (const words of [['again'], ['nonsense']]) {
    const refused = await place.dogear(['answer', 'o-1', 'pay', ...words])
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain('Workspace not found for run o-1')
    expect(refused.stderr).not.toContain('dogear resume')
    expect((await follow(refused)).code).toBe(0)
  }
})
