/** Parses a journal (one owner's claim, a base and the changes after it) and describes its damage (`docs/file-format.md` §2). Pure. */
import { constants, isAscii } from 'node:buffer'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as Summary from '../../../domain/checkpoint/Summary.js'
import type { Json, JsonObject } from '../../../domain/data/Json.js'
import { isObject } from '../../../domain/data/Json.js'
import type { Newest } from '../../../domain/checkpoint/RunChanged.js'
import type { Owner } from '../../../ports/CheckpointStorage.js'
import * as Line from './Line.js'
import type { ProcessIdentity } from '../claim/Processes.js'
import { journalName } from '../files/Layout.js'

/** The format that this version writes, and the newest that it reads. */
export const FORMAT = 1

/** A claim's socket: its inode and device, and the boot of the kernel that created it. */
export interface SocketRecord {
  readonly inode: string
  readonly device: string
  readonly bootId: string
}

/**
 * Line 1: the owner. `epoch` is the file's number; `lineage` is shared by all journals of a run, `token` by those of one claim. `removal`: the
 * claim only serves to remove the run.
 */
export interface ClaimRecord {
  readonly runId: string
  readonly epoch: number
  readonly lineage: string
  readonly token: string
  readonly owner: Owner
  readonly since: string
  readonly process: ProcessIdentity
  readonly socket?: SocketRecord
  readonly removal?: true
}

/** What a claim found: the newest revision and the number of its journal; `revision` -1 and `epoch` 0 if nothing is stored. */
export interface FoundRecord {
  readonly epoch: number
  readonly revision: number
}

export interface Base {
  readonly revision: number
  readonly checkpoint: Json
}

/** A line that differs from what was written. Lines count from 1. */
export interface Damage {
  readonly line: number
  readonly why: string
}

/** The readable part of a journal. */
export interface Journal {
  /** `undefined` if line 1 is damaged. */
  readonly claim: ClaimRecord | undefined
  /** The checksum in line 1. It is unique, because no two journals have both the same token and the same epoch. */
  readonly sum: string
  /** `undefined` if line 1 is damaged, if the claim ended before it recorded this, and after a recovery, a compaction or a claim for a removal. */
  readonly found: FoundRecord | undefined
  readonly base: Base | undefined
  /** `changes[i]` led to `base.revision + i`, so `base.checkpoint` contains `changes[0]`; empty without a base. */
  readonly changes: ReadonlyArray<Json>
  readonly released: boolean
  /** The summary in the released line. */
  readonly summary: Summary.Summary | undefined
  /** Damage of line 1, which affects no other line, and of the first other damaged line, which ends the journal. */
  readonly damage: ReadonlyArray<Damage>
  /** The offset after the last valid line. */
  readonly end: number
  /** True if only NUL bytes follow `end`. */
  readonly clean: boolean
}

type Draft = {
  -readonly [K in Exclude<keyof Journal, 'sum' | 'clean'>]: Journal[K] extends ReadonlyArray<infer A>
    ? Array<A>
    : Journal[K]
} & { newerFormat: number | undefined }

/** Parses the bytes of a journal. Left: the format, if it is newer than ours. */
export const parse = (bytes: Buffer, runId: string, number: number): E.Either<number, Journal> => {
  const written = bytes.subarray(0, endOfWritten(bytes))
  // Slices of one string take half the time of a string for each line.
  const isText = written.length <= constants.MAX_STRING_LENGTH && isAscii(written)
  const text = isText ? written.toString('latin1') : undefined
  const draft: Draft = {
    claim: undefined,
    found: undefined,
    base: undefined,
    changes: [],
    released: false,
    summary: undefined,
    damage: [],
    end: 0,
    newerFormat: undefined
  }
  let line = 0
  for (let from = 0; from < written.length && !draft.damage.some(endsJournal);) {
    line++
    const newline = (text ?? written).indexOf('\n', from)
    const until = newline === -1 ? written.length : newline
    const decoded = Line.decode(text?.slice(from, until) ?? written.subarray(from, until))
    // A whole last line may have a damaged newline.
    const record = newline === -1 && E.isLeft(decoded) ? Line.decode(written.subarray(from, until - 1)) : decoded
    const why = addLine(draft, record, line, runId, number)
    if (draft.newerFormat !== undefined) return E.left(draft.newerFormat)
    const isLast = until + 1 >= written.length
    if (why === undefined) draft.end = Math.min(until + 1, written.length)
    else if (line > 1 && isLast && (newline === -1 || hasHole(written.subarray(from, until), from))) break
    else draft.damage.push({ line, why })
    from = until + 1
  }
  if (line === 0) draft.damage.push({ line: 1, why: 'the file is empty' })
  const { newerFormat: _, ...journal } = draft
  return E.right({ ...journal, sum: sumIn(bytes), clean: draft.end === written.length })
}

