/** The pointer to where a paused run resumes. */
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import type { CompletedStep } from '../checkpoint/CompletedStep.js'
import { unrecorded } from '../change/transitionParts.js'
import { find } from '../checkpoint/Tree.js'
import type { Unit } from '../workflow/Unit.js'

/**
 * Where a paused run resumes: a pointer for people, and for a resume that names no run. The resume itself reads only the checkpoint.
 *
 * - `unit`: the next unit: for a composite, its first part without a record. `stepIndex`: the index of its top-level step.
 * - `commits`: the recorded commits, oldest first, each once.
 * - `committed`: the commit that the pause made of uncommitted work, if any.
 * - `pausedAt`: UTC, ISO 8601.
 *
 * @category model
 */
export interface ContinueHere {
  readonly runId: string
  readonly workflow: string
  readonly stepIndex: number
  readonly unit: Unit
  readonly commits: ReadonlyArray<string>
  readonly committed?: string
  readonly pausedAt: string
}

/** Makes the pointer for an interrupted run. It follows document order; the plan decides which groups of a wave start first. */
export const continueHere = (checkpoint: Checkpoint, committed?: string): ContinueHere => {
  const { runId, workflow, state, completedSteps, updatedAt } = checkpoint
  return {
    runId,
    workflow: workflow.name,
    stepIndex: state.stepIndex,
    unit: firstUnrecorded(checkpoint, state.step),
    commits: commitsOf(completedSteps),
    ...(committed === undefined ? {} : { committed }),
    pausedAt: updatedAt
  }
}

const firstUnrecorded = (checkpoint: Checkpoint, unit: Unit): Unit => {
  const { workflow, items, state } = checkpoint
  const found = find(workflow, items, unit, state.stepIndex)
  const part = found === undefined ? undefined : unrecorded(checkpoint, unit, found.definition)
  return part === undefined ? unit : firstUnrecorded(checkpoint, part)
}

const commitsOf = (records: Iterable<CompletedStep>): ReadonlyArray<string> => {
  const hashes = new Set<string>()
  for (const { evidence } of records) for (const one of evidence) if (one._tag === 'Commit') hashes.add(one.hash)
  return [...hashes]
}

/** Describes a position: `step 2: checks/lint`. */
export const describePosition = ({ stepIndex, unit }: Pick<ContinueHere, 'stepIndex' | 'unit'>): string =>
  `step ${stepIndex + 1}: ${unit}`
