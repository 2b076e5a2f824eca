/**
 * What came of trying the planner's laws.
 *
 * @module
 */
import type { LawResult } from './PlanLaw.js'

/**
 * What trying the laws on a workflow showed, as plain data.
 *
 * - `results`: one for each law, `violations` those that don't hold; `seed` repeats all of it.
 * - `problems`: why nothing was tried. The definition is not valid, or there are units of which no output is known that
 *   they accept: give them in `outputs`.
 *
 * @category model
 */
export interface PlanLawReport {
  readonly workflow: string
  readonly seed: number
  readonly problems: ReadonlyArray<string>
  readonly results: ReadonlyArray<LawResult>
  readonly violations: ReadonlyArray<LawResult>
}

/**
 * A report as text for people: one line if all holds, else what does not, why, and what repeats it.
 *
 * @example
 * import { workflow } from 'dogear/promise'
 * import { checkPlanLaws, PlanLawReport } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const report = checkPlanLaws(workflow('job').step('one', () => 1), { numRuns: 5 })
 * assert.match(PlanLawReport.toText(report), /^job: (\d+) of \1 laws hold/)
 *
 * @category destructors
 */
export const toText = ({ workflow, seed, problems, results, violations }: PlanLawReport): string =>
  [
    problems.length > 0
      ? `${workflow}: no law was tried`
      : `${workflow}: ${results.length - violations.length} of ${results.length} laws hold (seed ${seed})`,
    ...problems.map((problem) => `  ${problem}`),
    ...violations.flatMap((one) => [
      '',
      `${one.id}: ${one.title}`,
      `  ${one.why ?? 'it does not hold'}`,
      ...(one.counterexample ?? '').split('\n').map((line) => `    ${line}`),
      `  repeat with ${JSON.stringify({ laws: [one.id], seed: one.seed, path: one.path })}`
    ])
  ].join('\n')
