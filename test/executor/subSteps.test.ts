import * as assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import { memoryArtifacts, memoryRequests, memoryStorage } from '../../src/adapters/memory.js'
import { environmentSecrets, nodeEnvironment } from '../../src/adapters/node/index.js'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import * as State from '../../src/domain/checkpoint/CheckpointState.js'
import * as Units from '../../src/domain/checkpoint/Units.js'
import * as StepError from '../../src/domain/data/StepError.js'
import { permanent, transient } from '../../src/domain/data/StepFailure.js'
import { describeQuestion, explain } from '../../src/domain/explain/Explain.js'
import type { Answer, PlanOptions } from '../../src/domain/plan/Plan.js'
import type { RetryPolicy } from '../../src/domain/workflow/RetryPolicy.js'
import { never as noRetry } from '../../src/domain/workflow/RetryPolicy.js'
import { answer, confirm } from '../../src/index.js'
import { planRun } from '../../src/executor/planRun.js'
import type { Program, RunSubStep, StepContext, SubStepContext, TaskSpec } from '../../src/executor/program/Program.js'
import * as P from '../../src/executor/program/Program.js'
import type { RunError } from '../../src/executor/errors/RunError.js'
import type { RunOutcome } from '../../src/executor/RunOutcome.js'
import { runOrResume } from '../../src/executor/run.js'
import type { Environment } from '../../src/ports/Environment.js'
import type { Interrupt } from '../../src/ports/Interrupt.js'

type Context = StepContext<object>

/** Runs of a workflow with one task, and what ran in it. */
const runs = ({ storage = memoryStorage(), ...given }: Partial<Environment> = {}) => {
  const environment = nodeEnvironment(storage, { artifacts: memoryArtifacts(), graceMillis: 200, ...given })
  const ran: Array<string> = []
  const program = (
    run: (context: Context) => unknown,
    options: Partial<TaskSpec<Context, unknown>> = {}
  ): Program<unknown> => P.step('agent', { ...options, run })(P.start('w'))
  const go = async (
    run: (context: Context) => unknown,
    options: Partial<TaskSpec<Context, unknown>> = {},
    plan: PlanOptions = {},
    { wait = false } = {}
  ): Promise<E.Either<RunError, RunOutcome>> =>
    await runOrResume(program(run, options), 'r', {}, { changes: 'ignore', wait, ...plan })(environment)()
  return {
    ran,
    environment,
    go,
    /** A function for a sub-step, which notes that it ran. */
    noting:
      <A>(name: string, give: A) =>
      (): A => {
        ran.push(name)
        return give
      },
    planned: async (run: (context: Context) => unknown): Promise<string> => {
      const plan = await planRun(program(run), 'r')(environment)()
      return E.isRight(plan) ? explain(plan.right.plan) : JSON.stringify(plan.left)
    }
  }
}

/** Runs that the host stops; code that hangs gets 20 ms. */
const stoppable = () => {
  const stopper = new AbortController()
  return { stopper, one: runs({ interrupt: { signal: stopper.signal, reason: () => 'aborted' }, graceMillis: 20 }) }
}

const ended = (outcome: E.Either<RunError, RunOutcome>): Checkpoint => {
  if (E.isLeft(outcome) || !('checkpoint' in outcome.right)) return assert.fail(JSON.stringify(outcome))
  return outcome.right.checkpoint
}

const outputOf = (outcome: E.Either<RunError, RunOutcome>): unknown => {
  const checkpoint = ended(outcome)
  assert.equal(checkpoint.state._tag, 'Completed', JSON.stringify(checkpoint.state))
  return [...checkpoint.completedSteps].at(-1)?.output
}

const errorOf = (outcome: E.Either<RunError, RunOutcome>): { readonly code?: string; readonly message: string } => {
  const { state } = ended(outcome)
  const failure = State.failures(state).records.find(({ unit }) => unit === 'agent')
  return failure?.error ?? assert.fail(JSON.stringify(state))
}

const units = (outcome: E.Either<RunError, RunOutcome>): ReadonlyArray<string> =>
  Array.from(ended(outcome).completedSteps, ({ unit }) => unit)

const never: Interrupt = { signal: new AbortController().signal, reason: () => 'aborted' }

const retrying = (attempts: number): RetryPolicy => ({ ...noRetry, attempts, delayMillis: 1, maxDelayMillis: 1 })

describe('a sub-step', () => {
  test('a recorded sub-step never runs again, and later attempts get its output', async () => {
    const { go, ran, noting } = runs()
    let fails = true
    const agent = async ({ step }: Context): Promise<unknown> => {
      const first = await step('turn', noting('turn', { n: 1 }))
      const second = await step('turn', noting('turn#2', 2))
      const third = await step('a b', () => TE.right(first.n + second))
      if (fails) throw new Error('broken')
      return third
    }
    assert.equal(errorOf(await go(agent)).message, 'broken')
    fails = false
    const outcome = await go(agent)
    assert.equal(outputOf(outcome), 3)
    assert.deepEqual(ran, ['turn', 'turn#2'])
    assert.deepEqual(units(outcome), ['agent/turn', 'agent/turn#2', 'agent/a%20b', 'agent'])
  })

  test('the code sees the output of a sub-step as JSON returns it, even in the first attempt', async () => {
    const { go } = runs()
    const seen: Array<unknown> = []
    let fails = true
    const agent = async ({ step }: Context): Promise<void> => {
      const list = await step('list', () => [{ a: undefined, b: 2 }])
      seen.push(structuredClone(list), await step('nothing', () => undefined))
      Object.assign(list[0] ?? {}, { b: 3 })
      if (fails) throw new Error('again')
    }
    await go(agent)
    fails = false
    await go(agent)
    assert.deepEqual(seen, [[{ b: 2 }], null, [{ b: 2 }], null])
  })

  test('the output of a sub-step has the type of its codec, or of what its function returns', async () => {
    const { go } = runs()
    const outcome = await go(async ({ step }) => {
      const when: Date = await step('when', { output: DateFromString }, () => new Date(0))
      const text: { readonly n: number } = await step('n', async () => await Promise.resolve({ n: 1 }))
      // @ts-expect-error JSON has no dates.
      await step('date', () => new Date(0)).catch(() => undefined)
      return [when.toISOString(), text.n]
    })
    assert.deepEqual(outputOf(outcome), ['1970-01-01T00:00:00.000Z', 1])
  })

  test('a sub-step that returns no JSON fails, and its error names the path', async () => {
    const { go } = runs()
    const outcome = await go(async ({ step }) => await step('big', () => ({ n: 1n }) as never))
    assert.match(errorOf(outcome).message, /the output of "agent\/big" at \$\.n must be plain JSON/)
  })

  test('a sub-step keeps its own path and idempotency key in each attempt', async () => {
    const { go } = runs()
    const seen: Array<Pick<SubStepContext, 'unit' | 'attempt' | 'idempotencyKey'>> = []
    const agent = async ({ step, idempotencyKey }: Context): Promise<void> => {
      await step('turn', ({ unit, attempt, idempotencyKey: key, step: inner }) => {
        seen.push({ unit, attempt, idempotencyKey: key })
        assert.notEqual(key, idempotencyKey)
        return inner('x', (context) => {
          seen.push({ unit: context.unit, attempt: context.attempt, idempotencyKey: context.idempotencyKey })
          throw new Error('no x')
        })
      }).catch(() => undefined)
      throw new Error('again')
    }
    await go(agent)
    await go(agent)
    assert.deepEqual(
      seen.map(({ unit, attempt }) => [unit, attempt]),
      [
        ['agent/turn', 1],
        ['agent/turn/x', 1],
        ['agent/turn', 1],
        ['agent/turn/x', 1]
      ]
    )
    assert.deepEqual(seen.slice(0, 2), seen.slice(2))
    assert.equal(new Set(seen.map((one) => one.idempotencyKey)).size, 2)
  })

  test('events report a sub-step once it is durable', async () => {
    const told: Array<string> = []
    const { go } = runs({
      events: {
        report: (event) => void ('unit' in event && told.push(`${event._tag} ${event.unit} ${event.stepIndex}`))
      }
    })
    await go(async ({ step }) => {
      await step('turn', () => 1)
      await step('pay', { idempotent: false }, () => 1)
      await step('no', () => Promise.reject(new Error('no'))).catch(() => undefined)
    })
    assert.deepEqual(told, [
      'StepStarted agent 0',
      'StepCompleted agent/turn 0',
      'StepStarted agent/pay 0',
      'StepCompleted agent/pay 0',
      'StepFailed agent/no 0',
      'StepCompleted agent 0'
    ])
  })

  test('secrets are redacted in the record, the output and the error of a sub-step', async () => {
    const { environment } = runs({ secrets: environmentSecrets({ TOKEN: 'canary-77' }) })
    const seen: Array<string> = []
    const program = P.step('agent', {
      run: async ({ step, secrets }: StepContext<object>) => {
        const text = await step('ask', () => `token ${String(secrets['TOKEN'])}`)
        await step('fail', () => Promise.reject(new Error(`no ${String(secrets['TOKEN'])}`))).catch(() => undefined)
        const refused = (error: { readonly code: string }): void => void seen.push(error.code)
        await step(String(secrets['TOKEN']), () => 1).catch(refused)
        await step('a', { version: String(secrets['TOKEN']) }, () => 1).catch(refused)
        return text
      }
    })(P.start('w', { secrets: ['TOKEN'] }))
    const outcome = await runOrResume(program, 'r', {})(environment)()
    assert.equal(outputOf(outcome as never), 'token ***')
    assert.ok(!JSON.stringify([...ended(outcome).completedSteps]).includes('canary'))
    assert.deepEqual(seen, ['SECRET_IN_SUB_STEP', 'SUB_STEP_OPTION'])
  })
})

