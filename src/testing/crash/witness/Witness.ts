/** Who sees everything that a run's processes give to the store and do, and knows at once what must not be. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Change } from '../../../domain/change/Change.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import type { Json } from '../../../domain/data/Json.js'
import type { Answer } from '../../../domain/plan/Plan.js'
import { ancestors, isWithin } from '../../../domain/workflow/Unit.js'
import { get } from '../../../domain/checkpoint/Units.js'
import type { Program } from '../../../executor/program/Program.js'
import { restoreStored } from '../../../executor/storage/stored.js'
import type { RunError } from '../../../executor/RunError.js'
import type { RunOutcome } from '../../../executor/RunOutcome.js'
import type { Claim, Claimed, Revision } from '../../../ports/CheckpointStorage.js'
import type { TreeData } from '../../memoryTree.js'
import type { CrashLaw } from '../CrashReport.js'
import type { Due } from './due.js'
import { dueIn, NOTHING_DUE } from './due.js'
import type { Override } from '../Intervention.js'
import type { Entry, Standing } from './Ledger.js'
import { copyOf, follow, isRewound, makeLedger } from './Ledger.js'
import type { PauseWitness } from './PauseWitness.js'
import { makePauseWitness } from './PauseWitness.js'
import type { SubStepWitness } from './SubStepWitness.js'
import { makeSubStepWitness } from './SubStepWitness.js'
import { expanded, tasksOf } from '../tasksOf.js'
import type { TraceEntry } from '../Trace.js'
import type { WaitWitness } from './WaitWitness.js'
import { makeWaitWitness } from './WaitWitness.js'

/** Something that does not hold. */
export interface Finding {
  readonly law: CrashLaw
  readonly what: string
  readonly unit?: string
  readonly name?: string
}

/** One call of `runOrResume`, `poll` or `answer`, in a process: what it was told, and what it was answered. */
export interface Call {
  readonly life: number
  readonly how: 'run' | 'poll' | 'answer'
  readonly program: Program<unknown, unknown>
  readonly override: Override | undefined
  readonly answers: ReadonlyMap<string, Answer>
}

/** Receives what happens in a run. `pauses`, `subSteps`, `waits`: the witnesses of these. */
export interface Witness {
  readonly pauses: PauseWitness
  readonly subSteps: SubStepWitness
  readonly waits: WaitWitness
  readonly begins: (call: Call) => void
  readonly claimed: (granted: Claimed) => void
  readonly saves: (life: number, claim: Claim, revisions: ReadonlyArray<Revision>) => void
  readonly acknowledged: (life: number, claim: Claim, revisions: ReadonlyArray<Revision>) => void
  readonly starts: (unit: string, attempt: number) => void
  readonly endsWell: (unit: string) => void
  /** An observer was told that a unit is completed. */
  readonly told: (unit: string) => void
  /** Whether what the call was told is to be refused. */
  readonly mayRefuse: () => boolean
  readonly ended: (result: E.Either<RunError, RunOutcome>) => void
  /** What is stored between two processes. */
  readonly looked: (checkpoint: Checkpoint | undefined) => void
}

/** Records that the run is cancelled. */
const isCancel = (change: Change): boolean => change._tag === 'Interrupted' && change.reason === 'cancelled'

/** Whether a process only recorded a cancel that its predecessor did not live to see. */
const isUnplanned = ({ saves }: Course, outcome: RunOutcome): boolean =>
  saves === 0 && outcome._tag === 'Interrupted' && outcome.reason === 'cancelled'

/** A call as it goes on. `given`: what was on record when it claimed the run. */
interface Course extends Omit<Call, 'program'> {
  /** With the groups of its maps, as far as they are on record. */
  program: Program<unknown, unknown>
  given: Standing | undefined
  due: Due
  saves: number
  readonly starts: Map<string, number>
  readonly endedWell: Set<string>
}

/** Notes that something does not hold. */
type Note = (law: CrashLaw, what: string, unit?: string) => void

