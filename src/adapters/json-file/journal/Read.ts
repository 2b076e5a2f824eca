/** Reads what is stored while other processes write, claim, compact, prune and remove (`docs/file-format.md` §6). */
import * as E from 'fp-ts/lib/Either.js'
import type { Corrupt, StorageError, Stored } from '../../../ports/CheckpointStorage.js'
import type { Newest } from '../../../domain/checkpoint/RunChanged.js'
import type { Context } from '../Context.js'
import * as CheckpointCopy from './CheckpointCopy.js'
import { readFailed } from '../files/Fault.js'
import { areFolders, namesIn } from '../files/Files.js'
import * as Journal from './Journal.js'
import * as Layout from '../files/Layout.js'
import type { Numbered } from './ReadOne.js'
import { readJournal, readOwner } from './ReadOne.js'

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

/** What is stored, without the holder. */
export type Content = Omit<Stored, 'heldBy'>

const ATTEMPTS = 100

export const isThere = ({ fs }: Context, { runs, run }: Layout.Layout): E.Either<StorageError, boolean> =>
  areFolders(fs, runs, run)

/** The numbers of a run's journals, highest first. `undefined`: no such run. */
export const list = async (
  context: Context,
  layout: Layout.Layout
): Promise<E.Either<StorageError, ReadonlyArray<number> | undefined>> => {
  const there = isThere(context, layout)
  if (E.isLeft(there)) return there
  return there.right ? E.map(Layout.numbers)(await namesIn(context.fs, layout.history)) : E.right(undefined)
}

/** Lists a run's journals and reads them; lists again if a listed file is missing, because listings are not atomic. `undefined`: no such run, or, of `readThem`, a file is missing. */
export const readListed = async <A>(
  context: Context,
  layout: Layout.Layout,
  readThem: (numbers: ReadonlyArray<number>) => Promise<E.Either<StorageError, A | undefined>>
): Promise<E.Either<StorageError, A | undefined>> => {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const listed = await list(context, layout)
    if (E.isLeft(listed)) return listed
    if (listed.right === undefined) return E.right(undefined)
    const found = await readThem(listed.right)
    if (E.isLeft(found) || found.right !== undefined) return found
  }
  const message = `its files changed during each of ${ATTEMPTS} reads; try again`
  return E.left(readFailed(layout.history, 'open', { code: 'EAGAIN', message }))
}

/** Reads journals below a limit as far down as needed. Lists again, once, if no checkpoint is found. */
export const readJournals = (
  context: Context,
  layout: Layout.Layout,
  below = Number.POSITIVE_INFINITY
): Promise<E.Either<StorageError, Journals | undefined>> => {
  let foundNothing = false
  return readListed(context, layout, async (listed) => {
    const numbers = listed.filter((number) => number < below)
    const journals = await readDown(context, layout, numbers)
    if (E.isLeft(journals) || journals.right === undefined) return journals
    if (journals.right.newest !== undefined || foundNothing) return journals
    foundNothing = true
    return E.right(undefined)
  })
}

/** A journal on the way down: as it is (`read`), and as far as it counts. */
export interface Level extends Numbered {
  readonly read: Journal.Journal
}

/** Reads journals, highest number first. A claim names the journal that it found: those between the two do not count and are skipped. `found`: what a claim above the numbers found. `undefined`: the file is missing. */
export async function* descent(
  context: Context,
  layout: Layout.Layout,
  numbers: ReadonlyArray<number>,
  found?: Journal.FoundRecord
): AsyncIterable<E.Either<StorageError, Level | undefined>> {
  let above = found
  for (const number of numbers) {
    if (above !== undefined && number > above.epoch) continue
    const read = await readJournal(context, layout, number)
    if (E.isLeft(read)) yield read
    else if (read.right === undefined) yield E.right(undefined)
    else {
      yield E.right({ number, read: read.right, journal: Journal.upTo(read.right, number, above) })
      above = Journal.foundIn(read.right, number) ?? above
    }
  }
}

