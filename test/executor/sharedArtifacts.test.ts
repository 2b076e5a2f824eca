/** Several units put one artifact: the last content counts, whichever unit completes last and whichever record a resume drops. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { describe, test } from 'vitest'
import { memoryArtifacts, memoryData, memoryRequests, memoryStorage } from '../../src/adapters/memory.js'
import type { Event } from '../../src/index.js'
import { runChanges } from '../../src/index.js'
import { nodeEnvironment } from '../../src/adapters/node/index.js'
import { fork, isRunFailure, planRun, poll, runOutcome, workflow } from '../../src/promise/index.js'

const newRun = () => {
  const data = memoryData()
  const environment = { requests: memoryRequests(data), artifacts: memoryArtifacts(data) }
  return { id: 'r', storage: memoryStorage(data), environment }
}

interface Writing {
  readonly artifacts: { readonly put: (id: string, data: string) => Promise<unknown> }
}

/** Puts first, and completes last. */
const early = async ({ artifacts }: Writing) => {
  await artifacts.put('log', 'early')
  await sleep(30)
}

const late = async ({ artifacts }: Writing) => {
  await sleep(10)
  await artifacts.put('log', 'late')
}

describe('the first unit to put an artifact, which completes last', () => {
  const flows = {
    'a task whose sub-step puts the same artifact': workflow('w').step('t', async ({ artifacts, step }) => {
      await artifacts.put('log', 'early')
      await step('s', ({ artifacts }) => artifacts.put('log', 'late').then(() => null))
    }),
    'a group of a wave': workflow('w').wave('v', { early, late }),
    'a group of a wave that is not idempotent': workflow('w').wave('v', {
      early: { idempotent: false, run: early },
      late: { idempotent: false, run: late }
    }),
    'a parallel sub-step': workflow('w').step('t', async ({ step }) => {
      await Promise.all([step('early', early), step('late', late)])
    })
  }
  test.each(Object.keys(flows) as Array<keyof typeof flows>)(
    'the record of the first unit to put an artifact has the last content if it completes last: %s',
    async (what) => {
      const options = newRun()
      let mails = 0
      const flow = (flows[what] as (typeof flows)['a group of a wave']).step('mail', () => void mails++)
      for (let n = 0; n < 3; n++) assert.equal((await runOutcome(flow, options))._tag, 'Completed')
      assert.equal(mails, 1)
    }
  )

  test('two puts of one artifact at once are recorded as the store has them', async () => {
    const options = newRun()
    const { artifacts } = options.environment
    const slowFirst: Array<number> = [20, 0]
    const put: typeof artifacts.put = (run, id, data) => async () => {
      const stored = await artifacts.put(run, id, data)()
      await sleep(slowFirst.shift() ?? 0)
      return stored
    }
    const environment = { ...options.environment, artifacts: { ...artifacts, put } }
    const flow = workflow('w').step('t', async ({ artifacts }) => {
      await Promise.all([artifacts.put('log', 'first'), artifacts.put('log', 'second')])
    })
    let runs = 0
    const counted = flow.step('count', () => void runs++)
    for (let n = 0; n < 2; n++) assert.equal((await runOutcome(counted, { ...options, environment }))._tag, 'Completed')
    assert.equal(runs, 1)
  })
})

