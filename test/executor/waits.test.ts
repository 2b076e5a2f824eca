import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as t from 'io-ts'
import { answer, cancel, explain, RunError, type RunOutcome } from 'dogear'
import { memoryRequests, memoryStorage } from 'dogear/memory'
import { nodeEnvironment } from 'dogear/node'
import {
  answer as answerOf,
  planRun,
  resume,
  runOrResume,
  runOutcome,
  type StepContext,
  viewRun,
  workflow
} from 'dogear/promise'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { describe, test } from 'vitest'

/** A clock that a test advances. */
const makeClock = (start = Date.parse('2026-01-02T03:04:05.000Z')) => {
  let time = start
  return {
    move: (millis: number) => void (time += millis),
    clock: {
      now: () => time,
      // Nothing sleeps here while time advances.
      sleep: (_: number, signal: AbortSignal) => () =>
        new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    }
  }
}

const world = () => {
  const { clock, move } = makeClock()
  const storage = memoryStorage()
  const events: Array<string> = []
  const environment = {
    clock,
    events: {
      report: (event: { readonly _tag: string; readonly unit?: string }) =>
        void (event.unit === undefined ? undefined : events.push(`${event._tag} ${event.unit}`))
    }
  }
  const options = { id: 'run-1', storage, environment }
  const give = (unit: string, value: unknown) =>
    answer('run-1', unit, value, { by: 'ada' })(nodeEnvironment(storage, environment))()
  return { move, events, options, give, storage }
}

const pending = (outcome: { readonly _tag: string }): Extract<RunOutcome, { readonly _tag: 'Pending' }> => {
  assert.equal(outcome._tag, 'Pending')
  return outcome as Extract<RunOutcome, { readonly _tag: 'Pending' }>
}

describe('a sleep', () => {
  const nap = (calls: Array<string>) =>
    workflow('nap')
      .step('before', () => void calls.push('before'))
      .sleep('nap', { millis: 1_000 })
      .step('after', () => void calls.push('after'))

  test('a sleep suspends the run until the recorded time, and the first resume after it continues', async () => {
    const { move, options } = world()
    const calls: Array<string> = []
    const resting = pending(await runOutcome(nap(calls), options))
    assert.equal(resting.wakeAt, '2026-01-02T03:04:06.000Z')
    assert.deepEqual(resting.units, [
      { _tag: 'Timer', wakeAt: resting.wakeAt, unit: 'nap', startedAt: '2026-01-02T03:04:05.000Z' }
    ])
    move(999)
    const { revision } = pending(await runOutcome(nap(calls), options)).checkpoint
    assert.equal(revision, resting.checkpoint.revision)
    assert.deepEqual(calls, ['before'])
    move(1)
    const ended = await runOutcome(nap(calls), options)
    assert.equal(ended._tag, 'Completed')
    assert.deepEqual(calls, ['before', 'after'])
  })

  test('a sleep keeps its wake time through an edit of its length', async () => {
    const { move, options } = world()
    pending(await runOutcome(nap([]), options))
    move(1_000)
    const longer = workflow('nap')
      .step('before', () => undefined)
      .sleep('nap', { millis: 60_000 })
      .step('after', () => undefined)
    assert.equal((await runOutcome(longer, options))._tag, 'Completed')
  })

  test('a sleep of 0 milliseconds, or until a past time, does not suspend the run', async () => {
    const { options } = world()
    const short = workflow('short').sleep('none', { millis: 0 }).sleep('past', { until: '2020-01-01T00:00:00Z' })
    assert.equal((await runOutcome(short, options))._tag, 'Completed')
  })

  test('a sleep in a group suspends only its group, and each group wakes at its own time', async () => {
    const { move, options } = world()
    const calls: Array<string> = []
    const wave = workflow('wave').wave('all', {
      slow: {
        steps: (slow) =>
          slow
            .step('a', () => void calls.push('a'))
            .sleep('nap', { millis: 10 })
            .step('b', () => void calls.push('b'))
      },
      quick: () => void calls.push('quick'),
      nap: { sleep: { millis: 20 } },
      late: { needs: ['nap'], run: () => void calls.push('late') }
    })
    assert.equal(pending(await runOutcome(wave, options)).wakeAt, '2026-01-02T03:04:05.010Z')
    assert.deepEqual(calls.sort(), ['a', 'quick'])
    move(10)
    pending(await runOutcome(wave, options))
    assert.deepEqual(calls, ['a', 'quick', 'b'])
    move(10)
    assert.equal((await runOutcome(wave, options))._tag, 'Completed')
    assert.deepEqual(calls, ['a', 'quick', 'b', 'late'])
  })

  test('a sleep wakes in the same execution if its time comes while a sibling runs', async () => {
    const { move, options } = world()
    const calls: Array<string> = []
    const wave = workflow('wave').wave('all', {
      slow: {
        steps: (slow) => slow.sleep('nap', { millis: 10 }).step('b', () => void calls.push('b'))
      },
      quick: async () => {
        await setImmediate()
        move(10)
      }
    })
    assert.equal((await runOutcome(wave, options))._tag, 'Completed')
    assert.deepEqual(calls, ['b'])
  })

  test('sleeps in a wave use up no attempt of the check of that wave', async () => {
    let time = 0
    let looks = 0
    const calls: Array<string> = []
    const clock = { now: () => (time += 5), sleep: () => () => Promise.resolve() }
    const checked = workflow('checked').wave(
      'all',
      {
        naps: {
          steps: (start) => start.sleep('one', { millis: 4 }).sleep('two', { millis: 4 }).sleep('three', { millis: 4 })
        },
        work: () => void calls.push('work')
      },
      {
        onCheckFailure: 'retry',
        after: () => {
          looks += 1
          if (looks < 3) throw new Error('not yet')
        }
      }
    )
    const outcome = await runOutcome(checked, { id: 'run-1', storage: memoryStorage(), environment: { clock } })
    assert.equal(outcome._tag, 'Completed')
    assert.deepEqual([looks, calls.length], [3, 3])
  })

  test('each item of a map continues after its own sleep', async () => {
    const { move, options } = world()
    const done: Array<number> = []
    const map = workflow('map').map(
      'each',
      { forEach: () => [1, 2, 3] },
      {
        steps: (each) => each.sleep('nap', { millis: 10 }).step('do', ({ item }) => void done.push(item))
      }
    )
    pending(await runOutcome(map, options))
    move(10)
    assert.equal((await runOutcome(map, options))._tag, 'Completed')
    assert.deepEqual(done, [1, 2, 3])
  })
})

