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
import type { Records } from './Records.js'
import { finderIn, hasBegun, recordAt } from './Records.js'
import type { Step, Workflow } from './Workflow.js'
import { groupNamed } from './Workflow.js'
import type { StepIdentity } from './WorkflowIdentity.js'
import { groupOf, groupsOf } from './WorkflowIdentity.js'

// ---------------------------------------------------------------------------------------------------------------------
// the checkpoint against itself
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Everywhere that a checkpoint contradicts itself. Nothing that the transitions make does; one that came from outside
 * may.
 *
 * @category validation
 * @since 0.1.0
 */
export function* inconsistencies(checkpoint: Checkpoint, records: Records): Iterable<PlanProblem> {
  const { state, workflow } = checkpoint
  const steps = workflow.steps.length
  const wrong = (why: string): PlanProblem => ({ _tag: 'InconsistentCheckpoint', why })
  const named = Number.isInteger(state.stepIndex) ? workflow.steps[state.stepIndex]?.name : undefined
  if (named === undefined) yield { _tag: 'StepOutOfRange', stepIndex: state.stepIndex, steps }
  else if (named !== state.step)
    yield wrong(`step ${state.stepIndex} is "${named}", but the state calls it "${state.step}"`)
  for (const record of checkpoint.completedSteps) {
    const why = wrongRecord(record, workflow.steps, records)
    if (why !== undefined) yield wrong(why)
  }
  if (records.twice !== undefined) yield wrong(`"${unitName(records.twice)}" is recorded twice`)
  for (const why of wrongJobs(checkpoint, records)) yield wrong(why)
  const why = named === state.step ? wrongState(state, records.ofSteps[state.stepIndex] !== undefined) : undefined
  if (why !== undefined) yield wrong(why)
}

const wrongRecord = (
  record: CompletedStep,
  steps: ReadonlyArray<StepIdentity>,
  records: Records
): string | undefined => {
  const step = steps[record.stepIndex]
  if (step === undefined) return `a record names step ${record.stepIndex}, but there are ${steps.length} steps`
  if (step.name !== record.step)
    return `step ${record.stepIndex} is "${step.name}", but a record calls it "${record.step}"`
  if (record.group !== undefined)
    return groupOf(step, record.group) === undefined
      ? `"${unitName(record)}" is recorded, but there is no such group`
      : undefined
  const done = records.ofGroups.get(record.stepIndex)
  const missing = groupsOf(step).find(({ name }) => done?.has(name) !== true)
  return missing === undefined
    ? undefined
    : `wave "${step.name}" is recorded completed, but its group "${missing.name}" is not`
}

/** A unit has one job at most, and what is done waits for none. */
function* wrongJobs({ pending, submissions, workflow, state }: Checkpoint, records: Records): Iterable<string> {
  if (pending.length === 0 && submissions.length === 0) return
  const seen = new Set<string>()
  for (const { stepIndex, step: named, group } of [...pending, ...submissions]) {
    const name = unitName({ step: named, ...(group === undefined ? {} : { group }) })
    const step = workflow.steps[stepIndex]
    const unit = step === undefined || group === undefined ? step : groupOf(step, group)
    if (step?.name !== named || unit?.kind !== 'task') yield `"${name}" has a job, but there is no such task`
    if (recordAt(records, stepIndex, group) !== undefined) yield `"${name}" has a job, but is recorded completed`
    if (seen.has(name)) yield `"${name}" has two jobs`
    seen.add(name)
  }
  for (const { stepIndex, group } of pending) {
    const isRunning = stepIndex === state.stepIndex && State.inFlight(state).some((one) => one.group === group)
    if (isRunning)
      yield `"${unitName({ step: state.step, ...(group === undefined ? {} : { group }) })}" is in flight, but its job is pending`
  }
}

const wrongState = (state: State.CheckpointState, done: boolean): string | undefined => {
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
 * Whether the checkpoint is of another workflow.
 *
 * @category validation
 * @since 0.1.0
 */
export const wrongWorkflow = (checkpoint: Checkpoint, { name: found }: Workflow): ReadonlyArray<PlanProblem> => {
  const { name: expected } = checkpoint.workflow
  return expected === found ? [] : [{ _tag: 'WrongWorkflow', expected, found }]
}

/**
 * The edits that a policy refuses; none between two workflows that have nothing to do with one another. `redoneFrom`: the
 * index from which everything runs again, or infinity: what is done anew may be edited.
 *
 * @category validation
 * @since 0.1.0
 */
export const compare = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  policy: Changes,
  records: Records,
  redoneFrom: number
): ReadonlyArray<PlanProblem> => {
  if (policy === 'ignore' || checkpoint.workflow.name !== workflow.name) return []
  const edit = {
    checkpoint,
    workflow,
    records,
    redoneFrom,
    isAt: finderIn(workflow.steps),
    was: finderIn(checkpoint.workflow.steps)
  }
  return policy === 'strict'
    ? [...editsOfAll(edit), ...vanished(edit)]
    : [...editsOfRecorded(edit), ...misplaced(edit), ...editsOfPending(edit), ...vanished(edit)]
}

/** Two workflows: `isAt` finds a step in the present one, `was` in the one that ran. */
interface Edited {
  readonly checkpoint: Checkpoint
  readonly workflow: Workflow
  readonly records: Records
  readonly redoneFrom: number
  readonly isAt: (name: string, expected: number) => number | undefined
  readonly was: (name: string, expected: number) => number | undefined
}

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

