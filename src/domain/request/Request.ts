/** Requests that any process leaves for a run: to pause, cancel or answer it. */
import type { Json } from '../data/Json.js'
import { equals } from '../data/Json.js'
import type { Unit } from '../workflow/Unit.js'

/** The owner that a pause request is for: its host, its process id, and when it claimed the run (UTC, ISO 8601). */
export interface Addressee {
  readonly host: string
  readonly pid: number
  readonly since: string
}

/**
 * Asks one owner of a run to pause; later owners ignore it. `commit`: whether to commit uncommitted work in the run's own
 * worktree. `requestedAt`: UTC, ISO 8601.
 */
export interface PauseRequest {
  readonly _tag: 'Pause'
  readonly runId: string
  readonly addressee: Addressee
  readonly commit: boolean
  readonly requestedAt: string
}

/**
 * Cancels a run, whichever process owns it. The request stays until an owner has recorded it or the run is removed. `requestedAt`: UTC, ISO 8601.
 */
export interface CancelRequest {
  readonly _tag: 'Cancel'
  readonly runId: string
  readonly requestedAt: string
}

/**
 * Answers a unit of a run, whichever process owns the run. The request stays until an owner has recorded it or the run is removed. `by`: the person
 * or program that answered. `requestedAt`: UTC, ISO 8601.
 */
export interface AnswerRequest {
  readonly _tag: 'Answer'
  readonly runId: string
  readonly unit: Unit
  readonly value: Json
  readonly by: string
  readonly requestedAt: string
}

/**
 * A request in the inbox of a run.
 *
 * @category model
 */
export type Request = PauseRequest | CancelRequest | AnswerRequest

/** The largest request in bytes of JSON, without the value of an answer. */
export const REQUEST_BYTES = 65_536

/** The largest value of an answer in bytes of JSON. */
export const VALUE_BYTES = 16_777_216

/** The key of a request within its run, which has one pause, one cancel, and one answer for each unit. */
export const slotOf = (request: Request): string =>
  request._tag === 'Answer' ? `Answer ${request.unit}` : request._tag

/** Returns whether a string can be the name of who answers: control characters must not reach a terminal. */
export const isName = (by: string): boolean => /^[^\p{Cc}]{1,512}$/u.test(by)

/** Returns whether a request is for this owner. Only a pause request can be for another. */
export const isFor = (request: Request, { host, pid, since }: Addressee): boolean => {
  if (request._tag !== 'Pause') return true
  const { addressee } = request
  return addressee.host === host && addressee.pid === pid && addressee.since === since
}

/** Compares two requests by their time, for sorting the oldest first. */
export const byTime = ({ requestedAt: a }: Request, { requestedAt: b }: Request): number => (a < b ? -1 : a > b ? 1 : 0)

/** Returns whether two requests are equal. */
export const isSameRequest = (a: Request, b: Request): boolean => equals(a as unknown as Json, b as unknown as Json)
