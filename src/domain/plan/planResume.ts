/** Plans a resume: decides about each unit, or returns all problems. */
import * as E from 'fp-ts/lib/Either.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Checkpoint, Variables } from '../checkpoint/Checkpoint.js'
import { variablesOf } from '../checkpoint/Checkpoint.js'
import { decode, encode } from '../checkpoint/CheckpointCodec.js'
import * as State from '../checkpoint/CheckpointState.js'
import * as Units from '../checkpoint/Units.js'
import type { PendingJob } from '../checkpoint/Pending.js'
import type { CompletedStep } from '../checkpoint/CompletedStep.js'
import { decideAll } from './decide.js'
import { isForcedBy } from './demands.js'
import type { Json } from '../data/Json.js'
import { equals, fromUnknown } from '../data/Json.js'
import { describe, plainJson } from '../data/Malformed.js'
import { kindOf, optionProblems } from '../data/Options.js'
import { orList } from '../data/Suggestion.js'
import type { Decision, PlanOptions, ResumePlan, Skip } from './Plan.js'
import { PLAN_OPTIONS } from './planOptions.js'
import type { PlanError, PlanProblem } from './PlanProblem.js'
import { inconsistencies } from './inconsistencies.js'
import { refusedEdits, wrongWorkflow } from './PlanCheck.js'
import type { PlanContext } from './PlanContext.js'
import { contextOf, leavesOf, recordAt, unknownNames } from './PlanContext.js'
import { subStepsOf } from './subSteps.js'
import { find, taskAround } from '../checkpoint/Tree.js'
import { hasCode } from '../workflow/Node.js'
import type { Unit } from '../workflow/Unit.js'
import { fromTop, isTop, isWithin } from '../workflow/Unit.js'
import type { Step, Workflow } from '../workflow/Workflow.js'
import type { WorkflowProblem } from '../workflow/WorkflowProblem.js'
import { isUnreadable, problems as problemsOf } from '../workflow/WorkflowProblem.js'

/**
 * Plans a resume: what is skipped, run, retried, polled or needs confirmation, and why. Pure, total and deterministic, in time linear in
 * the steps and records.
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
 */
export const planResume = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  options: PlanOptions = {}
): E.Either<PlanError, ResumePlan> => {
  const invalid = problemsOf(workflow)
  const [problem] = invalid
  // Without a list of steps nothing else can be checked.
  if (problem !== undefined && isUnreadable(problem)) return refuse([{ _tag: 'InvalidWorkflow', problem }])
  const unread = unreadableIn(checkpoint)
  if (unread !== undefined) return refuse([notCheckpoint(checkpoint, unread)])
  const wrong = wrongOptions(options)
  if (isNonEmpty(wrong)) return refuse(wrong)
  try {
    return plan(checkpoint, workflow, options, invalid)
  } catch {
    // Checked only now: a check before each plan would cost as much as the plan. A well-formed checkpoint throws the same error again.
    const malformed = malformedIn(checkpoint)
    return malformed === undefined
      ? plan(checkpoint, workflow, options, invalid)
      : refuse([notCheckpoint(checkpoint, malformed)])
  }
}

const plan = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  options: PlanOptions,
  invalid: ReadonlyArray<WorkflowProblem>
): E.Either<PlanError, ResumePlan> => {
  const [first, ...more] = [
    ...invalid.map((problem): PlanProblem => ({ _tag: 'InvalidWorkflow', problem })),
    ...inconsistencies(checkpoint)
  ]
  const wrong = wrongWorkflow(checkpoint, workflow)
  const { items } = checkpoint
  if (first !== undefined) {
    const isTooLarge = invalid.some(({ _tag }) => _tag === 'TooDeep' || _tag === 'TooManyUnits')
    const known = { items, subSteps: subStepsOf(checkpoint, workflow) }
    const unknown = isTooLarge ? [] : unknownNames(workflow, known, options, leavesOf(workflow, items))
    return refuse([first, ...more, ...wrong, ...unknown])
  }
  const context = contextOf(checkpoint, workflow, options)
  const decisions: Array<Decision> = []
  const found: Array<PlanProblem> = []
  decideAll(context, workflow, { decisions, problems: found })
  const answerable = context.answerable ?? new Set()
  const input = newInput(checkpoint, options)
  const problems = [
    ...refusedEdits(context, workflow, options.changes ?? 'completed'),
    ...wrong,
    ...unknownNames(workflow, { items, subSteps: context.subSteps }, options, answerable, context.evidence.changed),
    ...(input === undefined ? [] : wrongInput(context, workflow, options)),
    ...found
  ]
  return isNonEmpty(problems) ? refuse(problems) : E.right(planOf(checkpoint, workflow, decisions, context, input))
}