describe('a wait for an answer', () => {
  const release = workflow('release')
    .waitFor('approve', { question: 'Release?', output: t.boolean })
    .step('publish', ({ outputs }) => `approved: ${String(outputs.approve)}`)

  test('a wait suspends the run until an answer arrives, and the answer is its output', async () => {
    const { options, give } = world()
    const resting = pending(await runOutcome(release, options))
    assert.deepEqual(resting.units, [
      { _tag: 'Answer', question: 'Release?', unit: 'approve', startedAt: '2026-01-02T03:04:05.000Z' }
    ])
    pending(await runOutcome(release, options))
    assert.ok(E.isRight(await give('approve', true)))
    assert.equal((await resume(release, options)).publish, 'approved: true')
  })

  test('a wait takes an answer that arrived before the wait started', async () => {
    const { options, give, move } = world()
    const late = workflow('late').sleep('nap', { millis: 10 }).waitFor('approve')
    pending(await runOutcome(late, options))
    assert.ok(E.isRight(await give('approve', 'yes')))
    const again = await give('approve', 'no')
    assert.ok(E.isLeft(again) && again.left._tag === 'AlreadyAnswered')
    assert.match(
      RunError.describe(again.left),
      /resume the run to use it\. To replace it once the run waits there, resume with fromStep "approve", then answer again$/
    )
    pending(await runOutcome(late, options))
    move(10)
    assert.equal((await resume(late, options)).approve, 'yes')
  })

  test('a wait reports an answer that its schema refuses, and goes on waiting', async () => {
    const { options, give, events } = world()
    pending(await runOutcome(release, options))
    assert.ok(E.isRight(await give('approve', 'perhaps')))
    pending(await runOutcome(release, options))
    assert.ok(events.includes('AnswerRejected approve'))
    const rejected = { by: 'ada', path: '$', expected: 'boolean' }
    const inView = async () => {
      const waiting = (await viewRun(options))?.units.find(({ unit }) => unit === 'approve')?.pending
      assert.ok(waiting?._tag === 'Answer')
      return waiting.rejected
    }
    assert.deepEqual(await inView(), rejected)
    pending(await runOutcome(release, options))
    assert.deepEqual(await inView(), rejected)
    assert.ok(E.isRight(await give('approve', false)))
    assert.equal((await resume(release, options)).publish, 'approved: false')
  })

  test('the reason of a rejected answer has a bounded path, and no secret that its schema names', async () => {
    const { options, give } = world()
    const environment = {
      ...options.environment,
      secrets: { where: 'the test', read: () => () => Promise.resolve(E.right(O.some('s3cret-value'))) }
    }
    const schema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value: unknown) => ({
          issues: [{ message: `${'x'.repeat(195)}s3cret-value`, path: Object.keys(value as object) }]
        })
      }
    } as const
    const flow = workflow('named', { secrets: ['TOKEN'] }).waitFor('approve', { output: schema })
    pending(await runOutcome(flow, { ...options, environment }))
    assert.ok(E.isRight(await give('approve', { ['k'.repeat(1_000_000)]: 1 })))
    const outcome = pending(await runOutcome(flow, { ...options, environment }))
    const [waiting] = outcome.units
    assert.ok(waiting?._tag === 'Answer' && waiting.rejected !== undefined)
    assert.match(waiting.rejected.path, /^\$\.k{198}… \(1000002 characters\)$/)
    assert.match(waiting.rejected.expected, /x\*\*\*… \(207 characters\)\)$/)
    assert.equal(JSON.stringify(outcome.rejected).includes('s3'), false)
  })

  test('a wait without an answer in time fails with WAIT_TIMEOUT, and a resume waits again', async () => {
    const { options, move } = world()
    const limited = workflow('limited').waitFor('approve', { timeoutMillis: 1_000 })
    pending(await runOutcome(limited, options))
    move(1_000)
    const failed = await runOutcome(limited, options)
    assert.ok(failed._tag === 'Failed')
    assert.equal(failed.failures[0]?.error.code, 'WAIT_TIMEOUT')
    assert.equal(
      failed.failures[0]?.error.message,
      'no answer came between 2026-01-02T03:04:05.000Z and 2026-01-02T03:04:06.000Z; resume to wait again'
    )
    assert.equal(pending(await runOutcome(limited, options)).wakeAt, '2026-01-02T03:04:07.000Z')
  })

  test('an answer after the time limit is refused, and the wait fails with WAIT_TIMEOUT', async () => {
    const { options, move, give } = world()
    const limited = workflow('limited').waitFor('approve', { timeoutMillis: 1_000 })
    pending(await runOutcome(limited, options))
    move(1_000)
    const late = await give('approve', true)
    assert.ok(E.isLeft(late) && late.left._tag === 'AnswerRefused')
    assert.equal(late.left.why, 'WaitOver')
    const failed = await runOutcome(limited, options)
    assert.ok(failed._tag === 'Failed' && failed.failures[0]?.error.code === 'WAIT_TIMEOUT')
    const later = await give('approve', true)
    assert.ok(E.isLeft(later) && later.left._tag === 'AnswerRefused' && later.left.why === 'WaitOver')
    pending(await runOutcome(limited, options))
    assert.ok(E.isRight(await give('approve', 'yes')))
    assert.equal((await resume(limited, options)).approve, 'yes')
  })

  test('an answer within the time limit counts, however late a process reads it', async () => {
    const { options, move, give } = world()
    const limited = workflow('limited').waitFor('approve', { timeoutMillis: 1_000 })
    pending(await runOutcome(limited, options))
    move(999)
    assert.ok(E.isRight(await give('approve', 'yes')))
    move(60_000)
    assert.equal((await resume(limited, options)).approve, 'yes')
  })

  test('an answer to a wait in the code of a task is refused after the time limit', async () => {
    const { options, move, give } = world()
    const limited = workflow('limited').step('ask', ({ waitFor }) => waitFor('approve', { timeoutMillis: 1_000 }))
    pending(await runOutcome(limited, options))
    move(1_000)
    const late = await give('ask/approve', true)
    assert.ok(E.isLeft(late) && late.left._tag === 'AnswerRefused')
    assert.equal(late.left.why, 'WaitOver')
    assert.equal((await runOutcome(limited, options))._tag, 'Failed')
  })

  test.each([
    ['does not exist', 'UnknownUnit', 'missing'],
    ['does not wait', 'NotAWait', 'publish']
  ])('an answer to a unit that %s is refused with %s', async (_, why, unit) => {
    const { options, give } = world()
    pending(await runOutcome(release, options))
    const given = await give(unit, true)
    assert.ok(E.isLeft(given) && given.left._tag === 'AnswerRefused')
    assert.equal(given.left.why, why)
    assert.deepEqual(given.left.waiting, ['approve'])
  })

  test('an answer that is not plain JSON is refused', async () => {
    const { options, give } = world()
    pending(await runOutcome(release, options))
    const given = await give('approve', 1n)
    assert.ok(E.isLeft(given) && given.left._tag === 'AnswerRefused')
    assert.equal(given.left.why, 'NotJson')
    const missing = await give('approve', undefined)
    assert.ok(E.isLeft(missing) && missing.left._tag === 'AnswerRefused')
    assert.equal(missing.left.expected, 'plain JSON; it is missing')
  })
})

