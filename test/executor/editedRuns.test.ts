/** Edits of a run, and the attempts and records that they leave. */
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { describe, test } from 'vitest'
import { memoryData, memoryStorage } from '../../src/adapters/memory.js'
import * as State from '../../src/domain/checkpoint/CheckpointState.js'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import * as StepError from '../../src/domain/data/StepError.js'
import * as StepFailure from '../../src/domain/data/StepFailure.js'
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
  return { ran, agent, options: { id: 'r', storage: memoryStorage(data) } }
}

describe('an edit of a run that was killed in a task whose sub-step had failed', () => {
  test.each([true, false])(
    'a step inserted before the killed task raises no question, and the task repeats its attempt, as planned (idempotent: %s)',
    async (idempotent) => {
      const { ran, agent, options } = await killed(idempotent)
      const edited = workflow('w')
        .step('prepare', () => void ran.push('prepare'))
        .step('agent', agent)
      const { plan } = await planRun(edited, options)
      assert.deepEqual(
        plan.decisions.map(({ unit, _tag }) => `${unit} ${_tag}`),
        ['prepare Run', 'agent Retry', 'agent/pay Skip']
      )
      assert.equal((await runOutcome(edited, options))._tag, 'Completed')
      assert.deepEqual(ran, ['pay', 'prepare'])
    }
  )

  test('a step inserted after the killed task raises no question, and the run completes', async () => {
    const { ran, agent, options } = await killed(false)
    const edited = workflow('w')
      .step('agent', agent)
      .step('report', () => void ran.push('report'))
    assert.equal((await runOutcome(edited, options))._tag, 'Completed')
    assert.deepEqual(ran, ['pay', 'report'])
  })
})

