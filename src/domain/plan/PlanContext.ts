/** The facts that decisions of a plan are made from. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import type { Failure, InFlight } from '../checkpoint/CheckpointState.js'
import * as State from '../checkpoint/CheckpointState.js'
import type { EvidencePlan } from './changedEvidence.js'
import { planEvidence } from './changedEvidence.js'
import type { CompletedStep } from '../checkpoint/CompletedStep.js'
import * as Units from '../checkpoint/Units.js'
import type { Demands } from './demands.js'
import { demandsOf } from './demands.js'
import type { Items } from '../checkpoint/Items.js'
import type { Json } from '../data/Json.js'
import { equals, fromUnknown } from '../data/Json.js'
import { MARK } from '../data/Redaction.js'
import type { Answer, PlanOptions } from './Plan.js'
import type { PlanProblem } from './PlanProblem.js'
import { find, partNames } from '../checkpoint/Tree.js'
import { isComposite, isSameKind, listedParts } from '../workflow/Node.js'
import type { ActedCalls, SubStepsByTask } from './subSteps.js'
import { actedCalls, subStepsOf } from './subSteps.js'
import type { Unit } from '../workflow/Unit.js'
import { ancestors, isChild, join, parent, top } from '../workflow/Unit.js'
import type { Step, Workflow } from '../workflow/Workflow.js'

/**
 * The facts for decisions, each found in constant time.
 *
 * - `begun`: composites with a recorded part.
 * - `open`: the top-level step that the run stands at, and those with attempts or failures.
 * - `replaced`: units that started or failed, and that an edit turned into another kind of step: they start over.
 * - `inDoubt`: units that may have taken effect. A replaced composite is not one of them: its parts acted.
 * - `evidence`: the decisions about missing and changed evidence.
 * - `demands`: what runs again, or counts as done, whatever is recorded.
 * - `answerable`: collects the units that can be answered, if there are answers.
 * - `subSteps`: the recorded sub-steps of each task; `acted`: those that completed or may have taken effect, also of former tasks.
 * - `from`: the unit that `fromStep` names.
 * - `isPlain`: no option, evidence, sub-step or wait matters, so that records and the state decide.
 */
export interface PlanContext {
  readonly checkpoint: Checkpoint
  readonly begun: ReadonlySet<Unit>
  readonly open: ReadonlySet<Unit>
  readonly inFlight: Units.Units<InFlight>
  readonly failures: Units.Units<Failure>
  readonly inDoubt: ReadonlySet<Unit>
  readonly replaced: ReadonlySet<Unit>
  readonly confirm: ReadonlyMap<string, Answer>
  readonly outputs: ReadonlyMap<string, Json>
  readonly evidence: EvidencePlan
  readonly demands: Demands
  readonly answerable: Set<Unit> | undefined
  readonly recovered: boolean
  readonly subSteps: SubStepsByTask
  readonly acted: ActedCalls
  readonly from: Unit | undefined
  readonly isPlain: boolean
}

export const contextOf = (checkpoint: Checkpoint, workflow: Workflow, options: PlanOptions): PlanContext => {
  const { state, items } = checkpoint
  const subSteps = subStepsOf(checkpoint, workflow)
  const targets = targetsOf(workflow, items, options, subSteps)
  const evidence = planEvidence(
    checkpoint,
    workflow,
    options,
    demandsOf(workflow, items, { ...targets, ...NOTHING_RERUN })
  )
  const replaced = replacedIn(checkpoint, workflow)
  const { confirm = new Map(), outputs = new Map(), recovered = false } = options
  return {
    checkpoint,
    begun: compositesWithRecords(checkpoint.completedSteps),
    open: new Set([state.step, ...[...State.inFlight(state), ...State.failures(state)].map(({ unit }) => top(unit))]),
    inFlight: State.inFlight(state),
    failures: State.failures(state),
    inDoubt: doubtsOf(checkpoint, replaced),
    replaced,
    confirm,
    outputs,
    evidence,
    demands: demandsOf(workflow, items, { ...targets, rerun: evidence.rerun, again: evidence.again }),
    answerable: confirm.size + outputs.size === 0 ? undefined : new Set(),
    recovered,
    subSteps,
    acted: actedCalls(checkpoint, subSteps),
    from: targets.from,
    isPlain:
      (options.evidence ?? []).length === 0 &&
      !recovered &&
      confirm.size + outputs.size + subSteps.size + checkpoint.pending.size + checkpoint.answers.size === 0 &&
      targets.from === undefined &&
      targets.restart === undefined
  }
}