const isMap = (one: ReadonlyMap<string, unknown>): boolean => typeof one.size === 'number' && 'get' in one

const STATES: ReadonlyArray<State.CheckpointState['_tag']> = ['BeforeStep', 'Completed', 'Failed', 'Interrupted']

/** What a plan reads of a checkpoint: its path, what it must be, and a check of it in constant time, which may throw. */
const FIELDS: ReadonlyArray<readonly [string, string, (checkpoint: Checkpoint) => boolean]> = [
  ['workflow.steps', 'an array', ({ workflow }) => Array.isArray(workflow.steps)],
  ['state', 'an object', ({ state }) => kindOf(state) === 'an object'],
  ['state._tag', orList(STATES), ({ state }) => STATES.includes(state._tag)],
  ['items', 'a Map', ({ items }) => isMap(items)],
  ['renewals', 'a Map', ({ renewals }) => isMap(renewals)],
  ...Object.entries<(checkpoint: Checkpoint) => Iterable<Units.OfUnit>>({
    completedSteps: ({ completedSteps }) => completedSteps,
    pending: ({ pending }) => pending,
    answers: ({ answers }) => answers,
    submissions: ({ submissions }) => submissions,
    'state.inFlight': ({ state }) => State.inFlight(state),
    'state.failures': ({ state }) => State.failures(state)
  }).map(([path, of]) => [path, 'a list that Dogear made', (one: Checkpoint) => Units.isUnits(of(one))] as const)
]

/** Returns the field without which no plan is possible, as in stored JSON that was not decoded. */
const unreadableIn = (checkpoint: Checkpoint): string | undefined => {
  for (const [path, expected, isReadable] of FIELDS) {
    try {
      if (isReadable(checkpoint)) continue
    } catch {}
    return ` (at $.${path} expected ${expected})`
  }
  return undefined
}

/** Returns where a checkpoint is malformed, in parentheses; empty if it is malformed at an unknown place, undefined if it is not. */
const malformedIn = (checkpoint: Checkpoint): string | undefined => {
  try {
    const decoded = decode(encode(checkpoint))
    return E.isRight(decoded) ? undefined : ` (${describe(decoded.left)})`
  } catch {
    return ''
  }
}

const JSON_INPUT: typeof PLAN_OPTIONS = {
  ...PLAN_OPTIONS,
  input: (value) => {
    const json = fromUnknown(value)
    return E.isRight(json) ? undefined : plainJson(json.left)
  }
}

/** Ignores unknown options: callers may pass the options of a whole run, and TypeScript checks the names. */
const wrongOptions = (options: unknown): ReadonlyArray<PlanProblem> =>
  optionProblems(options, JSON_INPUT).flatMap((problem) =>
    'expected' in problem ? [{ _tag: 'InvalidOption', ...problem }] : []
  )

const notCheckpoint = (given: unknown, malformed = ''): PlanProblem => {
  const kind = kindOf(given)
  return { _tag: 'NotACheckpoint', found: kind === 'an object' ? `${kind} that is malformed${malformed}` : kind }
}

const newInput = (checkpoint: Checkpoint, { input }: PlanOptions): Json | undefined => {
  const json = fromUnknown(input)
  return E.isLeft(json) || equals(json.right, checkpoint.input) ? undefined : json.right
}

