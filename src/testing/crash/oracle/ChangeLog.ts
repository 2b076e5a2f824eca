/** The records of a run, folded from its saved changes independently of the checkpoint. */
import type { Change, Rewound } from '../../../domain/change/Change.js'
import type { Answer } from '../../../domain/plan/Plan.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { isWithin, top } from '../../../domain/workflow/Unit.js'
import type { Revision } from '../../../ports/CheckpointStorage.js'
import { ifTag } from '../../byTag.js'
import type { Override } from '../Intervention.js'
import type { Program } from '../../../executor/program/Program.js'
import type { CrashLaw } from '../CrashReport.js'

/** One call of `runOrResume`, `poll` or `answer`. */
export interface Call {
  readonly life: number
  readonly how: 'run' | 'poll' | 'answer'
  readonly program: Program<unknown, unknown>
  readonly override: Override | undefined
  readonly answers: ReadonlyMap<string, Answer>
}

/** The units that are completed, assumed done, pending with a job, or were ever rewound. */
export interface Recorded {
  readonly records: Set<Unit>
  readonly assumed: Set<Unit>
  readonly jobs: Set<Unit>
  readonly rewound: Set<Unit>
}

/** Reports a broken law. */
export type Report = (law: CrashLaw, what: string, unit?: string) => void

/** Whether a unit must run again. */
export type IsDue = (unit: Unit) => boolean

/** A saved change, the process that saved it, and the units that it must redo. */
export interface Entry {
  readonly life: number
  readonly epoch: number
  readonly change: Change
  readonly isDue: IsDue
}

export type ChangeLog = ReturnType<typeof makeChangeLog>

export const makeChangeLog = () => {
  const entries = new Map<number, Entry>()
  const recorded: Recorded = { records: new Set(), assumed: new Set(), jobs: new Set(), rewound: new Set() }
  let known = -1
  return {
    /** The highest revision known to be durable; -1 if none is. */
    known: (): number => known,
    /** The records at the durable revision. */
    recorded: (): Recorded => recorded,
    /** Adds revisions that are not yet known to be durable. */
    add: (life: number, epoch: number, revisions: ReadonlyArray<Revision>, isDue: IsDue = () => false): void => {
      // Revisions of a superseded process do not become durable, whenever its save arrives.
      for (const { revision, change } of revisions)
        if ((entries.get(revision)?.epoch ?? 0) <= epoch) entries.set(revision, { life, epoch, change, isDue })
    },
    /** Marks revisions as durable and returns the new ones. */
    advance: (revision: number): ReadonlyArray<Entry> => {
      const added: Array<Entry> = []
      for (; known < revision; known++) {
        const entry = entries.get(known + 1)
        if (entry !== undefined) added.push(entry)
      }
      for (const { change } of added) follow(recorded, change)
      return added
    }
  }
}

/** Deletes the units for which this holds. */
export const forget = (
  all: ReadonlyArray<Pick<Map<Unit, unknown>, 'delete'> & { readonly keys: () => Iterable<Unit> }>,
  is: (unit: Unit) => boolean
): void => {
  for (const one of all) for (const unit of [...one.keys()]) if (is(unit)) one.delete(unit)
}

/** Whether a rewind names a unit, an ancestor or a descendant of it. */
export const isRewound = ({ units }: Rewound, unit: Unit): boolean =>
  units.some((named) => isWithin(unit, named) || isWithin(named, unit))

export const follow = ({ records, assumed, jobs, rewound }: Recorded, made: Change): void => {
  const ends = ({ unit }: { readonly unit: Unit }): void => void jobs.delete(unit)
  const completes = (change: { readonly unit: Unit }): void => {
    records.add(change.unit)
    ends(change)
  }
  /** Forgets records and jobs. */
  const drop = (is: (unit: Unit) => boolean): ReadonlyArray<Unit> => {
    const dropped = [...records, ...jobs].filter(is)
    for (const unit of dropped) for (const units of [records, jobs]) units.delete(unit)
    return dropped
  }
  ifTag(made, {
    UnitCompleted: completes,
    Assumed: (change) => {
      completes(change)
      assumed.add(change.unit)
    },
    JobSubmitted: ({ unit }) => jobs.add(unit),
    JobEnded: ends,
    Rewound: (change) => {
      for (const unit of drop((one) => isRewound(change, one))) {
        rewound.add(unit)
        assumed.delete(unit)
      }
    },
    // An edit keeps records by name.
    WorkflowEdited: ({ workflow }) => drop((unit) => workflow.steps.every(({ name }) => name !== top(unit)))
  })
}
