/** Releases a claim and removes a run (`docs/file-format.md` §9). */
import { hostname } from 'node:os'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { RemoveOptions, StorageError } from '../../../ports/CheckpointStorage.js'
import { claim } from './Claim.js'
import type { Context } from '../Context.js'
import * as BackgroundCopy from '../journal/BackgroundCopy.js'
import { isMissing, quietly, writing } from '../files/Fault.js'
import { writeFully } from '../files/Files.js'
import type { Layout } from '../files/Layout.js'
import { removedFolder } from '../files/Layout.js'
import type { ReleasedFacts } from '../journal/Publish.js'
import { publishEnd, releasedLine } from '../journal/Publish.js'
import * as Read from '../journal/Read.js'
import type { Holding } from './Holding.js'
import * as Holdings from './Holding.js'
import { runExclusive } from './Mutex.js'

type Result = E.Either<StorageError, void>

/** Releases a claim after its earlier saves. Repeating it is harmless. */
export const release = (holding: Holding): Promise<Result> =>
  runExclusive(holding.mutex, (done) => void releaseNow(holding).then(done))

const releaseNow = async (holding: Holding): Promise<Result> => {
  if (holding.released) return E.right(undefined)
  holding.released = true
  BackgroundCopy.stop(holding)
  await holding.background
  await quietly(() => BackgroundCopy.make(holding))
  const isOwner = Holdings.checkOwner(holding)
  const ended = isOwner ? await endJournal(holding) : E.right(undefined)
  // Without a released line, the next number releases the run for others, and the socket stays to refuse connections.
  const result = isPoisoned(holding) ? await endByNumber(holding) : ended
  if (isPoisoned(holding)) holding.socket?.close()
  else holding.socket?.remove()
  Holdings.end(holding, fenced(holding))
  await quietly(() => holding.context.fs.close(holding.journal.fd))
  await holding.heartbeat.stop()
  return result
}

const fenced = ({ claim: { runId, epoch } }: Holding): StorageError => ({ _tag: 'Fenced', runId, epoch, by: O.none })

/** Not synced: the released line only saves other processes the liveness check. */
const endJournal = async (holding: Holding): Promise<Result> => {
  const { context, journal, baseBytes, revision } = holding
  const line = releasedLine(baseBytes > 0 ? revision : -1, factsOf(holding))
  const written = await writeFully(context.fs, journal.path, journal.fd, line, journal.position)
  if (E.isLeft(written)) return E.left(Holdings.poison(holding, written.left))
  journal.position += line.length
  const cut = await writing(journal.path, 'ftruncate', () => context.fs.ftruncateSync(journal.fd, journal.position))
  return E.isLeft(cut) ? E.left(Holdings.poison(holding, cut.left)) : cut
}

/** An exception in `summary`, a function of the caller, must not fail a release. */
const factsOf = ({ layout, journal, saved, summary: found }: Holding): Partial<ReleasedFacts> => {
  try {
    const summary = saved === undefined ? found : saved.revision.summary()
    return summary === undefined ? {} : { runId: layout.runId, epoch: journal.number, summary }
  } catch {
    return {}
  }
}

const isPoisoned = ({ ended }: Holding): boolean => ended !== undefined && ended._tag !== 'Fenced'

/** A journal whose write failed is never written again, so the next number records the release. */
const endByNumber = ({ context, layout, journal, record }: Holding): Promise<Result> =>
  publishEnd(context, layout, journal, record)

/** Removes a run, and what interrupted removals left. Succeeds without a run, unless the rename that removed it may not be durable. */
export const remove = async (context: Context, layout: Layout, options: RemoveOptions = {}): Promise<Result> => {
  const exists = Read.isThere(context, layout)
  if (E.isLeft(exists)) return exists
  if (exists.right) return removeNow(context, layout, options)
  const undeleted = await context.deleteRemoved()
  // A store without a run may have no folders.
  return E.isLeft(undeleted) && !isMissing(undeleted.left) ? undeleted : E.right(undefined)
}

const removeNow = async (context: Context, layout: Layout, removal: RemoveOptions): Promise<Result> => {
  const granted = await claim(context, layout, { host: hostname(), pid: process.pid }, { removal })
  if (E.isLeft(granted)) return granted
  const { holding } = granted.right
  const folder = removedFolder(layout, holding.record.token)
  // Windows cannot rename a folder in which a file is open.
  if (IS_WINDOWS) await closeJournal(holding)
  // The check and the rename run in the same synchronous code, so that this process does nothing in between.
  if (!IS_WINDOWS && !Holdings.checkOwner(holding)) return cancelRemoval(holding, holding.ended ?? fenced(holding))
  const moved = await writing(layout.run, 'rename', () => context.fs.renameSync(layout.run, folder))
  if (E.isLeft(moved)) return cancelRemoval(holding, moved.left)
  holding.released = true
  Holdings.end(holding, fenced(holding))
  if (!IS_WINDOWS) await closeJournal(holding)
  holding.socket?.close()
  const undeleted = await context.deleteRemoved()
  const failure = E.isLeft(undeleted) ? undeleted.left : undeleted.right.get(folder)
  return failure === undefined ? E.right(undefined) : E.left(failure)
}

const IS_WINDOWS = process.platform === 'win32'

const closeJournal = ({ context, journal }: Holding): Promise<void> => quietly(() => context.fs.close(journal.fd))

const cancelRemoval = async (holding: Holding, error: StorageError): Promise<Result> => {
  if (!IS_WINDOWS) await release(holding)
  else {
    Holdings.poison(holding, error)
    await holding.heartbeat.stop()
  }
  return E.left(error)
}