const DateFromString = new t.Type<Date, string, unknown>(
  'DateFromString',
  (value): value is Date => value instanceof Date,
  (value, context) => (typeof value === 'string' ? t.success(new Date(value)) : t.failure(value, context)),
  (date) => date.toISOString()
)

describe('a repeated name', () => {
  test('sub-steps of the same name are numbered in the order of their calls', async () => {
    const { go } = runs()
    const outcome = await go(async ({ step }) => {
      await step('a', () => 'first')
      await Promise.all([step('b', () => 'b'), step('c', () => 'c')])
      await step('a', () => 'second')
      await step('a#2', () => 'another name')
    })
    assert.deepEqual(
      Object.fromEntries(Array.from(ended(outcome).completedSteps, ({ unit, output }) => [unit, output])),
      {
        agent: undefined,
        'agent/a': 'first',
        'agent/a#2': 'second',
        'agent/a%232': 'another name',
        'agent/b': 'b',
        'agent/c': 'c'
      }
    )
  })

  test('a repeated name is refused while the sub-step of that name runs, and the refused call takes no number', async () => {
    const { go } = runs()
    const outcome = await go(async ({ step }) => {
      const first = step('a', () => sleep(20))
      await assert.rejects(
        step('a', () => 1),
        { code: 'SUB_STEP_AMBIGUOUS' }
      )
      await first
      await step('a', () => 2)
    })
    assert.deepEqual(units(outcome), ['agent/a', 'agent/a#2', 'agent'])
  })

  test('a repeated name is refused on replay as in the first attempt', async () => {
    const { go } = runs()
    let refused = 0
    const agent = async ({ step }: Context): Promise<void> => {
      const both = await Promise.allSettled([step('a', () => 1), step('a', () => 2)])
      refused += both.filter(({ status }) => status === 'rejected').length
      throw new Error('again')
    }
    await go(agent)
    await go(agent)
    assert.equal(refused, 2)
  })
})

describe('a call that differs from the record', () => {
  const begun = async (options: object = {}, more: object = {}) => {
    const one = runs()
    const agent =
      (options: object) =>
      async ({ step }: Context): Promise<string> => {
        await step('a', one.noting('a', 1))
        await step('b', options, one.noting('b', 2))
        await step('c', more, one.noting('c', 3))
        throw new Error('broken')
      }
    await one.go(agent(options))
    assert.deepEqual(one.ran.splice(0), ['a', 'b', 'c'])
    return { ...one, again: (options: object, plan?: PlanOptions) => one.go(agent(options), {}, plan) }
  }

  test('a call with another input is refused, and nothing runs', async () => {
    const { again, ran } = await begun({ input: { q: 1, z: 2 } })
    assert.equal(errorOf(await again({ input: { z: 2, q: 1 } })).message, 'broken')
    const { code, message } = errorOf(await again({ input: { q: 2, z: 2 } }))
    assert.equal(code, 'SUB_STEP_CHANGED')
    assert.match(message, /"agent\/b" is recorded with another input/)
    assert.equal(errorOf(await again({})).code, 'SUB_STEP_CHANGED')
    assert.deepEqual(ran, [])
  })

  test('a call with another version runs again, and so do the sub-steps recorded after it', async () => {
    const { again, ran } = await begun()
    assert.equal(errorOf(await again({ version: '2', input: 1 })).message, 'broken')
    assert.deepEqual(ran.splice(0), ['b', 'c'])
    await again({ version: '2', input: 1 })
    assert.deepEqual(ran, [])
  })

  test('a call in another version needs confirmation if a later sub-step is not idempotent', async () => {
    const { again, ran, planned } = await begun({}, { idempotent: false })
    const { code, message } = errorOf(await again({ version: '2' }))
    assert.equal(code, 'SUB_STEP_IN_DOUBT')
    assert.match(
      message,
      /"agent\/b" has another version, so "agent\/c", which is not idempotent, would run again; resume, and answer/
    )
    assert.deepEqual(ran, [])
    const why = 'an earlier attempt ran it, and it would run again because "agent/b" has another version'
    assert.match(
      await planned(() => undefined),
      new RegExp(`retry +agent .*\\n +skip +a +completed\\n +confirm +c +${why}`)
    )
    const refused = await again({ version: '2' })
    assert.ok(E.isLeft(refused) && refused.left._tag === 'Unconfirmed')
    assert.equal(
      describeQuestion(refused.left.questions[0]),
      `"agent/c" may already have taken effect, and is not idempotent: ${why}`
    )
    assert.deepEqual(ran, [])
    await again({ version: '2' }, { confirm: new Map([['agent/c', { _tag: 'Done', output: 30 }]]) })
    assert.deepEqual(ran.splice(0), ['b'])
    await again({ version: '2' })
    assert.deepEqual(ran, [])
  })

  test.each(['its own version', 'an earlier version'])(
    'a sub-step that did nothing runs again without a question if %s changed',
    async (what) => {
      const { stopper, one } = stoppable()
      const agent =
        (version: string, noting: typeof one.noting) =>
        async ({ step }: Context): Promise<void> => {
          await step('a', { version: what === 'its own version' ? '1' : version }, noting('a', 1))
          const pay = { idempotent: false, version: what === 'its own version' ? version : '1' }
          if (version === '2') return void (await step('pay', pay, noting('pay', 1)))
          const declined = permanent(StepError.make('Declined', 'declined'), 'notApplied')
          await step('pay', pay, () => TE.left(declined)).catch(() => undefined)
          await step('b', () => {
            stopper.abort()
            return new Promise(() => undefined)
          })
        }
      await one.go(agent('1', one.noting), { version: '1' })
      const next = runs({ ...one.environment, interrupt: never })
      outputOf(await next.go(agent('2', next.noting), { version: '2' }))
      assert.deepEqual(next.ran, what === 'its own version' ? ['pay'] : ['a', 'pay'])
    }
  )

  test('a call in another version that is now declared non-idempotent needs confirmation', async () => {
    const { again, ran } = await begun()
    const marked = { version: '2', idempotent: false }
    assert.equal(errorOf(await again(marked)).code, 'SUB_STEP_IN_DOUBT')
    assert.deepEqual(ran, [])
    await again(marked, { confirm: new Map([['agent/b', { _tag: 'Again' }]]) })
    assert.deepEqual(ran, ['b', 'c'])
  })

  test('a dropped sub-step runs again once a user confirms it', async () => {
    const { again, ran } = await begun({}, { idempotent: false })
    await again({ version: '2' })
    await again({ version: '2' }, { confirm: new Map([['agent/c', { _tag: 'Again' }]]) })
    assert.deepEqual(ran, ['b', 'c'])
  })

  test('a call in another version fails the attempt if the attempt has already used an output that the call drops; a resume continues', async () => {
    const one = runs()
    const agent =
      (version: string) =>
      async ({ step }: Context): Promise<void> => {
        const late = async (): Promise<void> => {
          await sleep(20)
          await step('late', { version }, one.noting('late', 1))
        }
        await step('first', one.noting('first', 1))
        if (version === '1') await late()
        await step('other', one.noting('other', 1))
        if (version !== '1') await late()
        throw new Error('broken')
      }
    await one.go(agent('1'))
    one.ran.splice(0)
    assert.equal(errorOf(await one.go(agent('2'))).code, 'SUB_STEP_VERSION')
    assert.deepEqual(one.ran, [])
    assert.equal(errorOf(await one.go(agent('2'))).message, 'broken')
    assert.deepEqual(one.ran, ['other', 'late'])
  })

  test('a call that is no longer idempotent needs confirmation if an earlier attempt may have started it', async () => {
    const { stopper, one } = stoppable()
    await one.go(async ({ step }) => {
      await step('turn', one.noting('turn', 1))
      await step('turn', () => {
        stopper.abort()
        return new Promise<number>(() => undefined)
      })
    })
    const agent = async ({ step }: Context): Promise<void> => {
      await step('turn', one.noting('turn', 1))
      await step('turn', { idempotent: false }, one.noting('turn#2', 2))
      await step('turn', { idempotent: false }, one.noting('turn#3', 3))
    }
    const next = runs({ ...one.environment, interrupt: never })
    assert.equal(errorOf(await next.go(agent)).code, 'SUB_STEP_IN_DOUBT')
    assert.deepEqual(one.ran, ['turn'])
    outputOf(await next.go(agent, {}, { confirm: new Map([['agent/turn#2', { _tag: 'Again' }]]) }))
    assert.deepEqual(one.ran, ['turn', 'turn#2', 'turn#3'])
  })
})

