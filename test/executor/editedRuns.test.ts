/** Edits of a run, and the attempts and records that they leave. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { memoryData, memoryStorage } from '../../src/adapters/memory.js'
import type { StepContext } from '../../src/promise/index.js'
import { planRun, runOutcome, workflow } from '../../src/promise/index.js'

/** A process is killed in an agent that caught the failure of its sub-step `pay`. */
const killed = async (idempotent: boolean) => {
  const data = memoryData()
  const ran: Array<string> = []
  let isKilled = false
  let reach: () => void = () => undefined
  const reached = new Promise<void>((resolve) => (reach = resolve))
  const pay = () => {
    ran.push('pay')
    throw new Error('no reply')
  }
  const agent = async ({ step }: Pick<StepContext<unknown, unknown>, 'step'>) => {
    await step('pay', { idempotent }, pay).catch(() => undefined)
    if (isKilled) return 'done'
    reach()
    return await new Promise<string>(() => undefined)
  }
  void runOutcome(workflow('w').step('agent', agent), { id: 'r', storage: memoryStorage(data) })
  await reached
  isKilled = true
  const inserted = workflow('w').step('prepare', () => void ran.push('prepare'))
  return { ran, agent, inserted, options: { id: 'r', storage: memoryStorage(data) } }
}

describe('an edit of a run that was killed in a task whose sub-step had failed', () => {
  test('a step put before the task leaves a question about a sub-step that is not idempotent', async () => {
    const { ran, agent, inserted, options } = await killed(false)
    const edited = inserted.step('agent', agent)
    const refused = await runOutcome(edited, options)
    assert.ok(refused._tag === 'Refused' && refused.error._tag === 'Unconfirmed')
    assert.deepEqual(
      refused.error.questions.map(({ unit }) => unit),
      ['agent/pay']
    )
    assert.deepEqual(ran, ['pay'])
    const confirm = new Map([['agent/pay', { _tag: 'Done', output: null } as const]])
    assert.equal((await runOutcome(edited, { ...options, confirm }))._tag, 'Completed')
    assert.deepEqual(ran, ['pay', 'prepare'])
  })

  test('a step put after the task leaves no question', async () => {
    const { ran, agent, options } = await killed(false)
    const edited = workflow('w')
      .step('agent', agent)
      .step('report', () => void ran.push('report'))
    assert.equal((await runOutcome(edited, options))._tag, 'Completed')
    assert.deepEqual(ran, ['pay', 'report'])
  })

  test('a step put before the task makes an idempotent sub-step run again, as planned', async () => {
    const { ran, agent, inserted, options } = await killed(true)
    const edited = inserted.step('agent', agent)
    const { plan } = await planRun(edited, options)
    assert.deepEqual(
      plan.decisions.map(({ unit, _tag }) => `${unit} ${_tag}`),
      ['prepare Run', 'agent Retry', 'agent/pay Retry']
    )
    assert.equal((await runOutcome(edited, options))._tag, 'Completed')
    assert.deepEqual(ran, ['pay', 'prepare', 'pay'])
  })
})

test('an output that sets a variable which an edit captures completes the record, and nothing runs again', async () => {
  const options = { id: 'r', storage: memoryStorage() }
  let ran = 0
  const flow = (capture: { readonly capture?: string }) =>
    workflow('w')
      .sequence('s', (s) => s.step('a', { ...capture, run: () => ++ran }).step('b', () => ++ran))
      .step('c', ({ variables }) => variables.get('v') ?? null)
  await runOutcome(flow({}), options)
  const edited = flow({ capture: 'v' })
  const outputs = new Map([['s/a', 5]])
  assert.equal((await runOutcome(edited, { ...options, changes: 'ignore', outputs }))._tag, 'Completed')
  const { plan } = await planRun(edited, options)
  assert.ok(plan.decisions.every(({ _tag }) => _tag === 'Skip'))
  const again = await runOutcome(edited, { ...options, fromStep: 'c' })
  assert.ok(again._tag === 'Completed')
  assert.equal(again.outputs.c, 5)
  assert.equal(ran, 2)
})