describe('puts of one artifact that fail or hang', () => {
  const around = (options: ReturnType<typeof newRun>, put: (before: number) => Promise<void> | undefined) => {
    const { artifacts } = options.environment
    let before = 0
    const faulty: typeof artifacts.put = (run, id, data) => async () => {
      await put(before++)
      return await artifacts.put(run, id, data)()
    }
    return { ...options, environment: { ...options.environment, artifacts: { ...artifacts, put: faulty } } }
  }

  test('a put that rejected does not fail the next one', async () => {
    const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET' })
    const options = around(newRun(), (before) => (before === 0 ? Promise.reject(reset) : undefined))
    const flow = workflow('w').step('t', {
      retry: { attempts: 2, delayMillis: 1 },
      run: ({ artifacts }) => artifacts.put('log', 'x').then(() => null)
    })
    assert.equal((await runOutcome(flow, options))._tag, 'Completed')
  })

  test('a put of an attempt that is over does not hold up a later step', async () => {
    const options = around(newRun(), (before) => (before === 0 ? new Promise(() => undefined) : undefined))
    const flow = workflow('w')
      .step('hung', async ({ artifacts }) => {
        await Promise.race([artifacts.put('log', 'x'), sleep(10)])
      })
      .step('next', ({ artifacts }) => artifacts.put('log', 'y').then(() => null))
    assert.equal((await runOutcome(flow, options))._tag, 'Completed')
  })

  test('a store that changes an id names one artifact, with the last content', async () => {
    const options = newRun()
    const { artifacts } = options.environment
    const put: typeof artifacts.put = (run, id, data) => artifacts.put(run, id.toLowerCase(), data)
    let puts = 0
    const environment = { ...options.environment, artifacts: { ...artifacts, put } }
    const flow = workflow('w').step('t', async ({ artifacts }) => {
      for (const id of ['Log', 'log', 'Log']) await artifacts.put(id, `put as ${id} of ${++puts}`)
    })
    for (let n = 0; n < 2; n++) assert.equal((await runOutcome(flow, { ...options, environment }))._tag, 'Completed')
  })
})

