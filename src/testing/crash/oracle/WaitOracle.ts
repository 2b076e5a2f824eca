/** Checks the waits of a run against its durable changes. Knows nothing of plans. */
import type * as Change from '../../../domain/change/Change.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import type { Item } from '../../../domain/checkpoint/Items.js'
import type { Json } from '../../../domain/data/Json.js'
import { equals } from '../../../domain/data/Json.js'
import type { PendingUnit, PendingWait, Wait } from '../../../domain/checkpoint/Pending.js'
import { endOf } from '../../../domain/checkpoint/Pending.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { ancestors, isWithin } from '../../../domain/workflow/Unit.js'
import { has } from '../../../domain/checkpoint/Units.js'
import type { Program } from '../../../executor/program/Program.js'
import { placeIn } from '../../planning/arbitrary/tree.js'
import type { Entry, Note } from './ChangeLog.js'
import { forget, isRewound } from './ChangeLog.js'
import { tasksOf } from '../tasksOf.js'
import type { TraceEntry } from '../Trace.js'

export interface WaitOracle {
  readonly begins: (program: Program<unknown, unknown>) => void
  readonly recorded: (entry: Entry) => void
  readonly starts: (unit: Unit) => void
  readonly calls: (unit: Unit) => void
  readonly resolves: (unit: Unit) => void
  /** An answer was acknowledged, stored for the owner, or refused. `at`: when it was given. */
  readonly answers: (unit: Unit, how: 'acknowledged' | 'requested' | 'refused', at: string) => void
  readonly rests: (units: ReadonlyArray<PendingUnit>) => void
  readonly looked: (checkpoint: Checkpoint) => void
}

/** `done`: units with a record. `suspended`: the suspended attempts by task. */
interface Kept {
  readonly open: Map<Unit, PendingWait>
  readonly answers: Map<Unit, Json>
  /** The units whose answers may still be in the inbox. */
  readonly asked: Set<Unit>
  readonly done: Set<Unit>
  readonly failed: Set<Unit>
  /** Tasks whose last attempt failed; the next attempt drops the waits of their code. */
  readonly ended: Set<Unit>
  readonly attempts: Map<Unit, number>
  readonly suspended: Map<Unit, number>
  readonly items: Map<Unit, ReadonlyArray<Item>>
}

/** `misfits`: the answers that their waits may reject. */
export const makeWaitOracle = (
  note: Note,
  tell: (entry: TraceEntry) => void,
  misfits: ReadonlyArray<Json>
): WaitOracle => {
  let program: Program<unknown, unknown> | undefined
  const kept: Kept = {
    open: new Map(),
    answers: new Map(),
    asked: new Set(),
    done: new Set(),
    failed: new Set(),
    ended: new Set(),
    attempts: new Map(),
    suspended: new Map(),
    items: new Map()
  }
  const found = (unit: Unit, what: string): void => note('WaitKept', what, unit)
  const { open, answers, asked, done, failed, suspended, items } = kept
  const isWait = (unit: Unit): boolean =>
    program !== undefined && tasksOf(program, items).get(unit)?.awaits !== undefined
  return {
    begins: (of) => void (program = of),
    recorded: ({ life, change }) => {
      check(kept, found, change, misfits)
      if (change._tag === 'UnitCompleted' && !open.has(change.unit) && isWait(change.unit))
        found(change.unit, `${change.unit} completed, and its wait is not recorded`)
      const what = change._tag === 'UnitCompleted' && open.has(change.unit) ? 'wait over' : TOLD[change._tag]
      if (what !== undefined && 'unit' in change) tell({ _tag: 'Recorded', life, what, units: [change.unit] })
      follow(kept, change)
    },
    starts: (unit) => {
      if (program === undefined) return
      for (const [other, { awaits }] of tasksOf(program, items))
        if (awaits !== undefined && !done.has(other) && placeIn(program, items, unit, other) === 'after')
          found(other, `${unit} started before the wait of ${other} was over`)
      for (const other of open.keys())
        if (placeIn(program, items, unit, other) === 'after')
          found(other, `${unit} started before the wait of ${other} was over`)
    },
    calls: (unit) => {
      for (const task of ancestors(unit))
        if (suspended.has(task)) found(unit, `${unit} was called by code of ${task} that is suspended`)
    },
    resolves: (unit) => {
      if (!done.has(unit) && !failed.has(unit)) found(unit, `${unit} resolved before its end was recorded`)
    },
    answers: (unit, how, at) => {
      const wait = open.get(unit)
      const isAnswered = answers.has(unit)
      if (how === 'requested') asked.add(unit)
      if (how === 'acknowledged' && !isAnswered) found(unit, `the answer to ${unit} was acknowledged, and is not kept`)
      if (how === 'refused' && wait?._tag === 'Answer' && !isOver(wait, at) && !isAnswered && !asked.has(unit))
        found(unit, `${unit} waits for an answer, and one was refused`)
    },
    rests: (units) => {
      for (const one of units)
        if (one._tag !== 'Job' && !open.has(one.unit))
          found(one.unit, `the run rests because ${one.unit} waits, and the wait is not recorded`)
    },
    looked: (checkpoint) => compare(kept, found, checkpoint)
  }
}

const TOLD: Partial<Record<Change.Change['_tag'], 'waiting' | 'answered'>> = {
  WaitStarted: 'waiting',
  Answered: 'answered'
}

const isOver = (wait: PendingWait | undefined, at: string): boolean =>
  wait?._tag === 'Answer' && wait.until !== undefined && wait.until <= at

