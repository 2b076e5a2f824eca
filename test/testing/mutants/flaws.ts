/** The flaws of the mutants, and the case of the kit that names each. */
import type { Json } from '../../../src/domain/data/Json.js'
import { NETWORK_KILLED_BY } from './networkFlaws.js'
import { TAKE_OVER_KILLED_BY } from './takeOverFlaws.js'

/** Each flaw, and the case that finds it. Others may find it as well. */
export const KILLED_BY = {
  'folds the case of ids': 'CS-ID-02',
  'removes every run with the same prefix': 'CS-ID-04',
  'drops saves that come at the same time': 'CS-ID-06',
  'loses keys such as __proto__': 'CS-TRIP-05',
  'replaces lone surrogates': 'CS-TRIP-04',
  'parses strings as dates': 'CS-TRIP-10',
  'returns its own objects': 'CS-TRIP-13',
  'treats every owner as dead': 'CS-CLAIM-02',
  'treats every owner as alive': 'CS-CLAIM-06',
  'reuses an epoch after a release': 'CS-CLAIM-07',
  'grants two claims at once': 'CS-CLAIM-09',
  'starts before its TaskEither is executed': 'CS-CLAIM-11',
  'does not fence': 'CS-FENCE-01',
  'forgets a fenced claim': 'CS-FENCE-02',
  'never reports a claim as lost': 'CS-FENCE-03',
  'lets a superseded owner release': 'CS-FENCE-04',
  'forgets the epochs of a removed run': 'CS-FENCE-06',
  'lets the last save win': 'CS-REV-03',
  'checks only the first revision of a save': 'CS-REV-04',
  'stores two saves of one revision': 'CS-REV-05',
  'loses the last of several revisions': 'CS-ATOM-01',
  'writes the revisions of a save one by one': 'CS-ATOM-02',
  'lists its history oldest first': 'CS-HIST-01',
  'is off by one in its history': 'CS-HIST-02',
  'lists runs in no order': 'CS-LIST-01',
  'begins a page with the run that it follows': 'CS-LIST-04',
  'lists nothing after a run that does not exist': 'CS-LIST-04',
  'applies `limit` before `after`': 'CS-LIST-04',
  'sorts a page by locale': 'CS-LIST-04',
  'lists more than was asked': 'CS-LIST-04',
  'keeps the summary of the first revision of a save': 'CS-LIST-05',
  'keeps the summary of a removed run': 'CS-LIST-05',
  'lists every run as free': 'CS-LIST-05',
  'summarizes what is left of a damaged run': 'CS-DAMAGE-10',
  'does not say whether a failed save is stored': 'CS-ERROR-02',
  'says that nothing of a failed save is stored, and stores it': 'CS-ERROR-10',
  'lists the summary of a save that failed': 'CS-ERROR-10',
  'removes runs that are held': 'CS-REMOVE-02',
  'restores removed runs': 'CS-REMOVE-05',
  'acknowledges before it writes': 'CS-OPEN-01',
  'caches what it read': 'CS-OPEN-02',
  'does not detect damaged content': 'CS-DAMAGE-01',
  'treats damaged content as missing': 'CS-DAMAGE-02',
  'lists nothing if one run is damaged': 'CS-DAMAGE-03',
  'reads newer formats': 'CS-FORMAT-01',
  'treats unreadable content as missing': 'CS-ERROR-01',
  'returns an older revision if a read fails': 'CS-ERROR-01',
  'swallows errors': 'CS-ERROR-02',
  'reports a missing run as an error': 'CS-TRIP-01',
  'returns its own history objects': 'CS-TRIP-18',
  'reports a too large checkpoint as WriteFailed': 'CS-TRIP-19',
  'treats ids as patterns': 'CS-ID-07',
  'keeps its locks among the runs': 'CS-ID-08',
  'writes a checkpoint at a claim': 'CS-CLAIM-01',
  'reports the claimant as the holder': 'CS-CLAIM-05',
  'holds one run at a time': 'CS-CLAIM-12',
  'cuts host names at a colon': 'CS-CLAIM-14',
  'loses the current claim when another one is lost': 'CS-CLAIM-15',
  'treats silent owners as dead': 'CS-CLAIM-17',
  'checks its claim before it has the lock': 'CS-FENCE-11',
  'lets saves overtake one another': 'CS-ATOM-03',
  'writes no more than a hundred revisions at once': 'CS-ATOM-04',
  'keeps the last checkpoint of a save for all its revisions': 'CS-HIST-06',
  'fails if two processes remove at once': 'CS-REMOVE-07',
  'finds a holder only if something is stored': 'CS-REMOVE-08',
  'checks the holder before it has the lock to remove': 'CS-REMOVE-09',
  'refuses to remove a run that has no named revision': 'CS-REMOVE-10',
  'ignores the revision that a removal names': 'CS-REMOVE-11',
  'compares only the number of the revision that a removal names': 'CS-REMOVE-12',
  'checks the revision before it has the lock to remove': 'CS-REMOVE-13',
  'removes an unreadable run': 'CS-ERROR-06',
  'composes characters': 'CS-TRIP-21',
  'rewrites times': 'CS-TRIP-22',
  'drops trailing zeros of times': 'CS-TRIP-22',
  'truncates strings after twelve million characters': 'CS-TRIP-23',
  'checks its limit only at the first save of a claim': 'CS-TRIP-24',
  'counts characters against its limit after the first save of a claim': 'CS-TRIP-24',
  'treats similar ids as equal': 'CS-ID-09',
  'records a refused claimant': 'CS-CLAIM-18',
  'reports a new `since` at each load': 'CS-CLAIM-19',
  'changes `since` at each save': 'CS-CLAIM-19',
  'reports a claim as lost at its release': 'CS-CLAIM-20',
  'renews no lease': 'CS-CLAIM-21',
  'renews no lease that other processes read': 'CS-PROC-08',
  'trusts its cached claim': 'CS-CLAIM-16',
  'keeps the times of its history as dates': 'CS-HIST-08',
  'drops trailing zeros of the times of its history': 'CS-HIST-08',
  'prunes before it writes': 'CS-HIST-07',
  'keeps damaged revisions behind new ones': 'CS-DAMAGE-05',
  'cannot remove a damaged run': 'CS-DAMAGE-06',
  'removes a damaged run that is held': 'CS-DAMAGE-07',
  'signs revisions without their run': 'CS-DAMAGE-08',
  'signs the first revision without its run': 'CS-DAMAGE-08',
  'signs revisions without their number': 'CS-DAMAGE-09',
  'holds a run whose release failed': 'CS-ERROR-07',
  'shows a save that failed': 'CS-ERROR-08',
  'counts a save that failed': 'CS-ERROR-08',
  'keeps a part of a save that failed': 'CS-ERROR-09',
  'caches that a run is free': 'CS-PROC-07',
  'checks its claim in a statement before the save': 'CS-STALL-01',
  'loads in two statements': 'CS-STALL-02',
  'draws an epoch in a statement before the claim': 'CS-STALL-03',
  'reads what is stored in a statement before the claim': 'CS-STALL-03',
  'checks the holder in a statement before the claim': 'CS-STALL-03',
  'checks the holder in a statement before a removal of any revision': 'CS-STALL-04',
  'checks the revision in a statement before the removal': 'CS-STALL-06',
  'relies on a dead owner to save no more': 'CS-STALL-07',
  'checks whose revision it is in a statement before the removal': 'CS-STALL-08',
  'checks its claim in a statement before the release': 'CS-STALL-05',
  ...TAKE_OVER_KILLED_BY,
  ...NETWORK_KILLED_BY
} as const

