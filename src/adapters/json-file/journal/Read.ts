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
  /** The journals that were read, as they are. */
  readonly inspected: ReadonlyArray<Numbered>
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

/**
 * Lists a run's journals and reads them; lists again if `readThem` returns `undefined` for a missing file, because listings are not atomic. Returns
 * `undefined` if there is no such run.
 */
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

/** One journal of a descent: `whole`, and `journal`, limited to what counts. */
export interface Level extends Numbered {
  readonly whole: Journal.Journal
}

/**
 * Reads journals, highest number first. A claim names the journal that it found: those between the two do not count and are skipped. `found`: what
 * a claim above the numbers found. `undefined`: the file is missing.
 */
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
      yield E.right({ number, whole: read.right, journal: Journal.upTo(read.right, number, above) })
      above = Journal.foundIn(read.right, number) ?? above
    }
  }
}

const readDown = async (
  context: Context,
  layout: Layout.Layout,
  numbers: ReadonlyArray<number>
): Promise<E.Either<StorageError, Journals | undefined>> => {
  const inspected: Array<Numbered> = []
  const damage: Array<string> = []
  const found: Array<FoundBy> = []
  let newest: Numbered | undefined
  for await (const level of descent(context, layout, numbers)) {
    if (E.isLeft(level)) return level
    if (level.right === undefined) return E.right(undefined)
    const { number, whole, journal } = level.right
    inspected.push({ number, journal: whole })
    if (journal.base !== undefined) {
      newest = { number, journal }
      break
    }
    damage.push(...describe(number, journal.damage))
    const below = Journal.foundIn(journal, number)
    if (below !== undefined) found.push({ ...below, by: number })
  }
  damage.push(...found.filter((one) => isShort(one, newest)).map(describeShort))
  const lineage = inspected.map(({ journal }) => journal.claim?.lineage).find((id) => id !== undefined)
  return E.right({ numbers, highest: inspected[0]?.journal, lineage, newest, damage, inspected })
}

/** The state that the journal with the number `by` recorded as found. */
interface FoundBy extends Journal.FoundRecord {
  readonly by: number
}

/** True if less is stored than a claim once found, so that acknowledged revisions are lost. */
const isShort = ({ epoch, revision }: FoundBy, newest: Numbered | undefined): boolean =>
  newest === undefined
    ? epoch > 0
    : newest.number < epoch || (newest.number === epoch && Journal.newestRevision(newest.journal) < revision)

const describeShort = ({ epoch, revision, by }: FoundBy): string =>
  `history/${Layout.journalName(epoch)} had revision ${revision} when history/${Layout.journalName(by)} started`

const describe = (number: number, damage: ReadonlyArray<Journal.Damage>): ReadonlyArray<string> =>
  damage.map(({ line, why }) => `line ${line} of history/${Layout.journalName(number)} is damaged (${why})`)

/** Combines the journals with a copy probed before they were read: a copy probed later could be ahead of them without any damage. */
export const contentOf = async (
  context: Context,
  layout: Layout.Layout,
  probed: CheckpointCopy.Probe,
  journals: Journals
): Promise<E.Either<StorageError, Content | undefined>> => {
  const { newest, damage } = journals
  const reached = newest === undefined ? -1 : Journal.newestRevision(newest.journal)
  const ahead = probed._tag === 'Copy' && isAhead(probed.source, journals, reached) ? probed.source : undefined
  if (ahead !== undefined) {
    const copy = await CheckpointCopy.read(context, layout)
    if (E.isLeft(copy)) return copy
    if (copy.right !== undefined) return E.right(fromCopy(copy.right, journals, reached))
  }
  if (newest !== undefined) return E.right(fromJournal(newest, [...damage, ...describeAhead(ahead)]))
  if (damage.length > 0) return E.left(corrupt(layout.runId, layout.history, damage.join('; ')))
  const isForeign =
    probed._tag === 'Copy' && journals.lineage !== undefined && probed.source.lineage !== journals.lineage
  return probed._tag === 'Absent' || isForeign
    ? E.right(undefined)
    : E.left(
        corrupt(layout.runId, layout.copy, 'it does not match its checksum, and no file in history/ has a checkpoint')
      )
}

const corrupt = (runId: string, where: string, why: string): Corrupt => ({ _tag: 'Corrupt', runId, where, why })

/** A copy of another lineage does not count: a fenced owner of a removed run wrote it. */
const isAhead = (source: CheckpointCopy.CopyOf, { lineage, newest }: Journals, reached: number): boolean =>
  (lineage === undefined || lineage === source.lineage) && CheckpointCopy.isAhead(source, newest?.number ?? 0, reached)

const describeAhead = (source: CheckpointCopy.CopyOf | undefined): ReadonlyArray<string> =>
  source === undefined ? [] : [`checkpoint.json records revision ${source.revision} and is itself damaged`]

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
  above.length === 0 && damage.every(({ line }) => line === 1)
    ? 'the revisions in the lines after it are intact'
    : lostAfter(revision)

const lostAfter = (revision: number): string => `revisions after ${revision}, if there were any, are lost`

const fromCopy = (
  { source, checkpoint }: CheckpointCopy.Copy,
  { newest, damage }: Journals,
  reached: number
): Content => ({
  revision: source.revision,
  checkpoint,
  changes: [],
  found: {
    _tag: 'Recovered',
    from: `checkpoint.json, revision ${source.revision}`,
    lost: `${[...damage, ...shortfallOf(newest, reached, source, damage)].join('; ')}; ${lostAfter(source.revision)}`
  }
})

const shortfallOf = (
  newest: Numbered | undefined,
  reached: number,
  source: CheckpointCopy.CopyOf,
  above: ReadonlyArray<string>
): ReadonlyArray<string> => {
  if (newest === undefined)
    return [`no ${above.length === 0 ? '' : 'other '}file in history/ has a readable checkpoint`]
  const { number, journal } = newest
  return journal.damage.length === 0
    ? [
        `the journals can be read up to revision ${reached} (history/${Layout.journalName(number)}), and checkpoint.json holds revision ${source.revision}`
      ]
    : describe(number, journal.damage)
}

export interface Reading {
  readonly journals: Journals
  readonly content: E.Either<StorageError, Content | undefined>
}

/** Reads a run; `undefined`: no such run. Reports lost journals only if two reads find the loss, because the run may be removed meanwhile. */
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
  // The next claim continues this lineage: under a new one, the copy, perhaps all that is left, would count as that of another run.
  const lineage = journals.right.lineage ?? (probed.right._tag === 'Copy' ? probed.right.source.lineage : undefined)
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

/** Reads only what identifies the holder, so `content` is undefined. `undefined`: no such run. */
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
    const journals: Journals = { numbers, highest, lineage, newest: undefined, damage: [], inspected: [] }
    return E.right({ journals, content: E.right(undefined) })
  })

const lineageOfCopy = async (context: Context, layout: Layout.Layout): Promise<string | undefined> => {
  const probed = await CheckpointCopy.probe(context, layout)
  return E.isRight(probed) && probed.right._tag === 'Copy' ? probed.right.source.lineage : undefined
}
