/** Reads one journal while its owner writes it and others prune, remove and create files (`docs/file-format.md` §6). */
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import type { StorageError } from '../../../ports/CheckpointStorage.js'
import type { Context } from '../Context.js'
import { readBetween, readWhole, withFile } from '../files/Files.js'
import * as Journal from './Journal.js'
import * as Layout from '../files/Layout.js'
import * as Line from './Line.js'

export interface Numbered {
  readonly number: number
  readonly journal: Journal.Journal
}

const READINGS = 10
const BETWEEN_READINGS_MILLIS = 1

/** Returns undefined if the journal is missing. Reports damage only if two reads agree, because a preallocated file can show zeros in mid-write. */
export const readJournal = async (
  context: Context,
  layout: Layout.Layout,
  number: number
): Promise<E.Either<StorageError, Journal.Journal | undefined>> => {
  let before: Journal.Journal | undefined
  for (let reading = 1; ; reading++) {
    const now = await readOnce(context, layout, number)
    if (E.isLeft(now) || now.right === undefined) return now
    const journal = now.right
    if (journal.damage.length === 0 || reading === READINGS || sameDamage(journal, before)) return now
    before = journal
    await sleep(BETWEEN_READINGS_MILLIS)
  }
}

const sameDamage = (a: Journal.Journal, b: Journal.Journal | undefined): boolean =>
  b !== undefined && a.damage.at(-1)?.line === b.damage.at(-1)?.line && a.end === b.end

const readOnce = async (
  { fs, settings }: Context,
  layout: Layout.Layout,
  number: number
): Promise<E.Either<StorageError, Journal.Journal | undefined>> => {
  const bytes = await readWhole(fs, Layout.journal(layout, number), settings.readBytes, layout.runId)
  if (E.isLeft(bytes)) return bytes
  if (bytes.right === undefined) return E.right(undefined)
  return parse(layout, number, bytes.right)
}

const parse = (layout: Layout.Layout, number: number, bytes: Buffer): E.Either<StorageError, Journal.Journal> => {
  const { runId } = layout
  const where = Layout.journal(layout, number)
  return E.mapLeft((found: number): StorageError => ({
    _tag: 'UnsupportedFormat',
    runId,
    where,
    found,
    supported: Journal.FORMAT
  }))(Journal.parse(bytes, runId, number))
}

/** True if a journal has not grown since it was read; false if unsure. */
export const hasNotGrown = (
  context: Context,
  layout: Layout.Layout,
  { number, journal }: Numbered
): Promise<E.Either<StorageError, boolean>> =>
  journal.clean && journal.damage.length === 0
    ? isSameJournal(context, layout, { number, journal }, async (fd, where, size) => {
        const after = await readBetween(context.fs, where, fd, journal.end, size)
        return E.map((bytes: Buffer) => Journal.endOfWritten(bytes) === 0)(after)
      })
    : Promise.resolve(E.right(false))

/** True if the file is still the journal that was read (after a removal, a new run uses its number again), and `holds` returns true for it. */
export const isSameJournal = async (
  { fs }: Context,
  layout: Layout.Layout,
  { number, journal }: Numbered,
  holds: (fd: number, where: string, size: number) => Promise<E.Either<StorageError, boolean>> = () =>
    Promise.resolve(E.right(true))
): Promise<E.Either<StorageError, boolean>> => {
  const where = Layout.journal(layout, number)
  const same = await withFile(fs, where, async (fd, { size }) => {
    const sum = await readBetween(fs, where, fd, Line.SUM_BEGIN, Line.SUM_END)
    if (E.isLeft(sum) || sum.right.toString('latin1') !== journal.sum) return E.map(() => false)(sum)
    return await holds(fd, where, size)
  })
  return E.isLeft(same) ? same : E.right(same.right === true)
}

const HEAD_BYTES = 65_536

/** Reads a journal, but only line 1 of one that is too large; that counts as damage, which may hide a released line. */
export const readOwner = async (
  context: Context,
  layout: Layout.Layout,
  number: number
): Promise<E.Either<StorageError, Journal.Journal | undefined>> => {
  const whole = await readJournal(context, layout, number)
  if (E.isRight(whole) || whole.left._tag !== 'TooLarge') return whole
  const where = Layout.journal(layout, number)
  const head = await withFile(context.fs, where, (fd) => readBetween(context.fs, where, fd, 0, HEAD_BYTES))
  if (E.isLeft(head)) return head
  if (head.right === undefined) return E.right(undefined)
  const bytes = head.right
  const journal = parse(layout, number, bytes.subarray(0, bytes.indexOf('\n') + 1))
  // `parse` got no checksum if line 1 has no end.
  const sum = Journal.sumIn(bytes)
  return E.map((parsed: Journal.Journal) => ({ ...parsed, sum, damage: [{ line: 2, why: 'it is too large' }] }))(
    journal
  )
}
