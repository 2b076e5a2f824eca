/**
 * The port for requests to pause, and for the pointer that a pause leaves.
 *
 * Requests come from other processes, at any time. They are looked for where a run may pause, so that has to be quick.
 *
 * @since 0.1.0
 */
import type { Option } from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ContinueHere, PauseRequest } from '../domain/Pause.js'
import type {
  Corrupt,
  Insecure,
  InvalidRunId,
  ReadFailed,
  TooLarge,
  UnsupportedFormat,
  WriteFailed
} from './CheckpointStorage.js'

// ---------------------------------------------------------------------------------------------------------------------
// errors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What can go wrong with a request to pause.
 *
 * @category errors
 * @since 0.1.0
 */
export type PauseError = InvalidRunId | Corrupt | UnsupportedFormat | TooLarge | Insecure | ReadFailed | WriteFailed

/**
 * What is in the place of the pointer is none that this version can use. It is left as it is, and no run is harmed: name the run
 * that is meant, or delete it.
 *
 * @category errors
 * @since 0.1.0
 */
export interface InvalidPointer {
  readonly _tag: 'InvalidPointer'
  readonly where: string
  readonly why: string
}

/**
 * What can go wrong with the pointer.
 *
 * @category errors
 * @since 0.1.0
 */
export type PointerError = InvalidPointer | ReadFailed | WriteFailed

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Where requests to pause are left and found: one for each run, the newest. And where the pointer to the run that paused last is:
 * one for all runs.
 *
 * @category model
 * @since 0.1.0
 */
export interface Pauses {
  /** Leaves a request, in place of an earlier one; durable when it resolves. The run is there. */
  readonly request: (request: PauseRequest) => TaskEither<PauseError, void>
  /** Whether there is a request. It is asked before each step and each group: one look, no promise. */
  readonly isRequested: (runId: string) => boolean
  /** The request, if there is one. */
  readonly requested: (runId: string) => TaskEither<PauseError, Option<PauseRequest>>
  /** Takes the request away, or `only` this one: then a newer one stays. None there is fine. */
  readonly withdraw: (runId: string, only?: PauseRequest) => TaskEither<PauseError, void>
  /** Leaves the pointer, in place of an earlier one. Says where it is. */
  readonly point: (pointer: ContinueHere) => TaskEither<PointerError, string>
  /** The pointer, if there is one. */
  readonly pointer: TaskEither<PointerError, Option<ContinueHere>>
  /** Takes the pointer away if it leads to this run. */
  readonly unpoint: (runId: string) => TaskEither<PointerError, void>
}
