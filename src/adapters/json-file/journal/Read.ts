/** Reads what is stored while other processes write, claim, compact, prune and remove (`docs/file-format.md` §6). */
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Corrupt, StorageError, Stored } from '../../../ports/CheckpointStorage.js'
import type { Newest } from '../../../domain/checkpoint/RunChanged.js'
import type { Context } from '../Context.js'
import * as Copy from './Copy.js'
import { readFailed } from '../files/Fault.js'
import { areFolders, namesIn, readBetween, readWhole, withFile } from '../files/Files.js'
import * as Journal from './Journal.js'
import * as Layout from '../files/Layout.js'
import * as Line from './Line.js'

/** The journals of a run, from the highest number down to the first with a checkpoint. */
export interface Journals {
  /** All listed numbers, highest first. */
  readonly numbers: ReadonlyArray<number>
  /** The journal with the highest number. */
  readonly highest: Journal.Journal | undefined
  /** The lineage of the newest readable claim; without one, the copy's. */
  readonly lineage: string | undefined
  /** The newest journal with a checkpoint. */
  readonly newest: Numbered | undefined
  /** Descriptions of the damage in the journals above `newest`. */
  readonly damage: ReadonlyArray<string>
  /** The journals that were read. */
  readonly looked: ReadonlyArray<Numbered>
}

export interface Numbered {
  readonly number: number
  readonly journal: Journal.Journal
}

/** What is stored, without the holder. */
export type Content = Omit<Stored, 'heldBy'>

const READINGS = 10
const BETWEEN_READINGS_MILLIS = 1

/** Returns `None` if the journal is missing. Reports damage only if two reads agree, because a preallocated file can show zeros in mid-write. */
export const readJournal = async (
  context: Context,
  layout: Layout.Layout,
  number: number
): Promise<E.Either<StorageError, O.Option<Journal.Journal>>> => {
  let before: Journal.Journal | undefined
  for (let reading = 1; ; reading++) {
    const now = await readOnce(context, layout, number)
    if (E.isLeft(now) || O.isNone(now.right)) return now
    const journal = now.right.value
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
): Promise<E.Either<StorageError, O.Option<Journal.Journal>>> => {
  const where = Layout.journal(layout, number)
  const bytes = await readWhole(fs, where, settings.readBytes, layout.runId)
  if (E.isLeft(bytes)) return bytes
  if (O.isNone(bytes.right)) return E.right(O.none)
  return parse(layout, number, bytes.right.value)
}

const parse = (
  layout: Layout.Layout,
  number: number,
  bytes: Buffer
): E.Either<StorageError, O.Option<Journal.Journal>> => {
  const { runId } = layout
  return E.bimap(
    (found: number): StorageError => ({
      _tag: 'UnsupportedFormat',
      runId,
      where: Layout.journal(layout, number),
      found,
      supported: Journal.FORMAT
    }),
    O.some<Journal.Journal>
  )(Journal.parse(bytes, runId, number))
}

/** True if a journal has not grown since it was read; false if unsure. */
export const isUnchanged = (
  context: Context,
  layout: Layout.Layout,
  { number, journal }: Numbered
): Promise<E.Either<StorageError, boolean>> =>
  journal.clean && journal.damage.length === 0
    ? isSame(context, layout, { number, journal }, async (fd, where, size) => {
        const after = await readBetween(context.fs, where, fd, journal.end, size)
        return E.map((bytes: Buffer) => Journal.endOfWritten(bytes) === 0)(after)
      })
    : Promise.resolve(E.right(false))

/** True if a journal is the one that was read, and `holds` returns true for it: a removed run's numbers are used again. */
export const isSame = async (
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
  return E.isLeft(same) ? same : E.right(O.isSome(same.right) && same.right.value)
}

const ATTEMPTS = 100

export const isThere = ({ fs }: Context, { runs, run }: Layout.Layout): E.Either<StorageError, boolean> =>
  areFolders(fs, runs, run)

/** The numbers of a run's journals, highest first. `None`: no such run. */
export const list = async (
  context: Context,
  layout: Layout.Layout
): Promise<E.Either<StorageError, O.Option<ReadonlyArray<number>>>> => {
  const there = isThere(context, layout)
  if (E.isLeft(there)) return there
  if (!there.right) return E.right(O.none)
  const names = await namesIn(context.fs, layout.history)
  return E.isLeft(names) ? names : E.right(O.some(O.isNone(names.right) ? [] : Layout.numbers(names.right.value)))
}

/** Lists a run's journals and reads them; lists again if a listed file is missing, because listings are not atomic. `None`: no such run. */
export const readListed = async <A>(
  context: Context,
  layout: Layout.Layout,
  readThem: (numbers: ReadonlyArray<number>) => Promise<E.Either<StorageError, O.Option<A>>>
): Promise<E.Either<StorageError, O.Option<A>>> => {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const listed = await list(context, layout)
    if (E.isLeft(listed)) return listed
    if (O.isNone(listed.right)) return E.right(O.none)
    const found = await readThem(listed.right.value)
    if (E.isLeft(found) || O.isSome(found.right)) return found
  }
  const message = `its files changed during each of ${ATTEMPTS} reads; try again`
  return E.left(readFailed(layout.history, 'open', { code: 'EAGAIN', message }))
}

