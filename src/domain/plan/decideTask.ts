/** Decides about a task from its record, its state, its evidence and the options. */
import * as E from 'fp-ts/lib/Either.js'
import type { EvidenceChanged, Kept } from './changedEvidence.js'
import { evidenceWith } from './changedEvidence.js'
import type { CheckpointState, InFlight } from '../checkpoint/CheckpointState.js'
import type { CompletedStep, Evidence } from '../checkpoint/CompletedStep.js'
import type { Demand } from './demands.js'
import { isRerun } from './demands.js'
import { describeEvidence } from '../checkpoint/CompletedStep.js'
import { defined } from '../data/defined.js'
import type { Json } from '../data/Json.js'
import { fromUnknown } from '../data/Json.js'
import type { PendingUnit } from '../checkpoint/Pending.js'
import type {
  Confirm,
  ConfirmReason,
  Decision,
  Poll,
  PollReason,
  Retry,
  RetryReason,
  Run,
  RunReason,
  Skip,
  SkipReason
} from './Plan.js'
import type { PlanProblem } from './PlanProblem.js'
import type { PlanContext } from './PlanContext.js'
import { otherOutput } from './PlanContext.js'
import { atPath, plainJson } from '../data/Malformed.js'
import { find } from '../checkpoint/Tree.js'
import { IN_DOUBT } from './subSteps.js'
import type { Unit } from '../workflow/Unit.js'
import { ancestors, isWithin } from '../workflow/Unit.js'
import * as Units from '../checkpoint/Units.js'
import { fitsOf } from '../workflow/fitsOf.js'
import type { Task } from '../workflow/Workflow.js'
import { isIdempotent } from '../workflow/Node.js'

/** The decisions in document order, and the problems. Units append to it: 100,000 short arrays would cost more than the decisions. */
export interface Planned {
  readonly decisions: Array<Decision>
  readonly problems: Array<PlanProblem>
}

/** A unit with its definition, its record, and what the plan demands of it. */
export interface Placed<A extends Described = Described> extends Subject<A> {
  readonly record: CompletedStep | undefined
  readonly demand: Demand
  /** The accepted evidence of an ancestor. */
  readonly keptAbove: Kept | undefined
  /** Set for a unit that may have acted without a record or state of its own: a map whose parts began, a suspended task, a sub-step in doubt. */
  readonly hasBegun?: boolean
  /** Of a composite: the current fingerprint of its own settings, without its parts. Its record has this one. */
  readonly ownFingerprint?: string
  /** The wait in the code of a suspended task, or in a part of a map whose items are unknown. */
  readonly pending?: PendingUnit
  /** Of a map whose items are unknown: changed evidence of its parts. */
  readonly changedByUser?: EvidenceChanged
  /** Of a sub-step that was declared done: an output in the options replaces the recorded one. */
  readonly isReplaceable?: boolean
}

type Described = Pick<Task, 'fingerprint'>

/** What a decision is about: a unit with its definition. */
export interface Subject<A extends Described = Described> {
  readonly unit: Unit
  readonly stepIndex: number
  /** Of an item: the summary of its map's body if that has one, else its key. */
  readonly summary: string
  readonly step: A
}

const subjectOf = ({ unit, stepIndex, summary, step: { fingerprint } }: Subject): Omit<Skip, '_tag' | 'reason'> => ({
  unit,
  stepIndex,
  summary,
  fingerprint
})
// `skip` and `run` spread no `subjectOf`, which would make the planning of 100,000 steps a tenth slower.
export const skip = ({ unit, stepIndex, summary, step: { fingerprint } }: Subject, reason: SkipReason): Skip => ({
  _tag: 'Skip',
  unit,
  stepIndex,
  summary,
  fingerprint,
  reason
})

export const run = ({ unit, stepIndex, summary, step: { fingerprint } }: Subject, reason: RunReason): Run => ({
  _tag: 'Run',
  unit,
  stepIndex,
  summary,
  fingerprint,
  reason
})

export const retry = (subject: Subject, { attempt, reason }: Pick<Retry, 'attempt' | 'reason'>): Retry => ({
  _tag: 'Retry',
  ...subjectOf(subject),
  attempt,
  reason
})

export const confirm = (subject: Subject, reason: ConfirmReason): Confirm => ({
  _tag: 'Confirm',
  ...subjectOf(subject),
  reason
})

export const poll = (subject: Subject, reason: PollReason): Poll => ({ _tag: 'Poll', ...subjectOf(subject), reason })

export const keptReason = ({ changed, evidence }: Kept): SkipReason => ({ _tag: 'EvidenceChanged', changed, evidence })

