/** Saves revisions: one line, one checksum, one sync, then the check (`docs/file-format.md` §4). Uses callbacks: an `await` takes half a sync. */
import * as E from 'fp-ts/lib/Either.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Change } from '../../../domain/change/Change.js'
import { growth, RESUME_BYTES, slack } from '../../../domain/change/sizeBound.js'
import { ignoringErrors } from '../../../domain/data/notTaskEither.js'
import type { Json, JsonObject } from '../../../domain/data/Json.js'
import { conflictOf } from '../../../domain/checkpoint/RevisionConflict.js'
import type { Revision, StorageError, WriteFailed } from '../../../ports/CheckpointStorage.js'
import * as BackgroundCopy from './BackgroundCopy.js'
import { codeOf, quietly, writeFailed } from '../files/Fault.js'
import { NOTHING_WRITTEN, writeFully } from '../files/Files.js'
import { FORMAT } from './Journal.js'
import * as Line from './Line.js'
import { prune } from './Prune.js'
import type { Published } from './Publish.js'
import { prepareNext, publish, ownership } from './Publish.js'
import type { Holding } from '../claim/Holding.js'
import { fence, runLater, poison } from '../claim/Holding.js'
import type { Measured, NotEncoded } from '../../../domain/data/Size.js'
import { biggest, bytesOf, encodeWithin, measured } from '../../../domain/data/Size.js'
import { runExclusive } from '../claim/Mutex.js'

type Saved = E.Either<StorageError, void>
type Done = (result: Saved) => void

/** Lines up to this size are written synchronously, which takes less time than a thread switch. */
const AT_ONCE_BYTES = 65_536

/** The journal grows by its own size within these bounds, so that short runs stay small and long ones rarely grow. */
const EXTENSION_BYTES = { least: 65_536, most: 1_048_576 }

/** Room for the claim, found and released lines. */
const RECORDS_BYTES = 65_536

/** The longest possible journal: a base with its changes, changes up to a compaction, the last save, and the unused tail of a killed owner. */
export const longestJournal = (checkpointBytes: number, compactBytes: number): number =>
  RECORDS_BYTES +
  2 * (checkpointBytes + RESUME_BYTES) +
  compactBytes +
  checkpointBytes +
  EXTENSION_BYTES.least +
  EXTENSION_BYTES.most

/** Saves revisions. Concurrent saves of one claim run one after the other. */
export const save = (holding: Holding, revisions: ReadonlyNonEmptyArray<Revision>): Promise<Saved> =>
  runExclusive(holding.mutex, (done) => begin(holding, revisions, done))

const begin = (holding: Holding, revisions: ReadonlyNonEmptyArray<Revision>, done: Done): void => {
  if (holding.ended !== undefined) return done(E.left(holding.ended))
  const conflict = conflictOf(holding.layout.runId, holding.revision, revisions)
  if (conflict !== undefined) return done(E.left(refusal(holding, conflict)))
  const plan = planOf(holding, revisions)
  if (E.isLeft(plan)) return done(E.left(refusal(holding, plan.left)))
  const { kind, line } = plan.right
  const size = sizeAfter(holding, revisions, plan.right)
  if (E.isLeft(size)) return done(E.left(refusal(holding, size.left)))
  const finish: Done = (result) => {
    if (E.isRight(result)) holding.sizeBytes = size.right
    done(result)
  }
  if (kind === 'compaction') void compact(holding, revisions, line, finish)
  else if (kind === 'base') saveBase(holding, revisions, line, finish)
  else saveChanges(holding, revisions, line, finish)
}

/** Rejects an invalid save, but a superseded owner gets `Fenced` first. */
const refusal = (holding: Holding, error: StorageError): StorageError => {
  const now = ownership(holding.context.fs, holding.journal)
  return E.isRight(now) && now.right !== 'Owner' ? fence(holding, now.right === 'Superseded') : error
}

/** The line to write: the first or a later save of the journal in use or, in a `compaction`, the base of the next one. */
interface Plan {
  readonly kind: 'base' | 'changes' | 'compaction'
  readonly line: Buffer
}

