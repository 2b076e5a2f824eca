/** Advances virtual time while a process runs, until it ends, dies or is stuck, and says how it ended. Limits store calls in time. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { RunError } from '../../../executor/errors/RunError.js'
import type { RunOutcome } from '../../../executor/RunOutcome.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { callPort, readFailed, STORE } from '../../../executor/callPort.js'
import { restoreStored } from '../../../executor/storage/stored.js'
import type { CheckpointStorage, StorageError } from '../../../ports/CheckpointStorage.js'
import { byTag } from '../../byTag.js'
import { within } from '../../conformance/Trial.js'
import type { Activity } from './Life.js'
import type { VirtualClock } from './VirtualClock.js'
import { quiet } from './VirtualClock.js'
import { RUN_ID } from './CrashStorage.js'

export interface Limits {
  /** How long, in real milliseconds, unobservable work may take before virtual time advances without it. */
  readonly patienceMillis: number
  /** The maximum number of times that virtual time advances. */
  readonly maxWaits: number
}

interface Driven {
  readonly clock: VirtualClock
  readonly alive: () => boolean
  readonly state: Readonly<Activity>
}

type DriveEnd = 'settled' | 'killed' | 'stuck' | 'endless'

/** How many times longer than a step a store call may take, because a disk may be busy. */
const STORE_PATIENCE = 10

/** Waits for a promise and advances virtual time to the next sleeper. Store calls and steps that do not sleep get real time first. */
export const drive = async (process: Driven, promise: Promise<unknown>, limits: Limits): Promise<DriveEnd> => {
  let over = false
  const end = (): void => {
    over = true
  }
  promise.then(end, end)
  const { clock, state } = process
  let [seen, since, turns, waits] = [state.progress, performance.now(), 0, 0]
  for (;;) {
    await turn(turns)
    if (over) return 'settled'
    if (!process.alive()) return 'killed'
    const now = performance.now()
    if (state.progress !== seen) {
      ;[seen, since, turns] = [state.progress, now, 0]
      continue
    }
    turns += 1
    const isPatienceOver = now - since >= patienceWith(state, limits)
    if ((state.calls > 0 || isWorking(state)) && !isPatienceOver) continue
    const next = clock.sleeping()[0]
    if (next !== undefined) {
      waits += 1
      if (waits > limits.maxWaits) return 'endless'
      await clock.advance(next)
      ;[since, turns] = [performance.now(), 0]
    } else if (isPatienceOver) return 'stuck'
  }
}

/** The real time to wait for work in flight. */
const patienceWith = ({ calls }: Activity, { patienceMillis }: Limits): number =>
  patienceMillis * (calls > 0 ? STORE_PATIENCE : 1)

/** Detects a unit that runs and does not sleep. */
const isWorking = ({ running, asleep }: Activity): boolean => running > asleep

/** After 50 idle turns of the event loop, each turn takes a millisecond. */
const turn = (turns: number): Promise<void> => (turns < 50 ? quiet() : new Promise((resolve) => setTimeout(resolve, 1)))

/** The errors that a process may end with if its store is faulty. */
export const STORE_ERRORS: ReadonlySet<RunError['_tag']> = new Set([
  'ReadFailed',
  'WriteFailed',
  'Corrupt',
  'RecoveryRefused'
])

export const MAX_STORE_ERRORS = 10

/** Why a process that does not end is a violation. */
export const STUCK = {
  stuck: (state: Activity, limits: Limits): string => {
    const inFlight = isWorking(state) ? 'a step does not end' : 'nothing is in flight'
    const what = state.calls > 0 ? 'a call of the store does not end' : inFlight
    return `${what}: nothing has happened for ${patienceWith(state, limits)} ms, and nothing sleeps`
  },
  endless: (_: Activity, { maxWaits }: Limits): string =>
    `the clock was advanced ${maxWaits} times, and the process did not end`
}

export const describeOutcome = (outcome: RunOutcome): string =>
  byTag(outcome, {
    Completed: () => 'completed',
    Failed: ({ step, failures }) => `${step} failed: ${failures.map(({ error }) => error.message).join('; ')}`,
    Interrupted: ({ reason, step }) =>
      `${reason === 'aborted' || reason === 'signal' ? 'interrupted' : reason} at ${step}`,
    Pending: ({ units }) => `waits for ${units.map(({ unit }) => unit).join(', ')}`,
    Fenced: () => 'superseded by another process'
  })

/** `cut short`: the next process continues the run. */
export type ProcessEnd = 'completed' | 'paused' | 'cancelled' | 'cut short' | 'wrong'

export const endOf = (outcome: RunOutcome): 'completed' | 'paused' | 'cancelled' | undefined => {
  if (outcome._tag === 'Completed') return 'completed'
  const reason = outcome._tag === 'Interrupted' ? outcome.reason : undefined
  return reason === 'paused' || reason === 'cancelled' ? reason : undefined
}

/** Loads what the next process will find. */
export const loadCheckpoint = async (
  storage: CheckpointStorage,
  limits: Limits
): Promise<E.Either<StorageError, Checkpoint | undefined>> => {
  const stored = await withTimeout(storage.load(RUN_ID), limits)
  if (E.isLeft(stored)) return stored
  return O.isNone(stored.right) ? E.right(undefined) : restoreStored(stored.right.value, RUN_ID)
}

/** A store that throws, or takes too long, has failed as well. */
export const withTimeout = <A>(
  call: TE.TaskEither<StorageError, A>,
  { patienceMillis }: Limits
): Promise<E.Either<StorageError, A>> =>
  within(
    () => callPort('call', () => call, readFailed(STORE)),
    patienceMillis * STORE_PATIENCE,
    (late) => `the call ${late}`
  ).catch((cause: unknown) => E.left(readFailed(STORE)('call', cause, 'TIMEOUT')))
