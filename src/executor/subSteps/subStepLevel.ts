/** The sub-steps and waits that code calls. Their shared state is a `Level`: one for the code of a task, and one for the code of each sub-step. */
import * as E from 'fp-ts/lib/Either.js'
import type { Change } from '../../domain/change/Change.js'
import * as State from '../../domain/checkpoint/CheckpointState.js'
import { waitOf } from '../../domain/checkpoint/Pending.js'
import type { SubStep } from '../../domain/checkpoint/SubStep.js'
import * as Units from '../../domain/checkpoint/Units.js'
import * as Redaction from '../../domain/data/Redaction.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import * as Failure from '../../domain/data/StepFailure.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { join, nth } from '../../domain/workflow/Unit.js'
import type { Attempt } from '../steps/Attempt.js'
import { signalOf } from '../steps/Attempt.js'
import { onAbort } from '../onAbort.js'
import type { RunScope } from '../RunScope.js'
import type { OutputRecord, Refusals } from './subStepFailures.js'
import {
  afterEnd,
  ambiguous,
  changedInput,
  changedKind,
  errorOf,
  HAS_SECRET,
  NO_NAME,
  notSaved
} from './subStepFailures.js'
import type { Place } from '../Values.js'

/** What all levels of one attempt share. */
export interface Root {
  readonly scope: RunScope
  readonly place: Place
  /** The attempt repeats one that was suspended or cut short. */
  readonly isRepeated: boolean
  /** The attempt repeats one that was cut short, when a sub-step may have been open. */
  readonly isCutShort: boolean
  /** The sub-steps whose recorded outputs this attempt has used. */
  readonly reused: Set<Unit>
  /** The sub-steps that this attempt has run, and the waits that it has begun or continues. */
  readonly own: Set<Unit>
  /** Refuses every further call of this attempt. */
  refused: StepFailure | undefined
  /** Code of a sub-step did not end within its grace, and may still run. */
  isOverrun: boolean
}

/** The code of a task or a sub-step, which may call sub-steps. */
export interface Level {
  readonly root: Root
  readonly unit: Unit
  readonly isIdempotent: boolean
  readonly attempt: Attempt
  readonly counts: Map<string, number>
  readonly open: Map<Unit, Promise<unknown>>
  /** The waits whose start or end is being saved. */
  readonly saving: Map<Unit, Promise<unknown>>
  /** The open waits, and what ends the timer of each. */
  readonly waits: Map<Unit, AbortController>
  /** How many calls the code has made. */
  calls: number
  /** Stops the open sub-steps with the attempt, or when the code that called them has ended. */
  stopping: AbortController | undefined
  isClosed: boolean
  /** The code did not return: a branch of it may still run, and so may another attempt. Its calls never settle. */
  isCodeUnfinished: boolean
  /** `root.refused`, once a call of this code has failed because of it: the result of this code is not recorded. */
  refused: StepFailure | undefined
}

export const levelOf = (root: Root, unit: Unit, isIdempotent: boolean, attempt: Attempt): Level => ({
  root,
  unit,
  isIdempotent,
  attempt,
  counts: new Map(),
  open: new Map(),
  saving: new Map(),
  waits: new Map(),
  calls: 0,
  stopping: undefined,
  isClosed: false,
  isCodeUnfinished: false,
  refused: undefined
})

/** Returns the path of a call, and its number among the calls of this name; or why the call is refused. */
const numberCall = (
  level: Level,
  name: string,
  refusals: Refusals
): E.Either<StepFailure, { readonly unit: Unit; readonly number: number }> => {
  const { root, counts, open, saving, waits, attempt } = level
  if (attempt.halt !== undefined) return E.left(Failure.fromUnknown(attempt.halt.reason))
  if (!level.isIdempotent) return E.left(refusals.here(level.unit, name))
  const around = root.scope.environment.asyncContext?.get()
  if (around !== level && isLevel(around) && around.root === root) return E.left(refusals.outer(around.unit, name))
  const number = (counts.get(name) ?? 0) + 1
  if (number > 1 && open.size + saving.size + waits.size > 0) return E.left(ambiguous(name))
  if (Redaction.isIn(root.scope.environment.vault.redaction, name)) return E.left(HAS_SECRET)
  return E.right({ unit: nth(join(level.unit, name), number), number })
}

const isLevel = (value: unknown): value is Level => typeof value === 'object' && value !== null && 'root' in value

const parseName = (name: unknown): E.Either<StepFailure, string> =>
  typeof name === 'string' && name !== '' ? E.right(name) : E.left(NO_NAME)

/** A promise that never settles, for code whose calls no longer count. */
export const never = (): Promise<never> => new Promise(() => undefined)

/** Ends a call that code makes after its level was closed. */
export const endLateCall = async ({ unit, isCodeUnfinished }: Level, name: unknown): Promise<never> => {
  if (isCodeUnfinished) return await never()
  const text = parseName(name)
  return await Promise.reject(errorOf(E.isLeft(text) ? text.left : afterEnd(unit, text.right)))
}