describe('waits in the code of a task', () => {
  test('a task that sleeps three times in its code ends in its first attempt, and runs each sub-step once', async () => {
    const { move, options } = world()
    const calls: Array<string> = []
    const retry = { _tag: 'Constant', attempts: 1, delayMillis: 0, maxDelayMillis: 0, jitter: 0 } as const
    const trial = workflow('trial').step('remind', {
      retry,
      run: async ({ attempt, step, sleep }) => {
        for (const day of ['one', 'two', 'three']) {
          await step(day, () => void calls.push(`${day} ${attempt}`))
          await sleep(`after ${day}`, { millis: 1_000 })
        }
        return 'done'
      }
    })
    for (const number of [1, 2, 3]) {
      const resting = pending(await runOutcome(trial, options))
      assert.equal(calls.length, number)
      assert.deepEqual(
        resting.units.map(({ unit }) => unit),
        [`remind/after%20${['one', 'two', 'three'][number - 1]}`]
      )
      const { state } = resting.checkpoint
      assert.ok(state._tag === 'Interrupted' && state.reason === 'pending')
      assert.deepEqual(state.inFlight.records, [{ unit: 'remind', attempt: 1, suspended: true }])
      const { revision } = pending(await runOutcome(trial, options)).checkpoint
      assert.equal(revision, resting.checkpoint.revision)
      move(1_000)
    }
    assert.equal((await resume(trial, options)).remind, 'done')
    assert.deepEqual(calls, ['one 1', 'two 1', 'three 1'])
  })

  test('a wait resolves with the answer that its schema decodes', async () => {
    const { options, give, events } = world()
    const approve = workflow('approve').step('ask', async ({ waitFor }) => {
      const yes = await waitFor('ok', { question: 'Go?', output: t.boolean })
      return yes ? 'went' : 'stayed'
    })
    assert.deepEqual(
      pending(await runOutcome(approve, options)).units.map((one) => one._tag === 'Answer' && one.question),
      ['Go?']
    )
    assert.ok(E.isRight(await give('ask/ok', 'perhaps')))
    pending(await runOutcome(approve, options))
    assert.ok(events.includes('AnswerRejected ask/ok'))
    assert.ok(E.isRight(await give('ask/ok', true)))
    assert.equal((await resume(approve, options)).ask, 'went')
  })

  test('a wait rejects with WAIT_TIMEOUT, which the code may catch', async () => {
    const { options, move } = world()
    const limited = workflow('limited').step('ask', async ({ waitFor, step }) => {
      try {
        await waitFor('ok', { timeoutMillis: 1_000 })
        return 'answered'
      } catch (error) {
        return await step('give up', () => (error as { code?: string }).code ?? 'no code')
      }
    })
    pending(await runOutcome(limited, options))
    move(1_000)
    assert.equal((await resume(limited, options)).ask, 'WAIT_TIMEOUT')
  })

  test('a wait that ends while a sub-step of its task runs resolves without suspending the task', async () => {
    const { options } = world()
    let starts = 0
    const both = workflow('both').step('both', async ({ sleep, step }) => {
      starts += 1
      const nap = sleep('nap', { millis: 5 })
      return await step('work', () => nap.then(() => 'worked'))
    })
    const real = { id: options.id, storage: options.storage }
    assert.equal((await runOrResume(both, real)).both, 'worked')
    assert.equal(starts, 1)
  })

  test('a task is suspended again when one of its parallel waits has ended, however slow the store is', async () => {
    const { options, move, give, storage } = world()
    const slow: typeof storage = {
      ...storage,
      save: (claim, revisions) => async () => {
        await setImmediate()
        await setImmediate()
        return await storage.save(claim, revisions)()
      }
    }
    const all = workflow('all').step('all', async ({ sleep, waitFor }) => {
      const [, yes, no] = await Promise.all([sleep('nap', { millis: 1_000 }), waitFor('yes'), waitFor('no')])
      return [yes, no]
    })
    const unitsOf = async (): Promise<ReadonlyArray<string>> =>
      pending(await runOutcome(all, { ...options, storage: slow })).units.map(({ unit }) => unit)
    assert.deepEqual(await unitsOf(), ['all/nap', 'all/yes', 'all/no'])
    move(1_000)
    assert.deepEqual(await unitsOf(), ['all/yes', 'all/no'])
    assert.ok(E.isRight(await give('all/no', 0)))
    assert.deepEqual(await unitsOf(), ['all/yes'])
    assert.ok(E.isRight(await give('all/yes', 1)))
    assert.deepEqual((await resume(all, options)).all, [1, 0])
  })

  test('a wait keeps its state when a sub-step beside it runs again in another version', async () => {
    const { options, move, give } = world()
    const calls: Array<string> = []
    const both = (version: string) =>
      workflow('both').step('both', async ({ sleep, step, waitFor }) => {
        const open = [sleep('nap', { millis: 1_000 }), waitFor('ok')]
        await step('work', { version }, () => void calls.push(version))
        await Promise.all(open)
        await sleep('late', { millis: 1_000 })
      })
    pending(await runOutcome(both('1'), options))
    assert.ok(E.isRight(await give('both/ok', true)))
    const resting = pending(await runOutcome(both('2'), options))
    assert.deepEqual(
      resting.units.map(({ unit }) => unit),
      ['both/nap']
    )
    move(1_000)
    pending(await runOutcome(both('2'), options))
    move(1_000)
    assert.equal((await runOutcome(both('2'), options))._tag, 'Completed')
    assert.deepEqual(calls, ['1', '2'])
  })

  test('a task drops the waits that are open when its code returns', async () => {
    const { options, give } = world()
    const race = workflow('race').step('race', ({ sleep, waitFor }) =>
      Promise.race([sleep('limit', { millis: 60_000 }).then(() => 'late'), waitFor('ok').then(() => 'answered')])
    )
    pending(await runOutcome(race, options))
    assert.ok(E.isRight(await give('race/ok', 1)))
    const ended = await runOutcome(race, options)
    assert.ok(ended._tag === 'Completed')
    assert.equal(ended.outputs.race, 'answered')
    assert.deepEqual([ended.checkpoint.pending.records, ended.checkpoint.answers.records], [[], []])
  })

  test('a task drops the waits whose start is still being saved when its code returns', async () => {
    const { options } = world()
    const hurried = workflow('hurried').step('hurried', ({ sleep, waitFor }) => {
      void sleep('limit', { millis: 60_000 })
      void waitFor('ok')
      return 'done'
    })
    const ended = await runOutcome(hurried, options)
    assert.ok(ended._tag === 'Completed')
    assert.equal(ended.outputs.hurried, 'done')
    assert.deepEqual(ended.checkpoint.pending.records, [])
  })

  test('a task drops the waits that end at the same time as the wait that it awaited', async () => {
    const { options, move } = world()
    const race = workflow('race').step('race', ({ sleep }) =>
      Promise.race([
        sleep('one', { millis: 1_000 }).then(() => 'one'),
        setImmediate().then(() => sleep('two', { millis: 1_000 }).then(() => 'two'))
      ])
    )
    pending(await runOutcome(race, options))
    move(1_000)
    assert.equal((await resume(race, options)).race, 'one')
  })

  test('the signal of a suspended task has the reason Suspended, and no catch or finally of its code runs', async () => {
    const { options } = world()
    const seen: Array<string> = []
    const nap = workflow('nap').step('nap', async ({ sleep, signal }) => {
      signal.addEventListener('abort', () => void seen.push((signal.reason as DOMException).name))
      try {
        await sleep('nap', { millis: 60_000 })
      } catch {
        seen.push('catch')
      } finally {
        seen.push('finally')
      }
    })
    pending(await runOutcome(nap, options))
    await setImmediate()
    assert.deepEqual(seen, ['Suspended'])
  })

  test('a repeated attempt drops an ended sleep that its code no longer calls', async () => {
    const { options, move } = world()
    let calls = 0
    const other = workflow('other').step('other', async ({ sleep }) => {
      calls += 1
      await sleep(`nap ${calls}`, { millis: 1_000 })
    })
    pending(await runOutcome(other, options))
    move(1_000)
    const resting = pending(await runOutcome(other, options))
    assert.equal(calls, 2)
    assert.deepEqual(
      resting.units.map(({ unit }) => unit),
      ['other/nap%202']
    )
  })

  test('waits in the code of parallel groups suspend each group separately', async () => {
    const { options, move } = world()
    const done: Array<string> = []
    const each =
      (name: string, millis: number) =>
      async ({ sleep }: { sleep: (n: string, s: { millis: number }) => Promise<void> }) => {
        await sleep('nap', { millis })
        done.push(name)
      }
    const wave = workflow('wave').wave('all', { a: each('a', 10), b: each('b', 20), c: () => void done.push('c') })
    pending(await runOutcome(wave, options))
    move(10)
    pending(await runOutcome(wave, options))
    assert.deepEqual(done, ['c', 'a'])
    move(10)
    assert.equal((await runOutcome(wave, options))._tag, 'Completed')
    assert.deepEqual(done, ['c', 'a', 'b'])
  })

  test('a group keeps its waits when another group fails', async () => {
    const { options, move } = world()
    let broken = true
    const wave = workflow('wave').wave('all', {
      a: async ({ sleep }) => {
        await sleep('nap', { millis: 10 })
        return 'slept'
      },
      b: async () => {
        await setImmediate()
        await setImmediate()
        await setImmediate()
        if (broken) throw new Error('broken')
      }
    })
    assert.equal((await runOutcome(wave, options))._tag, 'Failed')
    broken = false
    move(10)
    assert.equal((await resume(wave, options)).all.a, 'slept')
  })
})

