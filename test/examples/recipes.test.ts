/** The recipes that need no server: each dies in a step, is started again, and does nothing twice. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { fileRequests, jsonFileStorage } from '../../src/adapters/json-file/index.js'
import { pause, start, viewRun, workflow } from '../../src/promise/index.js'
import { type Recipe, recipe, until } from './recipes.js'

// Each test starts and kills several processes.
vi.setConfig({ testTimeout: 120_000 })

let place: Recipe
afterEach(() => place.remove())

/** Edits the copy of a recipe, as its reader would. */
const edit = (name: string, from: string, to: string): void => {
  const path = place.file(`${name}.mjs`)
  const text = readFileSync(path, 'utf8')
  expect(text).toContain(from)
  writeFileSync(path, text.replace(from, to))
}

const KILLED = { code: null, signal: 'SIGKILL' }

test.each(['model 1', 'temperature Paris', 'model 4', 'model 6'])(
  'the agent that is killed before "%s" repeats no turn and no tool',
  async (line) => {
    place = recipe('agent')
    const words = ['trip-1', 'Paris or Rome?']
    expect(await place.run(words, line)).toMatchObject(KILLED)
    expect(await place.run(words)).toEqual({ code: 0, signal: null, output: 'Booked Rome: ticket to Rome\n' })
    expect([...place.log()].sort()).toEqual(
      ['book Rome', 'model 1', 'model 4', 'model 6', 'temperature Paris', 'temperature Rome'].sort()
    )
  }
)

test('the agent that is killed in a tool that is not idempotent asks before it uses the tool again', async () => {
  place = recipe('agent')
  expect(await place.run(['trip-1', 'Paris or Rome?'], 'book Rome')).toMatchObject(KILLED)
  const { code, output } = await place.run(['trip-1', 'Paris or Rome?'])
  expect(code).toBe(1)
  expect(output).toMatch(/chat\/book-2.*not idempotent/)
  expect(place.log()).not.toContain('book Rome')
})

test.each([
  ['true', 'publish app-1.2.3.tgz'],
  ['false', 'discard app-1.2.3.tgz']
])('the release, killed before it asks and again before it ends, obeys the answer %s once', async (answer, end) => {
  place = recipe('approval')
  const run = ['run', 'release-1']
  const question = 'mail: publish app-1.2.3.tgz? Answer release-1'
  expect(await place.run(run, question)).toMatchObject(KILLED)
  const pending = { code: 75, output: 'release-1 waits at approve: Publish?\n' }
  expect(await place.run(run)).toMatchObject(pending)
  expect(await place.run(run)).toMatchObject(pending)
  expect(await place.run(['answer', 'release-1', answer])).toMatchObject({ code: 0 })
  expect(await place.run(run, end)).toMatchObject(KILLED)
  expect(await place.run(run)).toMatchObject({ code: 0, output: 'release-1: Completed\n' })
  expect(place.log()).toEqual(['build', question, end])
})

test('the release says why it failed, and why it still waits after an answer of the wrong type', async () => {
  place = recipe('approval')
  const failed = await place.run(['run', 'release-1'], undefined, { DOGEAR_TEST_FAIL: 'build' })
  expect(failed).toMatchObject({ code: 1, output: 'Run release-1 failed in step 1 (build): no network\n' })
  edit('approval', "question: 'Publish?',", "question: 'Publish?', output: boolean,")
  edit('approval', 'const [,', "import { boolean } from 'io-ts'\nconst [,")
  const waits = 'release-1 waits at approve: Publish?\n'
  expect(await place.run(['run', 'release-1'])).toMatchObject({ code: 75, output: waits })
  expect(await place.run(['answer', 'release-1', '"yes"'])).toMatchObject({ code: 0 })
  const { output } = await place.run(['run', 'release-1'])
  expect(output).toMatch(/^release-1: the answer of \S+ is not boolean\n/)
  expect(output.endsWith(waits)).toBe(true)
})

test('the release says in one line why it takes no second answer', async () => {
  place = recipe('approval')
  expect(await place.run(['run', 'release-1'])).toMatchObject({ code: 75 })
  expect(await place.run(['answer', 'release-1', 'true'])).toMatchObject({ code: 0 })
  const { code, output } = await place.run(['answer', 'release-1', 'false'])
  expect([code, output]).toEqual([1, expect.stringMatching(/^"approve" of run release-1 already has an answer.*\n$/)])
})

test.each([[['answer', 'release-1', 'yes']], [['answer', 'release-1']]])(
  'the release refuses a missing or invalid answer, and prints a valid example: %j',
  async (words) => {
    place = recipe('approval')
    const { code, output } = await place.run(words)
    expect([code, output]).toEqual([2, `The answer must be JSON, such as true or '"no"'\n`])
  }
)

/** Two seconds, in days. */
const SHORT = '0.00002'

test('a process that starts later wakes a sleeping trial once, at its time', async () => {
  place = recipe('trial')
  const first = place.start(['ada', SHORT])
  await until('the trial sleeps', () => first.output().includes('sleeps until 2'))
  process.kill(first.pid, 'SIGKILL')
  expect(await first.ended).toMatchObject(KILLED)
  const end = 'mail to ada: your trial has ended'
  expect(await place.run([], end)).toMatchObject(KILLED)
  const last = place.start([])
  await until('the trial ends', () => last.output().includes('trial-ada: Completed'))
  process.kill(last.pid, 'SIGTERM')
  expect(await last.ended).toMatchObject({ code: 0, signal: null })
  expect(place.log()).toEqual(['mail to ada: welcome', end])
})

