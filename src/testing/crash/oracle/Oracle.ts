/** Observes all saves and effects of a run's processes and reports violations at once. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Change } from '../../../domain/change/Change.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import { none } from '../../../domain/checkpoint/Items.js'
import type { Json } from '../../../domain/data/Json.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { ancestors, fromTop, isWithin } from '../../../domain/workflow/Unit.js'
import { get } from '../../../domain/checkpoint/Units.js'
import { restoreStored } from '../../../executor/storage/stored.js'
import type { RunError } from '../../../executor/errors/RunError.js'
import type { RunOutcome } from '../../../executor/RunOutcome.js'
import type { Claim, Claimed, Revision } from '../../../ports/CheckpointStorage.js'
import { ifTag } from '../../byTag.js'
import type { TreeData } from '../../memoryTree.js'
import type { CrashLaw, Violation } from '../CrashReport.js'
import { makeAttemptOracle } from './AttemptOracle.js'
import { dueIn, NOTHING_DUE } from './due.js'
import type { Call, Entry, Report, Recorded } from './ChangeLog.js'
import { follow, isRewound, makeChangeLog } from './ChangeLog.js'
import { makePauseOracle } from './PauseOracle.js'
import { tasksOf } from '../../planning/arbitrary/tree.js'
import type { TraceEntry } from '../Trace.js'
import type { WaitOracle } from './WaitOracle.js'
import { makeWaitOracle } from './WaitOracle.js'

export type Finding = Omit<Violation, 'only' | 'trace'>

/** A cancel, an answer to a wait and, under a later claim, a late pause decide about no unit. They may be recorded without a plan. */
const isRequest = (change: Change, isLate: boolean): boolean =>
  change._tag === 'Answered' ||
  (change._tag === 'Interrupted' && (change.reason === 'cancelled' || (isLate && change.reason === 'paused')))

/** Returns whether a process recorded only a cancel, and so no plan. */
const isUnplanned = ({ saves }: Execution, outcome: RunOutcome): boolean =>
  saves === 0 && outcome._tag === 'Interrupted' && outcome.reason === 'cancelled'

/**
 * `epoch`: of its first claim; under later ones it records late requests. `items`, `given`: the items of maps and the records at the time of the
 * claim.
 */
const newExecution = (call: Call) => ({
  ...call,
  epoch: undefined as number | undefined,
  items: none,
  given: undefined as Recorded | undefined,
  due: NOTHING_DUE,
  saves: 0,
  endedWell: new Set<string>()
})

type Execution = ReturnType<typeof newExecution>

export type Oracle = ReturnType<typeof makeOracle>

