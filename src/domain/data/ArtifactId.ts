/**
 * Validates artifact ids: the names of what a run stores. They look like paths, and no store uses one as a path.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'

/** Why a string is not a valid artifact id. */
export interface InvalidArtifactId {
  readonly _tag: 'InvalidArtifactId'
  readonly id: string
  readonly why: string
}

/** The maximum length of an artifact id, in UTF-16 units. */
const MAX_LENGTH = 512

/**
 * Validates an artifact id: 1 to 512 characters, in segments between `/`. No segment is empty, `.` or `..`; control characters, backslashes
 * and lone surrogates are invalid.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { ArtifactId } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * assert.deepEqual(ArtifactId.parse('reports/coverage.json'), E.right('reports/coverage.json'))
 * assert.ok(E.isLeft(ArtifactId.parse('../reports')))
 *
 * @category constructors
 */
export const parse = (id: string): E.Either<InvalidArtifactId, string> => {
  const why = problem(id)
  return why === undefined ? E.right(id) : E.left({ _tag: 'InvalidArtifactId', id, why })
}

const problem = (id: string): string | undefined => {
  if (typeof id !== 'string') return 'pass a string'
  if (id === '') return 'it is empty'
  if (id.length > MAX_LENGTH) return `it has more than ${MAX_LENGTH} characters`
  if (id.startsWith('/')) return 'it begins with "/"'
  if (/\p{Cc}/u.test(id)) return 'it has a control character'
  if (/\p{Cs}/u.test(id)) return 'it has half a character (a lone surrogate)'
  if (id.includes('\\')) return 'it has a backslash'
  const segments = id.split('/')
  if (segments.includes('')) return 'it has an empty segment'
  return segments.some((one) => one === '.' || one === '..') ? 'it has a segment "." or ".."' : undefined
}

/** Returns whether an id is reserved: it begins with `_`. Steps cannot store these, and `clear` keeps them. */
export const isReserved = (id: unknown): boolean => typeof id === 'string' && id.startsWith('_')