describe('a call of another kind than the recorded one', () => {
  test.each(['step', 'sleep', 'waitFor'] as const)(
    'a call of %s is refused if another kind of call is recorded under its name',
    async (now) => {
      for (const before of ['step', 'sleep', 'waitFor'] as const) {
        const { options, give, move } = world()
        const calls = (kind: string) =>
          workflow('calls').step('do', async ({ step, sleep, waitFor }) => {
            if (kind === 'step') await step('x', () => 1)
            if (kind === 'sleep') await sleep('x', { millis: 1 })
            if (kind === 'waitFor') await waitFor('x')
            await sleep('hold', { millis: 1_000 })
          })
        const resting = pending(await runOutcome(calls(before), options))
        if (resting.units.some(({ unit, _tag }) => unit === 'do/x' && _tag === 'Answer'))
          assert.ok(E.isRight(await give('do/x', 1)))
        move(1)
        if (before !== 'step') pending(await runOutcome(calls(before), options))
        move(1_000)
        const outcome = await runOutcome(calls(now), options)
        if (now === before) assert.equal(outcome._tag, 'Completed')
        else {
          const error = outcome._tag === 'Failed' ? outcome.failures[0]?.error : undefined
          assert.equal(error?.code, 'SUB_STEP_CHANGED')
          assert.match(
            error.message,
            new RegExp(`^"do/x" is recorded as a call of ${before}, and is now one of ${now};`)
          )
        }
      }
    }
  )

  test('a call of another kind is refused while the recorded wait is open', async () => {
    const { options, move } = world()
    const ask = (isSleep: boolean) =>
      workflow('ask').step('do', async ({ sleep, waitFor }) => {
        await (isSleep ? sleep('x', { millis: 1_000 }) : waitFor('x', { timeoutMillis: 1_000 }))
      })
    pending(await runOutcome(ask(true), options))
    move(1_000)
    const outcome = await runOutcome(ask(false), options)
    assert.equal(outcome._tag === 'Failed' && outcome.failures[0]?.error.code, 'SUB_STEP_CHANGED')
  })
})