/** The witness of a run. `mayFail`: something goes wrong below its store; `misfits`: the answers that a wait may reject. */
export const makeWitness = (
  tree: TreeData,
  findings: Array<Finding>,
  note: (entry: TraceEntry) => void,
  { mayFail = false, misfits = [] }: { readonly mayFail?: boolean; readonly misfits?: ReadonlyArray<Json> } = {}
): Witness => {
  const ledger = makeLedger()
  const byEpoch = new Map<number, Course>()
  let current: Course | undefined
  const found: Note = (law, what, unit) => void findings.push({ law, what, ...(unit === undefined ? {} : { unit }) })
  const known = (entries: ReadonlyArray<Entry>): void => {
    for (const entry of entries) {
      subSteps.recorded(entry)
      waits.recorded(entry)
      for (const one of tracesOf(entry, current?.program)) note(one)
    }
  }
  const pauses = makePauseWitness(found, mayFail)
  const subSteps = makeSubStepWitness(found, ledger)
  const waits = makeWaitWitness(found, note, misfits)
  return {
    pauses,
    subSteps,
    waits,
    begins: (call) => {
      pauses.begins(call.life)
      subSteps.begins(call)
      waits.begins(call.program)
      current = { ...call, given: undefined, due: NOTHING_DUE, saves: 0, starts: new Map(), endedWell: new Set() }
    },
    claimed: ({ claim, stored }) => {
      if (current === undefined || (O.isSome(stored) && stored.value.found._tag === 'Recovered')) return
      byEpoch.set(claim.epoch, current)
      const revision = O.isSome(stored) ? stored.value.revision : -1
      if (revision < ledger.known()) {
        const what = `revision ${ledger.known()} was acknowledged, and the process that claimed then was given ${revision}`
        found('NothingLost', what)
      } else known(ledger.advance(revision))
      const restored = O.isSome(stored) ? restoreStored(stored.value) : E.right(undefined)
      if (E.isLeft(restored)) return
      if (revision >= ledger.known()) compare(found, restored.right, ledger.standing())
      current.given = copyOf(ledger.standing())
      if (restored.right !== undefined) current.program = expanded(current.program, restored.right.items)
      const { program, override, how, answers } = current
      if (how === 'run') current.due = dueIn(program, restored.right, override, tree, answers)
    },
    saves: (life, claim, revisions) => {
      const course = byEpoch.get(claim.epoch)
      ledger.attempt(life, revisions, course?.due.isDue)
      pauses.saves(life, revisions)
      const changes = revisions.map(({ change }) => change)
      // A cancel decides about no unit.
      if (course === undefined || changes.every(isCancel)) return
      course.saves += 1
      if (course.saves === 1) atFirst(found, course, changes)
      else afterwards(found, changes)
    },
    acknowledged: (life, claim, revisions) => {
      ledger.attempt(life, revisions, byEpoch.get(claim.epoch)?.due.isDue)
      known(ledger.advance(Math.max(...revisions.map(({ revision }) => revision))))
      const starts = byEpoch.get(claim.epoch)?.starts
      pauses.acknowledged(life, revisions)
      for (const { change } of revisions) {
        // A suspended attempt is not cut off by a pause.
        if (change._tag === 'Suspended') pauses.endsWell(change.unit)
        if (change._tag !== 'AttemptStarted') continue
        for (const { unit, attempt } of change.attempts) starts?.set(unit, attempt)
      }
    },
    starts: (unit, attempt) => {
      pauses.starts(unit)
      waits.starts(unit)
      const { records, jobs } = ledger.standing()
      if (records.has(unit)) found('NothingTwice', `${unit} was recorded completed, and ran again`, unit)
      if (jobs.has(unit)) found('NothingTwice', `the job of ${unit} is pending, and it was submitted again`, unit)
      if (current?.starts.get(unit) !== attempt)
        found('DurableFirst', `attempt ${attempt} of ${unit} began before it was on record that it does`, unit)
    },
    endsWell: (unit) => {
      pauses.endsWell(unit)
      current?.endedWell.add(unit)
    },
    told: (unit) => {
      if (!ledger.standing().records.has(unit))
        found('NothingLost', `an observer was told that ${unit} is completed, and it was not on record`, unit)
    },
    mayRefuse: () => current?.due.refused === true,
    ended: (result) => {
      if (current === undefined || current.how !== 'run') return
      pauses.ended(result, ledger.standing())
      if (E.isRight(result) && result.right._tag === 'Pending') waits.rests(result.right.units)
      if (E.isLeft(result)) refused(found, current, result.left)
      else if (result.right._tag !== 'Fenced' && !isUnplanned(current, result.right))
        atLast(found, current, result.right, ledger.standing())
    },
    looked: (checkpoint) => {
      pauses.looked(checkpoint)
      const revision = checkpoint?.revision ?? -1
      if (revision >= ledger.known()) {
        known(ledger.advance(revision))
        compare(found, checkpoint, ledger.standing())
        if (checkpoint !== undefined) waits.looked(checkpoint)
        return
      }
      const before = findings.length
      compare(found, checkpoint, ledger.standing())
      const what = `revision ${ledger.known()} was acknowledged, and ${revision < 0 ? 'nothing' : `revision ${revision}`} is stored`
      if (findings.length === before) found('NothingLost', what)
    }
  }
}

