/** Finds changes of evidence that the run itself made: a unit that leaves an artifact there started since and has not completed. */
import type { Checkpoint } from './Checkpoint.js'
import * as State from './CheckpointState.js'
import type { CompletedStep, Evidence } from './CompletedStep.js'
import { itemOf } from './Expansion.js'
import type { FoundEvidence } from './Plan.js'
import { unitName } from './Plan.js'
import type { Known, Task, Workflow } from './Workflow.js'
import { groupNamed } from './Workflow.js'

/**
 * Removes explained changes: those at an artifact path of a unit that has since been in flight, failed, interrupted or waiting
 * for its job.
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

/** By step name, when a unit of it last failed; {@link NOT_ENDED} if one has not ended. */
type Latest = Map<string, string>

const NOT_ENDED = '\uffff'

/** The steps with units that started and have not completed: all of them, and by artifact path. */
export interface Begun {
  readonly all: Latest
  readonly paths: Map<string, Latest>
}

/** The units of a run that started and have not completed, without those declared done. */
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

/** A unit that started and has not completed, and the time until which it may have worked. */
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
 * Whether a unit that started after a record explains a change. Steps don't declare what they put into the artifact store, so
 * any step explains a `Stored` change.
 */
export const isExplained = (
  { all, paths }: Begun,
  { record, was }: { readonly record: CompletedStep; readonly was: Evidence }
): boolean => {
  const latest = was._tag === 'Artifact' ? paths.get(was.path) : was._tag === 'Stored' ? all : undefined
  if (latest === undefined) return false
  // Groups of one wave may end in any order.
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