/** Reads journals below a limit as far down as needed. Lists again, once, if no checkpoint is found. */
export const readJournals = (
  context: Context,
  layout: Layout.Layout,
  below = Number.POSITIVE_INFINITY
): Promise<E.Either<StorageError, O.Option<Journals>>> => {
  let foundNothing = false
  return readListed(context, layout, async (listed) => {
    const numbers = listed.filter((number) => number < below)
    const journals = await descend(context, layout, numbers)
    if (E.isLeft(journals) || O.isNone(journals.right)) return journals
    if (journals.right.value.newest !== undefined || foundNothing) return journals
    foundNothing = true
    return E.right(O.none)
  })
}

/** `None`: a listed file is missing. */
const descend = async (
  context: Context,
  layout: Layout.Layout,
  numbers: ReadonlyArray<number>
): Promise<E.Either<StorageError, O.Option<Journals>>> => {
  const looked: Array<Numbered> = []
  const damage: Array<string> = []
  const claims: Array<Found> = []
  let newest: Numbered | undefined
  for (const number of numbers) {
    const found = claims.at(-1)
    // The journals in between have nothing that counts.
    if (found !== undefined && number > found.epoch) continue
    const read = await readJournal(context, layout, number)
    if (E.isLeft(read)) return read
    if (O.isNone(read.right)) return E.right(O.none)
    looked.push({ number, journal: read.right.value })
    const journal = Journal.upTo(read.right.value, number, found)
    if (journal.base !== undefined) {
      newest = { number, journal }
      break
    }
    damage.push(...describe(number, journal.damage))
    const below = Journal.foundIn(journal, number)
    if (below !== undefined) claims.push({ ...below, by: number })
  }
  damage.push(...claims.filter((found) => isShort(found, newest)).map(describeShort))
  const lineage = looked.map(({ journal }) => journal.claim?.lineage).find((id) => id !== undefined)
  return E.right(O.some({ numbers, highest: looked[0]?.journal, lineage, newest, damage, looked }))
}

/** The state that the journal with the number `by` recorded as found. */
interface Found extends Journal.FoundRecord {
  readonly by: number
}

/** True if less is stored than a claim found, which had been acknowledged. */
const isShort = ({ epoch, revision }: Found, newest: Numbered | undefined): boolean =>
  newest === undefined
    ? epoch > 0
    : newest.number < epoch || (newest.number === epoch && Journal.newestRevision(newest.journal) < revision)

const describeShort = ({ epoch, revision, by }: Found): string =>
  `history/${Layout.journalName(epoch)} had revision ${revision} when history/${Layout.journalName(by)} started`

const describe = (number: number, damage: ReadonlyArray<Journal.Damage>): ReadonlyArray<string> =>
  damage.map(({ line, why }) => `line ${line} of history/${Layout.journalName(number)} is damaged (${why})`)

