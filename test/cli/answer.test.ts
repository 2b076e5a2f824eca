import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { type Ended, linesOf, type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
afterEach(() => place.remove())

const library = new URL('../../dist/', import.meta.url).href

/** A program that waits for an answer; with `slow` its first step ends only once the file `go` exists. */
const program = `
import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { fileRequests, jsonFileStorage } from '${library}adapters/json-file/index.js'
import { nodeEnvironment } from '${library}adapters/node/index.js'
import { runOutcome, workflow } from '${library}promise/index.js'
const release = workflow('release')
  .step('build', async () => {
    console.log('building')
    while (process.argv[2] === 'slow' && !existsSync('go')) await setTimeout(20)
  })
  .waitFor('approve', { question: 'Publish?' })
  .waitFor('sign', {})
  .step('publish', ({ outputs }) => JSON.stringify(outputs.approve))
const storage = jsonFileStorage('.dogear')
const environment = nodeEnvironment(storage, { requests: fileRequests('.dogear') })
const outcome = await runOutcome(release, { id: 'r-1', storage, environment })
console.log(outcome._tag, outcome.outputs?.publish)
`

const host = (word = '') => place.shell(`'${process.execPath}' host.mjs ${word}`)

const resting = async (): Promise<void> => {
  place = sandbox({ 'host.mjs': program, 'w.yml': 'steps: [{ name: only, shell: test -e go }]' })
  expect((await host()).stdout).toContain('Pending')
}

/** Runs the command in the last line of a message. */
const follow = ({ stderr }: Ended): Promise<Ended> => place.shell(linesOf(stderr).at(-1) ?? 'exit 99')

test('a pending run without an owner accepts an answer, which the program finds when it resumes', async () => {
  await resting()
  expect(await place.dogear(['answer', 'r-1', 'approve', '--value', '{"by":"ada"}'])).toEqual({
    code: 0,
    signal: null,
    stdout: 'Recorded the answer to "approve" of run r-1\n',
    stderr: 'Resume it in the program that started it. Show it with:\n  dogear show r-1\n'
  })
  place.write('signature.json', '"ok"\n')
  const second = await place.dogear(['answer', 'r-1', 'sign', '--value-file', 'signature.json', '--json'])
  expect(JSON.parse(second.stdout)).toEqual({ run_id: 'r-1', unit: 'sign', requested: false })
  expect((await host()).stdout).toContain('Completed {"by":"ada"}')
})

test('show of a waiting run ends with the command that answers', async () => {
  await resting()
  const { stderr } = await place.dogear(['show', 'r-1'])
  expect(stderr).toBe('Answer approve with:\n  dogear answer r-1 approve --value JSON\n')
})

test('an answer may come before its unit waits', async () => {
  await resting()
  expect((await place.dogear(['answer', 'r-1', 'sign', '--value', '1'])).code).toBe(0)
  expect((await host()).stdout).toContain('Pending')
  expect((await place.dogear(['answer', 'r-1', 'approve', '--value', '2'])).code).toBe(0)
  expect((await host()).stdout).toContain('Completed 2')
})

test('a second answer is refused and the first stays', async () => {
  await resting()
  await place.dogear(['answer', 'r-1', 'approve', '--value', '"first"'])
  const refused = await place.dogear(['answer', 'r-1', 'approve', '--value', '"second"'])
  expect(refused.code).toBe(4)
  expect(linesOf(refused.stderr)).toEqual([
    'dogear: "approve" of run r-1 already has an answer',
    'To run again from "approve" on, resume with `fromStep`',
    'Resume it in the program that started it. Show it with:',
    '  dogear show r-1'
  ])
  expect(await follow(refused)).toMatchObject({ code: 0 })
  await place.dogear(['answer', 'r-1', 'sign', '--value', 'null'])
  expect((await host()).stdout).toContain('Completed "first"')
})

test('a second answer to a run of a workflow file is refused, and the printed resume asks for a new answer', async () => {
  const steps = '[{ name: approve, waitFor: { question: Go? } }, { name: sign, waitFor: { question: Sign? } }]'
  place = sandbox({ 'w.yml': `steps: ${steps}` })
  expect((await place.dogear(['run', 'w.yml', '--id', 'file'])).code).toBe(75)
  const refused = async (unit: string) => {
    for (const value of ['1', '2']) await place.dogear(['answer', 'file', unit, '--value', value])
    return place.dogear(['answer', 'file', unit, '--value', '3'])
  }
  const pending = await refused('approve')
  expect(linesOf(pending.stderr)).toEqual([
    'dogear: "approve" of run file already has an answer',
    'Resume with:',
    '  dogear resume file',
    'To run again from "approve" on:',
    '  dogear resume file --from-step approve'
  ])
  // The flag would count the earlier wait as done.
  expect(linesOf((await refused('sign')).stderr)).toEqual([
    'dogear: "sign" of run file already has an answer',
    'Resume with:',
    '  dogear resume file'
  ])
  expect((await follow(pending)).stderr).toContain('Answer approve with:\n  dogear answer file approve --value JSON\n')
})

test('an unknown answer to an unknown run is refused with the answers that there are', async () => {
  await resting()
  const { code, stderr } = await place.dogear(['answer', 'nope', 'approve', 'maybe'])
  expect([code, linesOf(stderr)[0]]).toEqual([
    2,
    'dogear: answer: unknown answer "maybe"; pass --value JSON to a unit that waits, or again, keep or done to a question'
  ])
})

test('the history shows who answered', async () => {
  await resting()
  await place.dogear(['answer', 'r-1', 'approve', '--value', 'true'])
  const user = (await place.shell('id -un')).stdout.trim()
  expect((await place.dogear(['show', 'r-1', '--history'])).stdout).toContain(`approve, by ${user}: true`)
})

test.each([
  ['approv', 'the run has no such unit; these units need an answer: approve. Did you mean "approve"?', []],
  [
    'build',
    'it needs no answer (completed); these units need an answer: approve',
    ['To run again from "build" on, resume with `fromStep`']
  ],
  ['publish', 'it needs no answer (not started); these units need an answer: approve', []]
])('an answer to %s is refused with the unit that waits', async (unit, why, more) => {
  await resting()
  const { code, stderr } = await place.dogear(['answer', 'r-1', unit, '--value', 'true'])
  expect(code).toBe(4)
  expect(linesOf(stderr)).toEqual([
    `dogear: Cannot answer "${unit}" of run r-1: ${why}`,
    ...more,
    'Answer approve with:',
    '  dogear answer r-1 approve --value JSON'
  ])
})

test('an answer is refused if its run waits for no answer, and the output ends with a command that works', async () => {
  await resting()
  await place.dogear(['run', 'w.yml', '--id', 'file'])
  const refused = await place.dogear(['answer', 'file', 'only', '--value', 'true'])
  expect(refused.code).toBe(4)
  expect(refused.stderr).toContain('"only" of run file: it needs no answer (failed')
  place.write('go', '')
  expect(await follow(refused)).toMatchObject({ code: 0 })
})

test('the owner of a live run records the answer before its next unit', async () => {
  place = sandbox({ 'host.mjs': program })
  const running = host('slow')
  for (let code: number | null = 3; code !== 0;) code = (await place.dogear(['show', 'r-1'])).code
  const asked = await place.dogear(['answer', 'r-1', 'approve', '--value', '"yes"'])
  expect(asked).toMatchObject({ code: 0, stderr: '' })
  expect(asked.stdout).toMatch(/^Run r-1 takes the answer to approve before its next unit \(process \d+ on .+\)\n$/)
  const other = await place.dogear(['answer', 'r-1', 'sign', '--value', '1', '--json'])
  expect(JSON.parse(other.stdout)).toEqual({ run_id: 'r-1', unit: 'sign', requested: true })
  place.write('go', '')
  expect((await running).stdout).toContain('Completed "yes"')
})

test.each([
  [
    [],
    'answer: the answer is missing; pass --value JSON to a unit that waits, or again, keep or done to a question',
    'dogear answer r-1 approve --value true'
  ],
  [
    ['--value', 'yes'],
    '--value: not valid JSON; put a string in double quotes',
    `dogear answer r-1 approve --value '"yes"'`
  ],
  [
    ['--value', "it's fine"],
    '--value: not valid JSON; put a string in double quotes',
    `dogear answer r-1 approve --value '"it'\\''s fine"'`
  ],
  [
    ['approved'],
    'answer: unknown answer "approved"; pass --value JSON to a unit that waits',
    `dogear answer r-1 approve --value '"approved"'`
  ],
  [
    ['true'],
    'answer: unknown answer "true"; pass --value JSON to a unit that waits',
    'dogear answer r-1 approve --value true'
  ],
  [['--value', '1e999'], '--value: not storable as JSON: Infinity', `dogear answer r-1 approve --value '"1e999"'`]
])(
  'a missing or invalid value is a usage error, and its message ends with a command that works: %j',
  async (words, message, command) => {
    await resting()
    const refused = await place.dogear(['answer', 'r-1', 'approve', ...words])
    expect(refused.code).toBe(2)
    expect(linesOf(refused.stderr)[0]).toBe(`dogear: ${message}`)
    expect(linesOf(refused.stderr).at(-1)).toBe(`  ${command}`)
    expect(await follow(refused)).toMatchObject({ code: 0 })
  }
)

test('a value that begins like a JSON object, array or string but is not JSON is refused, and the message does not offer to quote the value', async () => {
  await resting()
  for (const value of ['{approved: true}', '[yes]', '"yes'])
    expect(await place.dogear(['answer', 'r-1', 'approve', '--value', value])).toMatchObject({
      code: 2,
      stderr: 'dogear: --value: not valid JSON; put strings and names in double quotes\n'
    })
})

test('an answer in place of the unit is a usage error that lists the units', async () => {
  await resting()
  const refused = await place.dogear(['answer', 'r-1', 'yes'])
  expect(refused.code).toBe(2)
  expect(linesOf(refused.stderr)).toEqual([
    'dogear: answer: the run has no unit "yes"; name one of its units, then the answer',
    'List the units with:',
    '  dogear show r-1'
  ])
  expect(await follow(refused)).toMatchObject({ code: 0 })
})

test.each([
  [
    'no answer',
    'aprove',
    [],
    'the run has no unit "aprove"; name one of its units, then the answer. Did you mean "approve"?'
  ],
  ['an unknown answer', 'missing', ['x'], 'the run has no unit "missing"; name one of its units, then the answer'],
  [
    'a value that is not JSON',
    'missing',
    ['--value', 'x'],
    'the run has no unit "missing"; name one of its units, then the answer'
  ]
])('an unknown unit with %s is refused as unknown, and no command names it', async (_, unit, words, message) => {
  await resting()
  const refused = await place.dogear(['answer', 'r-1', unit, ...words])
  expect(refused.code).toBe(2)
  expect(linesOf(refused.stderr)).toEqual([`dogear: answer: ${message}`, 'List the units with:', '  dogear show r-1'])
})

test('a file that is missing or not JSON is a usage error', async () => {
  await resting()
  place.write('bad.json', 'yes')
  const answer = (...words: readonly string[]): Promise<Ended> => place.dogear(['answer', 'r-1', 'approve', ...words])
  expect(await answer('--value-file', 'none.json')).toMatchObject({
    code: 2,
    stderr: 'dogear: --value-file: cannot read none.json: the file does not exist\n'
  })
  expect(await answer('--value-file', '.')).toMatchObject({
    code: 2,
    stderr: 'dogear: --value-file: cannot read .: it is a folder\n'
  })
  expect(await answer('--value-file', 'bad.json')).toMatchObject({
    code: 2,
    stderr: 'dogear: bad.json: not valid JSON; put a string in double quotes\n'
  })
  expect(await answer('--value-file', 'bad.json', '--value', '1')).toMatchObject({
    code: 2,
    stderr: 'dogear: --value and --value-file cannot be combined; use one of them\n'
  })
})

test('a file that is not UTF-8 is a usage error, and a byte order mark is ignored', async () => {
  await resting()
  await place.shell(String.raw`printf '"caf\351"' > latin1.json; printf '\357\273\277"ok"' > marked.json`)
  const answer = (file: string): Promise<Ended> => place.dogear(['answer', 'r-1', 'approve', '--value-file', file])
  expect(await answer('latin1.json')).toMatchObject({
    code: 2,
    stderr: 'dogear: --value-file: cannot read latin1.json: it is not UTF-8\n'
  })
  expect((await answer('marked.json')).code).toBe(0)
  await place.shell('cp latin1.json latin1.yml')
  expect((await place.dogear(['run', 'latin1.yml'])).stderr).toContain(
    'Cannot read workflow latin1.yml: it is not UTF-8'
  )
})

test('an answer to an unknown run exits with 3, and its output ends with the command that lists runs', async () => {
  await resting()
  const refused = await place.dogear(['answer', 'other', 'approve', '--value', 'true'])
  expect(refused.code).toBe(3)
  expect(linesOf(refused.stderr).at(-1)).toBe('  dogear runs')
})

test('`--value` for a question and `answer again` for a wait are refused, each with the correct command', async () => {
  await resting()
  const word = await place.dogear(['answer', 'r-1', 'approve', 'again'])
  expect(linesOf(word.stderr)).toEqual([
    'dogear: Cannot answer "approve" of run r-1: it waits for a value, not for again, keep or done: Publish?',
    'Answer approve with:',
    '  dogear answer r-1 approve --value JSON'
  ])
  place.write('w.yml', 'name: q\nsteps:\n  - { name: pay, idempotent: false, shell: exit 1 }\n')
  await place.dogear(['run', 'w.yml', '--id', 'question'])
  const value = await place.dogear(['answer', 'question', 'pay', '--value', '1'])
  expect([value.code, linesOf(value.stderr)]).toEqual([
    4,
    [
      'dogear: Cannot answer "pay" of run question: it does not wait for a value: "pay" may already have taken effect, and is not idempotent: it failed: exit code 1',
      'For example:',
      '  dogear answer question pay again'
    ]
  ])
  expect((await follow(value)).code).toBe(0)
})

test('`answer again` for a wait that is already answered is refused, and the message suggests a resume, not `--value`', async () => {
  await resting()
  await place.dogear(['answer', 'r-1', 'approve', '--value', 'true'])
  const refused = await place.dogear(['answer', 'r-1', 'approve', 'again'])
  expect(linesOf(refused.stderr)).toEqual([
    'dogear: Cannot answer "approve" of run r-1: its answer is recorded',
    'To run again from "approve" on, resume with `fromStep`',
    'Resume it in the program that started it. Show it with:',
    '  dogear show r-1'
  ])
})

test('`answer again` for a wait whose time limit has passed is refused, and the message suggests a resume, not `--value`', async () => {
  place = sandbox({ 'w.yml': 'steps: [{ name: approve, waitFor: { question: Go?, timeout: 50ms } }]' })
  await place.dogear(['run', 'w.yml', '--id', 'late'])
  await delay(60)
  expect(linesOf((await place.dogear(['answer', 'late', 'approve', 'again'])).stderr)).toEqual([
    'dogear: Cannot answer "approve" of run late: its time limit is over, and it ends with WAIT_TIMEOUT; resume until it waits again, then answer',
    'Resume with:',
    '  dogear resume late'
  ])
})

test('a missing or empty unit is refused with the command that lists the units', async () => {
  await resting()
  const missing = await place.dogear(['answer', 'r-1'])
  expect([missing.code, linesOf(missing.stderr).slice(0, 3)]).toEqual([
    2,
    ['dogear: missing required argument "unit"', 'List the units with:', '  dogear show r-1']
  ])
  const empty = await place.dogear(['answer', 'r-1', '', '--value', '1'])
  expect(linesOf(empty.stderr)[0]).toContain('Cannot answer "" of run r-1: the run has no such unit')
})

test('a missing answer to a step that does not wait is refused, and the example answers the unit that waits', async () => {
  await resting()
  const refused = await place.dogear(['answer', 'r-1', 'publish'])
  expect(refused.code).toBe(4)
  expect(linesOf(refused.stderr)).toEqual([
    'dogear: Cannot answer "publish" of run r-1: it needs no answer (not started); these units need an answer: approve',
    'Answer approve with:',
    '  dogear answer r-1 approve --value JSON'
  ])
})