/** Finds the units that started or failed, and that an edit turned into another kind of step. A removed unit has no decision. */
const replacedIn = ({ workflow: before, items, state }: Checkpoint, workflow: Workflow): ReadonlySet<Unit> => {
  const replaced = new Set<Unit>()
  const compare = (unit: Unit): void => {
    const was = find(before, items, unit, state.stepIndex)?.definition
    const now = find<Step>(workflow, items, unit, state.stepIndex)?.definition
    if (was !== undefined && now !== undefined && !isSameKind(was, now)) replaced.add(unit)
  }
  compare(state.step)
  for (const { unit } of [...State.inFlight(state), ...State.failures(state)]) compare(unit)
  return replaced
}

const doubtsOf = ({ workflow, items, state }: Checkpoint, replaced: ReadonlySet<Unit>): ReadonlySet<Unit> => {
  const all = State.inDoubt(state)
  if (replaced.size === 0) return all
  const wasTask = (unit: Unit): boolean => find(workflow, items, unit, state.stepIndex)?.definition._tag === 'Task'
  return new Set([...all].filter((unit) => !replaced.has(unit) || wasTask(unit)))
}

const NOTHING_RERUN = { rerun: new Map<Unit, never>(), again: [] }

/** Returns the units that the options name, if they exist. */
export const targetsOf = (
  workflow: Workflow,
  items: Items,
  { fromStep, restartWave }: Pick<PlanOptions, 'fromStep' | 'restartWave'>,
  subSteps: SubStepsByTask
): { readonly from: Unit | undefined; readonly restart: Unit | undefined } => {
  const existing = (unit: Unit | undefined): Unit | undefined =>
    unit !== undefined && (find<Step>(workflow, items, unit) !== undefined || isSubStep(subSteps, unit))
      ? unit
      : undefined
  return { from: existing(fromStep), restart: existing(restartWave) }
}

const isSubStep = (subSteps: SubStepsByTask, unit: Unit): boolean => {
  for (const task of ancestors(unit)) if (subSteps.get(task)?.some((one) => one.unit === unit) === true) return true
  return false
}

const compositesWithRecords = (records: Units.Units<CompletedStep>): ReadonlySet<Unit> => {
  const begun = new Set<Unit>()
  if (records.steps === records.size) return begun
  let last: Unit | undefined
  for (const { unit, subStep } of Units.all(records)) {
    if (subStep !== undefined || (last !== undefined && isChild(unit, last))) continue
    const above = parent(unit)
    if (above === undefined) continue
    last = above
    begun.add(above)
    for (const one of ancestors(above)) begun.add(one)
  }
  return begun
}

/** Returns the record of a unit or sub-step. */
export const recordAt = ({ checkpoint }: PlanContext, unit: Unit, expected?: number): CompletedStep | undefined =>
  Units.get(checkpoint.completedSteps, unit, expected)

/** Returns the record of a unit. Ignores that of a sub-step: an edit of its task may have put a unit at its path. */
export const recordInTree = (context: PlanContext, unit: Unit, expected?: number): CompletedStep | undefined => {
  const record = recordAt(context, unit, expected)
  return record?.subStep === undefined ? record : undefined
}

/** Returns whether a unit, or a part of it, is recorded. */
export const hasRecords = (context: PlanContext, unit: Unit): boolean =>
  context.begun.has(unit) || recordInTree(context, unit) !== undefined

