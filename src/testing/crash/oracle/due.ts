/** Computes what an override or missing evidence makes run again, independently of the planner. */
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import type { CompletedStep, Evidence } from '../../../domain/checkpoint/CompletedStep.js'
import { sha256 } from '../../../domain/data/Digest.js'
import { none } from '../../../domain/checkpoint/Items.js'
import type { Answer } from '../../../domain/plan/Plan.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { ancestors } from '../../../domain/workflow/Unit.js'
import type { Workflow } from '../../../domain/workflow/Workflow.js'
import type { TreeData } from '../../memoryTree.js'
import type { Position } from '../../planning/arbitrary/tree.js'
import { isOwnChange, positionIn } from '../../planning/arbitrary/tree.js'
import type { Override } from '../Intervention.js'

/**
 * What a process must redo first. `isGiven`: assumed done. `refused`: an assumed unit lacks evidence. `open`, `kept`: edited units without an
 * answer, or with `keep`.
 */
export type Due = ReturnType<typeof dueIn>

export const NOTHING_DUE: Due = {
  isDue: () => false,
  isGiven: () => false,
  refused: false,
  why: undefined,
  open: [],
  kept: []
}

export const dueIn = (
  program: Workflow,
  checkpoint: Checkpoint | undefined,
  override: Override | undefined,
  tree: TreeData,
  answers: ReadonlyMap<string, Answer>
) => {
  const records = checkpoint === undefined ? [] : [...checkpoint.completedSteps]
  const named = override?._tag === 'FromStep' ? override.step : override?.wave
  const positionOfUnit = (unit: Unit, other: Unit): Position =>
    positionIn(program, checkpoint?.items ?? none, unit, other)
  const isIn = (unit: Unit, ...places: ReadonlyArray<Position>): boolean =>
    named !== undefined && places.includes(positionOfUnit(unit, named))
  const isGiven = (unit: Unit): boolean => override?._tag === 'FromStep' && isIn(unit, 'before')
  // Units that are forced to run again need no evidence. Those after or around a restarted wave do.
  const needsEvidence = (unit: Unit): boolean =>
    override?._tag === 'FromStep' ? isIn(unit, 'beside') : !isIn(unit, 'within')
  const edited = editedOf(records, tree).filter(
    ([record, path]) => checkpoint === undefined || !isOwnChange({ workflow: program, checkpoint }, record, path)
  )
  const units = (is: (unit: Unit) => boolean): ReadonlyArray<CompletedStep> => [
    ...new Set(edited.map(([record]) => record).filter(({ unit }) => is(unit)))
  ]
  const missing = records.filter((record) => isMissing(record, tree))
  // A map that runs again as a whole raises one question for all its items.
  const said = ({ unit }: CompletedStep): Answer['_tag'] | undefined =>
    [unit, ...ancestors(unit)].flatMap((one) => answers.get(one)?._tag ?? [])[0]
  const asked = units(needsEvidence)
  const kept = asked.filter((record) => said(record) === 'Keep')
  const lost = missing.filter((record) => !kept.includes(record) && needsEvidence(record.unit))
  const redone = asked.filter((record) => said(record) === 'Again' || said(record) === 'Done')
  const forced = named === undefined ? [] : [named]
  const seeds = [...forced, ...[...lost, ...redone].map(({ unit }) => unit)]
  const why = [
    ...forced.map((unit) => (override?._tag === 'FromStep' ? `it must run from ${unit} on` : `${unit} must run again`)),
    ...lost.map(({ unit }) => `the evidence of ${unit} is missing`),
    ...redone.map((record) => `the edited evidence of ${record.unit} got the answer ${said(record)?.toLowerCase()}`)
  ]
  return {
    isDue: (unit: Unit): boolean => seeds.some((seed) => AGAIN.has(positionOfUnit(unit, seed))),
    isGiven,
    refused: missing.some(({ unit }) => isGiven(unit)),
    why: why.length === 0 ? undefined : why.join(', '),
    open: asked.filter((record) => said(record) === undefined).map(({ unit }) => unit),
    kept: [...kept, ...units(isGiven)].map(({ unit }) => unit)
  }
}

const AGAIN: ReadonlySet<Position> = new Set(['within', 'around', 'after'])

const isMissing = ({ evidence }: CompletedStep, tree: TreeData): boolean => evidence.some((one) => !isThere(one, tree))

const isThere = (one: Evidence, { files, commits }: TreeData): boolean => {
  if (one._tag === 'Commit') return commits.includes(one.hash)
  // A simulated process has no artifact store.
  return one._tag === 'Stored' || files.has(one.path)
}

/** The changed artifacts, each with the unit that recorded it last. */
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
