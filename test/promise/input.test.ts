import assert from 'node:assert/strict'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import { RunError } from '../../src/index.js'
import { memoryStorage } from '../../src/adapters/memory.js'
import { planRun, resume, RunFailure, runOrResume, runOutcome, workflow } from '../../src/promise/index.js'

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
  ])('needs no input to go on: %s, it is the stored one', async (_, input) => {
    const options = { id: 'order-1', storage: memoryStorage(), ...input }
    assert.equal((await runOutcome(order(false), { ...options, input: { customer: 'Ada' } }))._tag, 'Failed')
    assert.equal((await runOutcome(order(), options))._tag, 'Completed')
    assert.deepEqual(await runOrResume(order(), options), { greet: 'hello Ada', sell: 'sold to Ada' })
  })

  test('of a workflow without a codec needs none either', async () => {
    const options = { id: 'echo-1', storage: memoryStorage() }
    const echo = workflow('echo').step('hello', ({ input }) => input)
    await runOrResume(echo, { ...options, input: { name: 'Ada' } })
    assert.deepEqual(await runOrResume(echo, options), { hello: { name: 'Ada' } })
  })

  test('is refused with another input than the stored one', async () => {
    const options = { id: 'order-1', storage: memoryStorage() }
    await runOrResume(order(), { ...options, input: { customer: 'Ada' } })
    const { outcome } = await failure(runOrResume(order(), { ...options, input: { customer: 'Bob' } }))
    assert.ok(outcome._tag === 'Refused')
    assert.equal(outcome.error._tag, 'InputChanged')
  })
})

describe('a new run of a workflow that needs an input', () => {
  test('is refused without one, and says what to do', async () => {
    const options = { id: 'order-1', storage: memoryStorage() }
    const outcome = await runOutcome(order(), options)
    assert.ok(outcome._tag === 'Refused' && outcome.error._tag === 'InputMissing')
    assert.match(RunError.describe(outcome.error), /give `input`/)
    const again = await failure(runOrResume(order(), options))
    assert.match(again.message, /^Run order-1 does not exist yet, and its workflow needs an input/)
  })
})

describe('another input from a step on', () => {
  const bob = { customer: 'Bob' }

  test('is planned, pinned and then used by that step and what follows', async () => {
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
  ])('without a step is refused by %s', async (_, call) => {
    const options = { id: 'order-1', storage: memoryStorage() }
    await runOutcome(order(false), { ...options, input: { customer: 'Ada' } })
    const { outcome } = await failure(call(order(), { ...options, input: bob }))
    assert.ok(outcome._tag === 'Refused')
    assert.equal(outcome.error._tag, 'InputChanged')
  })
})
