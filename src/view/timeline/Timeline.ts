/** The attempts, waits and gaps of a run in time, from its recorded changes; where these are no longer stored, from the checkpoint. */
import type { Change } from '../../domain/change/Change.js'
import type { Checkpoint, Status } from '../../domain/checkpoint/Checkpoint.js'
import type { InterruptReason } from '../../domain/checkpoint/CheckpointState.js'
import * as State from '../../domain/checkpoint/CheckpointState.js'
import { since } from '../../domain/checkpoint/Pending.js'
import { find } from '../../domain/checkpoint/Tree.js'
import { pushTo } from '../../domain/data/indexed.js'
import { isComposite } from '../../domain/workflow/Node.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { isTop, isWithin, top } from '../../domain/workflow/Unit.js'

/** How an attempt or a wait ended. `cut`: the process died. */
export type End = 'completed' | 'failed' | 'cut' | 'interrupted' | 'suspended' | 'submitted' | 'running'

/** An attempt, or a wait (`isWait`). Times are milliseconds; `delayMillis`: the delay before the retry; `isRewound`: it no longer counts. */
export interface Bar {
  readonly attempt: number
  readonly from: number
  to: number
  end: End
  readonly isWait: boolean
  isRewound: boolean
  message?: string
  delayMillis?: number
}

/** Why no process worked on a run. */
export type Why = 'crashed' | 'completed' | 'failed' | 'interrupted' | 'paused' | 'pending' | 'cancelled'

/** A time in which no process worked on the run; without `to`, it continues. `why: 'crashed'`: begins at the last record before the death. */
export interface Gap {
  readonly from: number
  readonly to?: number
  readonly why: Why
}

/** `isPartial`: the oldest changes are no longer stored. */
export interface Timeline {
  readonly bars: ReadonlyMap<Unit, ReadonlyArray<Bar>>
  readonly gaps: ReadonlyArray<Gap>
  readonly from: number
  readonly to: number
  readonly isPartial: boolean
}

/** What the timeline reads. `changes`: by revision; `now`: UTC, ISO 8601. */
export interface Recorded {
  readonly checkpoint: Checkpoint
  readonly status: Status
  readonly changes?: ReadonlyMap<number, Change>
  readonly now?: string
}

interface Building {
  /** A composite has no bars of its own: the record of its completion is no attempt. */
  readonly isComposite: (unit: Unit) => boolean
  readonly bars: Map<Unit, Array<Bar>>
  /** The bars of attempts in flight. */
  readonly open: Map<Unit, Bar>
  /** The bars of waits that are not over. */
  readonly waits: Map<Unit, Bar>
  /** The units that submitted a job: a poll may end them. */
  readonly jobs: Set<Unit>
  readonly gaps: Array<Gap>
  /** The top-level steps. */
  steps: ReadonlyArray<{ readonly name: Unit }>
  /** The completed top-level steps. */
  readonly done: Set<Unit>
  /** The gap that is not over. */
  gap: Gap | undefined
  /** The time of the newest change so far. */
  last: number
  /** By how much a clock went back during gaps: later times are shown that much later, so that no gap is negative. */
  back: number
}

export const timelineOf = ({ checkpoint, status, changes = new Map(), now }: Recorded): Timeline => {
  const from = Date.parse(checkpoint.createdAt)
  const { workflow, items } = checkpoint
  const isFork = checkpoint.forkedFrom !== undefined
  const building: Building = {
    isComposite: (unit) => {
      const found = find(workflow, items, unit)
      return found !== undefined && isComposite(found.definition)
    },
    bars: new Map(),
    open: new Map(),
    waits: new Map(),
    jobs: new Set(),
    gaps: [],
    steps: workflow.steps,
    // The steps that a fork keeps have no change.
    done: new Set(
      checkpoint.completedSteps.records
        .filter(({ unit, completedAt }) => isFork && isTop(unit) && completedAt <= checkpoint.createdAt)
        .map(({ unit }) => unit)
    ),
    gap: undefined,
    last: from,
    back: 0
  }
  const revisions = [...changes.keys()].sort((a, b) => a - b)
  for (const revision of revisions) {
    const change = changes.get(revision)
    if (change === undefined) continue
    noticeDeath(building, change)
    noticeResume(building, change)
    const at = timeOf(building, change.at)
    addChange(building, change, at)
    building.last = Math.max(building.last, at)
  }
  // Units without a recorded change ran before the clock went back.
  addFromCheckpoint({ ...building, back: 0 }, checkpoint)
  const isLive = status === 'running' || status === 'queued'
  const continues = isLive || building.waits.size > 0
  const to = endOf(building, continues && now !== undefined ? Date.parse(now) : undefined)
  endOpenBars(building, isLive, to)
  if (building.gap !== undefined && status !== 'completed' && !isLive) building.gaps.push(building.gap)
  const isPartial = checkpoint.revision > 0 && (revisions[0] !== 1 || changes.get(1)?._tag === 'Moved')
  return { bars: building.bars, gaps: building.gaps, from, to, isPartial }
}