/** What is found must be what went to the store, neither less nor more. */
const compare = (found: Note, checkpoint: Checkpoint | undefined, { records, takenBack }: Standing): void => {
  const there = new Set(checkpoint === undefined ? [] : [...checkpoint.completedSteps].map(({ unit }) => unit))
  for (const unit of records)
    if (!there.has(unit)) found('NothingLost', `the record of ${unit} was acknowledged, and is gone`, unit)
  for (const unit of there) {
    if (records.has(unit)) continue
    if (takenBack.has(unit)) found('OverrideKept', `${unit} was taken back, and counts as it was before`, unit)
    else found('AtLeastOnce', `${unit} is recorded completed, and no process has recorded it`, unit)
  }
}

/** What is told of a change once it is durable. Of what was taken back only what had to be: the rest goes on as it was. */
const tracesOf = (
  { life, change, isDue }: Entry,
  program: Program<unknown, unknown> | undefined
): ReadonlyArray<TraceEntry> => {
  switch (change._tag) {
    case 'Rewound': {
      const units = program === undefined ? [] : [...tasksOf(program).keys()]
      const taken = units.filter((unit) => isRewound(change, unit) && isDue(unit))
      return [{ _tag: 'Recorded', life, what: 'taken back', units: taken, named: change.units }]
    }
    case 'Confirmed': {
      const what = change.evidence === undefined ? 'to run again' : 'kept'
      return [{ _tag: 'Recorded', life, what, units: [change.unit] }]
    }
    case 'Assumed':
      return [{ _tag: 'Recorded', life, what: 'taken as done', units: [change.unit] }]
    case 'JobEnded': {
      const what = change.outcome === 'notApplied' ? 'job refused' : 'job failed'
      return [{ _tag: 'Recorded', life, what, units: [change.unit] }]
    }
    case 'UnitFailed': {
      const isUndone = change.subStep === undefined && change.last?.error.name === HALTED
      return isUndone ? [{ _tag: 'Recorded', life, what: 'left undone', units: [change.unit] }] : []
    }
    case 'Started':
    case 'WaitStarted':
    case 'Answered':
    case 'Suspended':
    case 'WorkflowEdited':
    case 'Recovered':
    case 'InputReplaced':
    case 'Expanded':
    case 'AttemptStarted':
    case 'AttemptFailed':
    case 'UnitCompleted':
    case 'JobSubmitted':
    case 'Interrupted':
      return []
  }
}

/** The name of the error of a unit that was stopped, or not started again, because another one failed. */
const HALTED = 'Halted'

/** The law that is broken if what is due is not done, or something else is. */
const lawOf = ({ override, due }: Course): CrashLaw =>
  override !== undefined ? 'OverrideKept' : due.why !== undefined ? 'EvidenceSeen' : 'NothingTwice'

/** The units that have a record or wait for a job, and are to run again. */
const dueUnits = ({ given, due }: Course): ReadonlyArray<string> =>
  given === undefined ? [] : [...given.records, ...given.jobs].filter(due.isDue)

/** The units that are to be taken as done. */
const toAssume = ({ program, due }: Course, { records }: Standing): ReadonlyArray<string> =>
  [...tasksOf(program).keys()].filter((unit) => due.isGiven(unit) && !records.has(unit))

