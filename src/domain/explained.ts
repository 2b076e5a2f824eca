/**
 * Changes of evidence that the run itself explains: something that leaves an artifact there was begun since, and has not ended well.
 *
 * @since 0.1.0
 */
import type { Checkpoint } from './Checkpoint.js'
import * as State from './CheckpointState.js'
import type { CompletedStep, Evidence } from './CompletedStep.js'
import { itemOf } from './Expansion.js'
import type { FoundEvidence } from './Plan.js'
import { unitName } from './Plan.js'
import type { Known, Task, Workflow } from './Workflow.js'
import { groupNamed } from './Workflow.js'

/**
 * What was found, without the changes that are explained: those at the path of an artifact of a unit that was in flight, failed or
 * interrupted since then, or whose job is pending.
 *
 * @category destructors
 * @since 0.1.0
 */
export const unexplained = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  evidence: ReadonlyArray<FoundEvidence>
): ReadonlyArray<FoundEvidence> => {
  if (evidence.every((found) => 'missing' in found)) return evidence
  const begun = begunIn(checkpoint, workflow)
  const records = new Map<string, CompletedStep>()
  for (const record of checkpoint.completedSteps) records.set(unitName(record), record)
  return evidence.flatMap((found): ReadonlyArray<FoundEvidence> => {
    const record = 'missing' in found ? undefined : records.get(unitName(found))
    if ('missing' in found || record === undefined) return [found]
    const [first, ...more] = found.changed.filter(({ was }) => !isExplained(begun, { record, was }))
    return first === undefined ? [] : [{ ...found, changed: [first, ...more] }]
  })
}

/** By the names of steps, when something of them ended badly last; {@link NOT_ENDED} if something of them has not ended. */
type Latest = Map<string, string>

const NOT_ENDED = '\uffff'

/**
 * The steps of which something was begun and has not ended well: all, and by the paths of the artifacts that it is to leave.
 *
 * @category model
 * @since 0.1.0
 */
export interface Begun {
  readonly all: Latest
  readonly paths: Map<string, Latest>
}

/**
 * What was begun of a run, and has not ended well; without the units that are taken as done.
 *
 * @category constructors
 * @since 0.1.0
 */
export const begunIn = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  isDone: (unit: string) => boolean = () => false
): Begun => {
  const begun: Begun = { all: new Map(), paths: new Map() }
  for (const { step, group, until } of openUnits(checkpoint)) {
    const task = taskAt(workflow, step, group)
    if (task === undefined || isDone(unitName(group === undefined ? { step } : { step, group }))) continue
    note(begun.all, step, until)
    for (const path of pathsOf(checkpoint, task, step, group)) {
      const there = begun.paths.get(path) ?? new Map<string, string>()
      begun.paths.set(path, there)
      note(there, step, until)
    }
  }
  return begun
}

const note = (latest: Latest, step: string, until: string): void => {
  if ((latest.get(step) ?? '') < until) latest.set(step, until)
}

/** A unit that was begun, and has not ended well, and until when it may have worked. */
interface Open {
  readonly step: string
  readonly group: string | undefined
  readonly until: string
}

function* openUnits({ state, pending }: Checkpoint): Iterable<Open> {
  const { step } = state
  for (const job of pending) yield { step: job.step, group: job.group, until: NOT_ENDED }
  for (const { group } of State.inFlight(state)) yield { step, group, until: NOT_ENDED }
  for (const { group, attempts } of State.failures(state))
    yield { step, group, until: attempts.at(-1)?.failedAt ?? NOT_ENDED }
  if (state._tag === 'Interrupted' && state.inProgress) yield { step, group: undefined, until: NOT_ENDED }
}

/**
 * Whether something that was begun after a record explains that what it left is another by now. What steps put into the store of
 * artifacts they don't name before, so there any of them does.
 *
 * @category refinements
 * @since 0.1.0
 */
export const isExplained = (
  { all, paths }: Begun,
  { record, was }: { readonly record: CompletedStep; readonly was: Evidence }
): boolean => {
  const latest = was._tag === 'Artifact' ? paths.get(was.path) : was._tag === 'Stored' ? all : undefined
  if (latest === undefined) return false
  // Only groups of one wave may end in any order.
  for (const [step, until] of latest) if (step !== record.step || until >= record.completedAt) return true
  return false
}

const taskAt = ({ steps }: Workflow, step: string, group: string | undefined): Task | undefined => {
  const found = steps.find(({ name }) => name === step)
  if (found?._tag === 'Task') return group === undefined ? found : undefined
  if (found?._tag === 'Map') return found.each
  return found === undefined || group === undefined ? undefined : groupNamed(found, group)
}

const NO_PATHS: ReadonlyArray<string> = []

const pathsOf = (
  { variables, workflow }: Checkpoint,
  { leaves }: Task,
  step: string,
  group: string | undefined
): ReadonlyArray<string> => {
  if (leaves === undefined) return NO_PATHS
  const item = itemOf(
    workflow.steps.find(({ name }) => name === step),
    group
  )
  const known: Known = item === undefined ? { variables } : { variables, item: item.value }
  try {
    return leaves(known)
  } catch {
    return NO_PATHS
  }
}