describe('an invalid wait in the code of a task', () => {
  test.each<[string, (context: StepContext<object>) => unknown, string]>([
    ['without a name', ({ sleep }) => sleep('', { millis: 1 }), 'SUB_STEP_NAME'],
    ['with NaN as its time', ({ sleep }) => sleep('nap', { millis: NaN }), 'SUB_STEP_OPTION'],
    ['until a string that is not a time', ({ sleep }) => sleep('nap', { until: 'tomorrow' }), 'SUB_STEP_OPTION'],
    ['without a time', ({ sleep }) => sleep('nap', undefined as never), 'SUB_STEP_OPTION'],
    ['for an answer, with null as options', ({ waitFor }) => waitFor('ok', null as never), 'SUB_STEP_OPTION'],
    ['inside of a sub-step', ({ step, sleep }) => step('inner', () => sleep('nap', { millis: 1 })), 'SUB_STEP_OUTSIDE'],
    [
      'with the name of another open wait',
      ({ sleep }) => Promise.all([sleep('nap', { millis: 60_000 }), sleep('nap', { millis: 60_000 })]),
      'SUB_STEP_AMBIGUOUS'
    ]
  ])('an invalid wait in the code of a task fails the task: %s', async (_, run, code) => {
    const { options } = world()
    const failed = await runOutcome(workflow('wrong').step('wrong', run as never), options)
    assert.ok(failed._tag === 'Failed')
    assert.equal(failed.failures[0]?.error.code, code)
  })

  test('the error of a wait without a name shows how to call it', async () => {
    const { options } = world()
    const failed = await runOutcome(
      workflow('wrong').step('wrong', ({ waitFor }) => waitFor('')),
      options
    )
    assert.ok(failed._tag === 'Failed')
    assert.match(failed.failures[0]?.error.message ?? '', /needs a name, .* waitFor\(name, options\)/)
  })

  test('a sub-step cannot call a wait of its task, and the error says where to call it', async () => {
    const { options } = world()
    const waits = workflow('w').step('t', ({ step, waitFor }) => step('inner', () => waitFor('ok')))
    const failed = await runOutcome(waits, options)
    assert.ok(failed._tag === 'Failed')
    assert.equal(
      failed.failures[0]?.error.message,
      'sub-step "t/inner" cannot wait; call "sleep" or "waitFor" of its task, outside of the sub-step'
    )
  })

  test('a wait in the code of a task that is not idempotent is refused', async () => {
    const { options } = world()
    const once = workflow('once').step('once', { idempotent: false, run: ({ sleep }) => sleep('nap', { millis: 1 }) })
    const failed = await runOutcome(once, options)
    assert.ok(failed._tag === 'Failed')
    assert.equal(failed.failures[0]?.error.code, 'SUB_STEP_NOT_ALLOWED')
  })
})

