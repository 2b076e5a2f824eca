/** Classifies failures of PostgreSQL and its driver: whether they are transient, and whether the statement may have taken effect. */

import { defined } from '../../domain/data/defined.js'
import type { StorageError, UnsupportedFormat } from '../../ports/CheckpointStorage.js'

/**
 * `isTransient`: worth another attempt. `effect`: whether the statement may have taken effect. `error`: the error of the port, if the store refused
 * the call; `option`: as in `ReadFailed`.
 */
export interface Failure<Refused extends StorageError = UnsupportedFormat> {
  readonly code: string
  readonly cause: unknown
  readonly isTransient: boolean
  readonly effect: 'none' | 'unknown'
  readonly error?: Refused
  readonly option?: string
}

/** SQLSTATE codes: connection lost, server going down, read-only (a failover), too many connections, conflicts, timeouts. */
const TRANSIENT = /^(08...|57P0.|25006|53300|40001|40P01|55P03|57014)$/

/** SQLSTATE codes with which the server may have committed before it closed the connection. */
const MAYBE_COMMITTED = /^(08...|57P0[124])$/

/** Codes of the system for a connection that ended or was not made. */
const BROKEN = /^(ECONN.*|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|ENOENT)$/

/** The system calls before a connection exists. */
const UNCONNECTED: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo'])

/** Messages of the driver that have no code: before and after a statement was sent. */
const UNSENT = /timeout exceeded when trying to connect|timeout expired|not queryable|connection timeout/i
const CUT = /connection terminated|connection ended|query read timeout|client was closed/i

/** If a host has several addresses, Node reports one error with those of all attempts. */
const isUnconnected = (cause: unknown): boolean => {
  const { syscall, errors } = Object(cause) as Readonly<Record<string, unknown>>
  return UNCONNECTED.has(syscall) || (Array.isArray(errors) && errors.length > 0 && errors.every(isUnconnected))
}

export const failureOf = (cause: unknown): Failure<never> => {
  const { code, severity, message } = Object(cause) as Readonly<Record<string, unknown>>
  const known = typeof code === 'string' ? code : undefined
  if (known !== undefined && severity !== undefined)
    return {
      code: known,
      cause,
      isTransient: TRANSIENT.test(known),
      effect: MAYBE_COMMITTED.test(known) ? 'unknown' : 'none'
    }
  if (known !== undefined)
    return {
      code: known,
      cause,
      isTransient: BROKEN.test(known),
      effect: isUnconnected(cause) ? 'none' : 'unknown'
    }
  const text = typeof message === 'string' ? message : ''
  if (UNSENT.test(text)) return { code: 'ETIMEDOUT', cause, isTransient: true, effect: 'none' }
  if (CUT.test(text)) return { code: 'ECONNRESET', cause, isTransient: true, effect: 'unknown' }
  return { code: 'UNKNOWN', cause, isTransient: false, effect: /after calling end/.test(text) ? 'none' : 'unknown' }
}

/** A failure that the store itself detects. */
export const refusal = (code: string, message: string, option?: string): Failure<never> => ({
  code,
  cause: new Error(message),
  isTransient: false,
  effect: 'none',
  ...defined({ option })
})

/** An error of the port with which the store refuses a call. */
export const refused = <Refused extends StorageError>(error: Refused): Failure<Refused> => ({
  code: error._tag,
  cause: error,
  isTransient: false,
  effect: 'none',
  error
})
