/** Waits in the code of a task. When the code only waits, its attempt is suspended. */
import * as E from 'fp-ts/lib/Either.js'
import type { Change } from '../../domain/change/Change.js'
import { overAt } from '../../domain/checkpoint/Due.js'
import * as Units from '../../domain/checkpoint/Units.js'
import { endOf, waitOf } from '../../domain/checkpoint/Pending.js'
import type { OptionProblem } from '../../domain/data/Options.js'
import { extraArgument } from '../../domain/data/Options.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import * as Failure from '../../domain/data/StepFailure.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import type { StartWait } from '../program/awaits.js'
import { sleepOf, waitForOf } from '../program/awaits.js'
import { conversions, schema } from '../program/conversions.js'
import { onAbort } from '../onAbort.js'
import { timestamp } from '../RunScope.js'
import { LOOK_MILLIS, nextTurn, sleep as sleepOn } from '../sleep.js'
import type { SleepUntil, WaitForAnswer, WaitForOptions } from '../program/StepSpec.js'
import { unitCompleted } from '../storage/changes.js'
import type { OutputRecord } from './subStepFailures.js'
import { errorOf, notDecodable, noWaitInside, OF_WAIT, rejected, wrongOption } from './subStepFailures.js'
import type { CallEnd, Level } from './subStepLevel.js'
import { callOn, never, recordedEnd, save, stoppingOf } from './subStepLevel.js'
import { endOfWait, waitTimedOut } from '../steps/waits.js'

export type Suspend = () => void

export const waitsOf = (
  level: Level,
  suspend: Suspend
): { readonly sleep: SleepUntil; readonly waitFor: WaitForAnswer } => ({
  sleep: (name, options, ...more: ReadonlyArray<unknown>) =>
    call(level, suspend, name, { awaits: unlessExtra(more, sleepOf(options)), output: undefined }),
  waitFor: (name: string, options: WaitForOptions<unknown> = {}, ...more: ReadonlyArray<unknown>) => {
    const awaits = unlessExtra(more, waitForOf(options, { output: schema }))
    return call(level, suspend, name, { awaits, output: E.isRight(awaits) ? options.output : undefined })
  }
})

const unlessExtra = (more: ReadonlyArray<unknown>, awaits: WaitArguments['awaits']): WaitArguments['awaits'] => {
  const problem = extraArgument(more, 'third')
  return problem === undefined ? awaits : E.left(problem)
}

/** Refuses the waits of untyped sub-steps: the type of their context has none. */
export const waitsInside = (unit: Unit): object => {
  const refuse = (): Promise<never> => rejected(errorOf(noWaitInside(unit)))
  return { sleep: refuse, waitFor: refuse }
}

interface WaitArguments {
  readonly awaits: E.Either<OptionProblem, StartWait>
  readonly output: unknown
}

const call = (level: Level, suspend: Suspend, name: string, args: WaitArguments): Promise<never> => {
  const act = async (one: WaitCall): Promise<CallEnd> => {
    const ended = await waitUnlessRecorded(level, suspend, one)
    // The code that made the call has ended.
    return level.isClosed ? await never() : ended
  }
  const parse = (unit: Unit): E.Either<StepFailure, WaitCall> =>
    E.isLeft(args.awaits)
      ? E.left(wrongOption(unit, args.awaits.left))
      : E.right({ unit, awaits: args.awaits.right, convert: conversions(args.output) })
  const onEnd = (): void => checkLater(level, suspend)
  return callOn(level, name, { refusals: OF_WAIT, parse, act, onEnd }) as Promise<never>
}

interface WaitCall {
  readonly unit: Unit
  readonly awaits: StartWait
  readonly convert: ReturnType<typeof conversions>
}

