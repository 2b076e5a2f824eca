/** Checks the laws of the planner on a user's workflow. */
import type { Workflow } from '../../domain/workflow/Workflow.js'
import { describeProblem, problems } from '../../domain/workflow/WorkflowProblem.js'
import { defined } from '../../domain/data/defined.js'
import { fieldsOf, kindOf, whole, wholeFrom } from '../../domain/data/Options.js'
import type { TableOf } from '../arguments.js'
import { isWorkflow, problemsOf, recordOf, resultPath, selection } from '../arguments.js'
import { lawsOfEdits } from './laws/lawsOfEdits.js'
import { lawsOfOptions } from './laws/lawsOfOptions.js'
import { lawsOfPlans } from './laws/lawsOfPlans.js'
import { lawsOfRuns } from './laws/lawsOfRuns.js'
import { lawsOfTrees } from './laws/lawsOfTrees.js'
import type { LawOptions, PlanLaw } from './laws/PlanLaw.js'
import type { PlanLawReport } from './laws/PlanLawReport.js'
import type { RunsOf } from './arbitrary/runs.js'
import type { Outputs } from './arbitrary/Samples.js'
import { outputProblems, samplesOf, thrownBy, withoutSample } from './arbitrary/Samples.js'

/**
 * The laws of the planner. Plans are total and deterministic · exactly the completed units are skipped, and exactly the
 * waiting ones polled · no completed unit is scheduled unless something is forced, rewound or missing · completing a
 * unit adds no unit to those that the plan runs · editing a step changes no decision before it · a plan followed to its end leaves
 * nothing to schedule · any prefix of a run's changes gives a checkpoint that plans and finishes · recorded overrides
 * bind later resumes · a non-idempotent unit in doubt gets a question, and no other does · a started unit continues
 * where it stopped · plan options and missing evidence make exactly the required units run again · changed evidence
 * raises a question, is kept, or makes its unit run again · a question takes exactly the answers that `answersTo` lists · a record that no longer
 * fits refuses the plan · a workflow wrapped in a sequence has the same decisions · a rewind drops exactly the subtrees that it names, and changes
 * no decision and no key but theirs and those of what follows · recorded sub-steps are skipped, open waits polled, and each is decided about once.
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
  ...lawsOfOptions,
  ...lawsOfRuns,
  ...lawsOfTrees
]

export interface PlanLawOptions extends LawOptions, Omit<RunsOf, 'workflow'> {
  readonly laws?: ReadonlyArray<string>
}

/**
 * Checks the laws of the planner on random runs of a workflow: runs that complete, fail, crash, or are interrupted,
 * edited, rewound and answered. Only the definition counts; no step runs. Never throws:
 * invalid options, and `accepts` functions and `outputs` that throw, are in `problems`, and then no law is checked.
 * Use it if you write `accepts` functions, codecs or definitions of your own: it finds those that are partial,
 * nondeterministic or dependent on time.
 *
 * - `outputs`: arbitraries of the outputs of units, by path; units that are not named get outputs that their task accepts.
 * - `input`: an arbitrary of the input, default any JSON.
 * - `numRuns`: the number of cases for each law, default 100.
 * - `seed`: default 1. `path`: with the `seed` and the law of a result, repeats its counterexample.
 * - `laws`: the ids of the laws to check, default all.
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
export const checkPlanLaws = (workflow: Workflow, options: PlanLawOptions = {}): PlanLawReport => {
  const invalid = problemsOf(options, OPTIONS)
  if (!isWorkflow(workflow)) return refused('', [`the first argument must be a workflow, not ${kindOf(workflow)}`])
  if (invalid.length > 0) return refused(workflow.name, invalid)
  const { laws, outputs = {}, input, seed = 1, ...rest } = options
  const of: RunsOf = { workflow, outputs: defined(outputs) as Outputs, ...defined({ input }) }
  if (rest.path !== undefined && laws?.length !== 1) return refused(workflow.name, [ONE_LAW], seed)
  const obstacles = obstaclesIn(of, workflow)
  if (obstacles.length > 0) return refused(workflow.name, obstacles, seed)
  const wanted = planLaws.filter(({ id }) => laws?.includes(id) ?? true)
  const results = wanted.map(({ check }) => check(of, { ...rest, seed }))
  return {
    workflow: workflow.name,
    seed,
    problems: [],
    results,
    violations: results.filter(({ holds }) => !holds)
  }
}

const ONE_LAW = '`path` belongs to one law; add `laws` with the id of that law'

const refused = (workflow: string, found: ReadonlyArray<string>, seed = 1): PlanLawReport => ({
  workflow,
  seed,
  problems: found,
  results: [],
  violations: []
})

/** The problems of the workflow that prevent checking any law. */
const obstaclesIn = (of: RunsOf, workflow: Workflow): ReadonlyArray<string> => {
  const invalid = problems(workflow).map((problem) => `the definition is invalid: ${describeProblem(problem)}`)
  if (invalid.length > 0) return invalid
  const wrong = outputProblems(workflow, of.outputs)
  if (wrong.length > 0) return wrong
  const thrown = thrownBy(workflow, of.outputs)
  return [
    ...thrown.map(({ unit, why }) => `\`accepts\` of "${unit}" threw: ${why}; make it total`),
    ...withoutSample(workflow, samplesOf(of.outputs))
      .filter((unit) => !thrown.some((one) => one.unit === unit))
      .map((unit) => `no output is known that "${unit}" accepts; pass an arbitrary of its outputs in \`outputs\``)
  ]
}

const isArbitrary = (value: unknown): boolean => typeof fieldsOf(value)['generate'] === 'function'

const OPTIONS: TableOf<PlanLawOptions> = {
  numRuns: wholeFrom(1),
  seed: whole,
  path: resultPath,
  laws: selection(
    'law',
    planLaws.map(({ id }) => id)
  ),
  outputs: recordOf(isArbitrary, 'an object of fast-check arbitraries by unit'),
  input: (value) => (isArbitrary(value) ? undefined : `a fast-check arbitrary, not ${kindOf(value)}`)
}
