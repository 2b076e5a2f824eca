/** Claims a run (`docs/file-format.md` §3); the comments below use its step numbers. */
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import type { ClaimOptions, Holder, Owner, RemoveOptions, StorageError } from '../../../ports/CheckpointStorage.js'
import { changedSince } from '../../../domain/checkpoint/RunChanged.js'
import type { Context } from '../Context.js'
import * as CheckpointCopy from '../journal/CheckpointCopy.js'
import { isMissing, quietly, reading, writeFailed } from '../files/Fault.js'
import { sync, syncOther, writeFully } from '../files/Files.js'
import * as Folders from '../files/Folders.js'
import * as Heartbeat from './Heartbeat.js'
import type { ClaimRecord, FoundRecord } from '../journal/Journal.js'
import { newestIn } from '../journal/Journal.js'
import * as Layout from '../files/Layout.js'
import { holderOf } from './Liveness.js'
import { cleanUp } from '../journal/Prune.js'
import type { Published, Unpublished } from '../journal/Publish.js'
import { discard, foundLine, prepare, publish, publishEnd, releasedLine, ownership } from '../journal/Publish.js'
import type { Content, Journals, Reading } from '../journal/Read.js'
import * as Read from '../journal/Read.js'
import type { Numbered } from '../journal/ReadOne.js'
import { isSameJournal, hasNotGrown } from '../journal/ReadOne.js'
import type { Holding } from './Holding.js'
import * as Holdings from './Holding.js'
import * as Socket from './Socket.js'

/** A granted claim and what is stored. */
export interface Granted {
  readonly holding: Holding
  readonly content: Content | undefined
}

/** `removal`: the options of the removal, if the claim only serves to remove the run (§9). */
export interface ClaimSettings extends ClaimOptions {
  readonly removal?: RemoveOptions
}

/** What all attempts of one call of `claim` share, and what to clean up if it fails. */
interface ClaimCall {
  readonly context: Context
  readonly layout: Layout.Layout
  readonly record: Omit<ClaimRecord, 'epoch' | 'lineage' | 'socket'>
  readonly removal: RemoveOptions | undefined
  readonly takeOver: boolean
  /** The token of the only claim that `takeOver` applies to: the undecided one seen first. */
  undecided: string | undefined
  holding: Holding | undefined
  heartbeat: Heartbeat.Heartbeat | undefined
  socket: Socket.AliveSocket | undefined
  /** The number of the journal that the call may have published. */
  number: number | undefined
  /** The number of unpublished journals that the call created. */
  files: number
  /** How often the call waited for a removal of the run. */
  waits: number
}

/** `undefined`: another claim was faster, so the call repeats the attempt. */
type Outcome = E.Either<StorageError, Granted | undefined>

const AGAIN: Outcome = E.right(undefined)

const MOST_ATTEMPTS = 100

export const claim = async (
  context: Context,
  layout: Layout.Layout,
  owner: Owner,
  { removal, takeOver = false }: ClaimSettings = {}
): Promise<E.Either<StorageError, Granted>> => {
  const self = await reading('/proc/self', 'identify', () => context.processes.self())
  if (E.isLeft(self)) return self
  const call: ClaimCall = {
    context,
    layout,
    record: {
      runId: layout.runId,
      token: Layout.newToken(),
      owner: { host: owner.host, pid: owner.pid },
      since: new Date().toISOString(),
      process: self.right,
      ...(removal === undefined ? {} : { removal: true })
    },
    removal,
    takeOver,
    undecided: undefined,
    holding: undefined,
    heartbeat: undefined,
    socket: undefined,
    number: undefined,
    files: 0,
    waits: 0
  }
  for (let attempts = 1; ; attempts++) {
    const outcome = await attemptOnce(call)
    if (E.isRight(outcome) && outcome.right !== undefined) return E.right(outcome.right)
    // A missing folder: another process removed the run.
    if (attempts < MOST_ATTEMPTS && (E.isRight(outcome) || isMissing(outcome.left))) continue
    await giveUp(call)
    return E.isLeft(outcome) ? outcome : E.left(writeFailed(layout.history, 'link', CROWDED, 'no'))
  }
}

