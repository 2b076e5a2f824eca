/** Finds changes of evidence that the run itself explains: a unit with an artifact there started since and has not completed. */
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import * as State from '../checkpoint/CheckpointState.js'
import type { CompletedStep, Evidence } from '../checkpoint/CompletedStep.js'
import * as Units from '../checkpoint/Units.js'
import { itemAround } from '../checkpoint/Items.js'
import type { FoundEvidence } from './Plan.js'
import type { Unit } from '../workflow/Unit.js'
import { find } from '../checkpoint/Tree.js'
import { top } from '../workflow/Unit.js'
import type { KnownValues, Step, Task, Workflow } from '../workflow/Workflow.js'

/** Removes explained changes: those at an artifact path of a unit that has since been in flight, failed, interrupted or waiting for its job. */
export const unexplained = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  evidence: ReadonlyArray<FoundEvidence>
): ReadonlyArray<FoundEvidence> => {
  if (evidence.every((found) => 'missing' in found)) return evidence
  const unfinished = unfinishedIn(checkpoint, workflow)
  return evidence.flatMap((found): ReadonlyArray<FoundEvidence> => {
    const record = 'missing' in found ? undefined : Units.get(checkpoint.completedSteps, found.unit)
    if ('missing' in found || record === undefined) return [found]
    const [first, ...more] = found.changed.filter(({ was }) => !isExplained(unfinished, { record, was }))
    return first === undefined ? [] : [{ ...found, changed: [first, ...more] }]
  })
}

/** The time when a unit of a step last failed, by step name; {@link NOT_ENDED} if one has not ended. */
type LastFailures = Map<string, string>

/** Sorts after every time. */
const NOT_ENDED = '\uffff'

/** The steps with units that started and have not completed: all of them, and by artifact path. */
export interface Unfinished {
  readonly all: LastFailures
  readonly paths: Map<string, LastFailures>
}

/** The units of a run that started and have not completed, without those declared done. */
export const unfinishedIn = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  isDone: (unit: string) => boolean = () => false
): Unfinished => {
  const unfinished: Unfinished = { all: new Map(), paths: new Map() }
  for (const { unit, until } of openUnits(checkpoint)) {
    const step = top(unit)
    const task = taskOf(workflow, checkpoint, unit)
    if (task === undefined || isDone(unit)) continue
    setLatest(unfinished.all, step, until)
    for (const path of pathsOf(checkpoint, task, unit)) {
      const known = unfinished.paths.get(path) ?? new Map<string, string>()
      unfinished.paths.set(path, known)
      setLatest(known, step, until)
    }
  }
  return unfinished
}

const setLatest = (latest: LastFailures, step: string, until: string): void => {
  if ((latest.get(step) ?? '') < until) latest.set(step, until)
}

/** A unit that started and has not completed, and the time until which it may have worked. */
interface UnfinishedUnit {
  readonly unit: Unit
  readonly until: string
}

function* openUnits({ state, pending }: Checkpoint): Iterable<UnfinishedUnit> {
  for (const { unit } of [...pending, ...State.inFlight(state)]) yield { unit, until: NOT_ENDED }
  for (const { unit, attempts } of State.failures(state)) yield { unit, until: attempts.at(-1)?.failedAt ?? NOT_ENDED }
  if (state._tag === 'Interrupted' && state.inProgress) yield { unit: state.step, until: NOT_ENDED }
}

/**
 * Returns whether a unit that started after a record explains a change. Steps do not declare what they store, so any step explains a
 * `Stored` change.
 */
export const isExplained = (
  { all, paths }: Unfinished,
  { record, was }: { readonly record: CompletedStep; readonly was: Evidence }
): boolean => {
  const latest = was._tag === 'Artifact' ? paths.get(was.path) : was._tag === 'Stored' ? all : undefined
  if (latest === undefined) return false
  // Groups of one wave may end in any order.
  for (const [step, until] of latest) if (step !== top(record.unit) || until >= record.completedAt) return true
  return false
}

/** Returns the task at a unit; for a map, the task that runs for each item. */
const taskOf = (workflow: Workflow, { items, state }: Checkpoint, unit: Unit): Task | undefined => {
  const found = find<Step>(workflow, items, unit, state.stepIndex)?.definition
  const task = found?._tag === 'Map' ? found.each : found
  return task?._tag === 'Task' ? task : undefined
}

const NO_PATHS: ReadonlyArray<string> = []

const pathsOf = ({ variables, items }: Checkpoint, { artifactPaths }: Task, unit: Unit): ReadonlyArray<string> => {
  if (artifactPaths === undefined) return NO_PATHS
  const item = itemAround(items, unit)?.item
  const known: KnownValues = item === undefined ? { variables } : { variables, item: item.value }
  try {
    return artifactPaths(known)
  } catch {
    return NO_PATHS
  }
}