test('a later call that is not idempotent runs without a question after a wait: no crash left it in doubt', async () => {
  const { go, ran, noting, environment } = runs({ requests: memoryRequests() })
  const agent = async ({ step, waitFor }: Context): Promise<void> => {
    await step('turn', noting('turn', 1))
    await waitFor('approval')
    await step('turn', { idempotent: false }, noting('turn#2', 2))
  }
  await go(agent)
  assert.ok(E.isRight(await answer('r', 'agent/approval', 'yes')(environment)()))
  outputOf(await go(agent))
  assert.deepEqual(ran, ['turn', 'turn#2'])
})

const again = (unit: string): NonNullable<PlanOptions['confirm']> => new Map([[unit, { _tag: 'Again' }]])

test('the output of an answer "done" replaces the recorded one of a sub-step after the restarted one', async () => {
  const { go, ran, noting } = runs()
  let isBroken = true
  const agent = async ({ step }: Context): Promise<unknown> => {
    await step('first', noting('first', 1))
    await step('a', noting('a', 1))
    const paid = await step('pay', { idempotent: false }, noting('pay', 1))
    if (isBroken) throw new Error('broken')
    return paid
  }
  await go(agent)
  isBroken = false
  const confirm = new Map([['agent/pay', { _tag: 'Done', output: 7 }]] as const)
  assert.equal(outputOf(await go(agent, {}, { fromStep: 'agent/a', confirm })), 7)
  assert.deepEqual(ran, ['first', 'a', 'pay', 'a'])
})