/** If the failed call may have published a journal, its socket stays and refuses connections; this thread counts the token as dead. */
const giveUp = async ({ context, layout, record, heartbeat, socket, number }: ClaimCall): Promise<void> => {
  if (heartbeat === undefined) return
  context.givenUp.add(record.token)
  if (number !== undefined && isThere(context, Layout.journal(layout, number))) socket?.close()
  else socket?.remove()
  await heartbeat.stop()
}

const CROWDED = { code: 'EAGAIN', message: `another claim was quicker, ${MOST_ATTEMPTS} times; try again` }

const attemptOnce = async (call: ClaimCall): Promise<Outcome> => {
  const { context, layout, record } = call
  const before = await readFirst(call)
  if (E.isLeft(before)) return before
  const ready = await getReady(call, before.right)
  if (E.isLeft(ready)) return ready
  const file = await prepare(context, layout, record.token, ++call.files)
  if (E.isLeft(file)) return file
  const outcome = await publishNext(call, before.right, file.right)
  if (E.isLeft(outcome) || outcome.right === undefined || call.removal !== undefined) return outcome
  await quietly(() => cleanUp(context, layout, record.token, before.right?.highest?.claim?.token))
  return outcome
}

/** Step 1. A claim that is refused here changes nothing. */
const readFirst = async (call: ClaimCall): Promise<E.Either<StorageError, Journals | undefined>> => {
  const { layout } = call
  const found = await readFree(call)
  if (E.isLeft(found)) return found
  if (found.right === undefined) return E.right(undefined)
  const { journals, content } = found.right
  if (E.isLeft(content)) return content
  const unchanged = await refuseRemovalOfChanged(call, journals)
  if (E.isLeft(unchanged)) return unchanged
  return (journals.numbers[0] ?? 0) < Layout.MAX_NUMBER
    ? E.right(journals)
    : E.left({ _tag: 'Corrupt', runId: layout.runId, where: layout.history, why: 'it has no number left for a claim' })
}

/** About as long as a removal holds its run: a claim waits this time between two reads. */
const REMOVAL_MILLIS = 10

/**
 * Reads the run, unless another owner holds it. While a removal holds it, a claim waits, because a removal is short: then the run is
 * deleted, or kept because of a newer save. While it waits, the claim reads only the highest journal, because a run may be large.
 */
const readFree = async (call: ClaimCall): Promise<E.Either<StorageError, Reading | undefined>> => {
  const { context, layout, removal } = call
  const readNeeded = removal === undefined ? Read.read : Read.readHighest
  let read = readNeeded
  for (;;) {
    const found = await read(context, layout)
    if (E.isLeft(found) || found.right === undefined) return found
    const { highest } = found.right.journals
    const holder = await holderOf(context, layout, highest)
    const isFree = holder === undefined || mayTakeOver(call, holder, highest?.claim?.token)
    if (isFree && read === readNeeded) return found
    if (isFree) read = readNeeded
    else if (removal === undefined && highest?.claim?.removal === true && call.waits++ < MOST_ATTEMPTS) {
      await sleep(REMOVAL_MILLIS)
      read = Read.readHighest
    } else return E.left({ _tag: 'HeldBy', runId: layout.runId, holder })
  }
}

/** Refuses a removal if the run has another newest revision than its options name. The highest journal has no base if its claim saved nothing. */
const refuseRemovalOfChanged = async (
  { context, layout, removal = {} }: ClaimCall,
  { highest }: Journals
): Promise<E.Either<StorageError, void>> => {
  if (removal.newest === undefined) return E.right(undefined)
  const isWhole = highest?.base !== undefined && highest.damage.length === 0
  const newest = isWhole ? E.right(newestIn(highest)) : await Read.newest(context, layout)
  if (E.isLeft(newest)) return newest
  const changed = changedSince(layout.runId, removal, newest.right)
  return changed === undefined ? E.right(undefined) : E.left(changed)
}

const mayTakeOver = (call: ClaimCall, { liveness }: Holder, token: string | undefined): boolean => {
  if (!call.takeOver || liveness === 'alive' || token === undefined) return false
  call.undecided ??= token
  return call.undecided === token
}