/** Combines the journals with a copy that was inspected before them, so that a copy is never ahead because it was written in the meantime. */
export const contentOf = async (
  context: Context,
  layout: Layout.Layout,
  probed: Copy.Probe,
  journals: Journals
): Promise<E.Either<StorageError, O.Option<Content>>> => {
  const { newest, damage } = journals
  const reached = newest === undefined ? -1 : Journal.newestRevision(newest.journal)
  const ahead = probed._tag === 'Copy' && isAhead(probed.of, journals, reached) ? probed.of : undefined
  if (ahead !== undefined) {
    const copy = await Copy.read(context, layout)
    if (E.isLeft(copy)) return copy
    if (O.isSome(copy.right)) return E.right(O.some(fromCopy(copy.right.value, journals, reached)))
  }
  if (newest !== undefined) return E.right(O.some(fromJournal(newest, [...damage, ...describeAhead(ahead)])))
  if (damage.length > 0) return E.left(corrupt(layout.runId, layout.history, damage.join('; ')))
  const isForeign = probed._tag === 'Copy' && journals.lineage !== undefined && probed.of.lineage !== journals.lineage
  return probed._tag === 'Absent' || isForeign
    ? E.right(O.none)
    : E.left(
        corrupt(layout.runId, layout.copy, 'it does not match its checksum, and no file in history/ has a checkpoint')
      )
}

const corrupt = (runId: string, where: string, why: string): Corrupt => ({ _tag: 'Corrupt', runId, where, why })

/** A copy of another lineage was written by a zombie of a removed run. */
const isAhead = (of: Copy.CopyOf, { lineage, newest }: Journals, reached: number): boolean =>
  (lineage === undefined || lineage === of.lineage) && Copy.isAhead(of, newest?.number ?? 0, reached)

const describeAhead = (of: Copy.CopyOf | undefined): ReadonlyArray<string> =>
  of === undefined ? [] : [`checkpoint.json records revision ${of.revision} and is itself damaged`]

const fromJournal = ({ number, journal }: Numbered, above: ReadonlyArray<string>): Content => {
  const base = journal.base as Journal.Base
  const revision = Journal.newestRevision(journal)
  const damage = [...above, ...describe(number, journal.damage)]
  return {
    revision,
    checkpoint: base.checkpoint,
    changes: journal.changes.slice(1),
    found:
      damage.length === 0
        ? { _tag: 'Exact' }
        : {
            _tag: 'Recovered',
            from: `history/${Layout.journalName(number)}, revision ${revision}`,
            lost: `${damage.join('; ')}; ${lossOf(journal, above, revision)}`
          }
  }
}

const lossOf = ({ damage }: Journal.Journal, above: ReadonlyArray<string>, revision: number): string =>
  above.length === 0 && damage.every(({ line }) => line === 1) ? 'no revision is lost' : lostAfter(revision)

const lostAfter = (revision: number): string => `revisions after ${revision}, if there were any, are lost`

const fromCopy = ({ of, checkpoint }: Copy.Copy, { newest, damage }: Journals, reached: number): Content => ({
  revision: of.revision,
  checkpoint,
  changes: [],
  found: {
    _tag: 'Recovered',
    from: `checkpoint.json, revision ${of.revision}`,
    lost: `${[...damage, ...shortfallOf(newest, reached, of)].join('; ')}; ${lostAfter(of.revision)}`
  }
})

const shortfallOf = (newest: Numbered | undefined, reached: number, of: Copy.CopyOf): ReadonlyArray<string> => {
  if (newest === undefined) return ['no journal has a checkpoint']
  const { number, journal } = newest
  return journal.damage.length === 0
    ? [
        `the journals can be read up to revision ${reached} (history/${Layout.journalName(number)}), and checkpoint.json holds revision ${of.revision}`
      ]
    : describe(number, journal.damage)
}

export interface Reading {
  readonly journals: Journals
  readonly content: E.Either<StorageError, O.Option<Content>>
}

/** Reads a run; `None`: no such run. Reports lost journals only if two reads find the loss, because the run may be removed and its id reused in between. */
export const read = async (
  context: Context,
  layout: Layout.Layout
): Promise<E.Either<StorageError, O.Option<Reading>>> => {
  const first = await readRun(context, layout)
  return E.isRight(first) && O.isSome(first.right) && isDoubtful(first.right.value) ? readRun(context, layout) : first
}

