/** The state of a claim that this process holds. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Summary } from '../../../domain/checkpoint/Summary.js'
import type { Claim, Fenced, LostFiles, Revision, StorageError } from '../../../ports/CheckpointStorage.js'
import type { Context } from '../Context.js'
import { quietly } from '../files/Fault.js'
import type { Heartbeat } from './Heartbeat.js'
import type { ClaimRecord, FoundRecord } from '../journal/Journal.js'
import type { Layout } from '../files/Layout.js'
import { isInRemovedFolder } from '../files/Layout.js'
import type { Published } from '../journal/Publish.js'
import { ownership } from '../journal/Publish.js'
import type { Mutex } from './Mutex.js'
import { make as makeMutex } from './Mutex.js'
import type { AliveSocket } from './Socket.js'

export interface Holding {
  readonly context: Context
  readonly layout: Layout
  readonly claim: Claim
  readonly record: ClaimRecord
  readonly lose: (error: StorageError) => void
  readonly mutex: Mutex
  readonly startMillis: number
  /** The state that the claim found, as recorded in its first journal. */
  readonly found: FoundRecord | undefined
  /** The summary of that state, if it was recorded. */
  readonly summary: Summary | undefined
  /** The journal in use. */
  journal: Published
  heartbeat: Heartbeat
  readonly socket: AliveSocket | undefined
  timer: NodeJS.Timeout | undefined
  /** The newest acknowledged revision; -1 if there is none. */
  revision: number
  /** The size of the base in the journal; 0 before the first save. */
  baseBytes: number
  /** The size of the changes in the journal. */
  changeBytes: number
  /** An upper bound of the size of the newest checkpoint. */
  sizeBytes: number
  /** The size of changes from which the store measures whether a compaction pays. */
  compactBytes: number
  /** The size of base and changes from which the store checks for a large checkpoint. */
  warnAtBytes: number
  /** The error of all later saves, once the claim has been fenced or released, or a write has failed. */
  ended: StorageError | undefined
  released: boolean
  /** True during a compaction, when the next number may belong to this claim. */
  compacting: boolean
  /** The newest revision that this claim saved, and the number of its journal. */
  saved: { readonly revision: Revision; readonly number: number } | undefined
  /** The revision that this claim copied to `checkpoint.json`; -1 before the first copy. */
  copied: number
  /** True while a copy is in progress or queued. */
  copying: boolean
  /** The timer of a scheduled copy. */
  copyTimer: NodeJS.Timeout | undefined
  /** The size of this journal's last copy; 0 before the first. */
  copyBytes: number
  /** The total time spent on copies while the run was active. */
  copyingMillis: number
  /** The earliest time of the next copy while the run is active. */
  nextCopyMillis: number
  /** The work that continues after an acknowledgement. It never rejects. */
  background: Promise<void>
}

/** The maximum lag of the copy while the run is active. */
export const COPY_LAG_MILLIS = 1_000

/** Creates the holding of a published journal and watches its claim. */
export const make = (
  parts: Pick<
    Holding,
    'context' | 'layout' | 'record' | 'journal' | 'heartbeat' | 'socket' | 'found' | 'summary' | 'revision'
  >
): Holding => {
  const lost = new AbortController()
  const self: Holding = {
    ...parts,
    claim: { runId: parts.layout.runId, epoch: parts.journal.number, lost: lost.signal },
    lose: (error) => lost.abort(error),
    mutex: makeMutex(),
    startMillis: performance.now(),
    timer: undefined,
    baseBytes: 0,
    changeBytes: 0,
    sizeBytes: 0,
    compactBytes: 0,
    warnAtBytes: parts.context.settings.warnBytes,
    ended: undefined,
    released: false,
    compacting: false,
    saved: undefined,
    copied: -1,
    copying: false,
    copyTimer: undefined,
    copyBytes: 0,
    copyingMillis: 0,
    // A resume runs its first step before it writes a large copy.
    nextCopyMillis: parts.revision < 0 ? 0 : performance.now() + COPY_LAG_MILLIS,
    background: Promise.resolve()
  }
  self.timer = setInterval(() => checkOwner(self), parts.context.settings.checkIntervalMillis)
  self.timer.unref()
  return self
}

/** Checks the ownership and ends a lost holding; returns whether it continues. If it cannot read, the next save repeats the check. */
export const checkOwner = (self: Holding): boolean => {
  if (self.ended !== undefined) return false
  if (self.compacting) return true
  const now = ownership(self.context.fs, self.journal)
  if (E.isRight(now) && now.right !== 'Owner') fence(self, now.right === 'Superseded')
  return self.ended === undefined
}

/** Ends a holding that was superseded or whose run was removed, and fires its `lost` signal. */
export const fence = (self: Holding, isSuperseded: boolean): Fenced => {
  const { runId, epoch } = self.claim
  const by = isSuperseded ? O.some(self.journal.number + 1) : O.none
  const error: Fenced = { _tag: 'Fenced', runId, epoch, by, ...(isSuperseded ? {} : { files: lostFiles(self) }) }
  end(self, error)
  self.lose(error)
  return error
}

/** A removal first moves the folder away; the open file descriptor reveals its new path. */
const lostFiles = ({ context: { fs }, layout, journal }: Holding): LostFiles => {
  try {
    if (isInRemovedFolder(fs.placeSync(journal.fd) ?? '', layout)) return { what: 'Removed', where: layout.run }
    const { root, runs, run, history } = layout
    const missing = [root, runs, run, history, journal.path].find((path) => fs.lstatSync(path) === undefined)
    return missing === undefined ? { what: 'Replaced', where: journal.path } : { what: 'Deleted', where: missing }
  } catch {
    return { what: 'Deleted', where: journal.path }
  }
}

/** Ends a holding after a failed write: its journal is never written again. */
export const poison = <Failure extends StorageError>(self: Holding, error: Failure): Failure => {
  self.context.givenUp.add(self.record.token)
  end(self, error)
  return error
}

/** Stops the timers. Later saves fail with the first error. */
export const end = (self: Holding, error: StorageError): void => {
  self.ended ??= error
  clearInterval(self.timer)
  clearTimeout(self.copyTimer)
}

/** Runs work in the background, after earlier such work; ignores its failure. */
export const runLater = (self: Holding, work: () => Promise<void>): void => {
  self.background = self.background.then(() => quietly(work))
}