export const skipReasonOf = (
  { step, ownFingerprint: own = step.fingerprint }: Subject & Pick<Placed, 'ownFingerprint'>,
  record: CompletedStep
): SkipReason => {
  if (record.fingerprint !== own) return { _tag: 'AcceptedDespiteChange', recorded: record.fingerprint }
  return record.assumed === true ? ASSUMED : COMPLETED
}

/** Shared: a plan may have 100,000 of them. */
const COMPLETED: SkipReason = { _tag: 'Completed' }
export const ASSUMED: SkipReason = { _tag: 'Assumed' }

export const decideTask = (context: PlanContext, placed: Placed<Task>, out: Planned): Decision => {
  const { record } = placed
  context.answerable?.add(placed.unit)
  const answer = context.confirm.size === 0 ? undefined : context.confirm.get(placed.unit)
  // An answer about a whole map covers its items.
  if (answer !== undefined && answer._tag !== 'Done' && placed.keptAbove?.isWhole === true)
    out.problems.push({
      _tag: 'UnknownStep',
      step: placed.unit,
      option: 'confirm',
      available: answeredAbove(context, placed)
    })
  const rerun = rerunReason(context, placed)
  const kept = keptOf(context, placed, rerun)
  const given = answer?._tag === 'Done' ? answer.output : undefined
  const supplied = given === undefined ? context.outputs.get(placed.unit) : given
  if (
    record !== undefined &&
    (kept !== undefined || (rerun === undefined && !context.evidence.open.has(placed.unit)))
  ) {
    reportMissing(context, placed, out)
    if (kept === undefined && supplied !== undefined && (placed.isReplaceable ?? lacksOutput(placed.step, record)))
      return assume(placed, supplied, out, evidenceNow(context, placed, record))
    out.problems.push(...otherOutput(context, record))
    return skipRecorded(placed, record, kept, out)
  }
  if (placed.demand === 'assumed') return assume(placed, supplied, out)
  const pending = placed.pending ?? (context.checkpoint.pending.size === 0 ? undefined : pendingOf(context, placed))
  if (pending !== undefined && rerun === undefined) {
    const decision = poll(placed, pollReason(context, pending))
    const answered = 'answered' in decision.reason ? ({ answered: true } as const) : {}
    // Of a suspended task, the wait in its code is the unit to act on.
    const { unit, _tag: waitsFor } = pending
    if (answer !== undefined) out.problems.push({ _tag: 'UnitPending', unit, waitsFor, ...answered })
    return decision
  }
  const decision = schedule(context, placed, { record, rerun, pending, again: answer?._tag === 'Again' })
  const isCovered = record !== undefined && context.evidence.covered.has(placed.unit)
  if (answer?._tag === 'Done' && (decision._tag === 'Confirm' || isCovered)) {
    return assume(placed, given === undefined ? record?.output : given, out, evidenceNow(context, placed, record))
  }
  // "Again" for a unit that runs anyway is harmless. "Done" would skip work that never ran.
  if (answer?._tag === 'Done' || answer?._tag === 'Keep')
    out.problems.push({
      _tag: 'NothingToConfirm',
      unit: placed.unit,
      ...(answer._tag === 'Keep' ? { keep: true } : {}),
      ...(decision._tag === 'Confirm' ? { asked: true } : {}),
      ...(decision.reason._tag === 'Forced' ? { forced: true } : {})
    })
  return decision
}

const answeredAbove = ({ confirm }: PlanContext, { unit }: Placed): ReadonlyArray<Unit> =>
  [...ancestors(unit)].filter((one) => confirm.has(one))

/** Returns whether a record lacks a variable that an edit captures, or the output of an answer that was recorded without the program. */
const lacksOutput = (task: Task, record: CompletedStep): boolean =>
  uncaptured(task, record).length > 0 ||
  (record.assumed === true && (record.output === undefined || E.isLeft(fitsOf(task, record.output))))

/** Skips a task with a record, and reports an output that no longer fits it. */
export const skipRecorded = (
  placed: Subject<Task> & Pick<Placed, 'ownFingerprint'>,
  record: CompletedStep,
  kept: Kept | undefined,
  out: Planned
): Decision => {
  const { step: task, unit } = placed
  const fits = fitsOf(task, record.output)
  if (E.isLeft(fits))
    out.problems.push({ _tag: 'OutputNotDecodable', unit, ...fits.left, ...(record.assumed ? { assumed: true } : {}) })
  if (record.fingerprint !== task.fingerprint) reportUncaptured(placed, record, out)
  return skip(placed, kept === undefined ? skipReasonOf(placed, record) : keptReason(kept))
}

