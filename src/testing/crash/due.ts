/**
 * What an override, or evidence that is gone, makes run again: said by other means than the planner's.
 *
 * @since 0.1.0
 */
import type { Checkpoint } from '../../domain/Checkpoint.js'
import type { CompletedStep, Evidence } from '../../domain/CompletedStep.js'
import { sha256 } from '../../domain/Digest.js'
import { unitName } from '../../domain/Plan.js'
import type { Step, Workflow } from '../../domain/Workflow.js'
import type { TreeData } from '../memoryTree.js'
import type { Override } from './Intervention.js'
import type { IsDue, Place } from './Ledger.js'

/**
 * What a process has to do about the record, before its first effect. `isDue`: whether a unit runs again, if it is recorded or waits
 * for a job. `from`: the index of the step that all before it are taken
 * as done, else 0. `refused`: whether evidence of what is to be taken as done is gone. `why`: the words for it; none if
 * nothing is to be done.
 */
export interface Due {
  readonly isDue: IsDue
  readonly from: number
  readonly refused: boolean
  readonly why: string | undefined
}

/** Nobody has said anything, and nothing is gone. */
export const NOTHING_DUE: Due = {
  isDue: () => false,
  from: 0,
  refused: false,
  why: undefined
}

/** What is due in a process that finds this checkpoint and these files, and was told this. */
export const dueIn = (
  { steps }: Workflow,
  checkpoint: Checkpoint | undefined,
  override: Override | undefined,
  tree: TreeData
): Due => {
  const gone = checkpoint === undefined ? [] : [...checkpoint.completedSteps].filter((record) => isGone(record, tree))
  const named = override?._tag === 'FromStep' ? override.step : override?.wave
  const forced = named === undefined ? Infinity : steps.findIndex(({ name }) => name === named)
  if (override?._tag === 'FromStep') {
    return {
      isDue: ({ stepIndex }) => stepIndex >= forced,
      from: forced,
      refused: gone.some(({ stepIndex }) => stepIndex < forced),
      why: `it is to run from ${named} on`
    }
  }
  const first = Math.min(forced, ...gone.map(({ stepIndex }) => stepIndex))
  if (first === Infinity) return NOTHING_DUE
  const groups = first === forced ? undefined : groupsDue(steps[first], gone.filter(isAt(first)))
  const isOfFirst = ({ group }: Omit<Place, 'step'>): boolean =>
    groups === undefined || group === undefined || groups.has(group)
  return {
    isDue: (unit) => unit.stepIndex > first || (unit.stepIndex === first && isOfFirst(unit)),
    from: 0,
    refused: false,
    why: [
      ...(named === undefined ? [] : [`${named} is to run again`]),
      ...gone.map((record) => `what ${unitName(record)} left is gone`)
    ].join(', ')
  }
}

const isAt =
  (stepIndex: number) =>
  (record: CompletedStep): boolean =>
    record.stepIndex === stepIndex

/** The groups of a step that run again: those whose evidence is gone and whatever needs them; none named if it is all of it. */
const groupsDue = (
  step: Step | undefined,
  gone: ReadonlyArray<{ readonly group?: string }>
): ReadonlySet<string> | undefined => {
  if (step?._tag !== 'Wave' || gone.some(({ group }) => group === undefined)) return undefined
  const due = new Set(gone.flatMap(({ group }) => (group === undefined ? [] : [group])))
  for (let before = -1; before !== due.size;) {
    before = due.size
    for (const { name, needs } of step.groups) if (needs.some((need) => due.has(need))) due.add(name)
  }
  return due
}

const isGone = ({ evidence }: CompletedStep, tree: TreeData): boolean => !evidence.every((one) => stands(one, tree))

const stands = (one: Evidence, { files, commits }: TreeData): boolean => {
  switch (one._tag) {
    case 'Commit':
      return commits.includes(one.hash)
    case 'File':
      return files.has(one.path)
    case 'Artifact': {
      const text = files.get(one.path)
      return text !== undefined && Buffer.byteLength(text) === one.size && sha256(text) === one.sha256
    }
    // A simulated process has no store for artifacts.
    case 'Stored':
      return true
  }
}
