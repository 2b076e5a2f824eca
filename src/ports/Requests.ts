/**
 * The port for requests to runs, and for the pause pointer. Other processes leave requests at any time; an owner checks for them before
 * each step and group, so `isAny` must be cheap.
 */
import type { Option } from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ContinueHere } from '../domain/request/Pause.js'
import type { Request } from '../domain/request/Request.js'
import type { Unit } from '../domain/workflow/Unit.js'
import type { Corrupt, Insecure, ReadFailed, TooLarge, UnsupportedFormat, WriteFailed } from './CheckpointStorage.js'
import type { InvalidRunId } from '../domain/checkpoint/RunId.js'

/**
 * Errors of requests.
 *
 * @category errors
 */
export type RequestError = InvalidRunId | Corrupt | UnsupportedFormat | TooLarge | Insecure | ReadFailed | WriteFailed

/** The unit already has an answer, which stays. */
export interface AlreadyAnswered {
  readonly _tag: 'AlreadyAnswered'
  readonly runId: string
  readonly unit: Unit
}

/**
 * The pause pointer is invalid or of another version. It stays and affects no run: resume one by its id. The next pause replaces the pointer.
 */
export interface InvalidPointer {
  readonly _tag: 'InvalidPointer'
  readonly where: string
  readonly why: string
}

/** Errors of the pause pointer. */
export type PointerError = InvalidPointer | ReadFailed | WriteFailed

/**
 * The inbox of each run, and one pointer to the run that paused last. A run has at most one pause, one cancel, and one answer for each
 * unit. Removing a run removes its inbox.
 *
 * @category model
 */
export interface Requests {
  /**
   * Leaves a request for an existing run; durable when it resolves. A pause or cancel replaces an earlier one of its kind; a second answer
   * for a unit is refused, also if two arrive at once.
   */
  readonly leave: (request: Request) => TaskEither<RequestError | AlreadyAnswered, void>
  /**
   * Returns whether there may be a request; it may return true although there is none. Called before each step and group, so it must be
   * synchronous and cheap.
   */
  readonly isAny: (runId: string) => boolean
  /** Lists all requests, oldest first. Fails if one cannot be read. */
  readonly list: (runId: string) => TaskEither<RequestError, ReadonlyArray<Request>>
  /** Removes exactly this request: one that replaced it stays. Succeeds if it is missing. */
  readonly withdraw: (request: Request) => TaskEither<RequestError, void>
  /** Removes the pause request, readable or not. Called when the pause is recorded, or the execution that it addresses has ended. */
  readonly clearPause: (runId: string) => TaskEither<RequestError, void>
  /** Writes the pointer and replaces an earlier one. Returns where it is. */
  readonly point: (pointer: ContinueHere) => TaskEither<PointerError, string>
  /** Reads the pointer, if there is one. */
  readonly pointer: TaskEither<PointerError, Option<ContinueHere>>
  /** Removes the pointer if it points to this run. */
  readonly unpoint: (runId: string) => TaskEither<PointerError, void>
}