test('a killed trial continues when the same command starts it again', async () => {
  place = recipe('trial')
  const words = ['ada', SHORT]
  expect(await place.run(words, 'mail to ada: welcome')).toMatchObject(KILLED)
  const last = place.start(words)
  await until('the trial ends', () => last.output().includes('trial-ada: Completed'))
  process.kill(last.pid, 'SIGTERM')
  expect(await last.ended).toMatchObject({ code: 0, signal: null })
  expect(place.log()).toEqual(['mail to ada: welcome', 'mail to ada: your trial has ended'])
})

test('a child run that fails reports the reason to its parent', async () => {
  place = recipe('child-run')
  const { code, output } = await place.run(['march'], undefined, { DOGEAR_TEST_FAIL: 'total of ada' })
  expect(code).toBe(1)
  expect(output).toContain('Run march.ada failed in step 1 (total): no network')
  expect(await place.run(['march'])).toMatchObject({ code: 0, output: 'Completed 800\n' })
})

test('a child run can be paused alone: its parent then fails, and a resume of the parent continues the child', async () => {
  place = recipe('child-run')
  writeFileSync(place.file('hold'), '')
  edit(
    'child-run',
    '    log(`total of',
    "    await (await import('node:timers/promises')).setTimeout(1)\n    log(`total of"
  )
  const parent = place.start(['march'], undefined, { DOGEAR_TEST_HOLD: 'hold' })
  const options = {
    id: 'march.ada',
    storage: jsonFileStorage(place.file('state')),
    environment: { requests: fileRequests(place.file('state')) }
  }
  await until('the child runs', async () => (await viewRun(options))?.status === 'running')
  expect(await pause(options)).toMatchObject({ _tag: 'Requested' })
  rmSync(place.file('hold'))
  const { code, output } = await parent.ended
  expect(code).toBe(1)
  expect(output).toContain('Run march.ada was stopped before step 2 (booking): paused; resume it')
  expect((await viewRun(options))?.status).toBe('paused')
  expect(await place.run(['march'])).toMatchObject({ code: 0, output: 'Completed 800\n' })
})

test('a parent waits for a child that another process runs', async () => {
  place = recipe('child-run')
  edit('child-run', '10_000', '100')
  const storage = jsonFileStorage(place.file('state'))
  const stopping = new AbortController()
  const invoice = workflow('invoice').step('total', ({ signal }) => delay(60_000, 0, { signal }))
  const child = { id: 'march.ada', storage, input: { customer: 'ada' }, signal: stopping.signal }
  const { outcome } = await start(invoice, child)
  const parent = place.start(['march'])
  await until('the parent waits', async () => (await viewRun({ id: 'march', storage }))?.status === 'pending')
  stopping.abort()
  expect((await outcome)._tag).toBe('Interrupted')
  expect(await parent.ended).toMatchObject({ code: 0, output: 'Completed 800\n' })
})

test.each(['total of ada', 'mail to grace: 500'])(
  'the child runs and their parent continue after a kill before "%s", and no step runs twice',
  async (line) => {
    place = recipe('child-run')
    expect(await place.run(['march'], line)).toMatchObject(KILLED)
    expect(await place.run(['march'])).toMatchObject({ code: 0, output: 'Completed 800\n' })
    const all = ['mail to ada: 300', 'mail to grace: 500', 'total of ada', 'total of grace']
    expect([...place.log()].sort()).toEqual(all)
    for (const id of ['march', 'march.ada', 'march.grace'])
      expect(existsSync(place.file(`state/runs/${id}`))).toBe(true)
  }
)

test('a resume has spans for the steps that it runs, and none for those that it skips', async () => {
  place = recipe('opentelemetry')
  expect(await place.run(['report-1'], 'send 30 rows')).toMatchObject(KILLED)
  expect(await place.run(['report-1'])).toMatchObject({ code: 0, output: '' })
  const spans = ['span load/pages, attempt 1: UNSET', 'span load, attempt 1: UNSET', 'span send, attempt 1: UNSET']
  expect(place.log()).toEqual(['pages', ...spans.slice(0, 2), 'send 30 rows', ...spans.slice(2)])
})

test('the span of an attempt has an error if the attempt fails, and none if it sleeps', async () => {
  place = recipe('opentelemetry')
  edit(
    'opentelemetry',
    'async ({ step }) => {',
    "async ({ step, sleep }) => {\n    await sleep('quota', { millis: 100 })"
  )
  edit('opentelemetry', 'environment: { around }', 'environment: { around }, wait: true')
  const { code, output } = await place.run(['report-1'], undefined, { DOGEAR_TEST_FAIL: 'send 30 rows' })
  expect(code).toBe(1)
  expect(output).toContain('no network')
  expect(place.log()).toEqual([
    'span load, attempt 1: UNSET',
    'pages',
    'span load/pages, attempt 1: UNSET',
    'span load, attempt 1: UNSET',
    'span send, attempt 1: ERROR'
  ])
})