/** The bytes where line 1 has its checksum. */
export const sumIn = (bytes: Buffer): string => bytes.toString('latin1', Line.SUM_BEGIN, Line.SUM_END)

/** A disk writes a sector completely or not at all. */
const SECTOR_BYTES = 512

/** True if sectors of a line never reached the disk: each run of NUL bytes begins with the line or a sector, and ends with a sector. */
const hasHole = (text: Buffer, offset: number): boolean => {
  let from = text.indexOf(0)
  if (from === -1) return false
  while (from !== -1) {
    let until = from
    while (until < text.length && text[until] === 0) until++
    const begins = from === 0 || (offset + from) % SECTOR_BYTES === 0
    const ends = (offset + until) % SECTOR_BYTES === 0
    if (!begins || !ends) return false
    from = text.indexOf(0, until)
  }
  return true
}

/** Damage of line 1 leaves the other lines usable. */
const endsJournal = ({ line }: Damage): boolean => line > 1

const NULS = Buffer.alloc(4096)

/** Skips the preallocated tail by blocks, because a loop over its bytes takes milliseconds. */
export const endOfWritten = (bytes: Buffer): number => {
  let end = bytes.length
  while (end >= NULS.length && bytes.subarray(end - NULS.length, end).equals(NULS)) end -= NULS.length
  while (end > 0 && bytes[end - 1] === 0) end--
  return end
}

/** Adds a line to the draft, or returns the reason why it is damaged. */
const addLine = (
  draft: Draft,
  decoded: E.Either<string, JsonObject>,
  line: number,
  runId: string,
  number: number
): string | undefined => {
  if (E.isLeft(decoded)) return decoded.left
  const record = decoded.right
  if (draft.released) return 'it comes after the end of the journal'
  if ((record['kind'] === 'claim') !== (line === 1)) return 'it is out of order'
  switch (record['kind']) {
    case 'claim':
      return takeFormat(draft, record) ?? misplacement(record, runId, number) ?? takeClaim(draft, record)
    case 'found':
      return line === 2 ? takeFound(draft, record) : 'it is out of order'
    case 'base':
      if (draft.base !== undefined) return 'it is a second base'
      return takeFormat(draft, record) ?? misplacement(record, runId, number) ?? takeBase(draft, record)
    case 'save':
      return takeSave(draft, record)
    case 'released':
      draft.released = true
      draft.summary = O.toUndefined(Summary.decode(record['summary']))
      return undefined
    default:
      return 'its kind is unknown'
  }
}

const takeFormat = (draft: Draft, { format }: JsonObject): string | undefined => {
  if (!isCount(format) || format < 1) return 'it has no format'
  if (format > FORMAT) draft.newerFormat = format
  return format > FORMAT ? 'its format is newer' : undefined
}

/** Returns why a line does not belong in this file. The file was renamed, or copied from another run. */
const misplacement = (record: JsonObject, runId: string, number: number): string | undefined => {
  const { epoch } = record
  if (record['runId'] !== runId) return 'it belongs to another run'
  if (epoch === number) return undefined
  return isCount(epoch) ? `it belongs to the file ${journalName(epoch)}` : 'its number is invalid'
}

const takeClaim = (draft: Draft, record: JsonObject): string | undefined => {
  const { lineage, token, owner, since, process } = record
  if (!isToken(lineage) || !isToken(token) || typeof since !== 'string') return 'it is not a claim'
  if (!isObject(owner ?? null) || !isObject(process ?? null)) return 'it is not a claim'
  const { host, pid } = owner as JsonObject
  const identity = processIdentity(process as JsonObject)
  if (typeof host !== 'string' || typeof pid !== 'number' || identity === undefined) return 'it is not a claim'
  const socket = record['socket'] === undefined ? {} : socketRecord(record['socket'])
  if (socket === undefined) return 'it is not a claim'
  draft.claim = {
    runId: record['runId'] as string,
    epoch: record['epoch'] as number,
    lineage,
    token,
    owner: { host, pid },
    since,
    process: identity,
    ...socket,
    ...(record['removal'] === true ? { removal: true } : {})
  }
  return undefined
}

