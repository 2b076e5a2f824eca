/** Reads the revisions that can still be loaded (`docs/file-format.md` §6). */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Json } from '../../../domain/data/Json.js'
import { isObject } from '../../../domain/data/Json.js'
import type { HistoryEntry, StorageError, Stored } from '../../../ports/CheckpointStorage.js'
import type { Context } from '../Context.js'
import type { Base, FoundRecord, Journal } from './Journal.js'
import * as Journals from './Journal.js'
import type { Layout } from '../files/Layout.js'
import { holderOf } from '../claim/Liveness.js'
import { readJournal, readListed } from './Read.js'

/** A journal with a base and its revisions that count: the base of a higher number replaces them from its revision on. */
interface Segment {
  readonly base: Base
  readonly changes: ReadonlyArray<Json>
}

export const history = async (
  context: Context,
  layout: Layout
): Promise<E.Either<StorageError, ReadonlyArray<HistoryEntry>>> =>
  E.map(({ stretches }: Scan) => stretches.flatMap(entriesOf))(await readAll(context, layout))

const entriesOf = ({ base, changes }: Segment): ReadonlyArray<HistoryEntry> =>
  changes.map((change, index) => entry(base.revision + index, change)).reverse()

const entry = (revision: number, change: Json): HistoryEntry => {
  const { _tag, at } = isObject(change) ? change : {}
  return { revision, change: typeof _tag === 'string' ? _tag : '', at: typeof at === 'string' ? at : '' }
}

export const loadRevision = async (
  context: Context,
  layout: Layout,
  revision: number
): Promise<E.Either<StorageError, O.Option<Stored>>> => {
  const whole = await readAll(context, layout)
  if (E.isLeft(whole)) return whole
  const { highest, stretches } = whole.right
  const index = stretches.findIndex((one) => one.base.revision <= revision && revision < endOf(one))
  const stretch = stretches[index]
  if (stretch === undefined || !Number.isInteger(revision)) return E.right(O.none)
  const { base, changes } = unfolded(stretch, stretches[index + 1], revision)
  return E.right(
    O.some({
      revision,
      checkpoint: base.checkpoint,
      changes: changes.slice(1, revision - base.revision + 1),
      found: { _tag: 'Exact' },
      heldBy: await holderOf(context, layout, highest)
    })
  )
}

const endOf = ({ base, changes }: Segment): number => base.revision + changes.length

/** A base holds the result of its own change: `loadRevision` returns the change only on top of the stretch before. */
const unfolded = (stretch: Segment, before: Segment | undefined, revision: number): Segment =>
  before !== undefined && revision === stretch.base.revision && endOf(before) === revision
    ? { base: before.base, changes: [...before.changes, ...stretch.changes.slice(0, 1)] }
    : stretch

interface Scan {
  readonly highest: Journal | undefined
  readonly stretches: ReadonlyArray<Segment>
}

const readAll = async (context: Context, layout: Layout): Promise<E.Either<StorageError, Scan>> =>
  E.map(O.getOrElse((): Scan => ({ highest: undefined, stretches: [] })))(
    await readListed(context, layout, (numbers) => readEach(context, layout, numbers))
  )

/** `None`: a listed file is missing; it was pruned. */
const readEach = async (
  context: Context,
  layout: Layout,
  numbers: ReadonlyArray<number>
): Promise<E.Either<StorageError, O.Option<Scan>>> => {
  const stretches: Array<Segment> = []
  let highest: Journal | undefined
  let found: FoundRecord | undefined
  let end = Number.POSITIVE_INFINITY
  for (const number of numbers) {
    const read = await readJournal(context, layout, number)
    if (E.isLeft(read)) return read
    if (O.isNone(read.right)) return E.right(O.none)
    highest ??= read.right.value
    const journal = Journals.upTo(read.right.value, number, found)
    found ??= journal.base === undefined ? journal.found : undefined
    if (journal.base === undefined || journal.base.revision >= end) continue
    const { base, changes } = journal
    stretches.push({
      base,
      changes: changes.slice(0, Math.min(Journals.newestRevision(journal) + 1, end) - base.revision)
    })
    end = base.revision
  }
  return E.right(O.some({ highest, stretches }))
}