/** `storeMayFail`: the store has injected faults. `misfits`: the answers that a wait may reject. */
export const makeOracle = (
  tree: TreeData,
  findings: Array<Finding>,
  note: (entry: TraceEntry) => void,
  { storeMayFail, misfits }: { readonly storeMayFail: boolean; readonly misfits: ReadonlyArray<Json> }
) => {
  const changeLog = makeChangeLog()
  const byEpoch = new Map<number, Execution>()
  let current: Execution | undefined
  const report: Report = (law, what, unit) => void findings.push({ law, what, ...(unit === undefined ? {} : { unit }) })
  const known = (entries: ReadonlyArray<Entry>): void => {
    for (const entry of entries) {
      for (const one of tracesOf(entry, current, waits)) note(one)
      attempts.recorded(entry)
      waits.recorded(entry)
    }
  }
  const pauses = makePauseOracle(report, storeMayFail)
  const attempts = makeAttemptOracle(report, changeLog)
  const waits = makeWaitOracle(report, misfits)
  return {
    pauses,
    attempts,
    waits,
    begins: (call: Call): void => {
      pauses.begins(call.life)
      attempts.begins(call)
      waits.begins(call.program)
      current = newExecution(call)
    },
    claimed: ({ claim, stored }: Claimed): void => {
      if (current === undefined || (O.isSome(stored) && stored.value.found._tag === 'Recovered')) return
      byEpoch.set(claim.epoch, current)
      current.epoch ??= claim.epoch
      const revision = O.isSome(stored) ? stored.value.revision : -1
      if (revision < changeLog.known()) {
        const what = `revision ${changeLog.known()} was acknowledged, and the next claim returned revision ${revision}`
        report('NothingLost', what)
      } else known(changeLog.advance(revision))
      const restored = O.isSome(stored) ? restoreStored(stored.value) : E.right(undefined)
      if (E.isLeft(restored)) return
      if (revision >= changeLog.known()) compare(report, restored.right, changeLog.recorded())
      current.given = structuredClone(changeLog.recorded())
      current.items = restored.right?.items ?? none
      const { program, override, how, answers } = current
      if (how === 'run') current.due = dueIn(program, restored.right, override, tree, answers)
    },
    saves: (life: number, claim: Claim, revisions: ReadonlyArray<Revision>): void => {
      const execution = byEpoch.get(claim.epoch)
      changeLog.add(life, claim.epoch, revisions, execution?.due.isDue)
      pauses.saves(life, revisions)
      const changes = revisions.map(({ change }) => change)
      if (execution === undefined) return
      const isLate = claim.epoch !== execution.epoch
      if (changes.every((one) => isRequest(one, isLate))) return
      execution.saves += 1
      if (execution.saves === 1) checkFirstSave(report, execution, changes)
      else checkLaterSave(report, changes)
    },
    acknowledged: (life: number, claim: Claim, revisions: ReadonlyArray<Revision>): void => {
      changeLog.add(life, claim.epoch, revisions, byEpoch.get(claim.epoch)?.due.isDue)
      known(changeLog.advance(Math.max(...revisions.map(({ revision }) => revision))))
      pauses.acknowledged(life, revisions)
      // A pause does not cut off a suspended attempt.
      for (const { change } of revisions) if (change._tag === 'Suspended') pauses.endsWell(change.unit)
    },
    /** A process that pauses or cancels the run saved these, in place of what a dead process tried to save. */
    savedByRequester: (life: number, { epoch }: Claim, revisions: ReadonlyArray<Revision>): void =>
      changeLog.add(life, epoch, revisions),
    starts: (unit: string, idempotent: boolean, attempt: number): void => {
      pauses.starts(unit)
      waits.starts(unit)
      attempts.starts(unit, idempotent, attempt)
    },
    endsWell: (unit: string): void => {
      pauses.endsWell(unit)
      current?.endedWell.add(unit)
    },
    /** The process reported to an observer that a unit completed. */
    reportsEnd: (unit: string): void => {
      if (!changeLog.recorded().records.has(unit))
        report('NothingLost', `a completion of ${unit} was reported before it was recorded`, unit)
    },
    /** Whether the executor must refuse the override. */
    mustRefuse: (): boolean => current?.due.refused === true,
    ended: (result: E.Either<RunError, RunOutcome>): void => {
      if (current === undefined || current.how !== 'run') return
      pauses.ended(result, changeLog.recorded())
      if (E.isRight(result) && result.right._tag === 'Pending') waits.rests(result.right.units)
      if (E.isLeft(result)) refused(report, current, result.left)
      else if (result.right._tag !== 'Fenced' && !isUnplanned(current, result.right))
        checkEnd(report, current, result.right, changeLog.recorded())
    },
    /** The stored checkpoint between two processes. */
    looked: (checkpoint: Checkpoint | undefined): void => {
      pauses.looked(checkpoint)
      const revision = checkpoint?.revision ?? -1
      if (revision >= changeLog.known()) {
        known(changeLog.advance(revision))
        compare(report, checkpoint, changeLog.recorded())
        if (checkpoint !== undefined) waits.looked(checkpoint)
        return
      }
      const before = findings.length
      compare(report, checkpoint, changeLog.recorded())
      const what = `revision ${changeLog.known()} was acknowledged, and ${revision < 0 ? 'nothing' : `revision ${revision}`} is stored`
      if (findings.length === before) report('NothingLost', what)
    }
  }
}

