import assert from 'node:assert/strict'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import { RunError } from '../../src/index.js'
import { memoryStorage } from '../../src/adapters/memory.js'
import { planRun, resume, run, RunFailure, runOrResume, runOutcome, workflow } from '../../src/promise/index.js'

const Order = t.type({ customer: t.string })

const order = (passes = true) =>
  workflow('order', { input: Order })
    .step('greet', { output: t.string, run: ({ input }) => `hello ${input.customer}` })
    .step('sell', {
      output: t.string,
      run: ({ input }) => {
        if (!passes) throw new Error('closed')
        return `sold to ${input.customer}`
      }
    })

const failure = async (promise: Promise<unknown>): Promise<RunFailure> => {
  const error = await promise.then(
    () => assert.fail('it resolved'),
    (rejected: unknown) => rejected
  )
  assert.ok(error instanceof RunFailure)
  return error
}

describe('an existing run', () => {
  test.each([
    ['left out', {}],
    ['undefined', { input: undefined }]
  ])('an existing run resumes with the stored input if the input is %s', async (_, input) => {
    const options = { id: 'order-1', storage: memoryStorage(), ...input }
    assert.equal((await runOutcome(order(false), { ...options, input: { customer: 'Ada' } }))._tag, 'Failed')
    assert.equal((await runOutcome(order(), options))._tag, 'Completed')
    assert.deepEqual(await runOrResume(order(), options), { greet: 'hello Ada', sell: 'sold to Ada' })
  })

  test('an existing run of a workflow without an input codec resumes without input', async () => {
    const options = { id: 'echo-1', storage: memoryStorage() }
    const echo = workflow('echo').step('hello', ({ input }) => input)
    await runOrResume(echo, { ...options, input: { name: 'Ada' } })
    assert.deepEqual(await runOrResume(echo, options), { hello: { name: 'Ada' } })
  })

  test('an existing run is refused with an input that differs from the stored one', async () => {
    const options = { id: 'order-1', storage: memoryStorage() }
    await runOrResume(order(), { ...options, input: { customer: 'Ada' } })
    const { outcome } = await failure(runOrResume(order(), { ...options, input: { customer: 'Bob' } }))
    assert.ok(outcome._tag === 'Refused')
    assert.equal(outcome.error._tag, 'InputChanged')
  })
})

describe('a new run that requires input', () => {
  test('a new run that requires input is refused without one, and the error says to pass it', async () => {
    const options = { id: 'order-1', storage: memoryStorage() }
    const outcome = await runOutcome(order(), options)
    assert.ok(outcome._tag === 'Refused' && outcome.error._tag === 'InputMissing')
    assert.match(RunError.describe(outcome.error), /Pass `input`/)
    for (const again of [await failure(runOrResume(order(), options)), await failure(run(order(), options as never))])
      assert.match(again.message, /^Run order-1 cannot start without an input/)
  })
})

describe('a replaced input', () => {
  const bob = { customer: 'Bob' }

  test('a planned replaced input is used by the step of fromStep and all later ones', async () => {
    const options = { id: 'order-1', storage: memoryStorage() }
    await runOutcome(order(false), { ...options, input: { customer: 'Ada' } })
    const how = { ...options, fromStep: 'sell', input: bob }
    const { plan, hash } = await planRun(order(), how)
    assert.deepEqual([plan.input, plan.variables.get('customer')], [bob, 'Bob'])
    const outputs = await resume(order(), { ...how, planHash: hash })
    assert.deepEqual(outputs, { greet: 'hello Ada', sell: 'sold to Bob' })
    assert.deepEqual(await runOrResume(order(), { ...options, input: bob }), outputs)
  })

  test.each([
    ['resume', resume],
    ['runOrResume', runOrResume],
    ['planRun', planRun]
  ])('%s refuses a replaced input without fromStep', async (_, call) => {
    const options = { id: 'order-1', storage: memoryStorage() }
    await runOutcome(order(false), { ...options, input: { customer: 'Ada' } })
    const { outcome } = await failure(call(order(), { ...options, input: bob }))
    assert.ok(outcome._tag === 'Refused')
    assert.equal(outcome.error._tag, 'InputChanged')
  })
})