const timeOf = ({ back }: Building, at: string): number => Date.parse(at) + back

/** The end of the axis: the latest of the last change, `now` and the end of each bar. */
const endOf = ({ bars, last }: Building, now: number | undefined): number => {
  let end = Math.max(last, now ?? 0)
  for (const all of bars.values()) for (const { to } of all) end = Math.max(end, to)
  return end
}

/** Nothing records a death: a resume shows it by starting again what was in flight, or by what only a plan records. */
const noticeDeath = (building: Building, change: Change): void => {
  const { open, last, gap } = building
  if (gap !== undefined || open.size === 0 || !showsDeath(open, change)) return
  for (const bar of open.values()) Object.assign(bar, { to: Math.max(last, bar.from), end: 'cut' })
  open.clear()
  building.gap = { from: last, why: 'crashed' }
}

const showsDeath = (open: ReadonlyMap<Unit, Bar>, change: Change): boolean => {
  switch (change._tag) {
    case 'AttemptStarted':
      return change.attempts.some(({ unit }) => open.has(unit))
    // A task that runs rewinds sub-steps, but none that is in flight.
    case 'Rewound':
      return [...open.keys()].some((unit) => change.units.some((one) => isWithin(unit, one)))
    default:
      return OF_RESUMES.has(change._tag)
  }
}

/** The changes that only a resume records. */
const OF_RESUMES: ReadonlySet<Change['_tag']> = new Set(['WorkflowEdited', 'Recovered', 'Confirmed', 'Assumed'])

/** A poll or an answer during a gap is no resume. */
const noticeResume = (building: Building, change: Change): void => {
  const { gap, jobs, gaps } = building
  if (gap === undefined) return
  const resumes =
    change._tag === 'AttemptStarted' ||
    change._tag === 'WaitStarted' ||
    change._tag === 'Expanded' ||
    ((change._tag === 'UnitCompleted' || change._tag === 'UnitFailed') && !jobs.has(change.unit))
  if (!resumes) return
  building.back += Math.max(0, gap.from - timeOf(building, change.at))
  gaps.push({ ...gap, to: timeOf(building, change.at) })
  building.gap = undefined
}

const addChange = (building: Building, change: Change, at: number): void => {
  switch (change._tag) {
    case 'AttemptStarted':
      for (const { unit, attempt } of change.attempts) begin(building, { unit, attempt, from: at, isWait: false })
      return
    case 'AttemptFailed': {
      const { unit, attempt, startedAt, error, delayBeforeNextMillis: delayMillis } = change
      endAttempt(building, unit, attempt, startedAt, at, { end: 'failed', message: error.message, delayMillis })
      return
    }
    case 'UnitCompleted': {
      const { unit, attempts, startedAt, durationMillis } = change
      if (!endWait(building, unit, at, { end: 'completed' }))
        endAttempt(building, unit, attempts, startedAt, timeOf(building, startedAt) + durationMillis, {
          end: 'completed'
        })
      noteDone(building, unit, at)
      return
    }
    case 'UnitFailed': {
      const { unit, last } = change
      const result = { end: 'failed', ...(last === undefined ? {} : { message: last.error.message }) } as const
      if (last !== undefined && !endWait(building, unit, at, result))
        endAttempt(building, unit, last.attempt, last.startedAt, at, result)
      if (isTop(unit)) building.gap = { from: at, why: 'failed' }
      return
    }
    case 'JobSubmitted':
      endAttempt(building, change.unit, change.attempt, change.at, at, { end: 'submitted' })
      begin(building, { unit: change.unit, attempt: change.attempt, from: at, isWait: true })
      building.jobs.add(change.unit)
      return
    case 'JobEnded':
      endWait(building, change.unit, at, { end: 'failed', message: change.error.message })
      return
    case 'WaitStarted':
      begin(building, { unit: change.unit, attempt: 1, from: at, isWait: true })
      return
    case 'Suspended':
      closeWithin(building, change.unit, at, 'suspended')
      return
    case 'Interrupted':
      closeWithin(building, undefined, at, 'interrupted')
      building.gap ??= { from: at, why: whyOf(change.reason) }
      return
    case 'Rewound':
      rewind(building, change.units, at)
      return
    case 'Started':
    case 'WorkflowEdited':
      building.steps = change.workflow.steps
      return
    case 'Assumed':
      noteDone(building, change.unit, at)
      return
    case 'Forked':
    case 'Moved':
    case 'Recovered':
    case 'InputReplaced':
    case 'Expanded':
    case 'Answered':
    case 'Confirmed':
      return
  }
}

/** Starts a gap when all steps are done. It ends if an edit or missing evidence makes a step run again. */
const noteDone = (building: Building, unit: Unit, at: number): void => {
  const { done, steps } = building
  if (!isTop(unit)) return
  done.add(unit)
  if (done.size >= steps.length && steps.every(({ name }) => done.has(name)))
    building.gap ??= { from: at, why: 'completed' }
}