describe('an invalid wait of a step', () => {
  test.each([
    ['a negative time', 'sleep.millis', { sleep: { millis: -1 } }],
    ['a word as its end', 'sleep.until', { sleep: { until: 'tomorrow' } }],
    ['a number as its end', 'sleep.until', { sleep: { until: '1' } }],
    ['null as its sleep', 'sleep', { sleep: null }],
    ['a question that is a number', 'waitFor.question', { waitFor: { question: 5 } }],
    ['an infinite timeout', 'waitFor.timeoutMillis', { waitFor: { timeoutMillis: Infinity } }]
  ])('a workflow with a wait with %s is refused before anything runs', async (_, field, spec) => {
    const { options } = world()
    const refused = await runOutcome(workflow('wrong').step('wait', spec as never), options)
    assert.ok(refused._tag === 'Refused' && refused.error._tag === 'PlanError')
    const [problem] = refused.error.problems
    assert.ok(problem._tag === 'InvalidWorkflow' && problem.problem._tag === 'InvalidSetting')
    assert.deepEqual([problem.problem.place, problem.problem.field], ['wait', field])
  })
})

describe('a stop while a task waits beside a sub-step', () => {
  test('a stop rejects the wait, and a resume continues it', async () => {
    const { options, move } = world()
    const stop = new AbortController()
    let rejected: unknown
    const both = workflow('both').step('both', async ({ sleep, step, signal }) => {
      const nap = sleep('nap', { millis: 1_000 }).catch((error: unknown) => {
        rejected = error
        throw error
      })
      const work = step('work', () =>
        signal.aborted ? 'late' : new Promise((resolve) => signal.addEventListener('abort', () => resolve('stopped')))
      )
      void setTimeout(20).then(() => stop.abort())
      await Promise.all([nap, work])
      return 'done'
    })
    const stopped = await runOutcome(both, { ...options, signal: stop.signal })
    assert.ok(stopped._tag === 'Interrupted')
    assert.ok(rejected !== undefined)
    move(1_000)
    assert.equal((await resume(both, options)).both, 'done')
  })
})

describe('an answer to a run that a process owns', () => {
  const held = () => {
    const { options, give, events, move, storage } = world()
    const requests = memoryRequests()
    const environment = { ...options.environment, requests }
    const tell = (unit: string, value: unknown) =>
      answer('run-1', unit, value, { by: 'ada' })(nodeEnvironment(options.storage, environment))()
    return { options: { ...options, environment }, give, tell, events, requests, move, storage }
  }

  test('an answer is refused while the environment has no requests', async () => {
    const { options, give } = world()
    const busy = workflow('busy')
      .step('work', async () => {
        const given = await give('approve', true)
        assert.ok(E.isLeft(given) && given.left._tag === 'HeldBy')
      })
      .waitFor('approve')
    pending(await runOutcome(busy, options))
  })

  test('the owner records an answer before the next unit starts, and a later wait takes it', async () => {
    const { options, tell, requests } = held()
    const busy = workflow('busy')
      .step('work', async () => {
        const given = await tell('approve', 'yes')
        assert.ok(E.isRight(given) && given.right._tag === 'Requested')
        const again = await tell('approve', 'no')
        assert.ok(E.isLeft(again) && again.left._tag === 'AlreadyAnswered')
      })
      .waitFor('approve')
      .step('after', ({ outputs }) => outputs.approve)
    const ended = await runOutcome(busy, options)
    assert.ok(ended._tag === 'Completed')
    assert.equal(ended.outputs.after, 'yes')
    assert.equal(requests.isAny('run-1'), false)
  })

  test('an answer wakes its unit in the same execution if siblings still run', async () => {
    const { options, tell } = held()
    const wave = workflow('wave').wave('all', {
      approve: { waitFor: {} },
      work: async () => {
        await setImmediate()
        assert.ok(E.isRight(await tell('all/approve', 'yes')))
      }
    })
    const ended = await runOutcome(wave, options)
    assert.ok(ended._tag === 'Completed')
    assert.equal(ended.outputs.all.approve, 'yes')
  })

  test('an answer whose unit does not exist or does not wait is reported and dropped', async () => {
    const { options, requests, events } = held()
    const busy = workflow('busy')
      .step('work', async () => {
        const request = {
          _tag: 'Answer',
          runId: 'run-1',
          value: 1,
          by: 'ada',
          requestedAt: '2026-01-02T03:04:05.000Z'
        } as const
        await requests.leave({ ...request, unit: 'nothing' })()
        await requests.leave({ ...request, unit: 'after' })()
      })
      .step('after', () => 'done')
    assert.equal((await runOutcome(busy, options))._tag, 'Completed')
    assert.deepEqual(
      events.filter((event) => event.startsWith('AnswerRejected')),
      ['AnswerRejected nothing', 'AnswerRejected after']
    )
    assert.equal(requests.isAny('run-1'), false)
  })

  const yes = (requestedAt: string) =>
    ({ _tag: 'Answer', runId: 'run-1', unit: 'approve', value: 'yes', by: 'ada', requestedAt }) as const

  test('an answer that arrived in time counts even if the next resume comes after the time limit', async () => {
    const { options, requests } = held()
    const release = workflow('release').waitFor('approve', { timeoutMillis: 20 })
    const { units } = pending(await runOutcome(release, options))
    await requests.leave(yes(units[0]?._tag === 'Answer' ? units[0].startedAt : ''))()
    await setTimeout(30)
    assert.equal((await resume(release, options)).approve, 'yes')
  })

  test('an answer that the owner never recorded is recorded by the next resume', async () => {
    const { options, requests } = held()
    const release = workflow('release').waitFor('approve')
    pending(await runOutcome(release, options))
    await requests.leave(yes('2026-01-02T03:04:05.000Z'))()
    assert.equal((await resume(release, options)).approve, 'yes')
    assert.equal(requests.isAny('run-1'), false)
  })

  test('planRun and viewRun show an answer that is still in the inbox and write nothing; a resume with the hash of the plan uses that answer', async () => {
    const { options, requests, storage } = held()
    const release = workflow('release').waitFor('approve', { timeoutMillis: 20 })
    const { checkpoint, units } = pending(await runOutcome(release, options))
    await requests.leave(yes(units[0]?._tag === 'Answer' ? units[0].startedAt : ''))()
    const { plan, hash } = await planRun(release, options)
    assert.match(explain(plan, '2027-01-02T03:04:05.000Z'), /its answer is recorded; a resume continues/)
    const view = await viewRun(options)
    assert.deepEqual([view?.units[0]?.answered, view?.revision], [true, checkpoint.revision])
    const kept = await storage.load('run-1')()
    assert.ok(E.isRight(kept) && O.isSome(kept.right))
    assert.equal(kept.right.value.revision, checkpoint.revision)
    assert.ok(requests.isAny('run-1'))
    assert.equal((await resume(release, { ...options, planHash: hash })).approve, 'yes')
  })

  test('a second answer is refused with AlreadyAnswered even if the first one is still in the inbox and not recorded', async () => {
    const { options, requests, tell, move } = held()
    const release = workflow('release').waitFor('approve', { timeoutMillis: 1_000 })
    const { units } = pending(await runOutcome(release, options))
    await requests.leave(yes(units[0]?._tag === 'Answer' ? units[0].startedAt : ''))()
    move(1_000)
    const again = await tell('approve', 'no')
    assert.ok(E.isLeft(again) && again.left._tag === 'AlreadyAnswered')
  })
})

