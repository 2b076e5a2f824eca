/** Retention never removes runs in use or runs to keep, and eventually removes all others. */
import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import type { PrunableStatus, RetainedRun, RetentionPolicy } from '../../src/domain/checkpoint/Retention.js'
import { expired } from '../../src/domain/checkpoint/Retention.js'
import { law } from './law.js'

const STATUSES = ['queued', 'running', 'completed', 'failed', 'interrupted', 'paused', 'pending', 'cancelled'] as const

const PRUNABLE = STATUSES.filter((one): one is PrunableStatus => one !== 'running')

const runs: fc.Arbitrary<ReadonlyArray<RetainedRun>> = fc.uniqueArray(
  fc.record({
    runId: fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 }),
    workflow: fc.constantFrom('w', 'v'),
    status: fc.constantFrom(...STATUSES, 'completed', 'completed'),
    isHeld: fc.nat({ max: 9 }).map((one) => one === 1),
    isDamaged: fc.nat({ max: 9 }).map((one) => one === 0),
    endedAtMillis: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constant(Number.NaN))
  }),
  { selector: ({ runId }) => runId, maxLength: 12 }
)

const policies: fc.Arbitrary<RetentionPolicy> = fc.record(
  {
    keep: fc.nat({ max: 4 }),
    olderThanMillis: fc.nat({ max: 15 }),
    statuses: fc.subarray(PRUNABLE)
  },
  { requiredKeys: [] }
)

const cases = fc.tuple(runs, policies, fc.integer({ min: 0, max: 30 }))

const idsOf = (some: ReadonlyArray<RetainedRun>): ReadonlyArray<string> => some.map(({ runId }) => runId).sort()

const without = (all: ReadonlyArray<RetainedRun>, expiring: ReadonlyArray<RetainedRun>): ReadonlyArray<RetainedRun> =>
  all.filter((one) => !expiring.includes(one))

describe('a run', () => {
  law('a run is kept if it is held, too young, without a date, or of another status', cases, ([all, policy, now]) => {
    for (const run of expired(all, policy, now)) {
      assert.ok(!run.isHeld)
      assert.ok((policy.statuses ?? ['completed', 'cancelled']).some((one) => one === run.status))
      assert.ok(now - run.endedAtMillis > (policy.olderThanMillis ?? -Infinity))
    }
  })

  law(
    'a damaged run is selected as if it were intact, and takes no place among the kept runs',
    cases,
    ([all, policy, now]) => {
      const intact = all.filter((one) => !one.isDamaged)
      const expiring = expired(all, policy, now)
      assert.deepEqual(
        expiring.filter((one) => !one.isDamaged),
        expired(intact, policy, now)
      )
      for (const run of without(all, intact)) {
        const alone = expired([...intact, { ...run, isDamaged: false }], policy, now)
        assert.equal(expiring.includes(run), idsOf(alone).includes(run.runId))
      }
    }
  )

  law('a run is kept if it is among the newest that its workflow keeps', cases, ([all, policy, now]) => {
    const expiring = expired(all, policy, now)
    for (const run of expiring) {
      const kept = without(all, expiring).filter(
        (one) => one.workflow === run.workflow && one.status !== 'running' && one.endedAtMillis >= run.endedAtMillis
      )
      assert.ok(kept.length >= (policy.keep ?? 0), JSON.stringify({ run, kept }))
    }
  })

  test('of two runs that ended in the same millisecond, the one whose id comes first counts as older', () => {
    const run = { workflow: 'w', status: 'completed', isHeld: false, isDamaged: false, endedAtMillis: 1 } as const
    const runs = ['b', 'c', 'a'].map((runId) => ({ ...run, runId }))
    assert.deepEqual(
      expired(runs, { keep: 1 }, 2).map(({ runId }) => runId),
      ['a', 'b']
    )
  })

  law(
    'a finished run is kept only if it is too young or among the newest of its workflow',
    cases,
    ([all, policy, now]) => {
      const { keep, olderThanMillis, statuses = ['completed'] } = policy
      const expiring = expired(all, policy, now)
      const may = all.filter(
        (one) =>
          statuses.some((status) => status === one.status) &&
          !one.isHeld &&
          !one.isDamaged &&
          !Number.isNaN(one.endedAtMillis)
      )
      for (const run of without(may, expiring)) {
        const newer = may.filter(
          (one) => one.workflow === run.workflow && one !== run && one.endedAtMillis >= run.endedAtMillis
        )
        const isYoung = olderThanMillis !== undefined && now - run.endedAtMillis <= olderThanMillis
        const isKept =
          keep !== undefined &&
          may.filter((one) => newer.includes(one) && one.endedAtMillis > run.endedAtMillis).length < keep
        assert.ok(isYoung || isKept || (keep === undefined && olderThanMillis === undefined))
      }
    }
  )
})

describe('the removed runs', () => {
  law(
    'the removed runs do not depend on the order of the listing, and are listed oldest first',
    cases,
    ([all, policy, now]) => {
      const expiring = expired(all, policy, now)
      assert.deepEqual(idsOf(expired([...all].reverse(), policy, now)), idsOf(expiring))
      expiring.forEach((run, index) =>
        assert.ok(index === 0 || (expiring[index - 1]?.endedAtMillis ?? 0) <= run.endedAtMillis)
      )
    }
  )

  law(
    'applying a policy again removes exactly the runs that it selected before and that still exist',
    cases,
    ([all, policy, now]) => {
      const expiring = expired(all, policy, now)
      assert.deepEqual(expired(without(all, expiring), policy, now), [])
      const [first, ...rest] = expiring
      if (first !== undefined) assert.deepEqual(idsOf(expired(without(all, [first]), policy, now)), idsOf(rest))
    }
  )

  law(
    'a run that a policy removes is also removed at a later time and by a policy that keeps fewer runs',
    cases,
    ([all, policy, now]) => {
      const expiring = new Set(idsOf(expired(all, policy, now)))
      const later = new Set(idsOf(expired(all, policy, now + 5)))
      const { keep, ...lax } = policy
      const more = new Set(
        idsOf(expired(all, keep === undefined ? policy : { ...lax, keep: Math.max(0, keep - 1) }, now))
      )
      for (const one of expiring) assert.ok(later.has(one) && more.has(one))
    }
  )

  test('an empty policy removes nothing', () => {
    const run = {
      runId: 'a',
      workflow: 'w',
      status: 'completed',
      isHeld: false,
      isDamaged: false,
      endedAtMillis: 0
    } as const
    assert.deepEqual(expired([run], {}, 1e15), [])
    assert.deepEqual(expired([run], { keep: 0 }, 0), [run])
    assert.deepEqual(expired([run], { olderThanMillis: 5 }, 5), [])
    assert.deepEqual(expired([run], { olderThanMillis: 5 }, 6), [run])
  })
})
