/**
 * Artifact ids: what a run calls something that it keeps. Paths by their looks, so that they nest; no store takes one for a
 * path of its own.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'

/** Why a text is no artifact id. */
export interface InvalidArtifactId {
  readonly _tag: 'InvalidArtifactId'
  readonly id: string
  readonly why: string
}

/** The most characters (UTF-16 units) that an artifact id has. */
export const MAX_LENGTH = 512

/**
 * Accepts an artifact id: 1 to 512 characters, in segments between `/`. No segment is empty, `.` or `..`, and nowhere are
 * control characters, backslashes or halves of characters.
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
  if (typeof id !== 'string') return 'it is not a string'
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

/** Whether an id is reserved: those begin with `_`. A step can't put them, and `clear` keeps them. */
export const isSystem = (id: unknown): boolean => typeof id === 'string' && id.startsWith('_')