test('the option outputs supplies a variable that an edit captures: the record is completed, and nothing runs again', async () => {
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

describe('a step inserted before a task that waits in its code', () => {
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

describe('a step inserted before a task whose attempt is in flight', () => {
  const retry = { _tag: 'Constant', attempts: 3, delayMillis: 0 } as const

  const world = () => {
    let time = Date.parse('2026-01-02T03:04:05.000Z')
    const clock = {
      now: () => time,
      sleep: (millis: number, signal: AbortSignal) => () =>
        new Promise<void>((resolve) => {
          if (millis === 0) resolve()
          signal.addEventListener('abort', () => resolve(), { once: true })
        })
    }
    const data = memoryData()
    return {
      /** Each call is another process. */
      process: () => ({ id: 'r', storage: memoryStorage(data), environment: { clock } }),
      move: (millis: number) => void (time += millis)
    }
  }

  type Context = Pick<StepContext<unknown, unknown>, 'attempt' | 'sleep' | 'step'>

  const transient = (message: string) =>
    StepFailure.transient(StepError.make('E', message), 'notApplied') as unknown as Error

  /** Fails in attempt 1, and sleeps in attempt 2. `seen`: the number of each attempt; `isBroken`: it fails after the sleep, too. */
  const napping =
    (seen: Array<number>, isBroken = false) =>
    async (context: Context) => {
      seen.push(context.attempt)
      if (context.attempt === 1) throw transient('first')
      await context.sleep('nap', { millis: 1_000 })
      if (isBroken) throw transient(`attempt ${context.attempt}`)
      return 'over'
    }

  const attemptsOf = ({ state }: Checkpoint): ReadonlyArray<number> =>
    [...State.failures(state)].flatMap(({ attempts }) => attempts.map(({ attempt }) => attempt))

  test('a task that sleeps in attempt 2 continues as attempt 2', async () => {
    const { process, move } = world()
    const seen: Array<number> = []
    const trial = { run: napping(seen), retry }
    assert.equal((await runOutcome(workflow('w').step('trial', trial), process()))._tag, 'Pending')
    const edited = workflow('w')
      .step('prepare', () => null)
      .step('trial', trial)
    assert.equal((await runOutcome(edited, process()))._tag, 'Pending')
    move(1_000)
    assert.equal((await runOutcome(edited, process()))._tag, 'Completed')
    assert.deepEqual(seen, [1, 2, 2])
  })

  test('the task makes only as many attempts as its policy allows', async () => {
    const { process, move } = world()
    const seen: Array<number> = []
    const trial = { run: napping(seen, true), retry }
    await runOutcome(workflow('w').step('trial', trial), process())
    const edited = workflow('w')
      .step('prepare', () => null)
      .step('trial', trial)
    let outcome = await runOutcome(edited, process())
    for (let at = 0; at < 5 && outcome._tag === 'Pending'; at += 1) {
      move(1_000)
      outcome = await runOutcome(edited, process())
    }
    assert.ok(outcome._tag === 'Failed')
    assert.deepEqual(attemptsOf(outcome.checkpoint), [1, 2, 3])
    // Attempt 3 finds the sleep recorded.
    assert.deepEqual(seen, [1, 2, 2, 3])
  })

  test('the waiting attempt of a task keeps its number after two edits that each insert a step before the task', async () => {
    const { process, move } = world()
    const seen: Array<number> = []
    const trial = { run: napping(seen), retry }
    await runOutcome(workflow('w').step('trial', trial), process())
    const once = workflow('w')
      .step('prepare', () => null)
      .step('trial', trial)
    await runOutcome(once, process())
    const twice = workflow('w')
      .step('prepare', () => null)
      .wave('more', { a: () => 1, b: () => 2 })
      .step('trial', trial)
    const between = await runOutcome(twice, process())
    assert.ok(between._tag === 'Pending')
    assert.deepEqual([...State.inFlight(between.checkpoint.state)], [{ unit: 'trial', attempt: 2, suspended: true }])
    move(1_000)
    assert.equal((await runOutcome(twice, process()))._tag, 'Completed')
    assert.deepEqual(seen, [1, 2, 2])
  })

  test('a crash and a failure of the inserted step change no attempt of the task', async () => {
    const { process, move } = world()
    const seen: Array<number> = []
    const trial = { run: napping(seen), retry }
    await runOutcome(workflow('w').step('trial', trial), process())
    let mode: 'crash' | 'fail' | 'end' = 'crash'
    let reach: () => void = () => undefined
    const reached = new Promise<void>((resolve) => (reach = resolve))
    const prepare = async () => {
      reach()
      if (mode === 'crash') return await new Promise<null>(() => undefined)
      if (mode === 'fail') throw new Error('broken')
      return null
    }
    const edited = workflow('w').step('prepare', prepare).step('trial', trial)
    void runOutcome(edited, process())
    await reached
    mode = 'fail'
    const failed = await runOutcome(edited, process())
    assert.ok(failed._tag === 'Failed')
    assert.deepEqual(
      failed.failures.map(({ unit }) => unit),
      ['prepare']
    )
    mode = 'end'
    assert.equal((await runOutcome(edited, process()))._tag, 'Pending')
    move(1_000)
    assert.equal((await runOutcome(edited, process()))._tag, 'Completed')
    assert.deepEqual(seen, [1, 2, 2])
  })

  test.each(['completed', 'ignore'] as const)(
    'a step that a reorder moves before the task changes no attempt (changes: %s)',
    async (changes) => {
      const { process, move } = world()
      const seen: Array<number> = []
      const trial = { run: napping(seen), retry }
      const other = () => null
      await runOutcome(workflow('w').step('trial', trial).step('other', other), process())
      const edited = workflow('w').step('other', other).step('trial', trial)
      const refused = await runOutcome(edited, { ...process(), changes: 'strict' })
      assert.ok(refused._tag === 'Refused' && refused.error._tag === 'PlanError')
      assert.equal((await runOutcome(edited, { ...process(), changes }))._tag, 'Pending')
      move(1_000)
      assert.equal((await runOutcome(edited, { ...process(), changes }))._tag, 'Completed')
      assert.deepEqual(seen, [1, 2, 2])
    }
  )

  test('a rewind to a step before the inserted one starts the task after it with attempt 1', async () => {
    const { process, move } = world()
    const seen: Array<number> = []
    const trial = { run: napping(seen), retry }
    const first = workflow('w').step('first', () => null)
    await runOutcome(first.step('trial', trial), process())
    const prepare = () => {
      if (seen.length === 2) throw new Error('broken')
      return null
    }
    const edited = first.step('prepare', prepare).step('trial', trial)
    assert.equal((await runOutcome(edited, process()))._tag, 'Failed')
    seen.push(0)
    assert.equal((await runOutcome(edited, { ...process(), fromStep: 'first' }))._tag, 'Pending')
    move(1_000)
    assert.equal((await runOutcome(edited, process()))._tag, 'Completed')
    assert.deepEqual(seen, [1, 2, 0, 1, 2, 2])
  })

  test('a sub-step that is now declared non-idempotent still needs confirmation after the inserted step failed', async () => {
    const { process } = world()
    const ran: Array<string> = []
    let reach: () => void = () => undefined
    const reached = new Promise<void>((resolve) => (reach = resolve))
    const pay = async () => {
      reach()
      return await new Promise<null>(() => undefined)
    }
    void runOutcome(workflow('w').step('agent', { version: '1', run: ({ step }) => step('pay', pay) }), process())
    await reached
    const prepare = () => {
      ran.push('prepare')
      if (ran.length === 1) throw new Error('broken')
      return null
    }
    const edited = workflow('w')
      .step('prepare', prepare)
      .step('agent', {
        version: '2',
        run: ({ step }) => step('pay', { idempotent: false }, () => void ran.push('pay'))
      })
    assert.equal((await runOutcome(edited, process()))._tag, 'Failed')
    const outcome = await runOutcome(edited, process())
    assert.ok(outcome._tag === 'Failed')
    assert.deepEqual(
      outcome.failures.map(({ unit, error }) => `${unit} ${error.code ?? ''}`),
      ['agent/pay SUB_STEP_IN_DOUBT', 'agent SUB_STEP_IN_DOUBT']
    )
    assert.deepEqual(ran, ['prepare', 'prepare'])
  })
})

test('a failed group fails its wave even if an edit put a wait before an interrupted task of another', async () => {
  const data = memoryData()
  let reach: () => void = () => undefined
  const reached = new Promise<void>((resolve) => (reach = resolve))
  const work = async () => {
    reach()
    return await new Promise<null>(() => undefined)
  }
  const before = workflow('w').wave('all', { waits: { steps: (w) => w.step('work', work) }, fails: () => 1 })
  void runOutcome(before, { id: 'r', storage: memoryStorage(data) })
  await reached
  await setImmediate()
  const edited = (isBroken: boolean) =>
    workflow('w').wave('all', {
      waits: { steps: (w) => w.waitFor('ask').step('work', () => 'done') },
      fails: {
        version: '2',
        run: () => {
          if (isBroken) throw new Error('broken')
          return 2
        }
      }
    })
  const options = { id: 'r', storage: memoryStorage(data), changes: 'ignore', fromStep: 'all/fails' } as const
  const outcome = await runOutcome(edited(true), options)
  assert.ok(outcome._tag === 'Failed', JSON.stringify(outcome))
  assert.deepEqual(
    outcome.failures.map(({ unit, error }) => `${unit}: ${error.message}`),
    [
      'all/fails: broken',
      'all/waits/work: in flight when the process ended, and not started again because another group of the wave failed'
    ]
  )
  assert.equal((await runOutcome(edited(false), { id: 'r', storage: memoryStorage(data) }))._tag, 'Pending')
})