/** Stops the open sub-steps, waits for their ends, and returns their units. Ends the timers of open waits, which stay recorded. */
export const closeLevel = async (level: Level): Promise<ReadonlyArray<Unit>> => {
  level.isClosed = true
  const left = [...level.open.keys()]
  // A sub-step that has not begun, because a save comes first, looks at the signal later.
  if (left.length > 0) stopperOf(level).abort(ENDED)
  for (const wait of level.waits.values()) wait.abort()
  level.waits.clear()
  await Promise.all([...level.open.values(), ...level.saving.values()])
  return left
}

export const ENDED = new DOMException('the step that called it has ended', 'AbortError')

/** How a call of the code of a level ends: its result, or the error to throw. */
export type CallEnd = E.Either<Error, unknown>

/** `parse`: checks the other arguments of a call; `act`: returns how the call ends; `onEnd`: called when open waits may suspend the attempt again. */
interface CallKind<Call> {
  readonly refusals: Refusals
  readonly parse: (unit: Unit, name: string) => E.Either<StepFailure, Call>
  readonly act: (call: Call) => Promise<CallEnd>
  readonly onEnd: () => void
}

/** Makes a call, unless the level is closed or the attempt is refused. */
export const callOn = <Call>(
  level: Level,
  name: unknown,
  { refusals, parse, act, onEnd }: CallKind<Call>
): Promise<unknown> => {
  const parsed = (): E.Either<StepFailure, Call> => {
    const text = parseName(name)
    if (E.isLeft(text)) return text
    const numbered = numberCall(level, text.right, refusals)
    if (E.isLeft(numbered)) return numbered
    const call = parse(numbered.right.unit, text.right)
    if (E.isRight(call)) level.counts.set(text.right, numbered.right.number)
    return call
  }
  const settle = async (): Promise<unknown> => {
    if (level.isClosed) return await endLateCall(level, name)
    level.calls += 1
    const { root } = level
    const call = root.refused === undefined ? parsed() : E.left(root.refused)
    const ended = E.isLeft(call) ? E.left(errorOf(call.left)) : await act(call.right)
    if (E.isLeft(ended) && root.refused !== undefined) level.refused = root.refused
    // This call raised `level.calls`, which cancels a scheduled `checkLater`: schedule another.
    if (level.waits.size > 0) onEnd()
    if (level.isCodeUnfinished) return await never()
    return E.isRight(ended) ? ended.right : await Promise.reject(ended.left)
  }
  const settled = settle()
  // A rejection that the code does not await must not end the process; a task fails with SubStepNotAwaited.
  settled.catch(() => undefined)
  return settled
}

/** What a call must have in common with the recorded one: the kind of call (`wait`), and its input. */
type Identity = Pick<SubStep, 'wait' | 'input'>

/** Returns the recorded end of a call, or why it differs from the recorded call; undefined if it has no recorded end. */
export const recordedEnd = (
  { scope, reused }: Root,
  unit: Unit,
  call: Identity,
  outputOf: (record: OutputRecord) => CallEnd
): CallEnd | undefined => {
  const { record, failure, known } = recordsOf(scope, unit)
  const pending = waitOf(scope.recorder.checkpoint(), unit)
  const isKnown = known !== undefined || pending !== undefined
  const wait = known === undefined ? pending?._tag : known.wait
  if (isKnown && wait !== call.wait) return E.left(errorOf(changedKind(unit, wait, call.wait)))
  if (known !== undefined && known.input !== call.input) return E.left(errorOf(changedInput(unit)))
  if (record !== undefined || failure !== undefined) reused.add(unit)
  if (record !== undefined) return outputOf(record)
  if (failure !== undefined) return E.left(errorOf(failureOf(failure)))
  return undefined
}

/** Returns the records of a unit. `known`: the recorded call; a unit that a user declared done has none. */
export const recordsOf = ({ recorder }: RunScope, unit: Unit) => {
  const { completedSteps, state } = recorder.checkpoint()
  const record = Units.get(completedSteps, unit)
  const failure = Units.get(State.failures(state), unit)
  return { record, failure, known: record?.assumed === true ? undefined : (record ?? failure)?.subStep }
}

const failureOf = ({ error, outcome, subStep }: State.Failure): StepFailure =>
  subStep?.transient === true ? Failure.transient(error, outcome) : Failure.permanent(error, outcome)

/** The signal that stops the open sub-steps of a level, made on first use. */
export const stoppingOf = (level: Level): AbortSignal => stopperOf(level).signal

const stopperOf = (level: Level): AbortController => {
  if (level.stopping === undefined) {
    const stopping = new AbortController()
    const signal = signalOf(level.attempt)
    onAbort(signal, () => stopping.abort(signal.reason))
    level.stopping = stopping
  }
  return level.stopping
}

export const save = async (scope: RunScope, changes: ReadonlyArray<Change>): Promise<E.Either<Error, void>> => {
  scope.recorder.stage(changes)
  const saved = await scope.recorder.commit()
  return E.isLeft(saved) ? E.left(errorOf(notSaved(saved.left._tag))) : E.right(undefined)
}