/** Refuses an answer that declares a completed unit done with another output than the recorded one, which later units may have used. */
export const otherOutput = (
  { confirm }: PlanContext,
  { unit, output = null }: CompletedStep
): ReadonlyArray<PlanProblem> => {
  const answer = confirm.get(unit)
  if (answer?._tag !== 'Done' || answer.output === undefined) return []
  const given = fromUnknown(answer.output)
  // A record from which secrets are redacted cannot be compared.
  return E.isLeft(given) || equals(given.right, output) || JSON.stringify(output).includes(MARK)
    ? []
    : [{ _tag: 'NothingToConfirm', unit, completed: true }]
}

/**
 * Returns problems for unknown names in the options. `answerable`: the units that can be answered; `changed`: units that can always be
 * answered.
 */
export const unknownNames = (
  workflow: Workflow,
  { items, subSteps }: { readonly items: Items; readonly subSteps: SubStepsByTask },
  options: PlanOptions,
  answerable: ReadonlySet<Unit>,
  changed: Pick<ReadonlySet<string>, 'has'> = new Set()
): ReadonlyArray<PlanProblem> => {
  const { fromStep, restartWave, confirm, outputs } = options
  const problems: Array<PlanProblem> = []
  if (fromStep !== undefined && targetsOf(workflow, items, { fromStep }, subSteps).from === undefined)
    problems.push({ _tag: 'UnknownStep', step: fromStep, available: peersOf(workflow, { items, subSteps }, fromStep) })
  const restarted = restartWave === undefined ? undefined : find<Step>(workflow, items, restartWave)?.definition
  if (restartWave !== undefined && (restarted === undefined || !isComposite(restarted))) {
    const steps = workflow.steps.map(({ name }) => name)
    const available = workflow.steps.filter(isComposite).map(({ name }) => name)
    const exists = restarted !== undefined || isSubStep(subSteps, restartWave)
    problems.push({ _tag: 'NotAWave', step: restartWave, exists, available, steps })
  }
  // The answer "again" about a task is harmless if the task runs anyway.
  const isAnsweredAgain = (unit: Unit): boolean =>
    confirm?.get(unit)?._tag === 'Again' &&
    (isSubStep(subSteps, unit) || find<Step>(workflow, items, unit)?.definition._tag === 'Task')
  for (const step of new Set([...(confirm?.keys() ?? []), ...(outputs?.keys() ?? [])]))
    if (!answerable.has(step) && !changed.has(step) && !isAnsweredAgain(step)) {
      const option = confirm?.has(step) === true ? 'confirm' : 'outputs'
      problems.push({ _tag: 'UnknownStep', step, option, available: [...answerable] })
    }
  return problems
}

/** Returns the existing units on the level where a path leaves the workflow. */
const peersOf = (
  workflow: Workflow,
  { items, subSteps }: { readonly items: Items; readonly subSteps: SubStepsByTask },
  unknown: Unit
): ReadonlyArray<Unit> => {
  for (const above of ancestors(unknown)) {
    const known = subSteps.get(above)
    if (known !== undefined) return known.map(({ unit }) => unit)
    const found = find<Step>(workflow, items, above)?.definition
    const names = found === undefined ? undefined : partNames(found, above, items)
    if (names !== undefined && names.length > 0) return names.map((name) => join(above, name))
  }
  return workflow.steps.map(({ name }) => name)
}

/** Returns the units that can have work recorded: tasks, and maps without recorded items. */
export const leavesOf = (workflow: Workflow, items: Items): ReadonlySet<Unit> => {
  const leaves = new Set<Unit>()
  const visit = (step: Step, unit: Unit): void => {
    const keys = step._tag === 'Map' ? items.get(unit) : undefined
    if (step._tag === 'Map' && keys !== undefined) for (const { key } of keys) visit(step.each, join(unit, key))
    else if (step._tag === 'Task' || step._tag === 'Map') leaves.add(unit)
    else for (const part of listedParts<Step>(step)) visit(part, join(unit, part.name))
  }
  for (const step of workflow.steps) visit(step, step.name)
  return leaves
}
