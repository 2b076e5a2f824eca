/** Arbitrary crash cases. */
import * as fc from 'fast-check'
import { none } from '../../domain/checkpoint/Items.js'
import { arrayOf, isText, kindOf } from '../../domain/data/Options.js'
import type { Workflow } from '../../domain/workflow/Workflow.js'
import type { TableOf } from '../arguments.js'
import { isWorkflow, problemsOf, refuse } from '../arguments.js'
import { plainObject, taggedObject } from '../arbitraryObjects.js'
import { crashSchedule } from './CrashPoint.js'
import type { CrashCase } from './CrashReport.js'
import type { ConcurrentRequest, Intervention, Override } from './Intervention.js'
import { positionIn, tasksOf, unitsIn } from '../planning/arbitrary/tree.js'

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
  const { interventions: least = 0, items = [], leaving = [] } = given
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
    interventions: interventionsOf(workflow, leaving, units, calls.maxCalls).filter(({ length }) => length >= least)
  })
}

const paths = arrayOf(isText, 'an array of paths of units')

const OPTIONS: TableOf<NonNullable<Parameters<typeof crashCase>[1]>> = {
  interventions: (value) => (value === 0 || value === 1 ? undefined : '0 or 1'),
  leaving: paths,
  items: paths
}

/**
 * Arbitrary interventions in the first three processes, none of which starts from a step after a map. `leaving`: the units that leave evidence,
 * default all. Shrinks towards none.
 */
const interventionsOf = (
  workflow: Workflow,
  leaving: ReadonlyArray<string>,
  units: ReadonlyArray<string>,
  maxCalls: number
): fc.Arbitrary<ReadonlyArray<Intervention>> => {
  const life = fc.integer({ min: 1, max: 3 })
  const unit = fc.constantFrom(...(leaving.length === 0 ? unitsIn(workflow).map((one) => one.unit) : leaving))
  // The first process finds no evidence yet.
  const later = fc.integer({ min: 2, max: 3 })
  const answer = fc.constantFrom('again', 'keep', 'done')
  const editing = fc.oneof(
    { weight: 3, arbitrary: taggedObject('DeleteEvidence', { life: later, unit }) },
    { weight: 2, arbitrary: taggedObject('EditEvidence', { life: later, unit, answer }) }
  )
  return fc
    .tuple(
      fc.uniqueArray(fc.oneof(...overridesOf(workflow, life)), { maxLength: 2, selector: (one) => one.life }),
      fc.array(editing, { maxLength: 3 }),
      requestsOf(units, maxCalls, life)
    )
    .map(([overrides, edits, requests]) => [...overrides, ...edits, ...requests])
}

const overridesOf = (workflow: Workflow, life: fc.Arbitrary<number>): ReadonlyArray<fc.Arbitrary<Override>> => {
  const units = unitsIn(workflow)
  const composites = units.flatMap(({ unit, step }) => (step._tag === 'Task' ? [] : [unit]))
  // The outputs of items that are not recorded are unknown, so no override starts after their map.
  const maps = units.filter(({ step }) => step._tag === 'Map')
  const names = units
    .map(({ unit }) => unit)
    .filter((unit) => !maps.some((map) => positionIn(workflow, none, map.unit, unit) === 'before'))
  return [
    taggedObject('FromStep', { life, step: fc.constantFrom(...names) }),
    ...(composites.length === 0 ? [] : [taggedObject('RestartWave', { life, wave: fc.constantFrom(...composites) })])
  ]
}

const requestsOf = (
  units: ReadonlyArray<string>,
  maxCalls: number,
  lives: fc.Arbitrary<number>
): fc.Arbitrary<ReadonlyArray<ConcurrentRequest>> => {
  // The first process does most of the work.
  const life = fc.oneof({ weight: 2, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: lives })
  const n = fc.integer({ min: 1, max: maxCalls })
  const during = (unit: fc.Arbitrary<string>): ReadonlyArray<fc.WeightedArbitrary<ConcurrentRequest>> => [
    { weight: 4, arbitrary: taggedObject('Pause', { life, unit, when: fc.constantFrom('during', 'during', 'late') }) },
    { weight: 2, arbitrary: taggedObject('Cancel', { life, unit }) }
  ]
  const weighted: ReadonlyArray<fc.WeightedArbitrary<ConcurrentRequest>> = [
    ...(units.length === 0 ? [] : during(fc.constantFrom(...units))),
    { weight: 2, arbitrary: taggedObject('PauseAtCall', { life, n, how: fc.constantFrom('before', 'after') }) }
  ]
  return fc.array(fc.oneof(...weighted), { maxLength: 4 })
}
