import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { answer, type RunOutcome } from 'dogear'
import { memoryStorage } from 'dogear/memory'
import { nodeEnvironment } from 'dogear/node'
import { resume, runOutcome, workflow } from 'dogear/promise'
import { setImmediate } from 'node:timers/promises'
import { describe, test } from 'vitest'

/** A clock that a test moves. */
const makeClock = (start = Date.parse('2026-01-02T03:04:05.000Z')) => {
  let time = start
  return {
    move: (millis: number) => void (time += millis),
    clock: { now: () => time, sleep: () => () => Promise.resolve() }
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

const pending = (outcome: { readonly _tag: string }): RunOutcome.Pending => {
  assert.equal(outcome._tag, 'Pending')
  return outcome as RunOutcome.Pending
}

describe('a sleep', () => {
  const nap = (calls: Array<string>) =>
    workflow('nap')
      .step('before', () => void calls.push('before'))
      .sleep('nap', { millis: 1_000 })
      .step('after', () => void calls.push('after'))

  test('rests the run until the recorded time, and goes on with the first resume after it', async () => {
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

  test('keeps its time over an edit of its length', async () => {
    const { move, options } = world()
    pending(await runOutcome(nap([]), options))
    move(1_000)
    const longer = workflow('nap')
      .step('before', () => undefined)
      .sleep('nap', { millis: 60_000 })
      .step('after', () => undefined)
    assert.equal((await runOutcome(longer, options))._tag, 'Completed')
  })

  test('of no time, or until a time in the past, does not rest', async () => {
    const { options } = world()
    const short = workflow('short').sleep('none', { millis: 0 }).sleep('past', { until: '2020-01-01T00:00:00Z' })
    assert.equal((await runOutcome(short, options))._tag, 'Completed')
  })

  test('in a group lets the other groups run, and wakes with them', async () => {
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

  test('wakes in the same execution if its time comes while a sibling runs', async () => {
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

  test('of each item of a map wakes at its own time', async () => {
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

  test('rests the run until somebody answers, and the answer is its output', async () => {
    const { options, give } = world()
    const resting = pending(await runOutcome(release, options))
    assert.deepEqual(resting.units, [
      { _tag: 'Answer', question: 'Release?', unit: 'approve', startedAt: '2026-01-02T03:04:05.000Z' }
    ])
    pending(await runOutcome(release, options))
    assert.ok(E.isRight(await give('approve', true)))
    assert.equal((await resume(release, options)).publish, 'approved: true')
  })

  test('takes an answer that came before it', async () => {
    const { options, give, move } = world()
    const late = workflow('late').sleep('nap', { millis: 10 }).waitFor('approve')
    pending(await runOutcome(late, options))
    assert.ok(E.isRight(await give('approve', 'yes')))
    const again = await give('approve', 'no')
    assert.ok(E.isLeft(again) && again.left._tag === 'AnswerRefused' && again.left.why === 'AlreadyAnswered')
    pending(await runOutcome(late, options))
    move(10)
    assert.equal((await resume(late, options)).approve, 'yes')
  })

  test('reports an answer that does not fit, and waits again', async () => {
    const { options, give, events } = world()
    pending(await runOutcome(release, options))
    assert.ok(E.isRight(await give('approve', 'perhaps')))
    pending(await runOutcome(release, options))
    assert.ok(events.includes('AnswerRejected approve'))
    assert.ok(E.isRight(await give('approve', false)))
    assert.equal((await resume(release, options)).publish, 'approved: false')
  })

  test('fails with WAIT_TIMEOUT if nobody answers in time, and a resume waits anew', async () => {
    const { options, move } = world()
    const limited = workflow('limited').waitFor('approve', { timeoutMillis: 1_000 })
    pending(await runOutcome(limited, options))
    move(1_000)
    const failed = await runOutcome(limited, options)
    assert.ok(failed._tag === 'Failed')
    assert.equal(failed.failures[0]?.error.code, 'WAIT_TIMEOUT')
    assert.equal(pending(await runOutcome(limited, options)).wakeAt, '2026-01-02T03:04:07.000Z')
  })

  test.each([
    ['nothing', 'UnknownUnit'],
    ['publish', 'NotAWait']
  ])('refuses an answer to %s with %s', async (unit, why) => {
    const { options, give } = world()
    pending(await runOutcome(release, options))
    const given = await give(unit, true)
    assert.ok(E.isLeft(given) && given.left._tag === 'AnswerRefused')
    assert.equal(given.left.why, why)
    assert.deepEqual(given.left.waiting, ['approve'])
  })

  test('refuses an answer that is not plain JSON', async () => {
    const { options, give } = world()
    pending(await runOutcome(release, options))
    const given = await give('approve', 1n)
    assert.ok(E.isLeft(given) && given.left._tag === 'AnswerRefused')
    assert.equal(given.left.why, 'NotJson')
  })
})
