import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { describe, test, vi } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import * as t from 'io-ts'
import * as dogear from '../../src/promise/index.js'
import type { Program } from '../../src/executor/program/Program.js'

const failing = dogear.workflow('w').step('one', () => Promise.reject(new Error('no')))

describe('isRunFailure', () => {
  test('isRunFailure accepts a RunFailure of another copy of the module', async () => {
    vi.resetModules()
    const other = await import('../../src/promise/index.js')
    assert.notEqual(other.RunFailure, dogear.RunFailure)
    const error: unknown = await other
      .run(failing, { id: 'r', storage: memoryStorage() })
      .catch((thrown: unknown) => thrown)
    assert.ok(dogear.isRunFailure(error))
    assert.equal(error.outcome._tag, 'Failed')
    for (const wrong of [new Error('no'), { name: 'RunFailure' }, 'RunFailure', null, undefined])
      assert.equal(dogear.isRunFailure(wrong), false)
  })
})

test('Node.js prints an uncaught RunFailure without its checkpoint', async () => {
  const error: unknown = await dogear
    .run(failing, { id: 'r', storage: memoryStorage() })
    .catch((thrown: unknown) => thrown)
  const printed = inspect(error)
  assert.match(printed, /Run r failed in step 1 \(one\): no/)
  assert.doesNotMatch(printed, /checkpoint|fingerprint/)
})