const readDown = async (
  context: Context,
  layout: Layout.Layout,
  numbers: ReadonlyArray<number>
): Promise<E.Either<StorageError, Journals | undefined>> => {
  const looked: Array<Numbered> = []
  const damage: Array<string> = []
  const claims: Array<Found> = []
  let newest: Numbered | undefined
  for await (const level of descent(context, layout, numbers)) {
    if (E.isLeft(level)) return level
    if (level.right === undefined) return E.right(undefined)
    const { number, read, journal } = level.right
    looked.push({ number, journal: read })
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
  return E.right({ numbers, highest: looked[0]?.journal, lineage, newest, damage, looked })
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
  probed: CheckpointCopy.Probe,
  journals: Journals
): Promise<E.Either<StorageError, Content | undefined>> => {
  const { newest, damage } = journals
  const reached = newest === undefined ? -1 : Journal.newestRevision(newest.journal)
  const ahead = probed._tag === 'Copy' && isAhead(probed.of, journals, reached) ? probed.of : undefined
  if (ahead !== undefined) {
    const copy = await CheckpointCopy.read(context, layout)
    if (E.isLeft(copy)) return copy
    if (copy.right !== undefined) return E.right(fromCopy(copy.right, journals, reached))
  }
  if (newest !== undefined) return E.right(fromJournal(newest, [...damage, ...describeAhead(ahead)]))
  if (damage.length > 0) return E.left(corrupt(layout.runId, layout.history, damage.join('; ')))
  const isForeign = probed._tag === 'Copy' && journals.lineage !== undefined && probed.of.lineage !== journals.lineage
  return probed._tag === 'Absent' || isForeign
    ? E.right(undefined)
    : E.left(
        corrupt(layout.runId, layout.copy, 'it does not match its checksum, and no file in history/ has a checkpoint')
      )
}

const corrupt = (runId: string, where: string, why: string): Corrupt => ({ _tag: 'Corrupt', runId, where, why })

/** A copy of another lineage was written by a zombie of a removed run. */
const isAhead = (of: CheckpointCopy.CopyOf, { lineage, newest }: Journals, reached: number): boolean =>
  (lineage === undefined || lineage === of.lineage) && CheckpointCopy.isAhead(of, newest?.number ?? 0, reached)

const describeAhead = (of: CheckpointCopy.CopyOf | undefined): ReadonlyArray<string> =>
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

const fromCopy = ({ of, checkpoint }: CheckpointCopy.Copy, { newest, damage }: Journals, reached: number): Content => ({
  revision: of.revision,
  checkpoint,
  changes: [],
  found: {
    _tag: 'Recovered',
    from: `checkpoint.json, revision ${of.revision}`,
    lost: `${[...damage, ...shortfallOf(newest, reached, of, damage)].join('; ')}; ${lostAfter(of.revision)}`
  }
})

const shortfallOf = (
  newest: Numbered | undefined,
  reached: number,
  of: CheckpointCopy.CopyOf,
  above: ReadonlyArray<string>
): ReadonlyArray<string> => {
  if (newest === undefined)
    return [
      above.length === 0 ? 'no journal has a readable checkpoint' : 'this leaves no journal with a readable checkpoint'
    ]
  const { number, journal } = newest
  return journal.damage.length === 0
    ? [
        `the journals can be read up to revision ${reached} (history/${Layout.journalName(number)}), and checkpoint.json holds revision ${of.revision}`
      ]
    : describe(number, journal.damage)
}

export interface Reading {
  readonly journals: Journals
  readonly content: E.Either<StorageError, Content | undefined>
}

/** Reads a run; `undefined`: no such run. Reports lost journals only if two reads find the loss, because the run may be removed and its id reused in between. */
export const read = async (
  context: Context,
  layout: Layout.Layout
): Promise<E.Either<StorageError, Reading | undefined>> => {
  const first = await readRun(context, layout)
  const isUnsure = E.isRight(first) && first.right !== undefined && isDoubtful(first.right)
  return isUnsure ? readRun(context, layout) : first
}

const isDoubtful = ({ journals: { newest, damage }, content }: Reading): boolean =>
  damage.length === 0 &&
  (newest === undefined || newest.journal.damage.length === 0) &&
  (E.isLeft(content) || (content.right !== undefined && content.right.found._tag !== 'Exact'))

const readRun = async (
  context: Context,
  layout: Layout.Layout
): Promise<E.Either<StorageError, Reading | undefined>> => {
  const there = isThere(context, layout)
  if (E.isLeft(there)) return there
  if (!there.right) return E.right(undefined)
  const probed = await CheckpointCopy.probe(context, layout)
  if (E.isLeft(probed)) return probed
  const journals = await readJournals(context, layout)
  if (E.isLeft(journals)) return journals
  if (journals.right === undefined) return E.right(undefined)
  const content = await contentOf(context, layout, probed.right, journals.right)
  // The next claim continues this lineage; a new one would make the copy, perhaps all that is left, belong to another run.
  const lineage = journals.right.lineage ?? (probed.right._tag === 'Copy' ? probed.right.of.lineage : undefined)
  return E.right({ journals: { ...journals.right, lineage }, content })
}

/** Reads the newest revision and the time of its change. `undefined`: nothing is stored. */
export const newest = async (
  context: Context,
  layout: Layout.Layout
): Promise<E.Either<StorageError, Newest | undefined>> => {
  const found = await read(context, layout)
  if (E.isLeft(found)) return found
  if (found.right === undefined) return E.right(undefined)
  const { journals, content } = found.right
  if (E.isLeft(content)) return content
  if (content.right === undefined) return E.right(undefined)
  const { newest } = journals
  const { revision } = content.right
  const isCopy = newest === undefined || Journal.newestRevision(newest.journal) !== revision
  return E.right(isCopy ? { revision, at: undefined } : Journal.newestIn(newest.journal))
}

/** Reads only what identifies the holder, for a removal. `undefined`: no such run. */
export const readHighest = (
  context: Context,
  layout: Layout.Layout
): Promise<E.Either<StorageError, Reading | undefined>> =>
  readListed(context, layout, async (numbers) => {
    const [number] = numbers
    const read = number === undefined ? E.right(undefined) : await readOwner(context, layout, number)
    if (E.isLeft(read)) return read
    const highest = read.right
    if (highest === undefined && number !== undefined) return E.right(undefined)
    const lineage = highest?.claim?.lineage ?? (await lineageOfCopy(context, layout))
    const journals: Journals = { numbers, highest, lineage, newest: undefined, damage: [], looked: [] }
    return E.right({ journals, content: E.right(undefined) })
  })

const lineageOfCopy = async (context: Context, layout: Layout.Layout): Promise<string | undefined> => {
  const probed = await CheckpointCopy.probe(context, layout)
  return E.isRight(probed) && probed.right._tag === 'Copy' ? probed.right.of.lineage : undefined
}
