/** Arbitrary crash cases. */
import * as fc from 'fast-check'
import { arrayOf, isText, kindOf } from '../../domain/data/Options.js'
import type { Workflow } from '../../domain/workflow/Workflow.js'
import type { TableOf } from '../arguments.js'
import { isWorkflow, problemsOf, refuse } from '../arguments.js'
import { plainObject } from '../arbitraryObjects.js'
import { crashSchedule } from './CrashPoint.js'
import type { CrashCase } from './CrashReport.js'
import { interventions } from './Intervention.js'
import { tasksOf } from '../planning/arbitrary/tree.js'

/**
 * An arbitrary case for the runs of a workflow: crash points, answers to questions, and interventions. It shrinks
 * towards no crash and no intervention.
 *
 * - `interventions`: the minimum number of interventions, default 0.
 * - `leaving`: the units that leave evidence, default all.
 * - `items`: the units of map items (`step/key`), which only a run can determine.
 *
 * @example
 * import * as fc from 'fast-check'
 * import { workflow } from 'dogear/promise'
 * import { crashCase, crashEverywhere } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const release = workflow('release')
 *   .step('build', () => 'built')
 *   .step('publish', () => 'published')
 * for (const only of fc.sample(crashCase(release), 5)) {
 *   const { violations } = await crashEverywhere(release, { only })
 *   assert.deepEqual(violations, [])
 * }
 *
 * @category arbitraries
 */
export const crashCase = (
  workflow: Workflow,
  given: {
    readonly interventions?: 0 | 1
    readonly leaving?: ReadonlyArray<string>
    readonly items?: ReadonlyArray<string>
  } = {}
): fc.Arbitrary<CrashCase> => {
  refuse('crashCase', [
    ...(isWorkflow(workflow) ? [] : [`the first argument must be a workflow, not ${kindOf(workflow)}`]),
    ...problemsOf(given, OPTIONS)
  ])
  const { interventions: least = 0, items = [], ...options } = given
  // A wait runs no code in which the process could die.
  const running = [...tasksOf(workflow)].filter(([, { wait }]) => wait === undefined)
  const units = [...running.map(([unit]) => unit), ...items]
  const calls = {
    units,
    maxCalls: 4 + 2 * (tasksOf(workflow).size + items.length),
    maxEffects: units.length,
    maxRequests: 4
  }
  return plainObject<CrashCase>({
    schedule: crashSchedule(calls),
    answer: fc.constantFrom('again', 'done'),
    interventions: interventions(workflow, { ...options, units, maxCalls: calls.maxCalls }).filter(
      ({ length }) => length >= least
    )
  })
}

const paths = arrayOf(isText, 'an array of paths of units')

const OPTIONS: TableOf<NonNullable<Parameters<typeof crashCase>[1]>> = {
  interventions: (value) => (value === 0 || value === 1 ? undefined : '0 or 1'),
  leaving: paths,
  items: paths
}