describe('a sub-step declared non-idempotent after its attempt was cut short', () => {
  /** A task that was stopped in an idempotent sub-step, and the same task with that sub-step declared non-idempotent. */
  const stopped = async (was: { readonly idempotent?: false } = {}) => {
    const { stopper, one } = stoppable()
    await one.go(
      async ({ step }) => {
        await step('pay', was, () => {
          stopper.abort()
          return new Promise<number>(() => undefined)
        })
      },
      { version: '1' }
    )
    const next = runs({ ...one.environment, interrupt: never })
    const marked = async ({ step }: Context): Promise<unknown> =>
      await step('pay', { idempotent: false }, next.noting('pay', 1))
    return { next, marked }
  }

  test('a sub-step that is now declared non-idempotent needs confirmation if its task was edited', async () => {
    const { next, marked } = await stopped()
    assert.equal(errorOf(await next.go(marked, { version: '2' })).code, 'SUB_STEP_IN_DOUBT')
    const confirm = new Map([['agent/pay', { _tag: 'Done', output: 7 }]] as const)
    assert.equal(outputOf(await next.go(marked, { version: '2' }, { confirm })), 7)
    assert.deepEqual(next.ran, [])
  })

  test('a sub-step answered with "again" runs without a second question, although its task was edited', async () => {
    const { next, marked } = await stopped({ idempotent: false })
    const confirm = new Map([['agent/pay', { _tag: 'Again' }]] as const)
    assert.equal(outputOf(await next.go(marked, { version: '2' }, { confirm })), 1)
    assert.deepEqual(next.ran, ['pay'])
  })

  test('a failed sub-step that is now declared non-idempotent runs without a question if its task is forced', async () => {
    const { go, ran, noting } = runs()
    await go(async ({ step }) => {
      await step('pay', () => Promise.reject(new Error('connection lost')))
    })
    const marked = async ({ step }: Context): Promise<unknown> =>
      await step('pay', { idempotent: false }, noting('pay', 1))
    outputOf(await go(marked, {}, { fromStep: 'agent' }))
    assert.deepEqual(ran, ['pay'])
  })

  test.each<[string, PlanOptions]>([
    ['is named by an option', { fromStep: 'agent/a' }],
    ['lost its evidence', {}]
  ])(
    'a sub-step that ran and is now declared non-idempotent needs confirmation if an earlier one %s',
    async (_, plan) => {
      for (const isFailed of [true, false]) {
        const one = runs()
        const agent =
          (noting: typeof one.noting) =>
          async ({ step }: Context): Promise<void> => {
            await step('a', async ({ artifacts }) => {
              await artifacts.put('report', 'text')
              return noting('a', 1)()
            })
            if (noting !== one.noting) return void (await step('pay', { idempotent: false }, noting('pay', 1)))
            await step('pay', () => {
              if (isFailed) throw new Error('connection lost')
              return noting('pay', 1)()
            })
            throw new Error('b failed')
          }
        await one.go(agent(one.noting))
        const artifacts = plan.fromStep === undefined ? memoryArtifacts() : one.environment.artifacts
        const next = runs({ ...one.environment, ...(artifacts === undefined ? {} : { artifacts }) })
        assert.equal(errorOf(await next.go(agent(next.noting), {}, plan)).code, 'SUB_STEP_IN_DOUBT')
        assert.deepEqual(next.ran, ['a'])
        outputOf(await next.go(agent(next.noting), {}, { confirm: again('agent/pay') }))
        assert.deepEqual(next.ran, ['a', 'pay'])
      }
    }
  )

  test('a later call of a name that is now declared non-idempotent needs confirmation if its first call failed and runs again', async () => {
    const { stopper, one } = stoppable()
    const failing = async ({ step }: Context): Promise<void> => {
      await step('pay', () => Promise.reject(new Error('declined'))).catch(() => undefined)
      await step('pay', () => {
        stopper.abort()
        return new Promise(() => undefined)
      })
    }
    await one.go(failing, { version: '1' })
    const next = runs({ ...one.environment, interrupt: never })
    const marked = async ({ step }: Context): Promise<void> => {
      await step('pay', { version: '2' }, next.noting('pay', 1))
      await step('pay', { idempotent: false }, next.noting('pay#2', 1))
    }
    assert.equal(errorOf(await next.go(marked, { version: '2' })).code, 'SUB_STEP_IN_DOUBT')
    assert.deepEqual(next.ran, ['pay'])
  })

  test('a sub-step that is now declared non-idempotent needs confirmation if its attempt was dropped with an earlier step', async () => {
    const stopper = new AbortController()
    const artifacts = (): Partial<Environment> => ({ artifacts: memoryArtifacts(), graceMillis: 20 })
    const environment = nodeEnvironment(memoryStorage(), {
      ...artifacts(),
      interrupt: { signal: stopper.signal, reason: () => 'aborted' }
    })
    const program = (version: string, run: (context: Context) => unknown): Program<unknown> =>
      P.step('agent', { version, run })(
        P.step('pre', async ({ artifacts }: Context) => await artifacts.put('report', 'text'))(P.start('w'))
      )
    const ran: Array<string> = []
    const hung = program('1', async ({ step }) => {
      await step('pay', () => {
        stopper.abort()
        return new Promise(() => undefined)
      })
    })
    const marked = program('2', async ({ step }) => {
      await step('pay', { idempotent: false }, () => ran.push('pay'))
    })
    await runOrResume(hung, 'r', {}, {})(environment)()
    const next = { ...environment, ...artifacts(), interrupt: never }
    assert.equal(errorOf(await runOrResume(marked, 'r', {}, {})(next)()).code, 'SUB_STEP_IN_DOUBT')
    assert.deepEqual(ran, [])
  })

  test('a failed sub-step that is now declared non-idempotent needs confirmation if its outcome is unknown', async () => {
    for (const outcome of ['unknown', 'notApplied'] as const) {
      const { go, ran, noting } = runs()
      await go(async ({ step }) => {
        await step('pay', () => TE.left(permanent(StepError.make('Lost', 'connection lost'), outcome)))
      })
      const marked = async ({ step }: Context): Promise<unknown> =>
        await step('pay', { idempotent: false }, noting('pay', 1))
      const ended = await go(marked)
      if (outcome === 'unknown') {
        assert.equal(errorOf(ended).code, 'SUB_STEP_IN_DOUBT')
        assert.deepEqual(ran, [])
        outputOf(await go(marked, {}, { confirm: again('agent/pay') }))
      }
      assert.deepEqual(ran, ['pay'])
    }
  })

  test.each<[string, PlanOptions, ReadonlyArray<string>]>([
    ['an answer "again" about the task, which needs none', { confirm: again('agent') }, []],
    ['a restart from its first call', { fromStep: 'agent/pay' }, ['pay']]
  ])(
    'a later call of a name that is now declared non-idempotent needs confirmation after %s',
    async (_, options, ran) => {
      const { stopper, one } = stoppable()
      const agent =
        (noting: typeof one.noting) =>
        async ({ step }: Context): Promise<void> => {
          const how = noting === one.noting ? {} : ({ idempotent: false } as const)
          await step('first', noting('first', 1))
          await step('pay', how, noting('pay', 1))
          await step('pay', how, () => {
            if (noting !== one.noting) return noting('pay#2', 1)()
            stopper.abort()
            return new Promise<number>(() => undefined)
          })
        }
      await one.go(agent(one.noting), { version: '1' })
      const next = runs({ ...one.environment, interrupt: never })
      assert.equal(errorOf(await next.go(agent(next.noting), { version: '2' }, options)).code, 'SUB_STEP_IN_DOUBT')
      assert.deepEqual(next.ran, ran)
    }
  )

  test.each([
    ['a restart from it', ['pay', 'b'], { fromStep: 'agent/pay' }],
    [
      'a restart from an earlier one, answered with "again"',
      ['a', 'pay', 'b'],
      { fromStep: 'agent/a', confirm: again('agent/pay') }
    ]
  ])(
    'a completed sub-step of an edited task runs again without a second question after %s',
    async (_, ran, options) => {
      const { stopper, one } = stoppable()
      const agent =
        (noting: typeof one.noting) =>
        async ({ step }: Context): Promise<void> => {
          await step('first', noting('first', 1))
          await step('a', noting('a', 1))
          await step('pay', { idempotent: false }, noting('pay', 1))
          await step('b', () => {
            if (noting !== one.noting) return noting('b', 1)()
            stopper.abort()
            return new Promise<number>(() => undefined)
          })
        }
      await one.go(agent(one.noting), { version: '1' })
      const next = runs({ ...one.environment, interrupt: never })
      outputOf(await next.go(agent(next.noting), { version: '2' }, options))
      assert.deepEqual(next.ran, ran)
    }
  )

  test.each([
    ['the code of its edited task waits before the sub-step', false],
    ['the run itself waits for that wait', true]
  ])('a sub-step that is now declared non-idempotent needs confirmation even if %s', async (_, wait) => {
    const { next, marked } = await stopped()
    const waiting = async (context: Context): Promise<unknown> => {
      await context.sleep('nap', { millis: 50 })
      return await marked(context)
    }
    const again = async () => await next.go(waiting, { version: '2' }, {}, { wait })
    if (!wait) assert.equal(Units.get(State.inFlight(ended(await again()).state), 'agent')?.suspended, true)
    await sleep(60)
    assert.equal(errorOf(await again()).code, 'SUB_STEP_IN_DOUBT')
    assert.deepEqual(next.ran, [])
  })

  test('a sub-step that is now declared non-idempotent runs without a question if its task was not edited', async () => {
    const { next, marked } = await stopped()
    assert.equal(outputOf(await next.go(marked, { version: '1' })), 1)
  })
})