describe('dropping the last record of an artifact', () => {
  const puts =
    (ran: Array<string>, name: string) =>
    async ({ artifacts }: Writing) => {
      ran.push(name)
      await artifacts.put('log', `of ${name}`)
    }

  const turns = (ran: Array<string>) => workflow('w').step('a', puts(ran, 'a')).step('b', puts(ran, 'b'))

  test('a fork from the second of two steps that put one artifact completes without a question', async () => {
    const [options, ran] = [newRun(), [] as Array<string>]
    await runOutcome(turns(ran), options)
    await fork({ ...options, newId: 'new', fromStep: 'b' })
    assert.equal((await runOutcome(turns(ran), { ...options, id: 'new' }))._tag, 'Completed')
    assert.deepEqual(ran, ['a', 'b', 'b'])
  })

  test('a fork from the second of three sub-steps that put one artifact completes without a question', async () => {
    const [options, ran] = [newRun(), [] as Array<number>]
    const agent = workflow('w').step('agent', async ({ step }) => {
      for (let n = 1; n <= 3; n++)
        await step('turn', ({ artifacts }) => artifacts.put('transcript', `turn ${n}`).then(() => void ran.push(n)))
    })
    await runOutcome(agent, options)
    await fork({ ...options, newId: 'new', fromStep: 'agent/turn#2' })
    assert.equal((await runOutcome(agent, { ...options, id: 'new' }))._tag, 'Completed')
    assert.deepEqual(ran, [1, 2, 3, 2, 3])
  })

  test.each([
    ['fromStep', { fromStep: 's/b' }],
    ['restartWave', { restartWave: 's' }]
  ])(
    'if a resume with %s is stopped before its first step, the run can be resumed again without a question',
    async (_, how) => {
      const [options, ran] = [newRun(), [] as Array<string>]
      const flow = workflow('w')
        .step('a', puts(ran, 'a'))
        .sequence('s', (part) => part.step('b', puts(ran, 'b')))
      await runOutcome(flow, options)
      const stopped = await runOutcome(flow, { ...options, ...how, signal: AbortSignal.abort() })
      assert.equal(stopped._tag, 'Interrupted')
      assert.equal((await runOutcome(flow, options))._tag, 'Completed')
      assert.deepEqual(ran, ['a', 'b', 'b'])
    }
  )

  test('an artifact that a later step replaced is recorded as replaced, not as accepted by a user', async () => {
    const [options, ran, kept] = [newRun(), [] as Array<string>, [] as Array<string>]
    await runOutcome(turns(ran), options)
    const events = { report: (event: Event) => void (event._tag === 'EvidenceKept' && kept.push(event.unit)) }
    await runOutcome(turns(ran), { ...options, fromStep: 'b', environment: { ...options.environment, events } })
    const changes = await runChanges('r')(nodeEnvironment(options.storage))()
    assert.ok(E.isRight(changes))
    const all = [...changes.right.values()].filter(({ _tag }) => _tag === 'Confirmed')
    assert.deepEqual(
      all.map((one) => [one._tag === 'Confirmed' && one.unit, one._tag === 'Confirmed' && one.replaced]),
      [['a', true]]
    )
    assert.deepEqual(kept, [])
  })

  test("a user's change still raises a question if the record of a later step is dropped", async () => {
    const options = newRun()
    let isPutting = true
    const flow = workflow('w')
      .step('a', puts([], 'a'))
      .sequence('s', (part) =>
        part.step('b', async ({ artifacts }) => void (isPutting && (await artifacts.put('log', 'of b'))))
      )
    await runOutcome(flow, options)
    await options.environment.artifacts.put('r', 'log', 'of a user')()
    isPutting = false
    assert.equal((await runOutcome(flow, { ...options, restartWave: 's' }))._tag, 'Completed')
    const { plan } = await planRun(flow, options)
    assert.ok(plan.decisions.some(({ _tag, unit }) => _tag === 'Confirm' && unit === 'a'))
  })

  test('a step that a user declared done keeps its edited artifact', async () => {
    const [options, ran] = [newRun(), [] as Array<string>]
    const flow = workflow('w')
      .step('a', puts(ran, 'a'))
      .step('d', async (context) => {
        await puts(ran, 'd')(context)
        await context.artifacts.put('out', 'of d')
        return 1
      })
      .step('e', puts(ran, 'e'))
    await runOutcome(flow, options)
    await options.environment.artifacts.put('r', 'out', 'of a user')()
    const confirm = new Map([['d', { _tag: 'Done', output: 2 } as const]])
    await runOutcome(flow, { ...options, confirm, signal: AbortSignal.abort() })
    assert.equal((await runOutcome(flow, options))._tag, 'Completed')
    assert.deepEqual(ran, ['a', 'd', 'e', 'e'])
  })

  test('an artifact that a user changed still raises a question', async () => {
    const [options, ran] = [newRun(), [] as Array<string>]
    await runOutcome(turns(ran), options)
    await options.environment.artifacts.put('r', 'log', 'of a user')()
    const { plan } = await planRun(turns(ran), options)
    assert.ok(plan.decisions.some(({ _tag, unit }) => _tag === 'Confirm' && unit === 'b'))
  })
})

describe('a wave that was stopped after one of its groups put an artifact of an earlier step', () => {
  const signing = (isStopped: AbortController) => async (context: Writing) => {
    await context.artifacts.put('log', 'signed')
    isStopped.abort()
  }
  const flows = {
    'a wave': (stop: AbortController) =>
      workflow('w')
        .step('build', ({ artifacts }) => artifacts.put('log', 'built').then(() => null))
        .wave('release', { sign: signing(stop), push: { needs: ['sign'], run: () => 'pushed' } }),
    'a wave in a sequence': (stop: AbortController) =>
      workflow('w')
        .step('build', ({ artifacts }) => artifacts.put('log', 'built').then(() => null))
        .sequence('part', (part) =>
          part.wave('release', { sign: signing(stop), push: { needs: ['sign'], run: () => 'pushed' } })
        )
  }
  test.each(Object.keys(flows) as Array<keyof typeof flows>)(
    'a wave that was stopped after one of its groups put an artifact of an earlier step continues: %s',
    async (what) => {
      const [options, stop] = [newRun(), new AbortController()]
      const flow = (flows[what] as (typeof flows)['a wave'])(stop)
      assert.equal((await runOutcome(flow, { ...options, signal: stop.signal }))._tag, 'Interrupted')
      assert.equal((await runOutcome(flow, options))._tag, 'Completed')
    }
  )

  test('a stopped wave fails its check if a user changed the artifact of an earlier step meanwhile', async () => {
    const [options, stop] = [newRun(), new AbortController()]
    const flow = flows['a wave'](stop)
    await runOutcome(flow, { ...options, signal: stop.signal })
    await options.environment.artifacts.put('r', 'log', 'of a user')()
    const failed = await runOutcome(flow, { ...options, evidence: [] })
    assert.ok(failed._tag === 'Failed' && failed.failures[0]?.error.code === 'CHECK_FAILED')
  })
})