const isDoubtful = ({ journals: { newest, damage }, content }: Reading): boolean =>
  damage.length === 0 &&
  (newest === undefined || newest.journal.damage.length === 0) &&
  (E.isLeft(content) || (O.isSome(content.right) && content.right.value.found._tag !== 'Exact'))

const readRun = async (context: Context, layout: Layout.Layout): Promise<E.Either<StorageError, O.Option<Reading>>> => {
  const there = isThere(context, layout)
  if (E.isLeft(there)) return there
  if (!there.right) return E.right(O.none)
  const probed = await Copy.probe(context, layout)
  if (E.isLeft(probed)) return probed
  const journals = await readJournals(context, layout)
  if (E.isLeft(journals)) return journals
  if (O.isNone(journals.right)) return E.right(O.none)
  const content = await contentOf(context, layout, probed.right, journals.right.value)
  // The next claim continues this lineage; a new one would make the copy, perhaps all that is left, belong to another run.
  const lineage = journals.right.value.lineage ?? (probed.right._tag === 'Copy' ? probed.right.of.lineage : undefined)
  return E.right(O.some({ journals: { ...journals.right.value, lineage }, content }))
}

/** Reads the newest revision and the time of its change. `None`: nothing is stored. */
export const newest = async (
  context: Context,
  layout: Layout.Layout
): Promise<E.Either<StorageError, O.Option<Newest>>> => {
  const found = await read(context, layout)
  if (E.isLeft(found) || O.isNone(found.right)) return found as E.Either<StorageError, O.None>
  const { journals, content } = found.right.value
  return E.map(
    O.map(({ revision }: Content): Newest => {
      const { newest } = journals
      const isCopy = newest === undefined || Journal.newestRevision(newest.journal) !== revision
      return isCopy ? { revision, at: undefined } : Journal.newestIn(newest.journal)
    })
  )(content)
}

/** Reads only what identifies the holder, for a removal. `None`: no such run. */
export const readHighest = (
  context: Context,
  layout: Layout.Layout
): Promise<E.Either<StorageError, O.Option<Reading>>> =>
  readListed(context, layout, async (numbers) => {
    const read = await readOwner(context, layout, numbers[0])
    if (E.isLeft(read)) return read
    if (O.isNone(read.right) && numbers.length > 0) return E.right(O.none)
    const highest = O.toUndefined(read.right)
    const lineage = highest?.claim?.lineage ?? (await lineageOfCopy(context, layout))
    const journals: Journals = { numbers, highest, lineage, newest: undefined, damage: [], looked: [] }
    return E.right(O.some({ journals, content: E.right(O.none) }))
  })

const lineageOfCopy = async (context: Context, layout: Layout.Layout): Promise<string | undefined> => {
  const probed = await Copy.probe(context, layout)
  return E.isRight(probed) && probed.right._tag === 'Copy' ? probed.right.of.lineage : undefined
}

const HEAD_BYTES = 65_536

/** Reads only line 1 of a journal that is too large. As with damage, it then cannot know if the claim was released. */
const readOwner = async (
  context: Context,
  layout: Layout.Layout,
  number: number | undefined
): Promise<E.Either<StorageError, O.Option<Journal.Journal>>> => {
  if (number === undefined) return E.right(O.none)
  const whole = await readJournal(context, layout, number)
  if (E.isRight(whole) || whole.left._tag !== 'TooLarge') return whole
  const where = Layout.journal(layout, number)
  const head = await withFile(context.fs, where, (fd) => readBetween(context.fs, where, fd, 0, HEAD_BYTES))
  if (E.isLeft(head)) return head
  if (O.isNone(head.right)) return E.right(O.none)
  const bytes = head.right.value
  const journal = parse(layout, number, bytes.subarray(0, bytes.indexOf('\n') + 1))
  // Line 1 may be shorter, or missing.
  const sum = Journal.sumIn(bytes)
  return E.map(O.map((one: Journal.Journal) => ({ ...one, sum, damage: [{ line: 2, why: 'it is too large' }] })))(
    journal
  )
}