const planOf = (holding: Holding, revisions: ReadonlyNonEmptyArray<Revision>): E.Either<StorageError, Plan> => {
  const planned = (kind: Plan['kind']) => E.map((line: Buffer): Plan => ({ kind, line }))
  const { number } = holding.journal
  if (holding.baseBytes === 0) return planned('base')(baseLine(holding, revisions, number))
  if (isOutgrown(holding)) {
    const base = baseLine(holding, revisions, number + 1)
    if (mayExceedLimit(holding) || (E.isRight(base) && isWorthwhile(holding, base.right)))
      return planned('compaction')(base)
    holding.compactBytes = 2 * holding.changeBytes
  }
  return planned('changes')(saveLine(holding, revisions))
}

/** Returns an upper bound of the size of the checkpoint after a save. Measures the checkpoint only if that bound exceeds the limit. */
const sizeAfter = (
  holding: Holding,
  revisions: ReadonlyNonEmptyArray<Revision>,
  { kind, line }: Plan
): E.Either<StorageError, number> => {
  const following = (kind === 'changes' ? revisions : revisions.slice(1)).map(({ change }) => change)
  const before = kind === 'changes' ? holding.sizeBytes : line.length
  const most = before + (following.length === 0 ? 0 : growth(following, line.length))
  const changes = changesOf(revisions)
  if (most <= mostBytes(holding, changes)) return E.right(most)
  const newest = revisions[revisions.length - 1] as Revision
  return E.map(({ bytes }: Measured) => bytes)(encode(holding, changes, newest.checkpoint()))
}

/** The largest checkpoint that a save may lead to. */
const mostBytes = (holding: Holding, changes: Changes): number =>
  holding.context.settings.checkpointBytes + slack(holding, changes)

const saveChanges = (holding: Holding, revisions: ReadonlyNonEmptyArray<Revision>, line: Buffer, done: Done): void =>
  append(holding, line, done, () => {
    holding.changeBytes += line.length
    acknowledge(holding, revisions, done)
  })

const saveBase = (holding: Holding, revisions: ReadonlyNonEmptyArray<Revision>, line: Buffer, done: Done): void => {
  // The pruning starts from this journal, because the one in use by then may not have a base yet.
  const { journal } = holding
  append(holding, line, done, () => {
    holding.baseBytes = line.length
    holding.changeBytes = 0
    holding.compactBytes = 0
    holding.copyBytes = 0
    acknowledge(holding, revisions, done)
    runLater(holding, () => prune(holding, journal))
  })
}

const acknowledge = (holding: Holding, revisions: ReadonlyNonEmptyArray<Revision>, done: Done): void => {
  const newest = revisions[revisions.length - 1] as Revision
  holding.revision = newest.revision
  holding.saved = { revision: newest, number: holding.journal.number }
  done(E.right(undefined))
  BackgroundCopy.update(holding)
  if (holding.baseBytes + holding.changeBytes > holding.warnAtBytes) reportSize(holding, newest)
}

/** Reports a large checkpoint once, long before it is refused. Measures it, because a journal may be much longer than its checkpoint. */
const reportSize = (holding: Holding, { checkpoint }: Revision): void => {
  const { warnBytes, checkpointBytes: limitBytes, onLarge } = holding.context.settings
  try {
    const content = checkpoint()
    const bytes = bytesOf(content)
    holding.warnAtBytes = bytes > warnBytes ? Infinity : 2 * (holding.baseBytes + holding.changeBytes)
    if (bytes <= warnBytes) return
    const large = { runId: holding.layout.runId, bytes, limitBytes, biggest: biggest(content) }
    ignoringErrors(() => onLarge(large))
  } catch {
    // An exception must not fail a save that is already durable.
    holding.warnAtBytes = Infinity
  }
}

