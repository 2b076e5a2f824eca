/** An output that is supplied after its step was declared done: later steps may have begun meanwhile. */
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import type { Answer, CheckpointStorage } from '../../src/index.js'
import { planRun, runOutcome, workflow } from '../../src/promise/index.js'

const done = (unit: string, output?: string): ReadonlyMap<string, Answer> =>
  new Map([[unit, { _tag: 'Done', ...(output === undefined ? {} : { output }) }]])

const PAY = { idempotent: false, run: () => Promise.reject<string>(new Error('no answer')) }

const paying = () => workflow('w').step('pay', PAY)

interface Options {
  readonly id: string
  readonly storage: CheckpointStorage
  readonly confirm?: ReadonlyMap<string, Answer>
}

const outputOf = (outcome: { readonly _tag: string; readonly checkpoint?: Checkpoint }, unit: string) =>
  [...(outcome.checkpoint?.completedSteps ?? [])].find((one) => one.unit === unit)?.output

const waiting = {
  'a step that waits': (options: Options) => runOutcome(paying().waitFor('ship'), options),
  'a step that sleeps': (options: Options) => runOutcome(paying().sleep('ship', { millis: 3_600_000 }), options),
  'a step whose code waits': (options: Options) =>
    runOutcome(
      paying().step('ship', async ({ step, waitFor }) => {
        await step('pack', () => 'packed')
        return await waitFor('carrier')
      }),
      options
    ),
  'a step of a sequence': (options: Options) =>
    runOutcome(
      workflow('w').sequence('all', (all) => all.step('pay', PAY).waitFor('ship')),
      options
    )
}

test.each(Object.entries(waiting))(
  '%s goes on waiting when an answer supplies the output of an earlier step',
  async (name, perform) => {
    const unit = name.endsWith('sequence') ? 'all/pay' : 'pay'
    const options = { id: 'r', storage: memoryStorage() }
    await perform(options)
    const first = await perform({ ...options, confirm: done(unit) })
    assert.ok(first._tag === 'Pending' && first.units.length === 1)
    const second = await perform({ ...options, confirm: done(unit, 'R-7') })
    assert.deepEqual(second._tag === 'Pending' ? second.units : second, first.units)
    assert.equal(outputOf(second, unit), 'R-7')
  }
)

test('a pending job stays pending when an answer supplies the output of an earlier step', async () => {
  const submitted: Array<unknown> = []
  const program = paying().step('train', {
    idempotent: false,
    job: {
      submit: ({ outputs }) => Promise.resolve(`job ${submitted.push(outputs.pay)}`),
      poll: () => Promise.resolve({ _tag: 'Unfinished' as const }),
      collect: () => Promise.resolve(1)
    }
  })
  const options = { id: 'r', storage: memoryStorage() }
  await runOutcome(program, options)
  const first = await runOutcome(program, { ...options, confirm: done('pay') })
  const second = await runOutcome(program, { ...options, confirm: done('pay', 'R-7') })
  assert.ok(first._tag === 'Pending' && second._tag === 'Pending')
  assert.deepEqual(second.units, first.units)
  assert.equal(submitted.length, 1)
})

test('one resume takes the answer Again about a step in doubt and the output of an earlier step', async () => {
  const program = paying().step('ship', { idempotent: false, run: () => Promise.reject(new Error('lost')) })
  const options = { id: 'r', storage: memoryStorage() }
  await runOutcome(program, options)
  await runOutcome(program, { ...options, confirm: done('pay') })
  const both = new Map([...done('pay', 'R-7'), ['ship', { _tag: 'Again' }] as const])
  const failed = await runOutcome(program, { ...options, confirm: both })
  assert.ok(failed._tag === 'Failed' && failed.step === 'ship')
  assert.equal(outputOf(failed, 'pay'), 'R-7')
})

test('a sub-step that was declared done without an output takes one from a later resume', async () => {
  const program = (ok: boolean) =>
    workflow('w').step('order', async ({ step }) => {
      const receipt = await step('pay', { idempotent: false }, () => Promise.reject<string>(new Error('no answer')))
      if (!ok) throw new Error('failed')
      return receipt
    })
  const options = { id: 'r', storage: memoryStorage() }
  await runOutcome(program(false), options)
  await runOutcome(program(false), { ...options, confirm: done('order/pay') })
  const { plan } = await planRun(program(true), { ...options, confirm: done('order/pay', 'R-7') })
  assert.deepEqual(
    plan.decisions.map(({ _tag }) => _tag),
    ['Retry', 'Skip']
  )
  const ended = await runOutcome(program(true), { ...options, confirm: done('order/pay', 'R-7') })
  assert.ok(ended._tag === 'Completed')
  assert.equal(ended.outputs.order, 'R-7')
})
