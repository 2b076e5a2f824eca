/**
 * What can be wrong with a store: the flaws that the mutants have, and the case of the kit that names each.
 *
 * @since 0.1.0
 */
import type { Json } from '../../domain/Json.js'

/**
 * Each flaw, and the case that finds it. Others may find it as well.
 *
 * @example
 * import { KILLED_BY } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * assert.equal(KILLED_BY['does not fence'], 'CS-FENCE-01')
 *
 * @category model
 * @since 0.1.0
 */
export const KILLED_BY = {
  'folds the case of ids': 'CS-ID-02',
  'removes every run that begins alike': 'CS-ID-04',
  'drops saves that come at the same time': 'CS-ID-06',
  'loses keys that objects have': 'CS-TRIP-05',
  'mends lone surrogates': 'CS-TRIP-04',
  'makes dates of texts': 'CS-TRIP-10',
  'gives away what it keeps': 'CS-TRIP-13',
  'takes every owner for dead': 'CS-CLAIM-02',
  'takes every owner for alive': 'CS-CLAIM-06',
  'uses an epoch again after a release': 'CS-CLAIM-07',
  'grants two claims at once': 'CS-CLAIM-09',
  'begins before it is asked to': 'CS-CLAIM-11',
  'does not fence': 'CS-FENCE-01',
  'forgets whom it fenced': 'CS-FENCE-02',
  'never tells an owner that it was superseded': 'CS-FENCE-03',
  'lets anybody give a claim back': 'CS-FENCE-04',
  'forgets the epochs of a removed run': 'CS-FENCE-06',
  'lets the last save win': 'CS-REV-03',
  'looks at the first revision of a save only': 'CS-REV-04',
  'stores two saves of one revision': 'CS-REV-05',
  'loses the last of several revisions': 'CS-ATOM-01',
  'writes the revisions of a save one by one': 'CS-ATOM-02',
  'tells its history oldest first': 'CS-HIST-01',
  'is off by one in its history': 'CS-HIST-02',
  'lists runs in no order': 'CS-LIST-01',
  'removes runs that are held': 'CS-REMOVE-02',
  'brings removed runs back': 'CS-REMOVE-05',
  'acknowledges before it writes': 'CS-OPEN-01',
  'remembers what it has read': 'CS-OPEN-02',
  'does not look whether content is damaged': 'CS-DAMAGE-01',
  'takes damaged content for none': 'CS-DAMAGE-02',
  'lists nothing if one run is damaged': 'CS-DAMAGE-03',
  'reads newer formats': 'CS-FORMAT-01',
  'takes what it can not read for nothing': 'CS-ERROR-01',
  'falls back to something older when it can not read': 'CS-ERROR-01',
  'swallows errors': 'CS-ERROR-02',
  'takes a run that is not there for an error': 'CS-TRIP-01',
  'gives away the history that it keeps': 'CS-TRIP-18',
  'calls what is too large a failed write': 'CS-TRIP-19',
  'takes ids for patterns': 'CS-ID-07',
  'keeps its locks among the runs': 'CS-ID-08',
  'writes a checkpoint at a claim': 'CS-CLAIM-01',
  'tells who claims that it holds the run': 'CS-CLAIM-05',
  'holds one run at a time': 'CS-CLAIM-12',
  'cuts hosts at a colon': 'CS-CLAIM-14',
  'tells whoever holds the run that another claim is lost': 'CS-CLAIM-15',
  'takes silent owners for dead': 'CS-CLAIM-17',
  'looks at its claim before its turn': 'CS-FENCE-11',
  'lets saves overtake one another': 'CS-ATOM-03',
  'writes no more than a hundred revisions at once': 'CS-ATOM-04',
  'keeps the last checkpoint of a save for all its revisions': 'CS-HIST-06',
  'fails where two remove at once': 'CS-REMOVE-07',
  'sees who holds a run only if something is stored': 'CS-REMOVE-08',
  'looks who holds a run before it is its turn to remove': 'CS-REMOVE-09',
  'removes what it can not read': 'CS-ERROR-06'
} as const

/**
 * What a mutant does wrong.
 *
 * @category model
 * @since 0.1.0
 */
export type Flaw = keyof typeof KILLED_BY

/** A text that looks like a time becomes one. */
export const mangleDates = (_: string, value: unknown): unknown =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? new Date(value) : value

/** As `target[key] = value` does it for every key. */
export const withoutProto = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(withoutProto)
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, Json> = {}
  for (const [key, one] of Object.entries(value)) copy[key] = withoutProto(one)
  return copy
}

/** As UTF-8 has it. */
export const wellFormed = (value: Json): Json =>
  JSON.parse(JSON.stringify(value).replaceAll(/\\ud[89a-f][0-9a-f]{2}/g, '\\ufffd')) as Json
