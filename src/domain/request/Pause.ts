/** The pointer to where a paused run resumes. */
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import type { CompletedStep } from '../checkpoint/CompletedStep.js'
import { unrecorded } from '../change/transitionParts.js'
import { find } from '../checkpoint/Tree.js'
import type { Unit } from '../workflow/Unit.js'

// --- model

/**
 * Where a paused run goes on. A pointer for people, and for a resume that names no run: what counts is in the checkpoint.
 *
 * - `unit`: the unit that comes next: of a composite, the first of its parts that is not done. `stepIndex`: the index of its step.
 * - `commits`: those that its steps have recorded, oldest first, each once.
 * - `committed`: the commit that the pause has made of what was not committed, if there was any.
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

// --- constructors

/**
 * The pointer to where a run goes on that is interrupted at a step. In the order of the workflow: which groups of a wave may start first, a
 * plan decides.
 */
export const continueHere = (checkpoint: Checkpoint, committed?: string): ContinueHere => {
  const { runId, workflow, state, completedSteps, updatedAt } = checkpoint
  return {
    runId,
    workflow: workflow.name,
    stepIndex: state.stepIndex,
    unit: firstOpen(checkpoint, state.step),
    commits: commitsOf(completedSteps),
    ...(committed === undefined ? {} : { committed }),
    pausedAt: updatedAt
  }
}

const firstOpen = (checkpoint: Checkpoint, unit: Unit): Unit => {
  const { workflow, items, state } = checkpoint
  const found = find(workflow, items, unit, state.stepIndex)
  const open = found === undefined ? undefined : unrecorded(checkpoint, unit, found.definition)
  return open === undefined ? unit : firstOpen(checkpoint, open)
}

const commitsOf = (records: Iterable<CompletedStep>): ReadonlyArray<string> => {
  const hashes = new Set<string>()
  for (const { evidence } of records) for (const one of evidence) if (one._tag === 'Commit') hashes.add(one.hash)
  return [...hashes]
}

// --- destructors

/** Where a pointer leads, for people: `step 2: checks/lint`. */
export const describePosition = ({ stepIndex, unit }: Pick<ContinueHere, 'stepIndex' | 'unit'>): string =>
  `step ${stepIndex + 1}: ${unit}`
