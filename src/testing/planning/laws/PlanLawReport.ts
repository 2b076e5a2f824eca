/**
 * The result of checking the plan laws.
 *
 * @module
 */
import type { LawResult } from './PlanLaw.js'

/**
 * The result of checking the laws on a workflow, as plain data.
 *
 * - `results`: one for each law. `violations`: those that do not hold. `seed`: repeats all of it.
 * - `problems`: why nothing was checked: an option or the definition is invalid, `accepts` of a task throws, or no accepted
 *   output is known for some units; pass arbitraries of these in `outputs`.
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
 * Renders a report: one line if all laws hold, else each broken law, the reason, and the options that repeat it.
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
      ? `${workflow === '' ? '' : `${workflow}: `}no law was checked`
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