/** Returns the recorded result of the wait, or starts it and waits. */
const waitUnlessRecorded = async (
  level: Level,
  suspend: Suspend,
  { unit, awaits, convert }: WaitCall
): Promise<CallEnd> => {
  const { scope, own } = level.root
  const now = scope.environment.clock.now()
  const wait = awaits(now)
  const recorded = recordedEnd(level.root, unit, { wait: wait._tag }, (record) => outputOf(convert, record))
  if (recorded !== undefined) return recorded
  own.add(unit)
  if (waitOf(scope.recorder.checkpoint(), unit) === undefined) {
    const saving = save(scope, [{ _tag: 'WaitStarted', at: timestamp(now), unit, wait }])
    const started = await whileSaving(level, unit, saving)
    if (E.isLeft(started)) return started
  }
  for (;;) {
    const ended = await endIfOver(level, unit, convert)
    if (ended !== undefined) return ended
    // The level was closed during the save: the timer of this wait would never end.
    if (level.isClosed) return await never()
    await untilAwake(level, suspend, unit)
    if (level.isClosed) return await never()
    const stopping = stoppingOf(level)
    if (stopping.aborted) return E.left(stopping.reason as Error)
  }
}

const outputOf = (convert: WaitCall['convert'], record: OutputRecord): CallEnd => {
  const decoded = record.output === undefined ? E.right(undefined) : convert.decode(record.output)
  return E.isRight(decoded) ? decoded : E.left(errorOf(notDecodable(record, decoded.left)))
}

/** Records the end of a wait, if it is over. */
const endIfOver = async (level: Level, unit: Unit, convert: WaitCall['convert']): Promise<CallEnd | undefined> => {
  const { scope, place } = level.root
  const { recorder, environment } = scope
  const now = environment.clock.now()
  const wait = waitOf(recorder.checkpoint(), unit)
  // The wait was removed: another call failed the task, and the attempt is closed.
  if (wait === undefined) return await never()
  const end = endOfWait(scope, { unit, stepIndex: place.stepIndex }, wait, convert.accepts, now)
  const saving = (changes: ReadonlyArray<Change>): Promise<E.Either<Error, void>> =>
    whileSaving(level, unit, save(scope, changes))
  const subStep = { wait: wait._tag }
  switch (end._tag) {
    case 'Waits':
      return undefined
    case 'Rejected': {
      const saved = await saving([])
      return E.isLeft(saved) ? saved : undefined
    }
    case 'TimedOut': {
      const failed = waitTimedOut(wait, timestamp(now))
      const saved = await saving([{ ...failed, subStep }])
      return E.isLeft(saved) ? saved : E.left(errorOf(Failure.permanent(failed.last.error, 'notApplied')))
    }
    case 'Completed': {
      const { output } = end
      const times = { attempt: 1, startedAt: Date.parse(wait.startedAt), endedAt: now }
      const saved = await saving([unitCompleted(unit, times, { output, subStep })])
      return E.isLeft(saved) ? saved : outputOf(convert, { unit, output })
    }
  }
}

/** Marks a wait as being saved meanwhile, so that the attempt is neither suspended nor ended. */
const whileSaving = async <A>(level: Level, unit: Unit, saving: Promise<A>): Promise<A> => {
  level.saving.set(unit, saving)
  const saved = await saving
  level.saving.delete(unit)
  return saved
}

/** Resolves when the wait may be over, or the attempt stops. If the task does nothing else meanwhile, its attempt is suspended. */
const untilAwake = async (level: Level, suspend: Suspend, unit: Unit): Promise<void> => {
  const { recorder, environment, requests } = level.root.scope
  const { clock } = environment
  const wait = waitOf(recorder.checkpoint(), unit)
  const end = wait === undefined ? undefined : endOf(wait)
  const due = end === undefined ? Infinity : Date.parse(end)
  const isOver = (): boolean =>
    overAt(wait, Units.has(recorder.checkpoint().answers, unit), timestamp(clock.now())) !== undefined
  const waking = new AbortController()
  level.waits.set(unit, waking)
  const ignore = onAbort(stoppingOf(level), () => waking.abort())
  checkLater(level, suspend)
  do {
    await sleepOn(clock, Math.min(due - clock.now(), LOOK_MILLIS), waking.signal)
    if (!waking.signal.aborted) await requests.look()
  } while (!waking.signal.aborted && !isOver())
  ignore()
  level.waits.delete(unit)
}

/** Suspends the attempt in the next turn of the event loop, if by then only waits are open and the code has made no further call. */
export const checkLater = (level: Level, suspend: Suspend): void => {
  const { calls } = level
  nextTurn(() => {
    const isBusy = level.open.size + level.saving.size > 0 || level.isClosed || level.attempt.halt !== undefined
    if (!isBusy && level.waits.size > 0 && level.calls === calls) suspend()
  })
}