describe('an artifact that failed code has put', () => {
  const built = workflow('w').step('build', ({ artifacts }) => artifacts.put('log', 'built').then(() => null))
  const failing = async ({ artifacts }: Writing): Promise<never> => {
    await artifacts.put('log', 'half')
    throw Object.assign(new Error('busy'), { status: 503 })
  }
  const flows = {
    'a sub-step whose failure the task catches': built.step('agent', ({ step }) =>
      step('write', (context) => failing(context)).catch(() => null)
    ),
    'a sub-step in a sub-step': built.step('agent', ({ step }) =>
      step('turn', (outer) => outer.step('write', (context) => failing(context)).catch(() => null))
    ),
    'a failed attempt': built.step('agent', {
      retry: { attempts: 2, delayMillis: 0 },
      run: async (context) => (context.attempt === 1 ? await failing(context) : null)
    })
  }
  test.each(Object.keys(flows) as Array<keyof typeof flows>)(
    'an artifact that failed code has put is in the record of the step that completed: %s',
    async (what) => {
      const options = newRun()
      const flow = flows[what].wave('next', { one: () => 1 })
      const first = await runOutcome(flow, options)
      assert.equal(first._tag, 'Completed')
      assert.equal((await runOutcome(flow, options))._tag, 'Completed')
      const { plan } = await planRun(flow, options)
      assert.deepEqual(new Set(plan.decisions.map(({ _tag }) => _tag)), new Set(['Skip']))
    }
  )
})

test('`submit` and `poll` of a job cannot put an artifact, because no record would name it; `collect` can', async () => {
  const options = newRun()
  const put = ({ artifacts }: Writing) => artifacts.put('log', 'x').then(() => null)
  const flow = (of: 'submit' | 'collect') =>
    workflow('w').step('j', {
      job: {
        submit: (context) => (of === 'submit' ? put(context) : null),
        poll: () => ({ _tag: 'Finished' }),
        collect: (context) => (of === 'collect' ? put(context) : null)
      }
    })
  const failed = await runOutcome(flow('submit'), options)
  assert.ok(failed._tag === 'Failed' && failed.failures[0]?.error.code === 'ReadOnly')
  const other = { ...options, id: 's' }
  await runOutcome(flow('collect'), other)
  const polled = await poll(flow('collect'), other)
  assert.deepEqual(
    [...polled.checkpoint.completedSteps].map(({ evidence }) => evidence.length),
    [1]
  )
})

test.each([
  ['step', ({ step }: { step: (name: string, run: () => number) => Promise<number> }) => step('s', () => 1)],
  [
    'a step without a name',
    ({ step }: { step: (name: string, run: () => number) => Promise<number> }) => step('', () => 1)
  ]
])('a non-idempotent step that has had its effect and then calls %s is in doubt', async (_, call) => {
  const options = newRun()
  let charged = 0
  const flow = workflow('w').step('charge', {
    idempotent: false,
    run: async (context) => {
      charged++
      await call(context as never)
    }
  })
  const failed = await runOutcome(flow, options)
  assert.ok(failed._tag === 'Failed' && failed.failures[0]?.outcome === 'unknown')
  const refused = await runOutcome(flow, options).catch((error: unknown) => error)
  assert.ok(isRunFailure(refused) ? true : (refused as { readonly _tag: string })._tag === 'Refused')
  assert.equal(charged, 1)
})