/** The first part of step 2: folders, heartbeat and socket. */
const getReady = async (call: ClaimCall, before: Journals | undefined): Promise<E.Either<StorageError, void>> => {
  const { context, layout, record } = call
  if (before?.highest === undefined) {
    const folders = await Folders.ensure(context, layout)
    if (E.isLeft(folders)) return folders
  }
  const beating = await ensureHeartbeat(call)
  if (E.isLeft(beating)) return beating
  if (call.socket !== undefined && isThere(context, Layout.socket(layout, record.token))) return E.right(undefined)
  call.socket?.close()
  call.socket = await Socket.make(context, layout, record.token, record.process.bootId)
  return E.right(undefined)
}

const ensureHeartbeat = async (call: ClaimCall): Promise<E.Either<StorageError, void>> => {
  const { context, layout, record } = call
  if (call.removal !== undefined) {
    call.heartbeat = Heartbeat.NONE
    return E.right(undefined)
  }
  if (call.heartbeat !== undefined && isThere(context, Layout.heartbeat(layout, record.token)))
    return E.right(undefined)
  await call.heartbeat?.stop()
  const heartbeat = await Heartbeat.start(
    Layout.heartbeat(layout, record.token),
    context,
    () => call.holding === undefined || Holdings.checkOwner(call.holding),
    (error) => call.holding?.lose(error)
  )
  // Before its journal has a number, a claim has written nothing that another process could find.
  if (E.isLeft(heartbeat)) return call.number === undefined ? E.left({ ...heartbeat.left, committed: 'no' }) : heartbeat
  call.heartbeat = heartbeat.right
  return E.right(undefined)
}

const isThere = ({ fs }: Context, path: string): boolean => {
  try {
    return fs.lstatSync(path) !== undefined
  } catch {
    return false
  }
}

/** The rest of step 2, and steps 3 to 5. */
const publishNext = async (call: ClaimCall, before: Journals | undefined, file: Unpublished): Promise<Outcome> => {
  const { context, layout } = call
  const listed = await Read.list(context, layout)
  const highest = E.isRight(listed) ? (listed.right?.[0] ?? 0) : 0
  const same = E.isLeft(listed) ? listed : await isHighestAsRead(call, highest, before)
  if (E.isLeft(same) || !same.right) {
    await discard(context, file)
    return E.isLeft(same) ? same : AGAIN
  }
  const lineage = before?.lineage ?? Layout.newToken()
  const socket = call.socket === undefined ? {} : { socket: call.socket.record }
  const record: ClaimRecord = { ...call.record, ...socket, lineage, epoch: highest + 1 }
  const published = await publish(context, layout, file, record)
  if (E.isLeft(published) || published.right._tag === 'Published') call.number = record.epoch
  if (E.isLeft(published)) return published
  if (published.right._tag !== 'Published') return AGAIN
  const { journal } = published.right
  const outcome = await grant(call, record, journal, before)
  if (E.isLeft(outcome) || outcome.right === undefined) await releaseJournal(call, record, journal, outcome)
  return outcome
}

/** Compares more than the number, because another run with as many journals may have started under the id. */
const isHighestAsRead = async (
  { context, layout }: ClaimCall,
  number: number,
  before: Journals | undefined
): Promise<E.Either<StorageError, boolean>> => {
  if (number !== (before?.numbers[0] ?? 0)) return E.right(false)
  const journal = before?.highest
  return journal === undefined ? E.right(true) : await isSameJournal(context, layout, { number, journal })
}

/** Steps 6 and 7. */
const grant = async (
  call: ClaimCall,
  record: ClaimRecord,
  journal: Published,
  before: Journals | undefined
): Promise<Outcome> => {
  const { context, layout, heartbeat, socket } = call
  const same = await isUnchangedForRemoval(call, journal.number, before)
  if (E.isLeft(same)) return same
  if (!same.right) return AGAIN
  const below = await readBelow(call, journal.number, before)
  if (E.isLeft(below)) return below
  const { content, found, newest } = below.right
  const summary = newest?.journal.summary
  const recorded = found === undefined ? below : await recordFound(context, layout, journal, found, newest)
  if (E.isLeft(recorded)) return recorded
  const now = ownership(context.fs, journal)
  if (E.isLeft(now)) return now
  if (now.right !== 'Owner' || heartbeat === undefined) return AGAIN
  const revision = content?.revision ?? -1
  const parts = { context, layout, record, journal, heartbeat, socket, found, revision }
  call.holding = Holdings.make({ ...parts, summary: summary?.revision === found?.revision ? summary : undefined })
  return E.right({ holding: call.holding, content })
}