describe('a sub-step that fails', () => {
  test('a task may catch the failure of a sub-step and continue', async () => {
    const { go, ran, noting } = runs()
    const outcome = await go(async ({ step }) => {
      const error = await step('try', () => Promise.reject(Object.assign(new RangeError('no'), { code: 'E7' }))).catch(
        (thrown: unknown) => thrown
      )
      assert.ok(error instanceof Error && !(error instanceof RangeError))
      const { name, message, code, data } = error as RangeError & { readonly code: string; readonly data: unknown }
      assert.deepEqual([name, message, code, data], ['RangeError', 'no', 'E7', { code: 'E7' }])
      assert.deepEqual({ ...error }, { code: 'E7' })
      return await step('other', noting('other', 1))
    })
    assert.equal(outputOf(outcome), 1)
    assert.deepEqual(ran, ['other'])
  })

  test('a repeated attempt gets the recorded error of a failed sub-step, and a new attempt runs the sub-step again', async () => {
    const { stopper, one } = stoppable()
    let tries = 0
    const agent =
      (after: (signal: AbortSignal) => Promise<unknown>) =>
      async ({ step, signal }: Context): Promise<unknown> => {
        const caught = await step('try', () => {
          tries += 1
          return Promise.reject(new Error(`no ${tries}`))
        }).catch((error: Error) => error.message)
        await after(signal)
        return caught
      }
    await one.go(
      agent(() => {
        stopper.abort()
        return new Promise(() => undefined)
      })
    )
    assert.equal(tries, 1)
    const next = runs({
      ...one.environment,
      interrupt: never
    })
    assert.match(await next.planned(() => undefined), /skip +try +failed: no 1; its error is thrown again/)
    const failed = await next.go(agent(() => Promise.reject(new Error('broken'))))
    assert.equal(errorOf(failed).message, 'broken')
    assert.equal(tries, 1)
    assert.equal(outputOf(await next.go(agent(() => Promise.resolve()))), 'no 2')
  })

  test('a task fails with the uncaught error of its sub-step, even if the error is replayed', async () => {
    const { stopper, one } = stoppable()
    const busy = transient(StepError.make('Busy', 'try later', { data: { after: 7 } }), 'notApplied')
    await one.go(async ({ step }) => {
      await step('try', () => Promise.reject(busy as unknown as Error)).catch(() => undefined)
      stopper.abort()
      await new Promise(() => undefined)
    })
    const next = runs({ ...one.environment, interrupt: never })
    const outcome = await next.go(async ({ step }) => await step('try', () => 1))
    const { state } = ended(outcome)
    const failure = State.failures(state).records.find(({ unit }) => unit === 'agent')
    assert.deepEqual(
      [failure?.error.name, failure?.error.message, failure?.error.data, failure?.outcome],
      ['Busy', 'try later', { after: 7 }, 'notApplied']
    )
    assert.equal(state._tag === 'Failed' && state.retryable, true)
  })

  test('a sub-step is retried as its options say', async () => {
    const { go, ran } = runs()
    const busy = (name: string, times: number) => (): string => {
      ran.push(name)
      if (ran.filter((one) => one === name).length < times)
        throw Object.assign(new Error('busy'), { code: 'ECONNRESET' })
      return 'ok'
    }
    const retry = retrying(3)
    const outcome = await go(async ({ step }) => {
      await step('a', { retry }, busy('a', 3))
      await step('b', { retry, idempotent: false }, busy('b', 2)).catch(() => undefined)
    })
    assert.deepEqual(ran, ['a', 'a', 'a', 'b'])
    assert.deepEqual(
      Array.from(ended(outcome).completedSteps, ({ unit, attempts }) => [unit, attempts]),
      [
        ['agent/a', 3],
        ['agent', 1]
      ]
    )
  })

  test.each([true, false])(
    'a sub-step that is stopped while it waits for its next attempt runs again when its task does (idempotent: %s)',
    async (idempotent) => {
      const stop = new AbortController()
      const { go, ran, environment } = runs({ interrupt: { signal: stop.signal, reason: () => 'aborted' } })
      const retry = { ...retrying(3), delayMillis: 60_000, maxDelayMillis: 60_000 }
      const agent = async ({ step }: Context): Promise<unknown> =>
        await step('a', { retry, idempotent }, () => {
          ran.push('a')
          setTimeout(() => stop.abort(), 10)
          return TE.left(transient(StepError.make('Busy', 'busy'), 'notApplied'))
        })
      const stopped = ended(await go(agent))
      assert.equal(stopped.state._tag, 'Interrupted')
      assert.equal(State.failures(stopped.state).size, 0)
      assert.deepEqual(ran, ['a'])
      const next = runs({ ...environment, interrupt: never })
      assert.equal(outputOf(await next.go(async ({ step }) => await step('a', { idempotent }, () => 'ok'))), 'ok')
    }
  )

  test('a sub-step that exceeds its timeout fails', async () => {
    const { go } = runs()
    const outcome = await go(async ({ step }) => {
      await step('slow', { timeoutMillis: 20 }, ({ signal }) => sleep(60_000, undefined, { signal }))
    })
    assert.equal(errorOf(outcome).code, 'TIMEOUT')
  })
})

describe('a sub-step that is not idempotent', () => {
  test('a sub-step that is not idempotent and was in flight needs confirmation by its path', async () => {
    const { stopper, one } = stoppable()
    const agent =
      (pay: () => unknown) =>
      async ({ step }: Context): Promise<unknown> => {
        await step('turn', one.noting('turn', 1))
        return await step('pay', { idempotent: false, input: { amount: 7 }, version: '2' }, pay as () => string)
      }
    await one.go(
      agent(() => {
        stopper.abort()
        return new Promise(() => undefined)
      })
    )
    const next = runs({
      ...one.environment,
      interrupt: never
    })
    const refused = await next.go(agent(next.noting('pay', 'p-1')))
    assert.ok(E.isLeft(refused) && refused.left._tag === 'Unconfirmed')
    assert.deepEqual(
      refused.left.questions.map(({ unit }) => unit),
      ['agent/pay']
    )
    const done = await next.go(
      agent(next.noting('pay', 'p-1')),
      {},
      { confirm: new Map([['agent/pay', { _tag: 'Done', output: 'p-7' }]]) }
    )
    assert.equal(outputOf(done), 'p-7')
    assert.deepEqual([...one.ran, ...next.ran], ['turn'])
  })

  test.each(['notApplied', 'unknown'] as const)(
    'a stopped sub-step needs confirmation unless it reports that it did nothing: %s',
    async (outcome) => {
      const stop = new AbortController()
      const one = runs({ interrupt: { signal: stop.signal, reason: () => 'aborted' } })
      const agent = (pay: (context: SubStepContext) => unknown) => async (context: Context) =>
        await context.step('pay', { idempotent: false }, pay)
      const stopped = await one.go(
        agent(() => {
          stop.abort()
          return TE.left(transient(StepError.make('Aborted', 'nothing was sent'), outcome))
        })
      )
      assert.deepEqual(
        State.inFlight(ended(stopped).state).records.map(({ unit }) => unit),
        outcome === 'unknown' ? ['agent', 'agent/pay'] : ['agent']
      )
      const next = runs({ ...one.environment, interrupt: never })
      const resumed = await next.go(agent(next.noting('pay', 'paid')))
      if (outcome === 'unknown') assert.ok(E.isLeft(resumed) && resumed.left._tag === 'Unconfirmed')
      else assert.equal(outputOf(resumed), 'paid')
    }
  )

  test('a sub-step that is stopped while its start is saved does not run, and needs no confirmation', async () => {
    const stop = new AbortController()
    const one = runs({
      interrupt: { signal: stop.signal, reason: () => 'aborted' },
      events: {
        report: (event) => {
          if (event._tag === 'StepStarted' && event.unit === 'agent/pay') stop.abort()
        }
      }
    })
    const agent = async ({ step }: Context): Promise<unknown> =>
      await step('pay', { idempotent: false }, one.noting('pay', 'paid'))
    assert.equal(ended(await one.go(agent)).state._tag, 'Interrupted')
    assert.deepEqual(one.ran, [])
    const next = runs({ ...one.environment, interrupt: never, events: { report: () => undefined } })
    assert.equal(outputOf(await next.go(agent)), 'paid')
  })

  test('a task is not retried while the outcome of a non-idempotent sub-step is unknown', async () => {
    const one = runs()
    const retry = retrying(3)
    const outcome = await one.go(
      async ({ step }) => {
        await step('pay', { idempotent: false }, () => {
          one.ran.push('pay')
          throw Object.assign(new Error('lost'), { code: 'ECONNRESET' })
        })
      },
      { retry }
    )
    assert.equal(errorOf(outcome).message, 'lost')
    assert.deepEqual(one.ran, ['pay'])
    assert.match(await one.planned(() => undefined), /confirm +pay +failed: lost/)
  })

  test('only idempotent tasks and sub-steps can call sub-steps', async () => {
    const { go } = runs()
    const inner = await go(async ({ step }) => {
      await step('pay', { idempotent: false }, ({ step: more }) => more('x', () => 1))
    })
    assert.equal(errorOf(inner).code, 'SUB_STEP_NOT_ALLOWED')
    const whole = await runs().go(async ({ step }) => await step('a', () => 1), { idempotent: false })
    assert.match(
      errorOf(whole).message,
      /"agent" is not idempotent, so it can't call sub-step "a"; declare "idempotent: false" at "a", not at "agent"$/
    )
  })

  test('a task that is not idempotent cannot wait in its code, and neither can a sub-step', async () => {
    for (const wait of [
      ({ sleep }: Context) => sleep('soon', { millis: 1 }),
      ({ waitFor }: Context) => waitFor('answer')
    ]) {
      const whole = errorOf(await runs().go(wait, { idempotent: false }))
      assert.equal(
        whole.message,
        '"agent" is not idempotent, so its code cannot wait; make the wait a step of the workflow'
      )
      const inner = errorOf(
        await runs().go(({ step }) => step('turn', (context) => wait(context as unknown as Context)))
      )
      assert.equal(inner.code, 'SUB_STEP_NOT_ALLOWED')
      assert.equal(
        inner.message,
        'sub-step "agent/turn" cannot wait; call "sleep" or "waitFor" of its task, outside of the sub-step'
      )
    }
  })
})

