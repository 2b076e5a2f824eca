/** What is on record of a run, as it went to the store: folded from the changes by other means than the checkpoint is. */
import type { Change, Rewound } from '../../../domain/change/Change.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { isWithin, top } from '../../../domain/workflow/Unit.js'
import type { Revision } from '../../../ports/CheckpointStorage.js'

/**
 * The units that are recorded completed, those of them that somebody only said are done, those that wait for a job, and those that
 * were ever taken back.
 */
export interface Recorded {
  readonly records: Set<Unit>
  readonly assumed: Set<Unit>
  readonly jobs: Set<Unit>
  readonly rewound: Set<Unit>
}

/** Whether a unit is to run again, as far as the process had to know. */
export type IsDue = (unit: Unit) => boolean

/** A change that went to the store, by the process with this number, to which these units were due. */
export interface Entry {
  readonly life: number
  readonly change: Change
  readonly isDue: IsDue
}

/** What went to the store. `known`: up to which revision it is known to be durable; -1 if nothing is. */
export interface ChangeLog {
  readonly known: () => number
  /** What is on record at the revision that is known to be durable. */
  readonly recorded: () => Recorded
  /** What is on record at a revision. */
  readonly recordedAt: (revision: number) => Recorded
  /** These revisions go to the store. Whether they come to be durable is not known yet. */
  readonly attempt: (life: number, revisions: ReadonlyArray<Revision>, isDue?: IsDue) => void
  /** Everything up to this revision is durable. Gives what was not known to be before. */
  readonly advance: (revision: number) => ReadonlyArray<Entry>
}

/** A changeLog of a run of which nothing is stored. */
export const makeChangeLog = (): ChangeLog => {
  const entries = new Map<number, Entry>()
  const recorded = nothing()
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
    recorded: () => recorded,
    recordedAt: (revision) => {
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
      for (const { change } of added) follow(recorded, change)
      return added
    }
  }
}

const nothing = (): Recorded => ({ records: new Set(), assumed: new Set(), jobs: new Set(), rewound: new Set() })

/** A copy, to go on from. */
export const copyOf = ({ records, assumed, jobs, rewound }: Recorded): Recorded => ({
  records: new Set(records),
  assumed: new Set(assumed),
  jobs: new Set(jobs),
  rewound: new Set(rewound)
})

/** Whether a rewind is about a unit: it is named, part of what is named, or made of it. */
export const isRewound = ({ units }: Rewound, unit: Unit): boolean =>
  units.some((named) => isWithin(unit, named) || isWithin(named, unit))

/** Takes a change in. */
export const follow = ({ records, assumed, jobs, rewound }: Recorded, change: Change): void => {
  switch (change._tag) {
    case 'UnitCompleted':
    case 'Assumed':
      records.add(change.unit)
      if (change._tag === 'Assumed') assumed.add(change.unit)
      jobs.delete(change.unit)
      break
    case 'JobSubmitted':
      jobs.add(change.unit)
      break
    case 'JobEnded':
      jobs.delete(change.unit)
      break
    case 'Rewound':
      for (const units of [records, jobs]) {
        for (const unit of units) {
          if (!isRewound(change, unit)) continue
          rewound.add(unit)
          assumed.delete(unit)
          units.delete(unit)
        }
      }
      break
    case 'WorkflowEdited': {
      // Records are taken over by name.
      const steps = new Set(change.workflow.steps.map(({ name }) => name))
      for (const units of [records, jobs]) for (const unit of units) if (!steps.has(top(unit))) units.delete(unit)
      break
    }
    case 'Started':
    case 'Recovered':
    case 'InputReplaced':
    case 'Expanded':
    case 'WaitStarted':
    case 'Answered':
    case 'Suspended':
    case 'AttemptStarted':
    case 'AttemptFailed':
    case 'UnitFailed':
    case 'Interrupted':
    case 'Confirmed':
      break
  }
}
