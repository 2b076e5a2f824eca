/** The number of cases of a law: a hundred, and thousands with DOGEAR_SWEEP=1. */
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import * as fc from 'fast-check'
import { test } from 'vitest'
import type { PlanLaw } from '../../src/testing/planning/laws/PlanLaw.js'
import { seed, sweep } from '../sweep.js'

/** The number of cases: 160 times as many in a sweep. */
const runsOf = (usual: number): number => Number(process.env['DOGEAR_RUNS'] ?? usual) * (sweep ? 160 : 1)

/** The size of a batch: vitest treats a worker that does not answer for a minute as dead. */
const BATCH = 2000

/** A law, checked with arbitrary cases. Its title states what always holds. */
export const law = <A>(title: string, cases: fc.Arbitrary<A>, holds: (one: A) => void, usual = 100): void =>
  test(title, async () => {
    const runs = runsOf(usual)
    for (let done = 0; done < runs; done += BATCH) {
      fc.assert(fc.property(cases, holds), { numRuns: Math.min(BATCH, runs - done), seed: seed + done / BATCH })
      await setImmediate()
    }
  })

/** A published law of the planner, checked with arbitrary workflows. */
export const publishedLaw = ({ id, title, check }: PlanLaw, usual = 80): void =>
  test(`${id}: ${title}`, async () => {
    const runs = runsOf(usual)
    for (let done = 0; done < runs; done += BATCH) {
      const found = check({}, { numRuns: Math.min(BATCH, runs - done), seed: seed + done / BATCH })
      assert.ok(found.holds, JSON.stringify(found, null, 2))
      await setImmediate()
    }
  })