test('the stack of a RunFailure has the line that awaits the call, but no line of the library', async () => {
  const [storage, none] = [memoryStorage(), { id: 'none', storage: memoryStorage() }]
  const calls = [
    () => dogear.run(failing, { id: 'r', storage }),
    () => dogear.resume(failing, none),
    () => dogear.runOrResume(failing, { id: 's', storage }),
    () => dogear.start(failing, { id: 'r', storage }),
    () => dogear.poll(failing, none),
    () => dogear.fork({ ...none, fromStep: 'one' }),
    () => dogear.viewRun({ ...none, id: '/' }),
    () => dogear.listRuns({} as never)
  ]
  for (const call of calls) {
    const callers = async () => void (await call())
    const error = await callers().catch((thrown: unknown) => thrown)
    assert.ok(dogear.isRunFailure(error))
    assert.match(error.stack ?? '', /^RunFailure: /)
    assert.match(error.stack ?? '', /^ {4}at (async )?callers .*runFailure\.test\.ts/m, String(call))
    assert.doesNotMatch(error.stack ?? '', /^ {4}at .*\/src\//m, String(call))
  }
})

describe('the message of a RunFailure', () => {
  const messageOf = (flow: Program<unknown>): Promise<string> =>
    dogear.run(flow, { id: 'r', storage: memoryStorage() }).then(
      () => assert.fail('it completed'),
      (error: Error) => error.message
    )

  test('the message has an error once if a task fails with the error of its sub-step', async () => {
    const agent = dogear
      .workflow('w')
      .step('agent', ({ step }) => step('turn', () => Promise.reject(new Error('no answer'))))
    assert.equal(await messageOf(agent), 'Run r failed in step 1 (agent): turn: no answer')
  })

  test('the message says that a step or sub-step is not retried because its error is permanent', async () => {
    const retry = { attempts: 3, delayMillis: 0 }
    const fails = () => Promise.reject(new Error('no'))
    const why = 'no further retry, because the error is permanent'
    const one = dogear.workflow('w').step('one', { retry, run: fails })
    assert.equal(await messageOf(one), `Run r failed in step 1 (one): no; ${why}: one`)
    const inner = dogear.workflow('w').step('agent', ({ step }) => step('turn', { retry }, fails))
    assert.equal(await messageOf(inner), `Run r failed in step 1 (agent): turn: no; ${why}: agent/turn`)
    let tries = 0
    const twice = dogear.workflow('w').step('one', {
      retry,
      run: () => Promise.reject(Object.assign(new Error('no'), { code: (tries += 1) < 2 ? 'ECONNRESET' : 'EOTHER' }))
    })
    assert.equal(await messageOf(twice), `Run r failed in step 1 (one): no; ${why}: one`)
    assert.equal(tries, 2)
    let attempts = 0
    const thrice = dogear.workflow('w').step('one', {
      retry,
      run: () => Promise.reject(Object.assign(new Error('no'), { code: (attempts += 1) < 3 ? 'ECONNRESET' : 'EOTHER' }))
    })
    assert.equal(await messageOf(thrice), 'Run r failed in step 1 (one): no')
    const checked = dogear.workflow('w').step('one', { retry, after: () => false, run: () => 1 })
    assert.doesNotMatch(await messageOf(checked), /permanent/)
  })

  test('the message has both errors if a task fails with another error than its sub-step', async () => {
    const agent = dogear.workflow('w').step('agent', ({ step }) =>
      step('turn', () => Promise.reject(new Error('no answer'))).catch(() => {
        throw new Error('gave up')
      })
    )
    assert.equal(await messageOf(agent), 'Run r failed in step 1 (agent): turn: no answer; gave up')
  })
})

test('the message of a refused plan begins with the id of the run, and other refusals have no prefix', async () => {
  const storage = memoryStorage()
  await assert.rejects(dogear.run(failing, { id: 'r', storage }))
  const unknown = dogear.resume(failing, { id: 'r', storage, fromStep: 'two' })
  await assert.rejects(unknown, {
    message: 'Run r: Cannot resume this run:\n  step "two" not found; steps: "one"'
  })
  const exists = dogear.run(failing, { id: 'r', storage })
  await assert.rejects(exists, { message: 'Run r already exists; choose another id, or resume that run' })
  await assert.rejects(dogear.run(failing, { id: 'r', storage, extra: 1 } as never), /^RunFailure: These options are/)
})

test('the promise of a stopped run rejects with a message that says to resume', async () => {
  const storage = memoryStorage()
  const waiting = dogear
    .workflow('w')
    .step('one', ({ signal }) => new Promise((done) => signal.addEventListener('abort', done)))
  const stopped = dogear.run(waiting, { id: 'r', storage, signal: AbortSignal.abort() })
  await assert.rejects(stopped, { message: 'Run r was stopped before step 1 (one): aborted; resume it' })
  const stop = new AbortController()
  const inside = dogear.workflow('w').step('one', ({ signal }) => {
    stop.abort()
    signal.throwIfAborted()
  })
  await assert.rejects(dogear.run(inside, { id: 's', storage, signal: stop.signal }), {
    message: 'Run s was stopped in step 1 (one): aborted; resume it'
  })
})

test.each([
  [
    'an answer',
    dogear.workflow('w').waitFor('ask'),
    'Run r is pending: "ask" waits for an answer; call answer with unit "ask" and a value, then resume the run'
  ],
  [
    'several answers',
    dogear.workflow('w').step('t', ({ waitFor }) => Promise.all([waitFor('a'), waitFor('b')])),
    'Run r is pending: "t/a" waits for an answer, "t/b" waits for an answer; call answer for each, then resume the run'
  ],
  [
    'a time',
    dogear.workflow('w').sleep('nap', { until: '2126-01-02T03:04:05Z' }),
    'Run r is pending: "nap" sleeps until 2126-01-02T03:04:05.000Z; then resume the run'
  ]
])('the promise of a run that waits for %s rejects with what to do', async (_, flow, message) => {
  const failed = dogear.run(flow, { id: 'r', storage: memoryStorage() })
  await assert.rejects(failed, { message })
})

test('the promise of a run whose answer its schema refuses rejects with the reason', async () => {
  const options = { id: 'r', storage: memoryStorage() }
  const flow = dogear.workflow('w').waitFor('ask', { output: t.boolean })
  await dogear.runOutcome(flow, options)
  await dogear.answer({ ...options, unit: 'ask', value: 'yes' })
  await assert.rejects(dogear.resume(flow, options), {
    message:
      'Run r is pending: the answer to "ask" was rejected: expected boolean; "ask" waits for an answer; call answer with unit "ask" and a value, then resume the run'
  })
  const again = await dogear.runOutcome(flow, options)
  assert.ok(again._tag === 'Pending' && again.rejected === undefined)
})

describe('planRun', () => {
  test('planRun returns only those options that planResume takes', async () => {
    const storage = memoryStorage()
    await dogear.runOutcome(failing, { id: 'r', storage })
    const { options } = await dogear.planRun(failing, { id: 'r', storage, environment: {}, changes: 'ignore' })
    assert.deepEqual(Object.keys(options).sort(), ['changes', 'evidence', 'recovered'])
  })

  test('a resume takes the options that planRun returns', async () => {
    const host = { id: 'r', storage: memoryStorage() }
    await dogear.runOutcome(failing, host)
    const { options } = await dogear.planRun(failing, host)
    const { _tag } = await dogear.runOutcome(failing, { ...host, ...options })
    assert.equal(_tag, 'Failed')
  })
})

test('the refusal of a changed and an inserted step names the first of them, and fromStep with it runs', async () => {
  const options = { id: 'r', storage: memoryStorage() }
  await dogear.run(
    dogear
      .workflow('w')
      .step('a', () => 1)
      .step('report', () => 2),
    options
  )
  const edited = dogear
    .workflow('w')
    .step('a', () => 1)
    .step('check', () => 3)
    .step('report', { version: '2', run: () => 4 })
  const error: unknown = await dogear.resume(edited, options).catch((thrown: unknown) => thrown)
  assert.ok(dogear.isRunFailure(error))
  assert.match(error.message, /\nUndo the edits, set fromStep: 'check', or accept them with changes: 'ignore'$/)
  assert.deepEqual(await dogear.resume(edited, { ...options, fromStep: 'check' }), { a: 1, check: 3, report: 4 })
})
