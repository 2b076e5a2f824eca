/**
 * What stands against a plan: a checkpoint that contradicts itself, and edits that a policy refuses.
 *
 * @since 0.1.0
 */
import type { Checkpoint } from './Checkpoint.js'
import * as State from './CheckpointState.js'
import type { CompletedStep } from './CompletedStep.js'
import type { Changes, Edit, PlanProblem } from './Plan.js'
import { unitName } from './Plan.js'
import type { Step, Workflow } from './Workflow.js'
import { groupNamed } from './Workflow.js'
import type { StepIdentity, TaskIdentity } from './WorkflowIdentity.js'

// ---------------------------------------------------------------------------------------------------------------------
// the checkpoint against itself
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Where a checkpoint contradicts itself. Nothing that the transitions make does; one that came from outside may.
 *
 * @category validation
 * @since 0.1.0
 */
export const inconsistencies = (checkpoint: Checkpoint): ReadonlyArray<PlanProblem> => {
  const { state, workflow } = checkpoint
  const steps = workflow.steps.length
  if (!Number.isInteger(state.stepIndex) || state.stepIndex < 0 || state.stepIndex >= steps) {
    return [{ _tag: 'StepOutOfRange', stepIndex: state.stepIndex, steps }]
  }
  const wrong = (why: string): PlanProblem => ({ _tag: 'InconsistentCheckpoint', why })
  const named = workflow.steps[state.stepIndex]?.name
  if (named !== state.step)
    return [wrong(`step ${state.stepIndex} is "${named}", but the state calls it "${state.step}"`)]
  const seen = new Set<string>()
  for (const record of checkpoint.completedSteps) {
    const why = wrongRecord(record, workflow.steps, seen)
    if (why !== undefined) return [wrong(why)]
    seen.add(unitName(record))
  }
  const unfinished = unfinishedWave(checkpoint, seen)
  if (unfinished !== undefined) return [wrong(unfinished)]
  const why = wrongState(state, seen)
  return why === undefined ? [] : [wrong(why)]
}

const wrongRecord = (
  record: CompletedStep,
  steps: ReadonlyArray<StepIdentity>,
  seen: ReadonlySet<string>
): string | undefined => {
  const name = unitName(record)
  const step = steps[record.stepIndex]
  if (step === undefined) return `a record names step ${record.stepIndex}, but there are ${steps.length} steps`
  if (step.name !== record.step)
    return `step ${record.stepIndex} is "${step.name}", but a record calls it "${record.step}"`
  if (record.group !== undefined && groupOf(step, record.group) === undefined)
    return `"${name}" is recorded, but there is no such group`
  return seen.has(name) ? `"${name}" is recorded twice` : undefined
}

/** A wave is completed when all its groups are. */
const unfinishedWave = ({ completedSteps, workflow }: Checkpoint, seen: ReadonlySet<string>): string | undefined => {
  for (const { stepIndex, step: name, group } of completedSteps) {
    const step = workflow.steps[stepIndex]
    if (group !== undefined || step?.kind !== 'wave') continue
    const missing = step.groups.find((one) => !seen.has(unitName({ step: name, group: one.name })))
    if (missing !== undefined) return `wave "${name}" is recorded completed, but its group "${missing.name}" is not`
  }
  return undefined
}

