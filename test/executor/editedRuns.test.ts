/** Edits of a run, and the attempts and records that they leave. */
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { describe, test } from 'vitest'
import { memoryData, memoryStorage } from '../../src/adapters/memory.js'
import * as State from '../../src/domain/checkpoint/CheckpointState.js'
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

describe('a step put before a task that waits in its code', () => {
  const START = Date.parse('2026-01-02T03:04:05.000Z')

  const world = () => {
    let time = START
    const clock = {
      now: () => time,
      sleep: (_: number, signal: AbortSignal) => () =>
        new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    }
    const options = { id: 'r', storage: memoryStorage(), environment: { clock } }
    return { options, move: (millis: number) => void (time += millis) }
  }

  const at = (millis: number): string => new Date(START + millis).toISOString()

  const endsOf = (outcome: Awaited<ReturnType<typeof runOutcome>>) => {
    assert.equal(outcome._tag, 'Pending')
    return outcome.units.map((one) => `${one.unit} ${one._tag === 'Timer' ? one.wakeAt : 'until' in one && one.until}`)
  }

  const trial = async ({ sleep }: Pick<StepContext<unknown, unknown>, 'sleep'>) => {
    await sleep('nap', { millis: 1_000 })
    return 'over'
  }

  test('a timer ends at the time that the plan shows', async () => {
    const { options, move } = world()
    await runOutcome(workflow('w').step('trial', trial), options)
    move(600)
    const edited = workflow('w')
      .step('prepare', () => null)
      .step('trial', trial)
    const { plan } = await planRun(edited, options)
    const nap = plan.decisions.find(({ unit }) => unit === 'trial/nap')
    assert.deepEqual(nap?.reason, { _tag: 'TimerPending', wakeAt: at(1_000) })
    for (let start = 0; start < 3; start += 1)
      assert.deepEqual(endsOf(await runOutcome(edited, options)), [`trial/nap ${at(1_000)}`])
    move(400)
    assert.equal((await runOutcome(edited, options))._tag, 'Completed')
  })

  test('a wait for an answer keeps its time limit', async () => {
    const { options, move } = world()
    const ask = async ({ waitFor }: Pick<StepContext<unknown, unknown>, 'waitFor'>) =>
      await waitFor('ok', { timeoutMillis: 1_000 })
    await runOutcome(workflow('w').step('ask', ask), options)
    move(600)
    const edited = workflow('w')
      .step('prepare', () => null)
      .step('ask', ask)
    for (let start = 0; start < 3; start += 1)
      assert.deepEqual(endsOf(await runOutcome(edited, options)), [`ask/ok ${at(1_000)}`])
    move(400)
    const ended = await runOutcome(edited, options)
    assert.ok(ended._tag === 'Failed')
    assert.match(JSON.stringify([...State.failures(ended.checkpoint.state)]), /WAIT_TIMEOUT/)
  })

  test('the next attempt of a task that failed starts its waits again, as planned', async () => {
    const { options, move } = world()
    let isBroken = true
    const broken = async ({ sleep }: Pick<StepContext<unknown, unknown>, 'sleep'>) => {
      const nap = sleep('nap', { millis: 1_000 })
      if (!isBroken) return await nap
      await setImmediate()
      throw new Error('broken')
    }
    assert.equal((await runOutcome(workflow('w').step('trial', broken), options))._tag, 'Failed')
    isBroken = false
    move(600)
    const edited = workflow('w')
      .step('prepare', () => null)
      .step('trial', broken)
    const { plan } = await planRun(edited, options)
    assert.deepEqual(
      plan.decisions.map(({ unit, _tag }) => `${unit} ${_tag}`),
      ['prepare Run', 'trial Retry']
    )
    assert.deepEqual(endsOf(await runOutcome(edited, options)), [`trial/nap ${at(1_600)}`])
  })

  test.each([1, 2])('the groups of a wave keep their timers, with a concurrency of %d', async (concurrency) => {
    const { options, move } = world()
    const both = [{ a: trial, b: trial }, { concurrency }] as const
    await runOutcome(workflow('w').wave('both', ...both), options)
    move(600)
    const edited = workflow('w')
      .step('prepare', () => null)
      .wave('both', ...both)
    for (let start = 0; start < 3; start += 1)
      assert.deepEqual(endsOf(await runOutcome(edited, options)), [
        `both/a/nap ${at(1_000)}`,
        `both/b/nap ${at(1_000)}`
      ])
    move(400)
    assert.equal((await runOutcome(edited, options))._tag, 'Completed')
  })
})