const processIdentity = (record: JsonObject): ProcessIdentity | undefined => {
  const { host, pid, thread, start, bootId, pidNamespace, timeNamespace } = record
  return typeof host === 'string' &&
    isCount(pid) &&
    isCount(thread) &&
    typeof start === 'string' &&
    isTextOrNull(bootId) &&
    isTextOrNull(pidNamespace) &&
    isTextOrNull(timeNamespace)
    ? { host, pid, thread, start, bootId, pidNamespace, timeNamespace }
    : undefined
}

const socketRecord = (record: Json): { readonly socket: SocketRecord } | undefined => {
  if (!isObject(record)) return undefined
  const { inode, device, bootId } = record
  return typeof inode === 'string' && typeof device === 'string' && typeof bootId === 'string'
    ? { socket: { inode, device, bootId } }
    : undefined
}

const takeFound = (draft: Draft, { epoch, revision }: JsonObject): string | undefined => {
  if (!isCount(epoch) || !Number.isSafeInteger(revision)) return 'it is not a found line'
  // After a damaged claim line, the found line may belong to another run, so it does not limit what is read.
  if (draft.claim !== undefined) draft.found = { epoch, revision: revision as number }
  return undefined
}

const takeBase = (draft: Draft, { revision, checkpoint, changes }: JsonObject): string | undefined => {
  if (!isCount(revision) || checkpoint === undefined || !isNonEmptyArray(changes)) return 'it is not a base'
  draft.base = { revision, checkpoint }
  for (const change of changes) draft.changes.push(change)
  return undefined
}

const takeSave = (draft: Draft, { revision, changes }: JsonObject): string | undefined => {
  if (!isCount(revision) || !isNonEmptyArray(changes)) return 'it is not a save'
  if (draft.base === undefined) return 'there is no base before it'
  const expected = draft.base.revision + draft.changes.length
  if (revision !== expected) return `it has revision ${revision} where ${expected} should be`
  for (const change of changes) draft.changes.push(change)
  return undefined
}

const isCount = (value: Json | undefined): value is number => Number.isSafeInteger(value) && (value as number) >= 0

const isToken = (value: Json | undefined): value is string => typeof value === 'string' && /^[0-9a-f]{32}$/.test(value)

const isTextOrNull = (value: Json | undefined): value is string | null => value === null || typeof value === 'string'

const isNonEmptyArray = (value: Json | undefined): value is ReadonlyArray<Json> =>
  Array.isArray(value) && value.length > 0

/** The newest revision; -1 without a base. */
export const newestRevision = (self: Journal): number =>
  self.base === undefined ? -1 : self.base.revision + self.changes.length - 1

/** The newest revision, and the time of its change. */
export const newestIn = (self: Journal): Newest => {
  const change = self.changes.at(-1)
  const at = isObject(change ?? null) ? (change as JsonObject)['at'] : undefined
  return { revision: newestRevision(self), at: typeof at === 'string' ? at : undefined }
}

/** Limits a journal to what a later claim found; the lines after that were refused. */
export const upTo = (self: Journal, number: number, found: FoundRecord | undefined): Journal => {
  if (found === undefined || number < found.epoch) return self
  if (number > found.epoch) return { ...self, base: undefined, changes: [], damage: [] }
  if (self.base === undefined || self.base.revision > found.revision) return { ...self, base: undefined, changes: [] }
  const changes = self.changes.slice(0, found.revision - self.base.revision + 1)
  // Damage after the found revision affects only refused lines.
  const reaches = newestRevision(self) >= found.revision
  return { ...self, changes, damage: reaches ? self.damage.filter(({ line }) => line === 1) : self.damage }
}

/** The state that a journal's claim found, if it is in a lower journal. Journals in between do not count. */
export const foundIn = ({ found }: Journal, number: number): FoundRecord | undefined =>
  found !== undefined && found.epoch < number ? found : undefined