describe('a sub-step that was declared done without the output that its call needs', () => {
  const DONE = { _tag: 'Done' } as const
  const declared = async (answer: Answer) => {
    const { environment, go, ran } = runs()
    const agent = async ({ step }: Context): Promise<unknown> => {
      const first = await step('first', () => ran.push('first'))
      const receipt = await step('pay', { idempotent: false, output: t.string }, () => {
        ran.push('pay')
        throw new Error('no reply')
      })
      return [first, receipt, await step('last', () => ran.push('last'))]
    }
    await go(agent)
    const answered = await confirm('r', new Map([['agent/pay', answer]]))(environment)()
    assert.ok(E.isRight(answered))
    return { environment, go, ran, agent }
  }
  const paid = new Map<string, Answer>([['agent/pay', { _tag: 'Done', output: 'p-7' }]])
  const SEVEN: Answer = { _tag: 'Done', output: 7 }

  test.each([
    ['no output', DONE],
    ['an output that does not fit', SEVEN]
  ])(
    'after the answer "done" with %s the call fails, its error says how to supply the output, and a resume takes that output',
    async (_, answer) => {
      const { go, ran, agent } = await declared(answer)
      const { code, message } = errorOf(await go(agent))
      assert.equal(code, 'OUTPUT_NOT_DECODABLE')
      assert.match(message, /"agent\/pay" was declared done without an output that it accepts: expected string; resume/)
      const done = await go(agent, {}, { confirm: paid })
      assert.deepEqual(outputOf(done), [1, 'p-7', 3])
      assert.deepEqual(ran, ['first', 'pay', 'last'])
      // The same call again changes nothing.
      assert.equal(ended(await go(agent, {}, { confirm: paid })).revision, ended(done).revision)
    }
  )

  test('the option `outputs` may supply the missing output of a sub-step that was declared done', async () => {
    const { go, ran, agent } = await declared(DONE)
    assert.deepEqual(outputOf(await go(agent, {}, { outputs: new Map([['agent/pay', 'p-8']]) })), [1, 'p-8', 3])
    assert.deepEqual(ran, ['first', 'pay', 'last'])
  })

  test('if an outer sub-step completed with the first answer about its nested sub-step, another answer is refused', async () => {
    const { go, ran } = runs()
    const agent =
      (end: () => unknown) =>
      async ({ step }: Context): Promise<unknown> => {
        const pay = (): never => {
          throw new Error('no reply')
        }
        const outer = await step('outer', async (inner) => await inner.step('pay', { idempotent: false }, pay))
        end()
        return outer
      }
    const failing = agent(() => assert.fail('no end'))
    const answering = (output: string): PlanOptions => ({
      confirm: new Map([['agent/outer/pay', { _tag: 'Done', output }]])
    })
    await go(failing)
    assert.equal(errorOf(await go(failing, {}, answering('p-1'))).message, 'no end')
    const other = await go(failing, {}, answering('p-2'))
    assert.ok(E.isLeft(other) && other.left._tag === 'PlanError')
    assert.deepEqual(other.left.problems, [{ _tag: 'NothingToConfirm', unit: 'agent/outer/pay', completed: true }])
    const done = await go(
      agent(() => ran.push('end')),
      {},
      answering('p-1')
    )
    assert.equal(outputOf(done), 'p-1')
    assert.equal(Units.get(ended(done).completedSteps, 'agent/outer/pay')?.output, 'p-1')
  })
})

describe('a nested sub-step', () => {
  test('a nested sub-step has a path below that of the outer one, and stays recorded when the outer one fails', async () => {
    const { go, ran, noting } = runs()
    let fails = true
    const agent = async ({ step }: Context): Promise<unknown> =>
      await step('turn', async ({ step: inner }) => {
        await inner('x', noting('x', 1))
        if (fails) throw new Error('broken')
        return 'done'
      })
    await go(agent)
    fails = false
    const outcome = await go(agent)
    assert.equal(outputOf(outcome), 'done')
    assert.deepEqual(ran, ['x'])
    assert.deepEqual(units(outcome), ['agent/turn/x', 'agent/turn', 'agent'])
  })

  test('a nested call is refused if it uses the `step` function of the outer code', async () => {
    const { go } = runs()
    const outcome = await go(
      async ({ step }) =>
        await step('turn', async () => {
          await sleep(1)
          return await step('x', () => 1)
        })
    )
    const { code, message } = errorOf(outcome)
    assert.equal(code, 'SUB_STEP_OUTSIDE')
    assert.match(
      message,
      /sub-step "x" was called inside sub-step "agent\/turn" with the "step" of the outer code; call the "step" of the context/
    )
  })
})

