/** What a simulated user does: interventions between two processes of a run, overrides, and answers to questions. */
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import type { Items } from '../../domain/checkpoint/Items.js'
import { none } from '../../domain/checkpoint/Items.js'
import * as Units from '../../domain/checkpoint/Units.js'
import type { Json } from '../../domain/data/Json.js'
import type { Answer, Confirm, PlanOptions } from '../../domain/plan/Plan.js'
import { answersTo } from '../../domain/plan/Plan.js'
import { definitionAt } from '../../domain/workflow/Node.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { isWithin } from '../../domain/workflow/Unit.js'
import type { Step, Workflow } from '../../domain/workflow/Workflow.js'
import type { Program } from '../../executor/program/Program.js'
import type { TreeData } from '../memoryTree.js'
import { positionIn, tasksOf, unitsIn } from '../planning/arbitrary/tree.js'
import type { CrashCase } from './CrashReport.js'
import type {
  ConcurrentRequest,
  DeleteEvidence,
  EditEvidence,
  Intervention,
  Override,
  AnswerWait
} from './Intervention.js'
import type { TraceEntry } from './Trace.js'

/** Applies the interventions before a process that finds this checkpoint; returns the override that the process gets. */
export const intervene = (
  { interventions = [] }: CrashCase,
  life: number,
  checkpoint: Checkpoint | undefined,
  tree: TreeData,
  note: (entry: TraceEntry) => void
): Override | undefined => {
  let override: Override | undefined
  for (const by of interventions) {
    if (by.life !== life || isConcurrentRequest(by) || by._tag === 'AnswerWait') continue
    const isEdit = by._tag === 'DeleteEvidence' || by._tag === 'EditEvidence'
    const what = isEdit ? changeEvidence(checkpoint, by, tree) : []
    if (!isEdit) override = by
    if (!isEdit || what.length > 0) note({ _tag: 'Intervened', life, by, ...(isEdit ? { what } : {}) })
  }
  return override
}

export const concurrentRequestsIn = ({ interventions = [] }: CrashCase): ReadonlyArray<ConcurrentRequest> =>
  interventions.filter(isConcurrentRequest)

export const waitAnswersIn = ({ interventions = [] }: CrashCase): ReadonlyArray<AnswerWait> =>
  interventions.filter((by) => by._tag === 'AnswerWait')

export const isConcurrentRequest = (by: Intervention): by is ConcurrentRequest =>
  by._tag === 'Pause' || by._tag === 'PauseAtCall' || by._tag === 'Cancel'

/** Deletes the evidence of a unit, or edits its artifacts. Returns the paths and hashes. */
const changeEvidence = (
  checkpoint: Checkpoint | undefined,
  by: DeleteEvidence | EditEvidence,
  tree: TreeData
): ReadonlyArray<string> => {
  const record = checkpoint === undefined ? undefined : Units.get(checkpoint.completedSteps, by.unit)
  return (record?.evidence ?? []).flatMap((one) => {
    if (by._tag === 'EditEvidence') {
      const text = one._tag === 'Artifact' ? tree.files.get(one.path) : undefined
      if (one._tag !== 'Artifact' || text === undefined) return []
      tree.files.set(one.path, `${text} edited before process ${by.life}`)
      return [one.path]
    }
    if (one._tag === 'Stored') return []
    if (one._tag === 'Commit') tree.commits = tree.commits.filter((hash) => hash !== one.hash)
    else tree.files.delete(one.path)
    return [one._tag === 'Commit' ? one.hash : one.path]
  })
}

/** A process of a case. `before`: the checkpoint that it finds. `outputs`: those of the undisturbed run. */
interface ProcessOfCase {
  readonly one: CrashCase
  readonly life: number
  readonly program: Program<unknown, unknown>
  readonly before: Checkpoint | undefined
  readonly outputs: ReadonlyMap<string, Json | undefined>
}

/** The answers to a question that a simulated process asks: for its unit, and, if that is a map that counts as done, for each part. */
export const answerTo = ({ one, life, program, before, outputs }: ProcessOfCase, question: Confirm) => {
  const { unit } = question
  const items = before?.items ?? none
  const isMap = definitionAt<Step>(program, unit)?._tag === 'Map'
  // The outputs of items that are not recorded are unknown.
  const isUnknown = isMap && !isExpanded(program, items, unit)
  const ofCase = question.reason._tag === 'EvidenceChanged' ? answerToChange(one, life) : one.answer
  const canKeep = answersTo(question).includes('Keep')
  const answer = isUnknown || (ofCase === 'keep' && !canKeep) ? 'again' : ofCase
  const answerOf = (of: Unit): Answer => {
    if (answer !== 'done') return { _tag: answer === 'keep' ? 'Keep' : 'Again' }
    const output = outputs.get(of)
    return { _tag: 'Done', ...(output === undefined || (isMap && of === unit) ? {} : { output }) }
  }
  const parts = isMap && answer === 'done' ? [...tasksOf(program, items).keys()] : []
  const units = [unit, ...parts.filter((part) => isWithin(part, unit))]
  const answered = answerOf(unit)
  const given = 'output' in answered ? { output: answered.output } : {}
  const entry: TraceEntry = { _tag: 'Answered', life, unit, answer, ...given }
  return { answers: new Map(units.map((of) => [of, answerOf(of)])), entry }
}

/** Returns whether the items of a map, and of the maps inside it, are recorded. */
const isExpanded = (program: Workflow, items: Items, unit: Unit): boolean => {
  const maps = unitsIn(program, items).filter((one) => one.step._tag === 'Map' && isWithin(one.unit, unit))
  return maps.length > 0 && maps.every((one) => items.has(one.unit))
}

/** The answer for changed evidence: that of the latest edit. */
const answerToChange = ({ interventions = [] }: CrashCase, life: number): EditEvidence['answer'] =>
  interventions.filter((by): by is EditEvidence => by._tag === 'EditEvidence' && by.life <= life).at(-1)?.answer ??
  'keep'

/** The plan options of an override. Earlier steps get the outputs of the undisturbed run. */
export const optionsOf = ({ program, before, outputs }: ProcessOfCase, override: Override | undefined): PlanOptions => {
  if (override === undefined) return {}
  if (override._tag === 'RestartWave') return { restartWave: override.wave }
  // The items of a map are known once they are recorded, unless the map is expanded again.
  const items = before?.items ?? none
  const maps = [...items.keys()].filter((map) => positionIn(program, items, map, override.step) === 'before')
  const tasks = tasksOf(program)
  const isKnown = (unit: string): boolean => tasks.has(unit) || maps.some((map) => unit.startsWith(`${map}/`))
  const given = [...outputs].filter((one): one is [string, Json] => one[1] !== undefined && isKnown(one[0]))
  return { fromStep: override.step, outputs: new Map(given) }
}