/** Completed units that are gone or are defined otherwise now, but for those that run again in any case. */
function* editsOfRecorded({ checkpoint, workflow, redoneFrom, isAt, was }: Edited): Iterable<PlanProblem> {
  const first = workflow.steps[redoneFrom]?.name
  const redoneWas = first === undefined ? Infinity : (was(first, redoneFrom) ?? Infinity)
  const maps = new Set<string>()
  for (const record of checkpoint.completedSteps) {
    const index = isAt(record.step, record.stepIndex)
    if (index === undefined ? record.stepIndex >= redoneWas : index >= redoneFrom) continue
    const now = index === undefined ? undefined : definitionOf(workflow.steps[index] as Step, record.group)
    const map = checkpoint.workflow.steps[record.stepIndex]
    if (now !== undefined && (now.fingerprint === record.fingerprint || isAdopted(map, record, now))) continue
    if (map?.kind !== 'expanded') {
      yield changed(now === undefined ? 'removed' : 'changed', record, record.fingerprint, now?.fingerprint)
    } else if (!maps.has(record.step)) {
      // All groups of a map are defined at once, and there may be many.
      maps.add(record.step)
      const whole = index === undefined ? undefined : workflow.steps[index]?.fingerprint
      yield changed(now === undefined ? 'removed' : 'changed', { step: record.step }, map.fingerprint, whole)
    }
  }
}

/** Only an accepted plan lets a recorded run adopt another definition. */
const isAdopted = (was: StepIdentity | undefined, { group }: CompletedStep, now: Step): boolean => {
  const unit = was === undefined || group === undefined ? was : groupOf(was, group)
  return unit?.fingerprint === now.fingerprint
}

/** Units whose job is pending that are gone or are defined otherwise now, but for those that run again in any case. */
function* editsOfPending({ checkpoint, workflow, redoneFrom, isAt, was: stood }: Edited): Iterable<PlanProblem> {
  if (checkpoint.pending.length === 0) return
  const first = workflow.steps[redoneFrom]?.name
  const redoneWas = first === undefined ? Infinity : (stood(first, redoneFrom) ?? Infinity)
  for (const job of checkpoint.pending) {
    const index = isAt(job.step, job.stepIndex)
    if (index === undefined ? job.stepIndex >= redoneWas : index >= redoneFrom) continue
    const step = checkpoint.workflow.steps[job.stepIndex]
    const was = step === undefined || job.group === undefined ? step : groupOf(step, job.group)
    const now = index === undefined ? undefined : definitionOf(workflow.steps[index] as Step, job.group)
    if (was === undefined || (now?._tag === 'Task' && now.fingerprint === was.fingerprint)) continue
    const edit = changed(now === undefined ? 'removed' : 'changed', job, was.fingerprint, now?.fingerprint)
    yield { ...edit, pending: true } as PlanProblem
  }
}

/** Steps with completed work that changed their order, and steps that were put before such. */
function* misplaced({ checkpoint, workflow, records, redoneFrom, isAt, was }: Edited): Iterable<PlanProblem> {
  let before = -1
  let last = -1
  for (const [stepIndex, { name }] of checkpoint.workflow.steps.entries()) {
    if (!hasBegun(records, stepIndex)) continue
    const index = isAt(name, stepIndex)
    if ((index ?? -1) >= redoneFrom) continue
    last = stepIndex
    if (index === undefined) continue
    if (index < before) yield changed('reordered', { step: name })
    before = Math.max(before, index)
  }
  for (let index = 0; index < before; index++) {
    const { name, fingerprint } = workflow.steps[index] as Step
    const stood = was(name, index)
    if (!hasBegun(records, stood) && !((stood ?? Infinity) < last)) {
      yield changed('insertedBefore', { step: name }, undefined, fingerprint)
    }
  }
}

/** Every difference, for those who want none. */
function* editsOfAll({ checkpoint, workflow, isAt, was }: Edited): Iterable<PlanProblem> {
  let before = -1
  for (const [stepIndex, step] of checkpoint.workflow.steps.entries()) {
    const index = isAt(step.name, stepIndex)
    if (index === undefined) {
      yield changed('removed', { step: step.name }, step.fingerprint)
      continue
    }
    const { fingerprint } = workflow.steps[index] as Step
    if (fingerprint !== step.fingerprint) yield changed('changed', { step: step.name }, step.fingerprint, fingerprint)
    if (index < before) yield changed('reordered', { step: step.name })
    before = Math.max(before, index)
  }
  for (const [index, step] of workflow.steps.entries()) {
    if (was(step.name, index) === undefined) yield changed('added', { step: step.name }, undefined, step.fingerprint)
  }
}

/**
 * Units that may have had their effect, must not have it twice, and are gone, or whose number another bears now: nobody
 * could be asked about them.
 */
function* vanished({ checkpoint, workflow, isAt }: Edited): Iterable<PlanProblem> {
  const { state } = checkpoint
  const step = checkpoint.workflow.steps[state.stepIndex]
  const index = isAt(state.step, state.stepIndex)
  const now = index === undefined ? undefined : workflow.steps[index]
  for (const group of State.inDoubt(state)) {
    const unit = step === undefined ? undefined : group === undefined ? step : groupOf(step, group)
    if (unit?.kind !== 'task' || unit.idempotent) continue
    const present = now === undefined ? undefined : definitionOf(now, group)
    const isAnother = present?._tag === 'Task' && present.numbered && present.fingerprint !== unit.fingerprint
    if (present?._tag === 'Task' && !isAnother) continue
    const name = { step: state.step, ...(group === undefined ? {} : { group }) }
    const edit = isAnother
      ? changed('changed', name, unit.fingerprint, present.fingerprint)
      : changed('removed', name, unit.fingerprint)
    yield { ...edit, inDoubt: true } as PlanProblem
  }
}

const definitionOf = (step: Step, group: string | undefined): Step | undefined =>
  group === undefined ? step : step._tag === 'Wave' ? groupNamed(step, group) : undefined