/** Returns what a task waits for. An edit that turns the task into another kind of unit ends its wait. */
const pendingOf = (
  { checkpoint }: PlanContext,
  { unit, step: task, ownFingerprint }: Placed<Task>
): PendingUnit | undefined => {
  const pending = Units.get(checkpoint.pending, unit)
  // A map whose items are unknown is decided as a task.
  const isTask = ownFingerprint === undefined
  return isTask && pending?._tag === (task.wait ?? 'Job') ? pending : undefined
}

/**
 * Returns the accepted evidence of a unit: accepted for the unit itself, or for a composite around it if the unit would run again.
 */
export const keptOf = (context: PlanContext, placed: Placed, rerun: RunReason | undefined): Kept | undefined => {
  const { kept, missing, changed } = context.evidence
  const { unit, keptAbove, record } = placed
  const accepted = kept.get(unit)
  if (accepted !== undefined && (rerun === undefined || accepted.survivesRerun)) return accepted
  const isWhole = keptAbove?.isWhole === true
  const wouldRunAgain = rerun !== undefined || (isWhole && (missing.has(unit) || changed.has(unit)))
  if (keptAbove === undefined || record === undefined || !wouldRunAgain) return undefined
  const now = isWhole ? (changed.get(unit) ?? []) : []
  return { changed: now, evidence: evidenceWith(record, now, missing.get(unit)), survivesRerun: true }
}

/** Returns the current evidence to record for a unit that the user declared done, so that the next resume does not raise the same question. */
export const evidenceNow = (
  { evidence }: PlanContext,
  { unit }: Placed,
  record: CompletedStep | undefined
): ReadonlyArray<Evidence> | undefined =>
  record === undefined || record.evidence.length === 0
    ? undefined
    : evidenceWith(record, evidence.changed.get(unit), evidence.missing.get(unit))

/** Reports variables that an accepted edit captures but the record never set. */
const reportUncaptured = (placed: Subject<Task>, record: CompletedStep, out: Planned): void => {
  const missing = uncaptured(placed.step, record)
  if (missing.length === 0) return
  out.problems.push({ _tag: 'AssumedOutputMissing', unit: placed.unit, expected: valueFor(missing) })
}

const uncaptured = ({ captures }: Task, { captured }: CompletedStep): ReadonlyArray<string> =>
  captures.filter((name) => !captured.includes(name))

const valueFor = (names: ReadonlyArray<string>): string =>
  `a value for ${names.length === 1 ? 'variable' : 'variables'} ${names.map((name) => `"${name}"`).join(', ')}`

/** Reports missing evidence of a unit that `fromStep` assumes done. */
export const reportMissing = (context: PlanContext, placed: Placed, out: Planned): void => {
  const { missing } = context.evidence
  if (missing.size === 0 || placed.demand !== 'assumed' || placed.keptAbove?.isWhole === true) return
  const lost = missing.get(placed.unit)
  if (lost === undefined) return
  const expected = lost.map(describeEvidence).join(', ')
  out.problems.push({ _tag: 'AssumedOutputMissing', unit: placed.unit, expected, evidence: true })
}

/** Returns what the output of a task that is assumed done must be instead, or undefined if it fits. */
const expectedInstead = (task: Task, output: Json | undefined): string | undefined => {
  const fits = fitsOf(task, output)
  if (E.isLeft(fits)) return `${fits.left.expected}${atPath(fits.left.path)}`
  return output === undefined && task.captures.length > 0 ? valueFor(task.captures) : undefined
}

/** Assumes a unit done; it needs the output that it would have returned, as plain JSON. */
const assume = (
  placed: Placed<Task>,
  given: Json | undefined,
  out: Planned,
  evidence?: ReadonlyArray<Evidence>
): Skip => {
  const json = given === undefined ? E.right(undefined) : fromUnknown(given)
  const output = E.isRight(json) ? json.right : undefined
  const expected = E.isLeft(json) ? plainJson(json.left) : expectedInstead(placed.step, output)
  if (expected !== undefined) out.problems.push({ _tag: 'AssumedOutputMissing', unit: placed.unit, expected })
  const reason: SkipReason = output === undefined ? { _tag: 'Assumed' } : { _tag: 'Assumed', output }
  return skip(placed, evidence === undefined ? reason : { ...reason, evidence })
}

/** Returns why a unit runs although it may have a record, or undefined if it does not have to. */
export const rerunReason = ({ evidence: { rerun } }: PlanContext, { unit, demand }: Placed): RunReason | undefined => {
  if (demand === 'assumed') return undefined
  if (isRerun(demand)) return demand
  return rerun.get(unit) ?? (demand === 'none' ? undefined : demand)
}