const whyOf = (reason: InterruptReason): Why => (reason === 'signal' || reason === 'aborted' ? 'interrupted' : reason)

/** Begins the bar of an attempt or a wait, and ends one that the unit still has. */
const begin = (
  { bars, open, waits }: Building,
  { unit, attempt, from, isWait }: Pick<Bar, 'attempt' | 'from' | 'isWait'> & { readonly unit: Unit }
): void => {
  const bar: Bar = { attempt, from, to: from, end: 'running', isWait, isRewound: false }
  const unfinished = isWait ? waits : open
  const before = unfinished.get(unit)
  if (before !== undefined)
    Object.assign(before, { to: Math.max(from, before.from), end: isWait ? 'completed' : 'cut' })
  unfinished.set(unit, bar)
  pushTo(bars, unit, bar)
}

type Result = Pick<Bar, 'end' | 'message' | 'delayMillis'>

/** Ends the attempt in flight. A unit whose start is not recorded, such as an idempotent sub-step, gets its bar here. */
const endAttempt = (
  building: Building,
  unit: Unit,
  attempt: number,
  startedAt: string,
  to: number,
  result: Result
): void => {
  const { bars, open, isComposite } = building
  const bar = open.get(unit)
  open.delete(unit)
  if (bar !== undefined) Object.assign(bar, { to: Math.max(to, bar.from), ...result })
  else if (!isComposite(unit)) {
    const from = timeOf(building, startedAt)
    pushTo(bars, unit, { attempt, from, to: Math.max(to, from), isWait: false, isRewound: false, ...result })
  }
}

/** Ends the wait of a unit; returns whether it had one. */
const endWait = ({ waits }: Building, unit: Unit, to: number, result: Result): boolean => {
  const bar = waits.get(unit)
  if (bar !== undefined) Object.assign(bar, { to: Math.max(to, bar.from), ...result })
  return waits.delete(unit)
}

/** Ends the attempts in flight in a unit, or all of them. */
const closeWithin = ({ open }: Building, unit: Unit | undefined, to: number, end: End): void => {
  for (const [one, bar] of open) {
    if (unit !== undefined && !isWithin(one, unit)) continue
    Object.assign(bar, { to: Math.max(to, bar.from), end })
    open.delete(one)
  }
}

const rewind = ({ bars, open, waits, done }: Building, units: ReadonlyArray<Unit>, at: number): void => {
  for (const unit of units) done.delete(top(unit))
  for (const [unit, all] of bars) {
    if (!units.some((one) => isWithin(unit, one))) continue
    for (const bar of all) bar.isRewound = true
    for (const unfinished of [open, waits]) {
      const bar = unfinished.get(unit)
      if (bar !== undefined) Object.assign(bar, { to: Math.max(at, bar.from), end: 'interrupted' })
      unfinished.delete(unit)
    }
  }
}

/** Adds what the checkpoint records of units without any recorded change. */
const addFromCheckpoint = (building: Building, { completedSteps, state, pending, updatedAt }: Checkpoint): void => {
  const { bars, open, waits } = building
  for (const { unit, startedAt, completedAt, durationMillis, attempts, assumed } of completedSteps) {
    if (bars.has(unit) || assumed === true) continue
    const to = Math.min(timeOf(building, startedAt) + durationMillis, timeOf(building, completedAt))
    endAttempt(building, unit, attempts, startedAt, to, { end: 'completed' })
  }
  for (const { unit, attempts } of State.failures(state)) {
    if (bars.has(unit)) continue
    for (const { attempt, startedAt, failedAt, error, delayBeforeNextMillis: delayMillis } of attempts)
      endAttempt(building, unit, attempt, startedAt, timeOf(building, failedAt), {
        end: 'failed',
        message: error.message,
        ...(delayMillis === undefined ? {} : { delayMillis })
      })
  }
  for (const { unit, attempt, suspended } of State.inFlight(state))
    if (!open.has(unit) && suspended !== true && state._tag !== 'Interrupted')
      begin(building, { unit, attempt, from: Date.parse(updatedAt), isWait: false })
  for (const one of pending)
    if (!waits.has(one.unit))
      begin(building, { unit: one.unit, attempt: 1, from: Date.parse(since(one)), isWait: true })
}

/** Ends the open bars at the end of the axis. Attempts of a run that is not live end at its last record: their process died. */
const endOpenBars = (building: Building, isLive: boolean, to: number): void => {
  const { open, waits } = building
  for (const bar of waits.values()) bar.to = Math.max(to, bar.from)
  for (const bar of open.values()) {
    if (isLive) bar.to = Math.max(to, bar.from)
    else Object.assign(bar, { to: Math.max(building.last, bar.from), end: 'cut' })
  }
  if (open.size > 0 && !isLive) building.gap ??= { from: building.last, why: 'crashed' }
}
