/** The laws of the planner, tried on somebody's own workflow. */
import type { Workflow } from '../../domain/workflow/Workflow.js'
import { problems } from '../../domain/workflow/Workflow.js'
import { lawsOfEdits } from './laws/lawsOfEdits.js'
import { lawsOfEvidence } from './laws/lawsOfEvidence.js'
import { lawsOfPlans } from './laws/lawsOfPlans.js'
import { lawsOfRequests } from './laws/lawsOfRequests.js'
import { lawsOfRuns } from './laws/lawsOfRuns.js'
import { lawsOfTrees } from './laws/lawsOfTrees.js'
import type { LawOptions, PlanLaw } from './laws/PlanLaw.js'
import type { PlanLawReport } from './laws/PlanLawReport.js'
import type { RunsOf } from './arbitrary/runs.js'
import { samplesFor } from './arbitrary/runs.js'
import { withoutSample } from './arbitrary/Samples.js'

/**
 * The laws of the planner: plans are total and deterministic · every unit is recorded completed or scheduled, never neither ·
 * no completed unit is scheduled unless something is forced, rewound or missing · completing more never schedules more ·
 * editing a step changes no decision before it · a plan that is followed to its end leaves nothing to schedule · any prefix of
 * the changes of a run gives a checkpoint that plans and finishes · what is overridden stays so · what is not idempotent
 * and in doubt is asked about, and nothing else is · what was begun goes on as it was left · what is asked of a plan, or is
 * missing, makes run again what has to, and nothing else · changed evidence raises a question, is kept, or makes its unit run
 * again · a record that no longer fits refuses the plan · a workflow that is wrapped in a sequence has the same decisions · a rewind
 * drops exactly the subtrees that it names, and changes no decision and no key but theirs and those of what follows them.
 *
 * @example
 * import { planLaws } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const ids = planLaws.map(({ id }) => id)
 * assert.equal(new Set(ids).size, ids.length)
 * assert.ok(planLaws.every(({ title }) => title.length > 0))
 *
 * @category laws
 */
export const planLaws: ReadonlyArray<PlanLaw> = [
  ...lawsOfPlans,
  ...lawsOfEdits,
  ...lawsOfRequests,
  ...lawsOfEvidence,
  ...lawsOfRuns,
  ...lawsOfTrees
]

/**
 * Tries the laws of the planner on runs of a workflow: ones that complete, fail, are interrupted, crash, are edited, rewound,
 * answered. Only the definition counts: nothing is run. `outputs`: what its units give, by their paths; for those not
 * named outputs are tried until the unit accepts some. `numRuns`: how many cases for each law, default 100; `seed`: default 1;
 * `laws`: the ids of those to try, default all.
 *
 * It is of use to whoever writes `accepts` functions, codecs or definitions of their own: what makes them partial,
 * nondeterministic or dependent on time shows here. Never throws.
 *
 * @example
 * import * as fc from 'fast-check'
 * import { workflow } from 'dogear/promise'
 * import * as t from 'io-ts'
 * import { checkPlanLaws, PlanLawReport } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const release = workflow('release')
 *   .step('version', { output: t.string, run: () => '1.2.3' })
 *   .wave('checks', { unit: () => 42, lint: { needs: ['unit'], run: () => 'clean' } })
 *   .step('publish', { idempotent: false, run: () => 'published' })
 *
 * const report = checkPlanLaws(release, { numRuns: 20, outputs: { version: fc.constantFrom('1.2.3', '2.0.0') } })
 * assert.equal(report.problems.length + report.violations.length, 0, PlanLawReport.toText(report))
 *
 * @category laws
 */
export const checkPlanLaws = (
  workflow: Workflow,
  options: LawOptions & Omit<RunsOf, 'workflow'> & { readonly laws?: ReadonlyArray<string> } = {}
): PlanLawReport => {
  const { laws, outputs, input, seed = 1, ...rest } = options
  const of: RunsOf = {
    workflow,
    ...(outputs === undefined ? {} : { outputs }),
    ...(input === undefined ? {} : { input })
  }
  const stopped = [
    ...problems(workflow).map((problem) => `the definition is not valid: ${JSON.stringify(problem)}`),
    ...withoutSample(workflow, samplesFor(of)).map(
      (unit) => `no output is known that ${unit} accepts: give an arbitrary of them in outputs`
    )
  ]
  const wanted = planLaws.filter(({ id }) => laws?.includes(id) ?? true)
  const results = stopped.length > 0 ? [] : wanted.map(({ check }) => check(of, { ...rest, seed }))
  return {
    workflow: workflow.name,
    seed,
    problems: stopped,
    results,
    violations: results.filter(({ holds }) => !holds)
  }
}