describe('a task that ends while sub-steps run', () => {
  test('the code of a task that was abandoned after the grace does not continue when its open sub-step is saved later', async () => {
    const storage = memoryStorage()
    const slow: Environment['storage'] = {
      ...storage,
      save: (claim, revisions) => async () => {
        const isSubStep = revisions.some(({ change }) => 'subStep' in change)
        if (isSubStep) await sleep(250)
        return await storage.save(claim, revisions)()
      }
    }
    const { go } = runs({ storage: slow, graceMillis: 50 })
    const after: Array<string> = []
    const outcome = await go(
      async ({ step }) => {
        const charged = step('charge', () => sleep(40)).then(() => after.push('charged'))
        await sleep(1_000)
        await charged
      },
      { timeoutMillis: 20 }
    )
    assert.equal(E.isRight(outcome) && outcome.right._tag, 'Failed')
    await sleep(400)
    assert.deepEqual(after, [])
  })

  test('a task that returns while sub-steps run fails', async () => {
    const { go } = runs()
    const outcome = await go(({ step }) => {
      void step('quick', () => sleep(5, 'ok'))
      void step('slow', ({ signal }) => sleep(60_000, undefined, { signal }))
      return 'early'
    })
    const { code, message } = errorOf(outcome)
    assert.equal(code, 'SUB_STEP_NOT_AWAITED')
    assert.match(message, /it returned while "agent\/quick", "agent\/slow" ran/)
    assert.deepEqual(units(outcome), ['agent/quick'])
  })

  test.each(['returns', 'throws'])(
    'a sub-step whose start is still being saved when its task %s does not run',
    async (how) => {
      const { go, ran, noting, planned } = runs()
      const outcome = await go(({ step }) => {
        void step('pay', { idempotent: false }, noting('pay', 1))
        if (how === 'throws') throw new Error('bad')
      })
      assert.equal(errorOf(outcome).code, how === 'throws' ? undefined : 'SUB_STEP_NOT_AWAITED')
      assert.deepEqual(ran, [])
      assert.doesNotMatch(await planned(() => undefined), /confirm/)
    }
  )

  test('a sub-step whose former version is still being dropped when its task returns does not run', async () => {
    const { go, ran, noting } = runs()
    await go(async ({ step }) => {
      await step('turn', { version: '1' }, noting('turn 1', 1))
      throw new Error('bad')
    })
    await go(({ step }) => void step('turn', { version: '2' }, noting('turn 2', 1)))
    assert.deepEqual(ran, ['turn 1'])
  })

  test('a task that throws while sub-steps run fails with its own error, and records those that end within the grace', async () => {
    const { go, planned } = runs()
    const outcome = await go(
      async ({ step }) =>
        await Promise.all([
          step('bad', () => Promise.reject(new Error('bad'))),
          step('good', () => sleep(20, 'ok')),
          step('pay', { idempotent: false }, () => new Promise<string>(() => undefined))
        ])
    )
    assert.equal(errorOf(outcome).message, 'bad')
    assert.deepEqual(units(outcome), ['agent/good'])
    assert.match(await planned(() => undefined), /confirm +pay +failed: the code that called it ended first/)
  })

  test.each([
    ['step', (late: Context) => late.step('late', () => assert.fail('it ran'))],
    ['sleep', (late: Context) => late.sleep('late', { millis: 1 })],
    ['waitFor', (late: Context) => late.waitFor('late')]
  ] as const)('a call of %s after the task returned is refused and records nothing', async (_, call) => {
    let late: Context | undefined
    const { go, environment } = runs()
    await go((context) => {
      late = context
    })
    const stored = await environment.storage.load('r')()
    const refused = await (call(late as Context) as Promise<unknown>).then(
      () => assert.fail('it resolved'),
      (error: unknown) => error
    )
    assert.equal((refused as { code?: string }).code, 'SUB_STEP_OUTSIDE')
    assert.match((refused as Error).message, /^"late" was called after "agent" had ended; await each call/)
    assert.deepEqual(await environment.storage.load('r')(), stored)
  })

  test.each(['fails', 'times out', 'is stopped'])(
    'if a task %s, a branch of its code that still runs stops at its next call, and no rejection is left unhandled',
    async (how) => {
      const unhandled: Array<unknown> = []
      const note = (error: unknown): void => void unhandled.push(error)
      process.on('unhandledRejection', note)
      const controller = new AbortController()
      const interrupt: Interrupt = { signal: controller.signal, reason: () => 'aborted' }
      const { go, ran, noting } = runs({ interrupt })
      const after: Array<string> = []
      await go(
        async ({ step }) => {
          const branch = (async () => {
            await sleep(60)
            await step('second', noting('second', 2))
            after.push('second')
          })()
          await step('first', async ({ signal }) => {
            if (how === 'fails') throw new Error('broken')
            if (how === 'is stopped') controller.abort()
            await sleep(200, undefined, { signal })
          })
          await branch
        },
        how === 'times out' ? { timeoutMillis: 20 } : {}
      )
      await sleep(100)
      process.off('unhandledRejection', note)
      assert.deepEqual([unhandled, after, ran], [[], [], []])
    }
  )

  test('a call after the sub-step around it ended is refused', async () => {
    const { go } = runs()
    const outcome = await go(async ({ step }) => {
      let late: RunSubStep | undefined
      await step('turn', ({ step: inner }) => void (late = inner))
      await late?.('late', () => assert.fail('it ran'))
    })
    assert.match(errorOf(outcome).message, /^"late" was called after "agent\/turn" had ended/)
  })

  test('a call in the code of a task that is abandoned after the grace never settles and records nothing', async () => {
    const { go } = runs({ graceMillis: 10 })
    let isSettled = false
    let goOn: () => void = () => undefined
    const blocked = new Promise<void>((resolve) => (goOn = resolve))
    const outcome = await go(
      async ({ step }) => {
        await blocked
        await step('late', () => assert.fail('it ran')).finally(() => (isSettled = true))
      },
      { timeoutMillis: 10 }
    )
    assert.equal(errorOf(outcome).code, 'TIMEOUT')
    goOn()
    await sleep(20)
    assert.deepEqual({ isSettled, units: units(outcome) }, { isSettled: false, units: [] })
  })
})

describe('the artifacts of a sub-step', () => {
  test('a sub-step whose artifact is missing runs again, and so do those recorded after it', async () => {
    const artifacts = memoryArtifacts()
    const { go, ran, noting } = runs({ artifacts })
    let fails = true
    const agent = async ({ step }: Context): Promise<void> => {
      await step('a', noting('a', 1))
      await step('make', async ({ artifacts: own }) => {
        ran.push('make')
        await own.put('corpus', 'all of it')
      })
      await step('use', noting('use', 1))
      if (fails) throw new Error('broken')
    }
    const first = await go(agent)
    assert.deepEqual(
      Array.from(ended(first).completedSteps, ({ unit, evidence }) => [unit, evidence.length]),
      [
        ['agent/a', 0],
        ['agent/make', 1],
        ['agent/use', 0]
      ]
    )
    await artifacts.clear('r')()
    fails = false
    await go(agent)
    assert.deepEqual(ran, ['a', 'make', 'use', 'make', 'use'])
  })
})
test('a sub-step with undefined options runs', async () => {
  const { go, ran, noting } = runs()
  await go(async ({ step }) => await step('a', undefined as never, noting('a', 1)))
  assert.deepEqual(ran, ['a'])
})

