/**
 * Run ids. The strict grammar keeps them safe as file names everywhere.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'
import { sha256 } from '../data/Digest.js'

/** Why a string is not a valid run id. */
export interface InvalidRunId {
  readonly _tag: 'InvalidRunId'
  readonly runId: string
  readonly why: string
}

const PATTERN = /^[a-z0-9][a-z0-9._-]{0,127}$/
const DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/

/**
 * Validates a run id: lower-case letters, digits, `.`, `_` and `-`, 1 to 128 of them, first a letter or digit, no dot at the end, no
 * Windows device name.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { RunId } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * assert.deepEqual(RunId.parse('release-42'), E.right('release-42'))
 * assert.ok(E.isLeft(RunId.parse('../release')))
 *
 * @category constructors
 */
export const parse = (runId: string): E.Either<InvalidRunId, string> => {
  const why = problem(runId)
  return why === undefined ? E.right(runId) : E.left({ _tag: 'InvalidRunId', runId, why })
}

const problem = (runId: string): string | undefined => {
  if (typeof runId !== 'string') return 'pass a string'
  if (!PATTERN.test(runId)) {
    return 'use 1 to 128 characters from a-z, 0-9, ".", "_" and "-", first a letter or digit'
  }
  if (runId.endsWith('.')) return 'it ends with a dot'
  if (DEVICE.test(runId)) return 'it is a device name on Windows'
  return undefined
}

/**
 * Returns a run id for any string that identifies the work in a host (a job id of a queue, a URL). Different strings have different ids:
 * other characters are escaped as `_` and four hex digits for each UTF-16 unit, and too long results are replaced by their SHA-256.
 *
 * @example
 * import { RunId } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * assert.equal(RunId.fromHostId('Job:7'), 'h-_004aob_003a7')
 *
 * @category constructors
 */
export const fromHostId = (hostId: string): string => {
  // Untyped hosts may pass anything; each call refuses an id that is no string.
  if (typeof hostId !== 'string') return hostId
  const escaped = `h-${hostId.replace(/[^a-z0-9-]/g, (unit) => escapeUnit(unit))}`
  return escaped.length <= 128 ? escaped : `hash-${sha256(escaped)}`
}

const escapeUnit = (unit: string): string => `_${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
