/**
 * What an override, or evidence that is gone, makes run again: said by other means than the planner's.
 *
 * @since 0.1.0
 */
import type { Checkpoint } from '../../domain/Checkpoint.js'
import * as State from '../../domain/CheckpointState.js'
import type { CompletedStep, Evidence } from '../../domain/CompletedStep.js'
import { sha256 } from '../../domain/Digest.js'
import type { Answer } from '../../domain/Plan.js'
import type { Unit } from '../../domain/Unit.js'
import { join, top } from '../../domain/Unit.js'
import type { Step, Workflow } from '../../domain/Workflow.js'
import type { TreeData } from '../memoryTree.js'
import type { Override } from './Intervention.js'
import type { IsDue } from './Ledger.js'
import { tasksOf } from './tasksOf.js'

/**
 * What a process must redo before its first effect. `isDue`: whether a recorded or waiting unit runs again. `isGiven`: whether a
 * unit counts as done, recorded or not. `refused`: evidence of such a unit is missing. `why`: the reason as text, if anything is
 * due. `open`: edited units without an answer; `kept`: edited units that the answer keeps.
 */
export interface Due {
  readonly isDue: IsDue
  readonly isGiven: (unit: Unit) => boolean
  readonly refused: boolean
  readonly why: string | undefined
  readonly open: ReadonlyArray<Unit>
  readonly kept: ReadonlyArray<Unit>
}

/** Nobody has said anything, and nothing is gone. */
export const NOTHING_DUE: Due = {
  isDue: () => false,
  isGiven: () => false,
  refused: false,
  why: undefined,
  open: [],
  kept: []
}

/** Computes what is due for a process with this checkpoint, these files, this override and these answers. */
export const dueIn = (
  program: Workflow,
  checkpoint: Checkpoint | undefined,
  override: Override | undefined,
  tree: TreeData,
  answers: ReadonlyMap<string, Answer>
): Due => {
  const { steps } = program
  const indexOf = (unit: Unit): number => steps.findIndex(({ name }) => name === top(unit))
  const records = checkpoint === undefined ? [] : [...checkpoint.completedSteps]
  const named = override?._tag === 'FromStep' ? override.step : override?.wave
  const forced = named === undefined ? Infinity : steps.findIndex(({ name }) => name === named)
  const edited = editedOf(records, tree).filter(
    ([record, path]) =>
      (override?._tag === 'FromStep' ? record.stepIndex < forced : top(record.unit) !== named) &&
      !isOwn(program, checkpoint, record, path)
  )
  const units = [...new Set(edited.map(([record]) => record))]
  const missing = records.filter((record) => isMissing(record, tree))
  if (override?._tag === 'FromStep') {
    return {
      isDue: (unit) => indexOf(unit) >= forced,
      isGiven: (unit) => indexOf(unit) < forced,
      refused: missing.some(({ stepIndex }) => stepIndex < forced),
      why: `it must run from ${named} on`,
      open: [],
      kept: units.map(({ unit }) => unit)
    }
  }
  // A map that runs again as a whole raises one question.
  const said = ({ unit }: CompletedStep): Answer['_tag'] | undefined =>
    (answers.get(unit) ?? answers.get(top(unit)))?._tag
  const kept = units.filter((record) => said(record) === 'Keep')
  const gone = [
    ...missing.filter((record) => !kept.includes(record)),
    ...units.filter((record) => said(record) === 'Again' || said(record) === 'Done')
  ]
  const asked = {
    open: units.filter((record) => said(record) === undefined).map(({ unit }) => unit),
    kept: kept.map(({ unit }) => unit)
  }
  const first = Math.min(forced, ...gone.map(({ stepIndex }) => stepIndex))
  if (first === Infinity) return { ...NOTHING_DUE, ...asked }
  const groups = first === forced ? undefined : groupsDue(steps[first], gone.filter(isAt(first)))
  const isOfFirst = (unit: Unit): boolean => groups === undefined || unit === top(unit) || groups.has(unit)
  return {
    isDue: (unit) => indexOf(unit) > first || (indexOf(unit) === first && isOfFirst(unit)),
    isGiven: () => false,
    refused: false,
    why: [
      ...(named === undefined ? [] : [`${named} is to run again`]),
      ...gone.map(({ unit }) => `what ${unit} left is gone`)
    ].join(', '),
    ...asked
  }
}

const isAt =
  (stepIndex: number) =>
  (record: CompletedStep): boolean =>
    record.stepIndex === stepIndex

/** The groups of a step that run again: those whose evidence is gone and whatever needs them; none named if it is all of it. */
const groupsDue = (step: Step | undefined, gone: ReadonlyArray<CompletedStep>): ReadonlySet<Unit> | undefined => {
  if (step?._tag !== 'Wave' || gone.some(({ unit }) => unit === step.name)) return undefined
  const due = new Set(gone.map(({ unit }) => unit))
  for (let before = -1; before !== due.size;) {
    before = due.size
    for (const { name, needs } of step.groups)
      if (needs.some((need) => due.has(join(step.name, need)))) due.add(join(step.name, name))
  }
  return due
}

const isMissing = ({ evidence }: CompletedStep, tree: TreeData): boolean => evidence.some((one) => !isThere(one, tree))

const isThere = (one: Evidence, { files, commits }: TreeData): boolean => {
  switch (one._tag) {
    case 'Commit':
      return commits.includes(one.hash)
    case 'File':
    case 'Artifact':
      return files.has(one.path)
    // A simulated process has no store for artifacts.
    case 'Stored':
      return true
  }
}

/** The artifacts whose content changed, each with the unit that recorded it last. */
const editedOf = (
  records: ReadonlyArray<CompletedStep>,
  { files }: TreeData
): ReadonlyArray<readonly [CompletedStep, string]> => {
  const last = new Map<string, readonly [CompletedStep, Evidence & { readonly _tag: 'Artifact' }]>()
  for (const record of records)
    for (const one of record.evidence) if (one._tag === 'Artifact') last.set(one.path, [record, one])
  return [...last].flatMap(([path, [record, { size, sha256: digest }]]): ReadonlyArray<[CompletedStep, string]> => {
    const text = files.get(path)
    return text === undefined || (Buffer.byteLength(text) === size && sha256(text) === digest) ? [] : [[record, path]]
  })
}

/** Whether a unit that leaves an artifact at this path started after the record and has not completed; the change is then its own. */
const isOwn = (program: Workflow, checkpoint: Checkpoint | undefined, record: CompletedStep, path: string): boolean => {
  if (checkpoint === undefined) return false
  const { state, pending, variables } = checkpoint
  const tasks = tasksOf(program)
  const isLeft = ({ unit }: { readonly unit: Unit }): boolean =>
    tasks.get(unit)?.leaves?.({ variables }).includes(path) === true
  const isLater = ({ attempts }: State.Failure): boolean =>
    state.step !== top(record.unit) || (attempts.at(-1)?.failedAt ?? '') >= record.completedAt
  return (
    pending.some(isLeft) ||
    State.inFlight(state).some(isLeft) ||
    State.failures(state).some((failure) => isLater(failure) && isLeft(failure))
  )
}