const check = (
  { open, answers, done, suspended }: Kept,
  found: (unit: Unit, what: string) => void,
  change: Change.Change,
  misfits: ReadonlyArray<Json>
): void => {
  switch (change._tag) {
    case 'WaitStarted': {
      const { unit, wait } = change
      const [before, answer] = [open.get(unit), answers.get(unit)]
      if (done.has(unit)) found(unit, `the wait of ${unit} was over, and starts again`)
      if (before === undefined) break
      if (timeOf(before) !== timeOf(wait))
        found(unit, `the wait of ${unit} was due to end at ${timeOf(before)}, and is now due at ${timeOf(wait)}`)
      if (answer === undefined) found(unit, `${unit} waits, and starts to wait again`)
      else if (!misfits.some((one) => equals(one, answer))) found(unit, `an answer to ${unit} that fits was dropped`)
      break
    }
    case 'Answered':
      if (answers.has(change.unit)) found(change.unit, `two answers to ${change.unit} were recorded`)
      if (done.has(change.unit))
        found(change.unit, `${change.unit} was completed, and then an answer to it was recorded`)
      if (isOver(open.get(change.unit), change.at))
        found(change.unit, `${change.unit} was answered after its time limit`)
      break
    case 'UnitCompleted':
    case 'UnitFailed': {
      const { unit } = change
      const wait = open.get(unit)
      if (wait !== undefined) checkEnd(wait, answers.get(unit), change, found)
      break
    }
    case 'AttemptStarted':
      for (const { unit, attempt } of change.attempts) {
        const before = suspended.get(unit) ?? attempt
        if (before !== attempt)
          found(unit, `${unit} was suspended in attempt ${before}, and continued as attempt ${attempt}`)
      }
      break
    default:
      break
  }
}

const timeOf = (wait: Wait): string => (wait._tag === 'Timer' ? wait.wakeAt : wait.until) ?? 'no time'

/** A timer ends at its time; a wait ends with its answer, or at its timeout. */
const checkEnd = (
  wait: PendingWait,
  answer: Json | undefined,
  change: Change.UnitCompleted | Change.UnitFailed,
  found: (unit: Unit, what: string) => void
): void => {
  const { unit } = wait
  const isDone = change._tag === 'UnitCompleted'
  if (wait._tag === 'Answer' && answer !== undefined) {
    if (!isDone) found(unit, `${unit} failed, though it was answered`)
    else if (change.output === undefined || !equals(change.output, answer))
      found(unit, `the output of ${unit} is not what it was answered`)
    return
  }
  if (wait._tag === 'Answer' && isDone) return found(unit, `${unit} completed, and no answer is kept`)
  const end = endOf(wait)
  if (end === undefined || change.at < end)
    found(unit, `the wait of ${unit} was over at ${change.at}, before ${timeOf(wait)}`)
}

const follow = (kept: Kept, change: Change.Change): void => {
  const { open, answers, done, failed, attempts, suspended, items } = kept
  switch (change._tag) {
    case 'Expanded':
      items.set(change.unit, change.items)
      break
    case 'WaitStarted':
      if (open.has(change.unit)) answers.delete(change.unit)
      open.set(change.unit, { ...change.wait, unit: change.unit, startedAt: change.at })
      break
    case 'Answered':
      kept.asked.delete(change.unit)
      answers.set(change.unit, change.value)
      break
    case 'AttemptStarted':
      for (const { unit, attempt } of change.attempts) {
        attempts.set(unit, attempt)
        suspended.delete(unit)
        if (kept.ended.delete(unit)) forget([open], (one) => one !== unit && isWithin(one, unit))
      }
      break
    case 'AttemptFailed':
      kept.ended.add(change.unit)
      break
    case 'Suspended':
      suspended.set(change.unit, attempts.get(change.unit) ?? 1)
      forget([open], (unit) => isWithin(unit, change.unit) && !change.waits.includes(unit))
      break
    case 'UnitCompleted':
    case 'Assumed':
      done.add(change.unit)
      forget([open, answers, suspended], (unit) => isWithin(unit, change.unit))
      break
    case 'UnitFailed':
      suspended.delete(change.unit)
      open.delete(change.unit)
      if (change.subStep === undefined) {
        kept.ended.add(change.unit)
        break
      }
      failed.add(change.unit)
      forget([open, answers], (unit) => isWithin(unit, change.unit))
      break
    case 'Rewound':
      forget([open, answers, done, failed, suspended], (unit) => isRewound(change, unit))
      forget([items], (unit) => change.units.some((named) => isWithin(unit, named)))
      break
    default:
      break
  }
}

/** The stored waits and answers must be those that were saved. */
const compare = (
  { open, answers }: Kept,
  found: (unit: Unit, what: string) => void,
  { pending, answers: given }: Checkpoint
): void => {
  const there = new Map([...pending].flatMap((one) => (one._tag === 'Job' ? [] : [[one.unit, one] as const])))
  for (const [unit, wait] of open) {
    const other = there.get(unit)
    if (other === undefined) found(unit, `the wait of ${unit} was acknowledged, and is missing`)
    else if (timeOf(other) !== timeOf(wait)) found(unit, `the wait of ${unit} is stored with another time`)
  }
  for (const unit of there.keys()) if (!open.has(unit)) found(unit, `${unit} is stored as waiting and does not wait`)
  for (const unit of answers.keys()) if (!has(given, unit)) found(unit, `the answer to ${unit} is not stored`)
  for (const { unit } of given) if (!answers.has(unit)) found(unit, `a stored answer to ${unit} was never given`)
}
