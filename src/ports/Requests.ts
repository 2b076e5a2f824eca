/**
 * The port for requests to runs, and for the pointer that a pause leaves.
 *
 * Other processes leave requests at any time. An owner looks for them before each unit, so that look has to be cheap.
 */
import type { Option } from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ContinueHere } from '../domain/request/Pause.js'
import type { Request } from '../domain/request/Request.js'
import type { Unit } from '../domain/workflow/Unit.js'
import type { Corrupt, Insecure, ReadFailed, TooLarge, UnsupportedFormat, WriteFailed } from './CheckpointStorage.js'
import type { InvalidRunId } from '../domain/checkpoint/RunId.js'

/**
 * What can go wrong with requests.
 *
 * @category errors
 */
export type RequestError = InvalidRunId | Corrupt | UnsupportedFormat | TooLarge | Insecure | ReadFailed | WriteFailed

/** A unit has an answer already, which stays. */
export interface AlreadyAnswered {
  readonly _tag: 'AlreadyAnswered'
  readonly runId: string
  readonly unit: Unit
}

/**
 * What is in the place of the pointer is none that this version can use. It is left as it is, and no run is harmed: name the run that is
 * meant, or delete it.
 */
export interface InvalidPointer {
  readonly _tag: 'InvalidPointer'
  readonly where: string
  readonly why: string
}

/** What can go wrong with the pointer. */
export type PointerError = InvalidPointer | ReadFailed | WriteFailed

/**
 * The inbox of each run, and the pointer to the run that paused last: one for all runs. A run has at most one pause, one cancel,
 * and one answer for each unit. Removing the run removes its inbox.
 *
 * @category model
 */
export interface Requests {
  /**
   * Leaves a request for an existing run; durable when it resolves. A pause or a cancel replaces an earlier one of its kind; a second
   * answer for a unit is refused, also if two come at once.
   */
  readonly leave: (request: Request) => TaskEither<RequestError | AlreadyAnswered, void>
  /** Whether there may be a request. Called before each unit: one look, no promise. */
  readonly isAny: (runId: string) => boolean
  /** All requests, oldest first. Fails if one cannot be read. */
  readonly list: (runId: string) => TaskEither<RequestError, ReadonlyArray<Request>>
  /** Removes exactly this request: one that replaced it stays. Succeeds if it is missing. */
  readonly withdraw: (request: Request) => TaskEither<RequestError, void>
  /** Removes the pause request, readable or not, once the execution that it was for has ended. */
  readonly clearPause: (runId: string) => TaskEither<RequestError, void>
  /** Leaves the pointer, in place of an earlier one. Returns where it is. */
  readonly point: (pointer: ContinueHere) => TaskEither<PointerError, string>
  /** The pointer, if there is one. */
  readonly pointer: TaskEither<PointerError, Option<ContinueHere>>
  /** Removes the pointer if it leads to this run. */
  readonly unpoint: (runId: string) => TaskEither<PointerError, void>
}