/** Returns false if the run has changed since a removal read it: its owner has saved, or another run with as many journals has its id. */
const isUnchangedForRemoval = async (
  { context, layout, removal }: ClaimCall,
  number: number,
  before: Journals | undefined
): Promise<E.Either<StorageError, boolean>> => {
  const highest = before?.highest
  if (removal?.newest === undefined || highest === undefined) return E.right(true)
  return await hasNotGrown(context, layout, { number: number - 1, journal: highest })
}

/** Releases the journal of a failed claim: with a released line in it or, if writing it failed, with the next number. */
const releaseJournal = async (
  { context, layout }: ClaimCall,
  record: ClaimRecord,
  journal: Published,
  outcome: Outcome
): Promise<void> => {
  const { path, fd, position } = journal
  const isBroken = E.isLeft(outcome) && outcome.left._tag === 'WriteFailed' && outcome.left.where === path
  const ended = isBroken ? outcome : await writeFully(context.fs, path, fd, releasedLine(), position)
  if (E.isLeft(ended)) await publishEnd(context, layout, journal, record)
  await quietly(() => context.fs.close(fd))
}

/** What a claim starts from. `found`: what it records for later readers; absent if the content was recovered. */
interface StartingPoint {
  readonly content: Content | undefined
  readonly found: FoundRecord | undefined
  readonly newest: Numbered | undefined
}

const NOTHING: StartingPoint = { content: undefined, found: undefined, newest: undefined }

/** Step 6. An earlier read still holds if the same journals have not grown, because they are only appended to. */
const readBelow = async (
  { context, layout, removal }: ClaimCall,
  number: number,
  before: Journals | undefined
): Promise<E.Either<StorageError, StartingPoint>> => {
  if (removal !== undefined) return E.right(NOTHING)
  const probed = await CheckpointCopy.probe(context, layout)
  if (E.isLeft(probed)) return probed
  const holds = before === undefined ? E.right(false) : await hasNoJournalGrown(context, layout, number, before)
  if (E.isLeft(holds)) return holds
  const journals = holds.right ? E.right(before) : await Read.readJournals(context, layout, number)
  if (E.isLeft(journals)) return journals
  if (journals.right === undefined) return E.right(NOTHING)
  const { newest } = journals.right
  const stored = await Read.contentOf(context, layout, probed.right, journals.right)
  return E.map((content: Content | undefined): StartingPoint => {
    if (content === undefined) return { content, found: { epoch: 0, revision: -1 }, newest }
    const isExact = content.found._tag === 'Exact'
    const found = isExact ? { epoch: newest?.number ?? 0, revision: content.revision } : undefined
    return { content, found, newest }
  })(stored)
}

/** Records what was found, and syncs it before a base follows: its owner may have died between a write and its sync. */
const recordFound = async (
  { fs }: Context,
  layout: Layout.Layout,
  journal: Published,
  found: FoundRecord,
  newest: Numbered | undefined
): Promise<E.Either<StorageError, void>> => {
  if (newest?.journal.released === false) {
    const durable = await syncOther(fs, Layout.journal(layout, newest.number))
    if (E.isLeft(durable)) return durable
  }
  const line = foundLine(found)
  const written = await writeFully(fs, journal.path, journal.fd, line, journal.position)
  if (E.isLeft(written)) return written
  journal.position += line.length
  journal.allocated = journal.position
  return sync(fs, journal.path, journal.fd)
}

const hasNoJournalGrown = async (
  context: Context,
  layout: Layout.Layout,
  number: number,
  { numbers, inspected, newest }: Journals
): Promise<E.Either<StorageError, boolean>> => {
  if (newest === undefined || numbers[0] !== number - 1) return E.right(false)
  for (const journal of inspected) {
    const same = await hasNotGrown(context, layout, journal)
    if (E.isLeft(same) || !same.right) return same
  }
  return E.right(true)
}