describe('a process with wait: true', () => {
  const real = () => ({ id: 'run-1', storage: memoryStorage(), wait: true })

  test('with wait: true the process sleeps without a claim, and completes', async () => {
    const options = real()
    const nap = workflow('nap')
      .sleep('nap', { millis: 80 })
      .step('after', () => 'woke')
    const ending = runOutcome(nap, options)
    await setTimeout(40)
    const stored = await options.storage.load('run-1')()
    assert.ok(E.isRight(stored) && O.isSome(stored.right) && O.isNone(stored.right.value.heldBy))
    const ended = await ending
    assert.ok(ended._tag === 'Completed')
    assert.equal(ended.outputs.after, 'woke')
  })

  test('with wait: true an answer of another process wakes the run', async () => {
    const options = real()
    const release = workflow('release')
      .waitFor('approve')
      .step('after', ({ outputs }) => outputs.approve)
    const ending = runOutcome(release, options)
    await setTimeout(30)
    assert.ok(E.isRight(await answer('run-1', 'approve', 'yes')(nodeEnvironment(options.storage))()))
    const ended = await ending
    assert.ok(ended._tag === 'Completed')
    assert.equal(ended.outputs.after, 'yes')
  })

  test('with wait: true an interrupted process leaves the run pending', async () => {
    const options = real()
    const stop = new AbortController()
    const nap = workflow('nap').sleep('nap', { millis: 60_000 })
    const ending = runOutcome(nap, { ...options, signal: stop.signal })
    await setTimeout(30)
    stop.abort()
    pending(await ending)
  })

  test('with wait: true a task sleeps three times in one attempt', async () => {
    const attempts: Array<number> = []
    const trial = workflow('trial').step('trial', async ({ attempt, sleep }) => {
      attempts.push(attempt)
      for (const name of ['one', 'two', 'three']) await sleep(name, { millis: 5 })
      return 'done'
    })
    const ended = await runOutcome(trial, real())
    assert.ok(ended._tag === 'Completed')
    assert.equal(ended.checkpoint.completedSteps.size, 4)
    assert.deepEqual(new Set(attempts), new Set([1]))
  })
})