/** Appends a line, syncs, and makes the check, in this order. */
const append = (holding: Holding, line: Buffer, done: Done, onDurable: () => void): void => {
  const { fs } = holding.context
  const { journal } = holding
  const fail = (operation: string, cause: unknown, committed: WriteFailed['committed'] = 'unknown'): void =>
    done(E.left(poison(holding, writeFailed(journal.path, operation, cause, committed))))

  const check = (error: Error | null): void => {
    if (error !== null) return fail('fdatasync', error)
    const now = ownership(fs, journal)
    if (E.isLeft(now)) return done(E.left(poison(holding, now.left)))
    if (now.right !== 'Owner') return done(E.left(fence(holding, now.right === 'Superseded')))
    journal.position += line.length
    onDurable()
  }

  const sync = (): void => {
    try {
      fs.fdatasync(journal.fd, check)
    } catch (cause) {
      fail('fdatasync', cause)
    }
  }

  const extended = extend(holding, journal.position + line.length)
  if (E.isLeft(extended)) return fail('write', extended.left, 'no')
  let written = 0
  try {
    if (line.length <= AT_ONCE_BYTES) written = fs.writeSync(journal.fd, line, journal.position)
  } catch (cause) {
    return fail('write', cause, NO_SPACE.includes(codeOf(cause)) ? 'no' : 'unknown')
  }
  if (written === line.length) return sync()
  if (written === 0 && line.length <= AT_ONCE_BYTES) return fail('write', NOTHING_WRITTEN)
  void writeFully(fs, journal.path, journal.fd, line.subarray(written), journal.position + written).then((rest) =>
    E.isLeft(rest) ? done(E.left(poison(holding, rest.left))) : sync()
  )
}

/** Preallocates, so that most syncs leave length and blocks unchanged; not on a full disk. Any other error is a failed write. */
const extend = ({ context: { fs }, journal }: Holding, end: number): E.Either<unknown, void> => {
  if (end <= journal.allocated) return DONE
  const { least, most } = EXTENSION_BYTES
  const to = Math.ceil(end / least) * least + Math.min(most, Math.floor(end / least) * least)
  try {
    fs.extendSync(journal.fd, Math.max(journal.allocated, end), to)
    journal.allocated = to
  } catch (cause) {
    if (!NO_SPACE.includes(codeOf(cause))) return E.left(cause)
    journal.allocated = end
    void quietly(() => fs.ftruncateSync(journal.fd, journal.position))
  }
  return DONE
}

const DONE = E.right(undefined)

const NO_SPACE: ReadonlyArray<string> = ['ENOSPC', 'EDQUOT', 'EFBIG']

/** True when it is time to measure a new base. Measuring takes time in proportion to the run, so the changes must double before the next time. */
const isOutgrown = (holding: Holding): boolean => {
  const { baseBytes, changeBytes, compactBytes, context } = holding
  return (
    changeBytes > context.settings.compactBytes &&
    (changeBytes > Math.max(baseBytes, compactBytes) || mayExceedLimit(holding))
  )
}

/** True if the checkpoint may exceed its limit by now, so that only a new base shows whether it does. */
const mayExceedLimit = ({ baseBytes, changeBytes, context }: Holding): boolean =>
  baseBytes + changeBytes > context.settings.checkpointBytes

/** True if a new base at least halves the bytes to read, which it does not for a run that only grows. */
const isWorthwhile = ({ baseBytes, changeBytes }: Holding, base: Buffer): boolean =>
  2 * base.length <= baseBytes + changeBytes

/** Moves to a new journal that begins with this save. */
const compact = async (
  holding: Holding,
  revisions: ReadonlyNonEmptyArray<Revision>,
  line: Buffer,
  done: Done
): Promise<void> => {
  const { context, journal } = holding
  holding.compacting = true
  const next = await publishNext(holding)
  holding.compacting = false
  if (E.isLeft(next)) return done(E.mapLeft(notCommitted)(next))
  if (next.right === undefined) return postpone(holding, revisions, done)
  holding.journal = next.right
  saveBase(holding, revisions, line, done)
  await quietly(() => context.fs.ftruncateSync(journal.fd, journal.position))
  await quietly(() => context.fs.close(journal.fd))
}