/** Refuses a new input for units that started with the recorded one and continue. */
const wrongInput = (
  { checkpoint, demands }: PlanContext,
  workflow: Workflow,
  { fromStep }: PlanOptions
): ReadonlyArray<PlanProblem> => {
  if (fromStep === undefined) return [{ _tag: 'InputWithoutStep' }]
  const { state, items, pending } = checkpoint
  const exists = (unit: Unit): boolean => find<Step>(workflow, items, unit) !== undefined
  // Earlier sub-steps have seen the recorded input.
  const task = taskAround<Step>(workflow, items, fromStep)
  if (task !== undefined) return [{ _tag: 'InputInUse', unit: task.unit }]
  if (!exists(fromStep)) return []
  const continues = (unit: Unit): boolean => {
    const demand = demands.of(unit)
    return exists(unit) && demand !== 'assumed' && !isForcedBy(demand) && !isWithin(fromStep, unit)
  }
  const started = new Set([...State.inFlight(state), ...State.failures(state), ...pending].map(({ unit }) => unit))
  return [...started].filter(continues).map((unit) => ({ _tag: 'InputInUse', unit }))
}

const refuse = (problems: ReadonlyNonEmptyArray<PlanProblem>): E.Either<PlanError, never> =>
  E.left({ _tag: 'PlanError', problems })

const isNonEmpty = (all: ReadonlyArray<PlanProblem>): all is ReadonlyNonEmptyArray<PlanProblem> => all.length > 0

const planOf = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  decisions: ReadonlyArray<Decision>,
  context: PlanContext,
  input: Json | undefined
): ResumePlan => {
  const first = decisions.find(({ _tag, unit }) => _tag !== 'Skip' && isTop(unit))
  const abandons = abandonedBy(checkpoint, workflow, decisions)
  let skipSteps: ReadonlySet<number> | undefined
  let variables: Variables | undefined
  return {
    decisions,
    startIndex: first?.stepIndex ?? workflow.steps.length,
    retryCurrent: first !== undefined && first.unit === checkpoint.state.step && isRetried(checkpoint),
    get skipSteps() {
      skipSteps ??= skippedIn(decisions)
      return skipSteps
    },
    get variables() {
      variables ??= variablesOf(
        input === undefined ? checkpoint.input : input,
        keptRecords(workflow, decisions, context),
        checkpoint.items
      )
      return variables
    },
    ...(abandons.length === 0 ? {} : { abandons }),
    ...(input === undefined ? {} : { input })
  }
}

/** A plan abandons a pending job unless its unit is polled, or a question (`Confirm`) is still open. */
const abandonedBy = (
  { pending, items }: Checkpoint,
  workflow: Workflow,
  decisions: ReadonlyArray<Decision>
): ReadonlyArray<PendingJob> => {
  const jobs = [...pending].filter((one): one is PendingJob => one._tag === 'Job')
  if (jobs.length === 0) return jobs
  const stillPolled = new Set(
    decisions.flatMap(({ _tag, unit }) => (_tag === 'Poll' || _tag === 'Confirm' ? [unit] : []))
  )
  const decided = new Set(decisions.map(({ unit }) => unit))
  return jobs.filter(({ unit }) => {
    // The items of a map that runs again have no decisions.
    const place = fromTop(unit).findLast((one) => decided.has(one))
    return place === undefined || !stillPolled.has(place) || !hasCode(find<Step>(workflow, items, unit)?.definition)
  })
}

const skippedIn = (decisions: ReadonlyArray<Decision>): ReadonlySet<number> =>
  new Set(decisions.filter(({ _tag, unit }) => _tag === 'Skip' && isTop(unit)).map(({ stepIndex }) => stepIndex))

const isRetried = ({ state }: Checkpoint): boolean => {
  switch (state._tag) {
    case 'BeforeStep':
      return true
    case 'Completed':
      return false
    case 'Failed':
      return state.retryable
    case 'Interrupted':
      return state.inProgress
  }
}

/** Yields the records of skipped units; a unit that is assumed done gets one with the supplied output. */
function* keptRecords(
  workflow: Workflow,
  decisions: ReadonlyArray<Decision>,
  context: PlanContext
): Iterable<CompletedStep> {
  for (const decision of decisions) {
    if (decision._tag !== 'Skip') continue
    if (decision.reason._tag === 'Assumed' && decision.reason.output !== undefined) {
      const { items, updatedAt } = context.checkpoint
      const task = find<Step>(workflow, items, decision.unit, decision.stepIndex)?.definition
      const captures = task?._tag === 'Task' ? task.captures : []
      yield assumedRecord(decision, decision.reason.output, captures, updatedAt)
      continue
    }
    const record = recordAt(context, decision.unit)
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