/** The flaw of a mutant. */
export type Flaw = keyof typeof KILLED_BY

/** Parses strings that look like times. */
export const mangleDates = (_: string, value: unknown): unknown =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? new Date(value) : value

/** Adds milliseconds to a time without any, as a timestamp column does. */
export const rewriteTimes = (_: string, value: unknown): unknown =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value)
    ? new Date(value).toISOString()
    : value

/** Drops trailing zeros of fractional seconds, as some databases print timestamps. */
export const shortTime = (time: string): string => time.replace(/(\.\d*[1-9])0+Z$|\.0+Z$/, '$1Z')

/** Applies `shortTime` to every string that looks like a time. */
export const shortenTimes = (_: string, value: unknown): unknown =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? shortTime(value) : value

/** Truncates strings, as a column with a maximum length does. */
export const cutTexts = (_: string, value: unknown): unknown =>
  typeof value === 'string' ? value.slice(0, 12_000_000) : value

/** Assigns as `target[key] = value` does, for every key. */
export const withoutProto = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(withoutProto)
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, Json> = {}
  for (const [key, one] of Object.entries(value)) copy[key] = withoutProto(one)
  return copy
}

/** Replaces lone surrogates, as UTF-8 does. */
export const wellFormed = (value: Json): Json =>
  JSON.parse(JSON.stringify(value).replaceAll(/\\ud[89a-f][0-9a-f]{2}/g, '\\ufffd')) as Json