const wrongState = (state: State.CheckpointState, recorded: ReadonlySet<string>): string | undefined => {
  const done = recorded.has(state.step)
  switch (state._tag) {
    case 'Completed':
      return done ? undefined : `"${state.step}" is said to be completed, but has no record`
    case 'Interrupted':
      return done && state.inProgress
        ? `"${state.step}" is said to be in progress, but is recorded completed`
        : undefined
    case 'BeforeStep':
    case 'Failed':
      return done ? `the run stands at "${state.step}", but that is recorded completed` : undefined
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// the workflow against the one that ran
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The edits that a policy refuses.
 *
 * @category validation
 * @since 0.1.0
 */
export const compare = (checkpoint: Checkpoint, workflow: Workflow, policy: Changes): ReadonlyArray<PlanProblem> => {
  const expected = checkpoint.workflow.name
  if (expected !== workflow.name) return [{ _tag: 'WrongWorkflow', expected, found: workflow.name }]
  if (policy === 'ignore') return []
  const present = new Map(workflow.steps.map((step, index) => [step.name, { step, index }]))
  if (policy === 'strict') return [...editsOfAll(checkpoint, workflow, present), ...vanished(checkpoint, present)]
  return [
    ...editsOfRecorded(checkpoint, present),
    ...misplaced(checkpoint, workflow, present),
    ...vanished(checkpoint, present)
  ]
}

type Present = ReadonlyMap<string, { readonly step: Step; readonly index: number }>

const changed = (
  edit: Edit,
  unit: { readonly step: string; readonly group?: string },
  recorded?: string,
  present?: string
): PlanProblem => ({
  _tag: 'WorkflowChanged',
  edit,
  step: unit.step,
  ...(unit.group === undefined ? {} : { group: unit.group }),
  ...(recorded === undefined ? {} : { recorded }),
  ...(present === undefined ? {} : { present })
})

/** Completed units that are gone or are defined otherwise now. */
function* editsOfRecorded(checkpoint: Checkpoint, present: Present): Iterable<PlanProblem> {
  for (const record of checkpoint.completedSteps) {
    const step = present.get(record.step)?.step
    const now = step === undefined ? undefined : definitionOf(step, record.group)
    if (now === undefined) yield changed('removed', record, record.fingerprint)
    else if (now.fingerprint !== record.fingerprint)
      yield changed('changed', record, record.fingerprint, now.fingerprint)
  }
}

/** Steps with completed work that changed their order, and steps that were put before such. */
function* misplaced(checkpoint: Checkpoint, workflow: Workflow, present: Present): Iterable<PlanProblem> {
  const begun = new Map<string, number>()
  for (const record of checkpoint.completedSteps) begun.set(record.step, record.stepIndex)
  let before = -1
  for (const [name] of [...begun].sort(([, a], [, b]) => a - b)) {
    const index = present.get(name)?.index
    if (index === undefined) continue
    if (index < before) yield changed('reordered', { step: name })
    before = Math.max(before, index)
  }
  if (before < 1) return
  let last = -1
  for (const index of begun.values()) last = Math.max(last, index)
  const was = new Map(checkpoint.workflow.steps.map((step, index) => [step.name, index]))
  for (const step of workflow.steps.slice(0, before)) {
    if (!begun.has(step.name) && !((was.get(step.name) ?? Infinity) < last)) {
      yield changed('insertedBefore', { step: step.name }, undefined, step.fingerprint)
    }
  }
}

/** Every difference, for those who want none. */
function* editsOfAll(checkpoint: Checkpoint, workflow: Workflow, present: Present): Iterable<PlanProblem> {
  const was = new Map(checkpoint.workflow.steps.map((step) => [step.name, step]))
  let before = -1
  for (const step of checkpoint.workflow.steps) {
    const now = present.get(step.name)
    if (now === undefined) yield changed('removed', { step: step.name }, step.fingerprint)
    else {
      if (now.step.fingerprint !== step.fingerprint) {
        yield changed('changed', { step: step.name }, step.fingerprint, now.step.fingerprint)
      }
      if (now.index < before) yield changed('reordered', { step: step.name })
      before = Math.max(before, now.index)
    }
  }
  for (const step of workflow.steps) {
    if (!was.has(step.name)) yield changed('added', { step: step.name }, undefined, step.fingerprint)
  }
}

/** Units that may have had their effect, must not have it twice, and are gone: nobody could be asked about them. */
function* vanished(checkpoint: Checkpoint, present: Present): Iterable<PlanProblem> {
  const { state } = checkpoint
  const step = checkpoint.workflow.steps[state.stepIndex]
  const now = present.get(state.step)?.step
  for (const group of State.inDoubt(state)) {
    const unit = step === undefined ? undefined : group === undefined ? step : groupOf(step, group)
    if (unit === undefined || unit.kind === 'wave' || unit.idempotent) continue
    if (now !== undefined && definitionOf(now, group)?._tag === 'Task') continue
    const name = { step: state.step, ...(group === undefined ? {} : { group }) }
    yield { ...changed('removed', name, unit.fingerprint), inDoubt: true } as PlanProblem
  }
}

const definitionOf = (step: Step, group: string | undefined): Step | undefined =>
  group === undefined ? step : step._tag === 'Wave' ? groupNamed(step, group) : undefined

const groupOf = (step: StepIdentity, name: string): TaskIdentity | undefined =>
  step.kind === 'wave' ? groupNamed(step, name) : undefined
