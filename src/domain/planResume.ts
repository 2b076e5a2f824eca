/**
 * The planner: from what is recorded and what is wanted to what happens next.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Checkpoint, Variables } from './Checkpoint.js'
import { variablesOf } from './Checkpoint.js'
import * as State from './CheckpointState.js'
import type { CompletedStep } from './CompletedStep.js'
import { decideStep } from './decideStep.js'
import { expandDefinition } from './Expansion.js'
import type { Json } from './Json.js'
import { equals } from './Json.js'
import type { Decision, PlanError, PlanOptions, PlanProblem, ResumePlan, Skip } from './Plan.js'
import { isTop, nameOf } from './Unit.js'
import { compare, inconsistencies, wrongWorkflow } from './PlanCheck.js'
import type { PlanContext } from './PlanContext.js'
import { begunSteps, contextOf, isDoneAnew, recordOf, unknownNames } from './PlanContext.js'
import type { Step, Workflow } from './Workflow.js'
import { groupNamed, groupsOf, problems as problemsOf } from './Workflow.js'

/**
 * Plans a resume: what is skipped, run, retried or asked about, and why. Pure, total and deterministic, in time linear
 * in the steps and records.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { Checkpoint, planResume, Workflow, WorkflowIdentity } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const workflow = { name: 'release', steps: [Workflow.task('build'), Workflow.task('publish')] }
 * const checkpoint = Checkpoint.start({
 *   _tag: 'Started',
 *   at: '2026-01-02T03:04:05.000Z',
 *   runId: 'release-1',
 *   workflow: WorkflowIdentity.of(workflow),
 *   input: {}
 * })
 * const plan = planResume(checkpoint, workflow)
 * assert.ok(E.isRight(plan))
 * assert.equal(plan.right.startIndex, 0)
 * assert.deepEqual(plan.right.decisions.map((decision) => decision._tag), ['Run', 'Run'])
 *
 * @category planning
 * @since 0.1.0
 */
export const planResume = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  options: PlanOptions = {}
): E.Either<PlanError, ResumePlan> => {
  const unfit = [
    ...problemsOf(workflow).map((problem): PlanProblem => ({ _tag: 'InvalidWorkflow', problem })),
    ...inconsistencies(checkpoint)
  ]
  const wrong = wrongWorkflow(checkpoint, workflow)
  const whole: Workflow = { name: workflow.name, steps: expandDefinition(workflow.steps, checkpoint.workflow) }
  const [first, ...more] = unfit
  if (first !== undefined) return refuse([first, ...more, ...wrong, ...unknownNames(workflow, whole, options)])
  const context = contextOf(checkpoint, whole, options, begunSteps(checkpoint))
  const due = asDue(context, workflow, whole)
  const decisions: Array<Decision> = []
  const problems = [
    ...compare(context, whole, options.changes ?? 'completed'),
    ...wrong,
    ...unknownNames(workflow, due, options, context.evidence.changed)
  ]
  const input = replacing(checkpoint, options)
  if (input !== undefined && options.fromStep === undefined) problems.push({ _tag: 'InputWithoutStep' })
  for (const [stepIndex, step] of due.steps.entries()) decideStep(context, step, stepIndex, { decisions, problems })
  return isNonEmpty(problems) ? refuse(problems) : E.right(read(checkpoint, whole, decisions, context, input))
}

const replacing = (checkpoint: Checkpoint, { input }: PlanOptions): Json | undefined =>
  input === undefined || equals(input, checkpoint.input) ? undefined : input

/** What a map is of is found out anew when all of it is done anew. One of no items that runs again has nothing else to do. */
const asDue = (context: PlanContext, workflow: Workflow, whole: Workflow): Workflow => {
  if (whole.steps === workflow.steps) return workflow
  const steps = workflow.steps.map((defined, stepIndex) => {
    const known = whole.steps[stepIndex] as Step
    const isAnew =
      isDoneAnew(context, defined.name, stepIndex) || (stepIndex === context.rewound && groupsOf(known).length === 0)
    return isAnew ? defined : known
  })
  return { name: workflow.name, steps }
}

const refuse = (problems: ReadonlyNonEmptyArray<PlanProblem>): E.Either<PlanError, never> =>
  E.left({ _tag: 'PlanError', problems })

const isNonEmpty = (all: ReadonlyArray<PlanProblem>): all is ReadonlyNonEmptyArray<PlanProblem> => all.length > 0

// ---------------------------------------------------------------------------------------------------------------------
// what is read off the decisions
// ---------------------------------------------------------------------------------------------------------------------

const read = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  decisions: ReadonlyArray<Decision>,
  context: PlanContext,
  input: Json | undefined
): ResumePlan => {
  const skipSteps = new Set<number>()
  let first: Decision | undefined
  for (const decision of decisions) {
    if (!isTop(decision.unit)) continue
    if (decision._tag === 'Skip') skipSteps.add(decision.stepIndex)
    else first ??= decision
  }
  let variables: Variables | undefined
  return {
    decisions,
    startIndex: first?.stepIndex ?? workflow.steps.length,
    retryCurrent: first !== undefined && first.unit === checkpoint.state.step && isTriedAgain(checkpoint),
    skipSteps,
    get variables() {
      variables ??= variablesOf(input === undefined ? checkpoint.input : input, kept(workflow, decisions, context))
      return variables
    },
    ...(input === undefined ? {} : { input })
  }
}

const isTriedAgain = ({ state }: Checkpoint): boolean =>
  State.match({
    BeforeStep: () => true,
    Completed: () => false,
    Failed: ({ retryable }) => retryable,
    Interrupted: ({ inProgress }) => inProgress
  })(state)

/** The records that still count, and those that the plan assumes. */
function* kept(workflow: Workflow, decisions: ReadonlyArray<Decision>, context: PlanContext): Iterable<CompletedStep> {
  for (const decision of decisions) {
    if (decision._tag !== 'Skip') continue
    if (decision.reason._tag === 'Assumed' && decision.reason.output !== undefined) {
      const step = workflow.steps[decision.stepIndex] as Step
      const task = step._tag === 'Task' ? step : groupNamed({ groups: groupsOf(step) }, nameOf(decision.unit))
      yield assumedRecord(decision, decision.reason.output, task?.captures ?? [], context.checkpoint.updatedAt)
      continue
    }
    const record = recordOf(context, decision.unit)
    if (record !== undefined) yield record
  }
}

const assumedRecord = (decision: Skip, output: Json, captured: ReadonlyArray<string>, at: string): CompletedStep => ({
  unit: decision.unit,
  stepIndex: decision.stepIndex,
  fingerprint: decision.fingerprint,
  output,
  captured,
  attempts: 0,
  startedAt: at,
  completedAt: at,
  durationMillis: 0,
  evidence: [],
  assumed: true
})