/** The stored records must be exactly those that were saved. */
const compare = (report: Report, checkpoint: Checkpoint | undefined, { records, rewound }: Recorded): void => {
  const there = new Set(checkpoint === undefined ? [] : [...checkpoint.completedSteps].map(({ unit }) => unit))
  for (const unit of records)
    if (!there.has(unit)) report('NothingLost', `the record of ${unit} was acknowledged and is missing`, unit)
  for (const unit of there) {
    if (records.has(unit)) continue
    if (rewound.has(unit)) report('OverrideKept', `${unit} was rewound, and its old record is back`, unit)
    else report('AtLeastOnce', `${unit} has a record that no process saved`, unit)
  }
}

type RecordedTrace = Extract<TraceEntry, { readonly _tag: 'Recorded' }>

/** The trace entries of a durable change. A rewind lists only the units that had to be rewound. */
const tracesOf = (
  { life, change, isDue }: Entry,
  current: Execution | undefined,
  { isOpen }: WaitOracle
): ReadonlyArray<TraceEntry> => {
  const recorded = (what: RecordedTrace['what'], { unit }: { readonly unit: Unit }): ReadonlyArray<TraceEntry> => [
    { _tag: 'Recorded', life, what, units: [unit] }
  ]
  const traces = ifTag<Change, ReadonlyArray<TraceEntry>>(change, {
    Rewound: (rewind) => {
      const units = current === undefined ? [] : [...tasksOf(current.program, current.items).keys()]
      const taken = units.filter((unit) => isRewound(rewind, unit) && isDue(unit))
      return [{ _tag: 'Recorded', life, what: 'rewound', units: taken, named: rewind.units }]
    },
    Confirmed: (one) => recorded(one.evidence === undefined ? 'to run again' : 'kept', one),
    Assumed: (one) => recorded('assumed done', one),
    WaitStarted: (one) => recorded('waiting', one),
    Answered: (one) => recorded('answered', one),
    UnitCompleted: (one) => (isOpen(one.unit) ? recorded('wait over', one) : []),
    JobEnded: (one) => recorded(one.outcome === 'notApplied' ? 'job refused' : 'job failed', one),
    UnitFailed: (one) =>
      one.subStep === undefined && one.last?.error.name === HALTED ? recorded('not attempted', one) : []
  })
  return traces ?? []
}

/** The name of the error of a unit that did not run because another one failed. */
const HALTED = 'Halted'

/** The law that a wrong rewind breaks. */
const lawOf = ({ override, due }: Execution): CrashLaw =>
  override !== undefined ? 'OverrideKept' : due.why !== undefined ? 'EvidenceSeen' : 'NothingTwice'

/** The recorded units and pending jobs that must run again. */
const dueUnits = ({ given, due }: Execution): ReadonlyArray<string> =>
  given === undefined ? [] : [...given.records, ...given.jobs].filter(due.isDue)

const toAssume = ({ program, items, due }: Execution, { records }: Recorded): ReadonlyArray<string> =>
  [...tasksOf(program, items).keys()].filter((unit) => due.isGiven(unit) && !records.has(unit))

