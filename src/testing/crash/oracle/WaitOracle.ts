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
import { ifTag } from '../../byTag.js'
import { positionIn, tasksOf } from '../../planning/arbitrary/tree.js'
import type { Entry, Report } from './ChangeLog.js'
import { forget, isRewound } from './ChangeLog.js'

export type WaitOracle = ReturnType<typeof makeWaitOracle>

/** `misfits`: the answers that their waits may reject. */
export const makeWaitOracle = (note: Report, misfits: ReadonlyArray<Json>) => {
  let program: Program<unknown, unknown> | undefined
  const open = new Map<Unit, PendingWait>()
  const answers = new Map<Unit, Json>()
  /** The units whose answers may still be in the inbox. */
  const requested = new Set<Unit>()
  /** The units with a record. */
  const done = new Set<Unit>()
  const failed = new Set<Unit>()
  /** Tasks whose last attempt failed; the next attempt drops the waits of their code. */
  const ended = new Set<Unit>()
  const attempts = new Map<Unit, number>()
  /** The suspended attempts by task. */
  const suspended = new Map<Unit, number>()
  const items = new Map<Unit, ReadonlyArray<Item>>()
  const report = (unit: Unit, what: string): void => note('WaitKept', what, unit)
  const isWait = (unit: Unit): boolean =>
    program !== undefined && tasksOf(program, items).get(unit)?.awaits !== undefined
  /** A timer ends at its time; a wait ends with its answer, or at its timeout. */
  const checkEnd = (change: Change.UnitCompleted | Change.UnitFailed): void => {
    const { unit } = change
    const [wait, answer] = [open.get(unit), answers.get(unit)]
    if (wait === undefined) return
    const isDone = change._tag === 'UnitCompleted'
    if (wait._tag === 'Answer' && answer !== undefined) {
      if (!isDone) report(unit, `${unit} failed, though it was answered`)
      else if (change.output === undefined || !equals(change.output, answer))
        report(unit, `the output of ${unit} is not what it was answered`)
      return
    }
    if (wait._tag === 'Answer' && isDone) return report(unit, `${unit} completed, and no answer is kept`)
    const end = endOf(wait)
    if (end === undefined || change.at < end)
      report(unit, `the wait of ${unit} was over at ${change.at}, before ${timeOf(wait)}`)
  }
  const checkStart = ({ unit, wait }: Change.WaitStarted): void => {
    const [before, answer] = [open.get(unit), answers.get(unit)]
    if (done.has(unit)) report(unit, `the wait of ${unit} was over, and starts again`)
    if (before === undefined) return
    if (timeOf(before) !== timeOf(wait))
      report(unit, `the wait of ${unit} was due to end at ${timeOf(before)}, and is now due at ${timeOf(wait)}`)
    if (answer === undefined) report(unit, `${unit} waits, and starts to wait again`)
    else if (!misfits.some((one) => equals(one, answer))) report(unit, `an answer to ${unit} that fits was dropped`)
  }
  /** Checks a durable change against what is kept, and then keeps it. */
  const follow = (made: Change.Change): void => {
    const closes = ({ unit: closed }: { readonly unit: Unit }): void => {
      done.add(closed)
      forget([open, answers, suspended], (unit) => isWithin(unit, closed))
    }
    const fails = ({ unit: task, dropped }: Change.UnitFailed | Change.AttemptFailed): void => {
      ended.add(task)
      forget([open], (unit) => dropped?.includes(unit) === true)
    }
    ifTag(made, {
      Expanded: (change) => items.set(change.unit, change.items),
      WaitStarted: (change) => {
        const { unit, at, wait } = change
        checkStart(change)
        if (open.has(unit)) answers.delete(unit)
        open.set(unit, { ...wait, unit, startedAt: at })
      },
      Answered: ({ unit, at, value }) => {
        if (answers.has(unit)) report(unit, `two answers to ${unit} were recorded`)
        if (done.has(unit)) report(unit, `${unit} was completed, and then an answer to it was recorded`)
        if (isOver(open.get(unit), at)) report(unit, `${unit} was answered after its time limit`)
        requested.delete(unit)
        answers.set(unit, value)
      },
      AttemptStarted: (change) => {
        for (const { unit, attempt } of change.attempts) {
          const before = suspended.get(unit) ?? attempt
          if (before !== attempt)
            report(unit, `${unit} was suspended in attempt ${before}, and continued as attempt ${attempt}`)
          attempts.set(unit, attempt)
          suspended.delete(unit)
          if (ended.delete(unit)) forget([open], (one) => one !== unit && isWithin(one, unit))
        }
      },
      AttemptFailed: fails,
      Suspended: ({ unit: task, waits }) => {
        suspended.set(task, attempts.get(task) ?? 1)
        forget([open], (unit) => isWithin(unit, task) && !waits.includes(unit))
      },
      UnitCompleted: (change) => {
        checkEnd(change)
        closes(change)
      },
      Assumed: closes,
      UnitFailed: (change) => {
        checkEnd(change)
        suspended.delete(change.unit)
        open.delete(change.unit)
        if (change.subStep === undefined) return fails(change)
        failed.add(change.unit)
        forget([open, answers], (unit) => isWithin(unit, change.unit))
      },
      Rewound: (change) => {
        forget([open, answers, done, failed, suspended], (unit) => isRewound(change, unit))
        forget([items], (unit) => change.units.some((named) => isWithin(unit, named)))
      }
    })
  }
  /** The stored waits and answers must be those that were saved. */
  const compare = ({ pending, answers: given }: Checkpoint): void => {
    const there = new Map([...pending].flatMap((one) => (one._tag === 'Job' ? [] : [[one.unit, one] as const])))
    for (const [unit, wait] of open) {
      const other = there.get(unit)
      if (other === undefined) report(unit, `the wait of ${unit} was acknowledged, and is missing`)
      else if (timeOf(other) !== timeOf(wait)) report(unit, `the wait of ${unit} is stored with another time`)
    }
    for (const unit of there.keys()) if (!open.has(unit)) report(unit, `${unit} is stored as waiting and does not wait`)
    for (const unit of answers.keys()) if (!has(given, unit)) report(unit, `the answer to ${unit} is not stored`)
    for (const { unit } of given) if (!answers.has(unit)) report(unit, `a stored answer to ${unit} was never given`)
  }
  return {
    begins: (of: Program<unknown, unknown>): void => void (program = of),
    isOpen: (unit: Unit): boolean => open.has(unit),
    recorded: ({ change }: Entry): void => {
      if (change._tag === 'UnitCompleted' && !open.has(change.unit) && isWait(change.unit))
        report(change.unit, `${change.unit} completed, and its wait is not recorded`)
      follow(change)
    },
    starts: (unit: Unit): void => {
      if (program === undefined) return
      for (const [other, { awaits }] of tasksOf(program, items))
        if (awaits !== undefined && !done.has(other) && positionIn(program, items, unit, other) === 'after')
          report(other, `${unit} started before the wait of ${other} was over`)
      for (const other of open.keys())
        if (positionIn(program, items, unit, other) === 'after')
          report(other, `${unit} started before the wait of ${other} was over`)
    },
    calls: (unit: Unit): void => {
      for (const task of ancestors(unit))
        if (suspended.has(task)) report(unit, `${unit} was called by code of ${task} that is suspended`)
    },
    resolves: (unit: Unit): void => {
      if (!done.has(unit) && !failed.has(unit)) report(unit, `${unit} resolved before its end was recorded`)
    },
    /** An answer was acknowledged, stored for the owner, or refused. `at`: when it was given. */
    answers: (unit: Unit, how: 'acknowledged' | 'requested' | 'refused', at: string): void => {
      const wait = open.get(unit)
      const isAnswered = answers.has(unit)
      if (how === 'requested') requested.add(unit)
      if (how === 'acknowledged' && !isAnswered) report(unit, `the answer to ${unit} was acknowledged, and is not kept`)
      if (how === 'refused' && wait?._tag === 'Answer' && !isOver(wait, at) && !isAnswered && !requested.has(unit))
        report(unit, `${unit} waits for an answer, and one was refused`)
    },
    rests: (units: ReadonlyArray<PendingUnit>): void => {
      for (const one of units)
        if (one._tag !== 'Job' && !open.has(one.unit))
          report(one.unit, `the run rests because ${one.unit} waits, and the wait is not recorded`)
    },
    looked: compare
  }
}

const isOver = (wait: PendingWait | undefined, at: string): boolean =>
  wait?._tag === 'Answer' && wait.until !== undefined && wait.until <= at

const timeOf = (wait: Wait): string => (wait._tag === 'Timer' ? wait.wakeAt : wait.until) ?? 'no time'
