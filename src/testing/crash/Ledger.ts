/**
 * What is on record of a run, as it went to the store: folded from the changes by other means than the checkpoint is.
 *
 * @since 0.1.0
 */
import type { Change } from '../../domain/Change.js'
import { unitName } from '../../domain/Plan.js'
import type { Revision } from '../../ports/CheckpointStorage.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/** Where a unit stands in its workflow; a step, without `group`. */
export interface Place {
  readonly stepIndex: number
  readonly step: string
  readonly group?: string
}

/**
 * The units that are recorded completed, those of them that somebody only said are done, those that wait for a job, and those that
 * were ever taken back, by name.
 */
export interface Standing {
  readonly records: Map<string, Place>
  readonly assumed: Set<string>
  readonly jobs: Map<string, Place>
  readonly takenBack: Set<string>
}

/** Whether a unit at this place is to run again, as far as the process had to know. */
export type IsDue = (unit: Omit<Place, 'step'>) => boolean

/** A change that went to the store, by the process with this number, to which these units were due. */
export interface Entry {
  readonly life: number
  readonly change: Change
  readonly isDue: IsDue
}

/** What went to the store. `known`: up to which revision it is known to be durable; -1 if nothing is. */
export interface Ledger {
  readonly known: () => number
  /** What is on record at the revision that is known to be durable. */
  readonly standing: () => Standing
  /** What is on record at a revision. */
  readonly standingAt: (revision: number) => Standing
  /** These revisions go to the store. Whether they come to be durable is not known yet. */
  readonly attempt: (life: number, revisions: ReadonlyArray<Revision>, isDue?: IsDue) => void
  /** Everything up to this revision is durable. Gives what was not known to be before. */
  readonly advance: (revision: number) => ReadonlyArray<Entry>
}

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/** A ledger of a run of which nothing is stored. */
export const makeLedger = (): Ledger => {
  const entries = new Map<number, Entry>()
  const standing = nothing()
  let known = -1
  const upTo = (revision: number, from: number): ReadonlyArray<Entry> => {
    const found: Array<Entry> = []
    for (let at = from; at <= revision; at++) {
      const entry = entries.get(at)
      if (entry !== undefined) found.push(entry)
    }
    return found
  }
  return {
    known: () => known,
    standing: () => standing,
    standingAt: (revision) => {
      const then = nothing()
      for (const { change } of upTo(revision, 0)) follow(then, change)
      return then
    },
    attempt: (life, revisions, isDue = () => false) => {
      // What a process that was superseded has attempted does not become durable: the next one writes over it.
      for (const { revision, change } of revisions) entries.set(revision, { life, change, isDue })
    },
    advance: (revision) => {
      const added = upTo(revision, known + 1)
      known = Math.max(known, revision)
      for (const { change } of added) follow(standing, change)
      return added
    }
  }
}

const nothing = (): Standing => ({ records: new Map(), assumed: new Set(), jobs: new Map(), takenBack: new Set() })

/** A copy, to go on from. */
export const copyOf = ({ records, assumed, jobs, takenBack }: Standing): Standing => ({
  records: new Map(records),
  assumed: new Set(assumed),
  jobs: new Map(jobs),
  takenBack: new Set(takenBack)
})

// ---------------------------------------------------------------------------------------------------------------------
// combinators
// ---------------------------------------------------------------------------------------------------------------------

/** Whether a rewind is about a unit. */
export const isInRange = (
  { stepIndex, groups }: { readonly stepIndex: number; readonly groups?: ReadonlyArray<string> },
  unit: Pick<Place, 'stepIndex' | 'group'>
): boolean =>
  unit.stepIndex > stepIndex ||
  (unit.stepIndex === stepIndex && (groups === undefined || unit.group === undefined || groups.includes(unit.group)))

/** Takes a change in. */
export const follow = ({ records, assumed, jobs, takenBack }: Standing, change: Change): void => {
  switch (change._tag) {
    case 'UnitCompleted':
    case 'Assumed':
      records.set(unitName(change), change)
      if (change._tag === 'Assumed') assumed.add(unitName(change))
      jobs.delete(unitName(change))
      break
    case 'JobSubmitted':
      jobs.set(unitName(change), change)
      break
    case 'JobEnded':
      jobs.delete(unitName(change))
      break
    case 'Rewound':
      for (const units of [records, jobs]) {
        for (const [name, place] of units) {
          if (!isInRange(change, place)) continue
          takenBack.add(name)
          assumed.delete(name)
          units.delete(name)
        }
      }
      break
    case 'WorkflowEdited':
      for (const units of [records, jobs]) moved(units, change.workflow.steps)
      break
    case 'Started':
    case 'Recovered':
    case 'InputReplaced':
    case 'Expanded':
    case 'AttemptStarted':
    case 'AttemptFailed':
    case 'UnitFailed':
    case 'Interrupted':
    case 'Confirmed':
      break
  }
}

/** Records are taken over by name. */
const moved = (units: Map<string, Place>, steps: ReadonlyArray<{ readonly name: string }>): void => {
  for (const [name, place] of units) {
    const stepIndex = steps.findIndex((step) => step.name === place.step)
    if (stepIndex < 0) units.delete(name)
    else units.set(name, { ...place, stepIndex })
  }
}