export const pollReason = (
  { checkpoint: { answers } }: Pick<PlanContext, 'checkpoint'>,
  pending: PendingUnit
): PollReason => {
  switch (pending._tag) {
    case 'Job': {
      const { submittedAt, job } = pending
      return { _tag: 'JobPending', submittedAt, ...(job === undefined ? {} : { job }) }
    }
    case 'Timer':
      return { _tag: 'TimerPending', wakeAt: pending.wakeAt }
    case 'Answer': {
      const { unit, question, until } = pending
      const answered = Units.has(answers, unit) ? (true as const) : undefined
      return { _tag: 'AnswerPending', ...defined({ question, until, answered }) }
    }
  }
}

interface Facts {
  readonly record: CompletedStep | undefined
  readonly rerun: RunReason | undefined
  readonly pending: PendingUnit | undefined
  /** The user answered that the unit runs again. */
  readonly again: boolean
}

/**
 * Decides about a unit without a record that counts: run, retry or confirm. `fromStep` alone does not permit a second submission of a
 * pending job.
 */
const schedule = (context: PlanContext, placed: Placed<Task>, { record, rerun, pending, again }: Facts): Decision => {
  const started = pending === undefined ? nextAttempt(context, placed) : undefined
  const changedByUser = placed.changedByUser ?? context.evidence.changedByUser.get(placed.unit)
  if (changedByUser !== undefined && !again) return confirm(placed, changedByUser)
  const mayHaveActed =
    record !== undefined ||
    pending !== undefined ||
    started?.mayHaveActed === true ||
    placed.hasBegun === true ||
    context.recovered
  const isForced = again || (rerun?._tag === 'Forced' && pending?._tag !== 'Job')
  if (mayHaveActed && !isForced && !mayRunTwice(context, placed)) {
    const known =
      pending === undefined
        ? (context.evidence.keepable.get(placed.unit) ?? started?.reason ?? rerun)
        : pollReason(context, pending)
    return confirm(placed, known ?? { _tag: context.recovered ? 'MaybeLost' : 'MayHaveRun' })
  }
  if (rerun !== undefined) return run(placed, rerun)
  if (started !== undefined && !context.replaced.has(placed.unit)) return retry(placed, started)
  const isAnswered = placed.step.wait === 'Answer' && Units.has(context.checkpoint.answers, placed.unit)
  return run(placed, { _tag: 'NotStarted', ...(isAnswered ? { answered: true } : {}) })
}

/** A step counts as idempotent only if both its recorded and its current definition say so. */
const mayRunTwice = ({ checkpoint }: PlanContext, { unit, stepIndex, step: task }: Placed<Task>): boolean => {
  const before = find(checkpoint.workflow, checkpoint.items, unit, stepIndex)?.definition
  const isLeaf = before?._tag === 'Task' || before?._tag === 'Map'
  return task.idempotent && !(isLeaf && !isIdempotent(before))
}

/** Returns why an attempt is repeated: it was stopped, or its process ended. An interruption stops only attempts of the current step. */
export const openReason = (state: CheckpointState, { unit, attempt }: InFlight): RetryReason =>
  state._tag === 'Interrupted' && isWithin(unit, state.step)
    ? { _tag: 'Interrupted', reason: state.reason }
    : { _tag: 'InFlight', attempt }

/** Returns the number of a unit's next attempt and how its last one ended, from the state; undefined if the unit has neither started nor failed. */
export const nextAttempt = (
  context: PlanContext,
  placed: Placed
): { readonly reason: RetryReason; readonly attempt: number; readonly mayHaveActed: boolean } | undefined => {
  const { state } = context.checkpoint
  const mayHaveActed = context.inDoubt.has(placed.unit)
  const running = Units.get(context.inFlight, placed.unit)
  if (running !== undefined) {
    return { reason: openReason(state, running), attempt: running.attempt, mayHaveActed }
  }
  const failure = Units.get(context.failures, placed.unit)
  if (failure !== undefined) {
    const newest = failure.attempts.at(-1)
    const hasNext = newest?.delayBeforeNextMillis !== undefined
    const attempts = newest?.attempt ?? 1
    const { code, message } = failure.error
    const reason: RetryReason = {
      _tag: 'Failed',
      message,
      attempts,
      ...(code === IN_DOUBT ? { inDoubt: true } : {})
    }
    return { reason, attempt: hasNext ? attempts + 1 : 1, mayHaveActed }
  }
  const stopped = state._tag === 'Interrupted' && state.inProgress && placed.unit === state.step
  return stopped ? { reason: { _tag: 'Interrupted', reason: state.reason }, attempt: 1, mayHaveActed } : undefined
}