describe('a waiting run after an edit', () => {
  const never = () => new Promise<never>(() => undefined)

  test('a run resumes if an edit turned a task in flight into a wait', async () => {
    const stop = new AbortController()
    const before = workflow('edited').step('a', () => {
      stop.abort()
      return never()
    })
    const options = { id: 'run-1', storage: memoryStorage(), environment: { graceMillis: 0 } }
    assert.equal((await runOutcome(before, { ...options, signal: stop.signal }))._tag, 'Interrupted')
    const after = workflow('edited').waitFor('a')
    pending(await runOutcome(after, options))
    pending(await runOutcome(after, options))
    await answerOf({ ...options, unit: 'a', value: 1 })
    assert.equal((await resume(after, options)).a, 1)
  })

  test('a suspended task that an edit turned into a wait waits for the full time of that wait', async () => {
    const { options, move } = world()
    pending(
      await runOutcome(
        workflow('edited').step('n', ({ sleep }) => sleep('x', { millis: 30 })),
        options
      )
    )
    const after = workflow('edited').sleep('n', { millis: 1_000 })
    assert.deepEqual(
      pending(await runOutcome(after, options)).units.map(({ unit }) => unit),
      ['n']
    )
    move(1_000)
    assert.equal((await runOutcome(after, options))._tag, 'Completed')
  })

  test('a suspended task that is no longer idempotent needs confirmation before it runs again', async () => {
    const { options, move } = world()
    const charging = (idempotent: boolean) =>
      workflow('edited').step('n', {
        idempotent,
        run: ({ attempt, sleep }) => (idempotent ? sleep('x', { millis: 30 }) : `attempt ${attempt}`)
      })
    pending(await runOutcome(charging(true), options))
    move(30)
    await assert.rejects(resume(charging(false), options), /"n" may already have taken effect/)
    const again = new Map([['n', { _tag: 'Again' } as const]])
    assert.equal((await resume(charging(false), { ...options, confirm: again })).n, 'attempt 1')
  })

  test.each([
    ['a task', workflow('edited').step('n', () => 1), 'Completed'],
    ['a wait for an answer', workflow('edited').waitFor('n'), 'Pending']
  ])('a sleeping step may become %s', async (_, after, end) => {
    const { options } = world()
    pending(await runOutcome(workflow('edited').sleep('n', { millis: 60_000 }), options))
    const ended = await runOutcome(after, options)
    assert.equal(ended._tag, end)
    if (ended._tag === 'Pending')
      assert.deepEqual(
        ended.units.map(({ _tag }) => _tag),
        ['Answer']
      )
  })

  test('a wait may be inserted before a failed step', async () => {
    const { options, move } = world()
    const failing = workflow('edited').step('a', () => Promise.reject(new Error('broken')))
    assert.equal((await runOutcome(failing, options))._tag, 'Failed')
    const after = workflow('edited')
      .sleep('nap', { millis: 10 })
      .step('a', () => 'fixed')
    pending(await runOutcome(after, options))
    move(10)
    assert.equal((await resume(after, options)).a, 'fixed')
  })
})

describe('a rewind', () => {
  test('fromStep at a wait in the code of a task starts that wait again', async () => {
    const { options, move, give } = world()
    const paid = workflow('paid').step('c', async ({ step, waitFor }) => {
      await step('s', () => 1)
      return await waitFor('paid')
    })
    pending(await runOutcome(paid, options))
    move(5)
    const again = pending(await runOutcome(paid, { ...options, fromStep: 'c/paid' }))
    assert.deepEqual(
      again.units.map((one) => one._tag === 'Answer' && one.startedAt),
      ['2026-01-02T03:04:05.005Z']
    )
    assert.ok(E.isRight(await give('c/paid', 'cash')))
    assert.equal((await resume(paid, options)).c, 'cash')
  })
})

describe('waits of a failed attempt', () => {
  test('waits of a failed attempt are dropped by the next attempt', async () => {
    const { options } = world()
    let calls = 0
    const other = workflow('other').step('a', async ({ sleep }) => {
      calls += 1
      if (calls === 1) {
        void sleep('old', { millis: 60_000 })
        await setImmediate()
        throw new Error('broken')
      }
      await sleep('new', { millis: 1_000 })
    })
    assert.equal((await runOutcome(other, options))._tag, 'Failed')
    assert.deepEqual(
      pending(await runOutcome(other, options)).units.map(({ unit }) => unit),
      ['a/new']
    )
  })
})

describe('an answer between the last check of an owner and its release', () => {
  test('the owner records an answer that arrives just before it releases the run, and a second answer is refused', async () => {
    const base = memoryStorage()
    const requests = memoryRequests()
    let given: unknown
    const storage = {
      ...base,
      release: (claim: Parameters<typeof base.release>[0]) => async () => {
        if (given === undefined) {
          const environment = nodeEnvironment(storage, { requests })
          given = await answer('run-1', 'approve', 'no')(environment)()
        }
        return await base.release(claim)()
      }
    }
    const options = { id: 'run-1', storage, environment: { requests } }
    const release = workflow('release').waitFor('approve')
    pending(await runOutcome(release, options))
    assert.ok(E.isRight(given as E.Either<unknown, unknown>))
    const second = await answer('run-1', 'approve', 'yes')(nodeEnvironment(storage, { requests }))()
    assert.ok(E.isLeft(second) && second.left._tag === 'AlreadyAnswered')
    assert.equal((await resume(release, options)).approve, 'no')
  })
})

test('with wait: true the end of a timer does not wake a run while an earlier step still waits', async () => {
  const storage = memoryStorage()
  let claims = 0
  const counting = {
    ...storage,
    claim: (...args: Parameters<typeof storage.claim>) => {
      claims += 1
      return storage.claim(...args)
    }
  }
  const options = { id: 'run-1', storage: counting }
  pending(await runOutcome(workflow('w').sleep('nap', { millis: 100 }), options))
  await setTimeout(110)
  const stop = new AbortController()
  const behind = workflow('w').waitFor('approve').sleep('nap', { millis: 1 })
  const ending = runOutcome(behind, { ...options, wait: true, signal: stop.signal })
  await setTimeout(200)
  stop.abort()
  pending(await ending)
  assert.ok(claims < 6, `${claims} claims`)
})

test('with wait: true a process that waits for a timer ends when the run is cancelled', async () => {
  const requests = memoryRequests()
  const options = { id: 'run-1', storage: memoryStorage(), environment: { requests }, wait: true }
  const ending = runOutcome(workflow('w').sleep('nap', { millis: 60_000 }), options)
  await setTimeout(40)
  const told = await cancel('run-1')(nodeEnvironment(options.storage, { requests }))()
  assert.ok(E.isRight(told) && told.right._tag === 'Cancelled')
  const outcome = await ending
  assert.ok(outcome._tag === 'Interrupted', JSON.stringify(outcome))
  assert.equal(outcome.reason, 'cancelled')
})