describe('an invalid call', () => {
  test.each([
    ['no name', (step: RunSubStep) => step('', () => 1), 'SUB_STEP_NAME'],
    ['no function', (step: RunSubStep) => step('a', undefined as never), 'SUB_STEP_RUN'],
    ['an input that is not JSON', (step: RunSubStep) => step('a', { input: 1n }, () => 1), 'SUB_STEP_OPTION'],
    [
      'a version that is not a string',
      (step: RunSubStep) => step('a', { version: 2 as never }, () => 1),
      'SUB_STEP_OPTION'
    ],
    [
      'a timeout that is not a number',
      (step: RunSubStep) => step('a', { timeoutMillis: NaN }, () => 1),
      'SUB_STEP_OPTION'
    ],
    ['an invalid retry', (step: RunSubStep) => step('a', { retry: 3 as never }, () => 1), 'SUB_STEP_OPTION'],
    [
      'an output that is not a schema',
      (step: RunSubStep) => step('a', { output: {} as never }, () => 1 as never),
      'SUB_STEP_OPTION'
    ]
  ])('a call with %s is refused', async (_, call, code) => {
    assert.equal(errorOf(await runs().go(async ({ step }) => await call(step))).code, code)
  })

  test('a check of a wave cannot call sub-steps', async () => {
    const program = P.wave(
      'agent',
      { a: { run: () => 1 } },
      { before: ({ step }) => step('a', () => 1) }
    )(P.start('w') as never)
    const outcome = await runOrResume(program as never, 'r', {})(runs().environment)()
    assert.match(errorOf(outcome).message, /sub-steps run only in an attempt of a task/)
  })
})

describe('a sub-step in a sub-step that is not idempotent', () => {
  const retry: RetryPolicy = { _tag: 'Constant', attempts: 3, delayMillis: 1, maxDelayMillis: 1, jitter: 0 }
  const pay = async (step: RunSubStep, ran: Array<string>): Promise<unknown> =>
    await step('pay', { idempotent: false }, async ({ signal }) => {
      ran.push('pay')
      await sleep(100, undefined, { signal }).catch(() => undefined)
      await sleep(50)
    })

  test('a nested sub-step that is not idempotent does not run again after the outer one times out, despite retries', async () => {
    const { go, ran } = runs({ graceMillis: 10 })
    const outcome = await go(
      async ({ step }) => await step('outer', { timeoutMillis: 30, retry }, async (inner) => await pay(inner.step, ran))
    )
    assert.ok(E.isRight(outcome) && outcome.right._tag === 'Failed')
    assert.deepEqual(ran, ['pay'])
    assert.deepEqual(
      outcome.right.failures.map(({ unit, outcome }) => [unit, outcome]),
      [
        ['agent/outer/pay', 'unknown'],
        ['agent/outer', 'unknown'],
        ['agent', 'unknown']
      ]
    )
  })

  test('a nested sub-step that is not idempotent does not run again after the outer one fails, despite retries', async () => {
    const { go, ran } = runs({ graceMillis: 10 })
    const outcome = await go(
      async ({ step }) =>
        await step('outer', { retry }, async (inner) => {
          pay(inner.step, ran).catch(() => undefined)
          await sleep(10)
          throw Object.assign(new Error('flaky'), { code: 'ETIMEDOUT' })
        })
    )
    assert.ok(E.isRight(outcome) && outcome.right._tag === 'Failed')
    assert.deepEqual(ran, ['pay'])
  })

  test('a nested sub-step stays in doubt even if its task completes', async () => {
    const { environment, ran } = runs({ graceMillis: 10 })
    const agent = P.step('agent', {
      run: async ({ step }) => {
        await step('outer', { timeoutMillis: 20 }, async (inner) => await pay(inner.step, ran)).catch(() => undefined)
      }
    })(P.wave('checks', { a: { run: () => 1 } })(P.start('w') as never))
    const outcome = await runOrResume(agent as never, 'r', {})(environment)()
    assert.ok(E.isRight(outcome) && outcome.right._tag === 'Completed')
    const planned = await planRun(agent as never, 'r', { restartWave: 'checks' })(environment)()
    assert.ok(E.isRight(planned))
    assert.equal(planned.right.questions.length, 1)
  })

  test('a nested sub-step in doubt needs no answer while the completed sub-step around it does not run again', async () => {
    const { go, ran } = runs()
    let fails = true
    const agent = async ({ step }: Context): Promise<unknown> => {
      const paid = await step('outer', async (inner) => {
        const paying = inner.step('pay', { idempotent: false }, () => Promise.reject(new Error('lost')))
        return await paying.catch(() => (ran.push('pay'), 'perhaps'))
      })
      if (fails) throw new Error('broken')
      return paid
    }
    assert.equal(errorOf(await go(agent)).message, 'broken')
    fails = false
    assert.equal(outputOf(await go(agent)), 'perhaps')
    assert.deepEqual(ran, ['pay'])
  })

  test('a task with a nested sub-step that is not idempotent may share a wave with a group that fails', async () => {
    const { environment, ran } = runs({ graceMillis: 10 })
    const run = async ({ step }: Pick<Context, 'step'>): Promise<void> => {
      await step('outer', { timeoutMillis: 20 }, async (inner) => await pay(inner.step, ran)).catch(() => undefined)
    }
    const other = { needs: ['agent'], run: () => TE.left(new Error('other failed')) } as const
    const program = P.wave('all', { agent: { run }, other })(P.start('w') as never)
    const outcome = await runOrResume(program as never, 'r', {})(environment)()
    assert.ok(E.isRight(outcome), JSON.stringify(outcome))
    assert.equal(outcome.right._tag, 'Failed')
  })
})

test('the second call of a name runs without a question after a stop in the first call, if only the second is not idempotent', async () => {
  const stop = new AbortController()
  const interrupt: Interrupt = { signal: stop.signal, reason: () => 'aborted' }
  const { go, ran, environment } = runs({ interrupt })
  const run = async ({ step }: Context): Promise<void> => {
    await step('turn', async ({ signal }) => {
      ran.push('turn')
      if (stop.signal.aborted) return
      stop.abort()
      await sleep(1_000, undefined, { signal })
    })
    await step('turn', { idempotent: false }, () => void ran.push('turn#2'))
  }
  const outcome = await go(run)
  assert.ok(E.isRight(outcome) && outcome.right._tag === 'Interrupted')
  const program = P.step('agent', { run })(P.start('w'))
  const again = await runOrResume(
    program,
    'r',
    {}
  )({ ...environment, interrupt: nodeEnvironment(memoryStorage()).interrupt })()
  assert.ok(E.isRight(again) && again.right._tag === 'Completed', JSON.stringify(again))
  assert.deepEqual(ran, ['turn', 'turn', 'turn#2'])
})

test('the second call of a name answered with "again" runs without a second question, although the first is idempotent', async () => {
  const stop = new AbortController()
  const one = runs({ interrupt: { signal: stop.signal, reason: () => 'aborted' }, graceMillis: 20 })
  const agent =
    (pay: () => unknown) =>
    async ({ step }: Context): Promise<unknown> => {
      await step('turn', one.noting('turn', 1))
      return await step('turn', { idempotent: false }, pay)
    }
  await one.go(
    agent(() => {
      stop.abort()
      return new Promise(() => undefined)
    })
  )
  const next = runs({ ...one.environment, interrupt: never })
  const again = new Map([['agent/turn#2', { _tag: 'Again' }]] as const)
  assert.equal(outputOf(await next.go(agent(next.noting('turn#2', 2)), {}, { confirm: again })), 2)
})

test('a call of step under the name of a recorded wait is refused', async () => {
  const { clock } = nodeEnvironment(memoryStorage())
  let later = 0
  const { go, ran } = runs({ clock: { ...clock, now: () => clock.now() + later } })
  const hour = { millis: 3_600_000 }
  const resting = await go(async (context) => await Promise.all([context.sleep('y', hour), context.waitFor('x')]))
  assert.ok(E.isRight(resting) && resting.right._tag === 'Pending')
  later = hour.millis
  const edited = await go(async (context) => {
    await context.sleep('y', hour)
    await context.step('x', { idempotent: false }, () => void ran.push('x'))
  })
  assert.equal(errorOf(edited).code, 'SUB_STEP_CHANGED')
  assert.deepEqual(ran, [])
})
