/** Does what somebody does between two processes of a run. */
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import * as Units from '../../domain/checkpoint/Units.js'
import type { Json } from '../../domain/data/Json.js'
import type { PlanOptions } from '../../domain/plan/Plan.js'
import type { Workflow } from '../../domain/workflow/Workflow.js'
import type { TreeData } from '../memoryTree.js'
import { placeOf } from '../planning/arbitrary/tree.js'
import type { CrashCase } from './CrashReport.js'
import type { Ask, Edited, Intervention, Override, Reply } from './Intervention.js'
import type { TraceEntry } from './Trace.js'

/** What is done, requests apart, before a process starts that finds this checkpoint; gives what the process is told. */
export const intervene = (
  { interventions = [] }: CrashCase,
  life: number,
  checkpoint: Checkpoint | undefined,
  tree: TreeData,
  note: (entry: TraceEntry) => void
): Override | undefined => {
  let override: Override | undefined
  for (const by of interventions) {
    if (by.life !== life || isAsk(by) || by._tag === 'Reply') continue
    if (by._tag === 'Gone' || by._tag === 'Edited') {
      const what = by._tag === 'Gone' ? vanish(checkpoint, by.unit, tree) : rewrite(checkpoint, by, tree)
      if (what.length > 0) note({ _tag: 'Intervened', life, by, what })
    } else {
      override = by
      note({ _tag: 'Intervened', life, by })
    }
  }
  return override
}

/** What other processes ask for. */
export const asksIn = ({ interventions = [] }: CrashCase): ReadonlyArray<Ask> => interventions.filter(isAsk)

/** The answers to units that wait. */
export const repliesIn = ({ interventions = [] }: CrashCase): ReadonlyArray<Reply> =>
  interventions.filter((by) => by._tag === 'Reply')

/** Whether it is something that happens while a process runs. */
export const isAsk = (by: Intervention): by is Ask =>
  by._tag === 'Pause' || by._tag === 'PauseAtCall' || by._tag === 'Cancel'

/** Takes away what a unit has left; gives what that was. */
const vanish = (checkpoint: Checkpoint | undefined, unit: string, tree: TreeData): ReadonlyArray<string> => {
  const record = checkpoint === undefined ? undefined : Units.get(checkpoint.completedSteps, unit)
  const gone: Array<string> = []
  for (const one of record?.evidence ?? []) {
    if (one._tag === 'Stored') continue
    if (one._tag === 'Commit') tree.commits = tree.commits.filter((hash) => hash !== one.hash)
    else tree.files.delete(one.path)
    gone.push(one._tag === 'Commit' ? one.hash : one.path)
  }
  return gone
}

/** Edits a unit's artifacts and returns their paths. */
const rewrite = (
  checkpoint: Checkpoint | undefined,
  { unit, life }: Edited,
  { files }: TreeData
): ReadonlyArray<string> => {
  const record = checkpoint === undefined ? undefined : Units.get(checkpoint.completedSteps, unit)
  const paths = (record?.evidence ?? []).flatMap((one) =>
    one._tag === 'Artifact' && files.has(one.path) ? [one.path] : []
  )
  for (const path of paths) files.set(path, `${files.get(path) ?? ''} edited before process ${life}`)
  return paths
}

/** The answer for changed evidence: that of the latest edit. */
export const answerToChange = ({ interventions = [] }: CrashCase, life: number): Edited['answer'] =>
  interventions.filter((by): by is Edited => by._tag === 'Edited' && by.life <= life).at(-1)?.answer ?? 'keep'

/** What a process is told, as it is told: what comes before a step has given what it gave undisturbed. */
export const optionsOf = (
  program: Workflow,
  override: Override | undefined,
  isStatic: (unit: string) => boolean,
  outputs: ReadonlyMap<string, Json | undefined>,
  checkpoint: Checkpoint | undefined
): PlanOptions => {
  if (override === undefined) return {}
  if (override._tag === 'RestartWave') return { restartWave: override.wave }
  // Of what a map is nobody knows before that is on record, nor when it is found out anew.
  const maps = checkpoint === undefined ? [] : [...checkpoint.items.keys()]
  const isBefore = (map: string): boolean =>
    checkpoint !== undefined && placeOf({ checkpoint, workflow: program }, map, override.step) === 'before'
  const isKnown = (unit: string): boolean =>
    isStatic(unit) || maps.some((map) => unit.startsWith(`${map}/`) && isBefore(map))
  const given = [...outputs].filter((one): one is [string, Json] => one[1] !== undefined && isKnown(one[0]))
  return { fromStep: override.step, outputs: new Map(given) }
}