/** The first save of a process that records more than requests must contain all overrides of its plan. */
const checkFirstSave = (report: Report, execution: Execution, changes: ReadonlyArray<Change>): void => {
  const { given, due, program, items, answers } = execution
  if (given === undefined) return
  const law = lawOf(execution)
  const now = structuredClone(given)
  for (const unit of due.open)
    report('EvidenceSeen', `the evidence of ${unit} was edited, and a change was recorded without an answer`, unit)
  const kept = new Set(changes.flatMap((one) => (one._tag === 'Confirmed' && one.evidence ? [one.unit] : [])))
  for (const unit of due.kept)
    if (!kept.has(unit))
      report('EvidenceSeen', `the edited evidence of ${unit} is kept, but that is not recorded`, unit)
  const taken = new Set<string>()
  const tasks = tasksOf(program, items)
  for (const change of changes) {
    const before = [...now.records, ...now.jobs]
    follow(now, change)
    if (change._tag === 'Rewound')
      for (const unit of before) if (!now.records.has(unit) && !now.jobs.has(unit)) taken.add(unit)
    if (change._tag === 'Assumed' && !due.isGiven(change.unit) && !isDeclared(execution, change.unit))
      report('OverrideKept', `${change.unit} is assumed done, and no option or answer says so`, change.unit)
  }
  const expected = new Set(dueUnits(execution))
  const why = due.why ?? 'no override, no answer and no missing evidence explains it'
  for (const unit of expected) {
    const isDone = answers.get(unit)?._tag === 'Done'
    if (isDone && !now.records.has(unit))
      report('OverrideKept', `${unit} is not recorded as done although an answer says so`, unit)
    const isSettled = given.assumed.has(unit) || given.jobs.has(unit) || kept.has(unit)
    const said = [...ancestors(unit)].flatMap((one) => answers.get(one)?._tag ?? [])
    const isPart = said.includes('Done') || said.includes('Keep')
    if (isPart && taken.has(unit) && given.records.has(unit) && tasks.has(unit))
      report('OverrideKept', `${unit} is rewound, though an answer keeps the map around it`, unit)
    const keeps = (isDone && isSettled) || isPart || due.kept.includes(unit)
    if (!taken.has(unit) && !keeps && (tasks.has(unit) || [...taken].some((one) => isWithin(one, unit))))
      report(law, `${unit} keeps its record, though ${why}`, unit)
  }
  for (const unit of taken) {
    if (!expected.has(unit)) report(law, `${unit} is rewound although it is completed: ${why}`, unit)
    const isGivenUp = given.jobs.has(unit) && !fromTop(unit).some((one) => answers.has(one))
    if (isGivenUp && tasks.get(unit)?.idempotent === false)
      report('AtMostOnce', `the pending job of ${unit} is abandoned without an answer`, unit)
  }
  for (const unit of toAssume(execution, now))
    report('OverrideKept', `${unit} is not recorded as done, though ${due.why}`, unit)
}

/** Returns whether an answer other than `Again` covers the unit. */
const isDeclared = ({ answers }: Execution, unit: string): boolean =>
  [...answers].some(([of, { _tag }]) => _tag !== 'Again' && isWithin(of, unit))

/** After the first save, nothing may override a record. */
const checkLaterSave = (report: Report, changes: ReadonlyArray<Change>): void => {
  for (const change of changes) {
    if (change._tag !== 'Rewound' && change._tag !== 'Assumed' && change._tag !== 'Confirmed') continue
    const [unit] = change._tag === 'Rewound' ? change.units : [change.unit]
    report('DurableFirst', `an override of ${unit} was recorded after the first save of the process`, unit)
  }
}

/** A refused plan must record nothing but requests. */
const refused = (report: Report, execution: Execution, error: RunError): void => {
  if (error._tag !== 'PlanError' && error._tag !== 'Unconfirmed') return
  if (execution.saves > 0) report('OverrideKept', `the plan was refused (${error._tag}), and the process saved changes`)
}

/** A process that ended by itself must have recorded its overrides and results. */
const checkEnd = (
  report: Report,
  execution: Execution,
  { checkpoint }: Exclude<RunOutcome, { readonly _tag: 'Fenced' }>,
  { records, jobs }: Recorded
): void => {
  const { due, saves, given, endedWell } = execution
  for (const unit of due.open)
    report('EvidenceSeen', `the evidence of ${unit} was edited, and the process continued without an answer`, unit)
  for (const unit of saves === 0 ? due.kept : [])
    report('EvidenceSeen', `the edited evidence of ${unit} is kept, but nothing is recorded`, unit)
  if (due.refused) report('OverrideKept', 'the evidence of an assumed unit is missing, and the process continued')
  const isIgnored =
    saves === 0 && given !== undefined && (dueUnits(execution).length > 0 || toAssume(execution, given).length > 0)
  if (isIgnored) report(lawOf(execution), `the process recorded nothing, though ${due.why}`)
  for (const unit of endedWell) {
    if (records.has(unit) || jobs.has(unit)) continue
    const failure = get(State.failures(checkpoint.state), unit)
    if (failure === undefined || failure.error.name === HALTED)
      report('NothingLost', `${unit} ended well, and the process that ended by itself has not recorded it`, unit)
  }
}