/** With its first save, before its first effect, a process records all that it decides against the record. */
const atFirst = (found: Note, course: Course, changes: ReadonlyArray<Change>): void => {
  const { given, due, program, answers } = course
  if (given === undefined) return
  const law = lawOf(course)
  const now = copyOf(given)
  for (const unit of due.open)
    found('EvidenceSeen', `the evidence of ${unit} was edited, and a change was recorded without an answer`, unit)
  const kept = new Set(changes.flatMap((one) => (one._tag === 'Confirmed' && one.evidence ? [one.unit] : [])))
  for (const unit of due.kept)
    if (!kept.has(unit)) found('EvidenceSeen', `the edited evidence of ${unit} is kept, but that is not recorded`, unit)
  const taken = new Set<string>()
  const tasks = tasksOf(program)
  for (const change of changes) {
    const before = [...now.records, ...now.jobs]
    follow(now, change)
    if (change._tag === 'Rewound')
      for (const unit of before) if (!now.records.has(unit) && !now.jobs.has(unit)) taken.add(unit)
    if (change._tag === 'Assumed' && !due.isGiven(change.unit) && !isSaid(course, change.unit))
      found('OverrideKept', `${change.unit} is taken as done, and nobody said so`, change.unit)
  }
  const expected = new Set(dueUnits(course))
  const why = due.why ?? 'nobody said so, and nothing is gone'
  for (const unit of expected) {
    const isDone = answers.get(unit)?._tag === 'Done'
    if (isDone && !now.records.has(unit))
      found('OverrideKept', `${unit} is not recorded as done, though somebody said so`, unit)
    // A unit declared done keeps its record with the current evidence. An answer that repeats an assumption changes nothing; it
    // abandons a job; a wave follows its groups.
    const isSettled = given.assumed.has(unit) || given.jobs.has(unit) || kept.has(unit)
    const keeps = (isDone && isSettled) || due.kept.includes(unit)
    if (!taken.has(unit) && !keeps && (tasks.has(unit) || [...taken].some((one) => isWithin(one, unit))))
      found(law, `${unit} keeps its record, though ${why}`, unit)
  }
  for (const unit of taken) {
    if (!expected.has(unit)) found(law, `${unit} is taken back, though it is done: ${why}`, unit)
    const isGivenUp = given.jobs.has(unit) && ![unit, ...ancestors(unit)].some((one) => answers.has(one))
    if (isGivenUp && tasks.get(unit)?.idempotent === false)
      found('AtMostOnce', `the pending job of ${unit} is given up, and nobody said so`, unit)
  }
  for (const unit of toAssume(course, now))
    found('OverrideKept', `${unit} is not recorded as done, though ${due.why}`, unit)
}

/** Whether an answer declared the unit, or a group of the wave, done or kept its evidence. */
const isSaid = ({ answers }: Course, unit: string): boolean =>
  [...answers].some(([of, { _tag }]) => _tag !== 'Again' && isWithin(of, unit))

/** Nothing is decided against the record once work has begun. */
const afterwards = (found: Note, changes: ReadonlyArray<Change>): void => {
  for (const change of changes) {
    if (change._tag !== 'Rewound' && change._tag !== 'Assumed' && change._tag !== 'Confirmed') continue
    const [unit] = change._tag === 'Rewound' ? change.units : [change.unit]
    found('DurableFirst', `what was said of ${unit} is recorded only after something has begun`, unit)
  }
}

/** What is refused changes nothing. */
const refused = (found: Note, course: Course, error: RunError): void => {
  if (error._tag !== 'PlanError' && error._tag !== 'Unconfirmed') return
  if (course.saves > 0) found('OverrideKept', `it was refused (${error._tag}), and something is recorded all the same`)
}

/** A process that ended by itself has recorded what it was told, and what it did. */
const atLast = (
  found: Note,
  course: Course,
  { checkpoint }: Exclude<RunOutcome, { readonly _tag: 'Fenced' }>,
  { records, jobs }: Standing
): void => {
  const { due, saves, given, endedWell } = course
  for (const unit of due.open)
    found('EvidenceSeen', `the evidence of ${unit} was edited, and the process went on without an answer`, unit)
  for (const unit of saves === 0 ? due.kept : [])
    found('EvidenceSeen', `the edited evidence of ${unit} is kept, but nothing is recorded`, unit)
  if (due.refused) found('OverrideKept', 'what was to be taken as done has lost its evidence, and it went on')
  const isIgnored =
    saves === 0 && given !== undefined && (dueUnits(course).length > 0 || toAssume(course, given).length > 0)
  if (isIgnored) found(lawOf(course), `nothing is on record of it, though ${due.why}`)
  for (const unit of endedWell) {
    if (records.has(unit) || jobs.has(unit)) continue
    const failure = get(State.failures(checkpoint.state), unit)
    if (failure === undefined || failure.error.name === HALTED)
      found('NothingLost', `${unit} ended well, and the process that ended by itself has not recorded it`, unit)
  }
}