/** Publishing the next journal failed, so the save, which was to be its base, was not written. */
const notCommitted = (error: StorageError): StorageError =>
  error._tag === 'WriteFailed' ? { ...error, committed: 'no' } : error

/** Publishes the next journal. Returns `undefined` if its file cannot be created and the compaction can wait. */
const publishNext = async (holding: Holding): Promise<E.Either<StorageError, Published | undefined>> => {
  const { context, layout, journal, record } = holding
  const file = await prepareNext(context, layout, journal, record.token)
  if (E.isLeft(file)) return mayExceedLimit(holding) ? file : E.right(undefined)
  if (typeof file.right === 'string') return E.left(fence(holding, file.right === 'Superseded'))
  const published = await publish(context, layout, file.right, { ...record, epoch: journal.number + 1 })
  if (E.isLeft(published)) return E.left(poison(holding, published.left))
  return published.right._tag === 'Published'
    ? E.right(published.right.journal)
    : E.left(fence(holding, published.right._tag !== 'Removed'))
}

const postpone = (holding: Holding, revisions: ReadonlyNonEmptyArray<Revision>, done: Done): void => {
  holding.compactBytes = 2 * holding.changeBytes
  const line = saveLine(holding, revisions)
  if (E.isLeft(line)) return done(line)
  saveChanges(holding, revisions, line.right, done)
}

const saveLine = (holding: Holding, revisions: ReadonlyNonEmptyArray<Revision>): E.Either<StorageError, Buffer> =>
  lineOf(holding, { kind: 'save', revision: revisions[0].revision }, changesOf(revisions))

/** A base has the checkpoint of the first revision, so that each revision can be loaded; of a `Started` only what the checkpoint lacks. */
const baseLine = (
  holding: Holding,
  revisions: ReadonlyNonEmptyArray<Revision>,
  epoch: number
): E.Either<StorageError, Buffer> =>
  lineOf(
    holding,
    { kind: 'base', format: FORMAT, runId: holding.layout.runId, epoch, revision: revisions[0].revision },
    changesOf(revisions).map((change) => (change._tag === 'Started' ? { _tag: change._tag, at: change.at } : change)),
    revisions[0].checkpoint()
  )

const changesOf = (revisions: ReadonlyNonEmptyArray<Revision>): ReadonlyArray<Change> =>
  revisions.map(({ change }) => change)

type Changes = ReadonlyArray<Pick<Change, '_tag' | 'at'>>

/** Encodes a line. Each limit applies to checkpoint and changes one by one, because the checkpoint repeats the large values of its change. */
const lineOf = (
  holding: Holding,
  fields: JsonObject,
  changes: Changes,
  checkpoint?: Json
): E.Either<StorageError, Buffer> => {
  const end = encode(holding, changes, { changes: changes as unknown as Json })
  if (E.isLeft(end)) return end
  const whole = checkpoint === undefined ? undefined : encode(holding, changes, checkpoint)
  if (whole !== undefined && E.isLeft(whole)) return whole
  const head = `${JSON.stringify(fields).slice(0, -1)},`
  const tail = end.right.text.slice(1)
  return E.right(
    whole === undefined
      ? Line.encode(head + tail)
      : Line.encodeParts([measured(`${head}"checkpoint":`), whole.right, measured(`,${tail}`)])
  )
}

/** Encodes a value as JSON; fails with `TooLarge` if that exceeds the limit. */
const encode = (holding: Holding, changes: Changes, value: Json): E.Either<StorageError, Measured> => {
  const { context, layout, journal } = holding
  return E.mapLeft((refused: NotEncoded): StorageError =>
    refused._tag === 'TooLarge'
      ? { ...refused, runId: layout.runId, where: journal.path, limitBytes: context.settings.checkpointBytes }
      : writeFailed(journal.path, 'encode', refused.cause, 'no')
  )(encodeWithin(value, mostBytes(holding, changes)))
}
