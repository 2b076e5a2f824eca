/** Reads the revisions that can still be loaded (`docs/file-format.md` §6). */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Json } from '../../../domain/data/Json.js'
import { isObject } from '../../../domain/data/Json.js'
import type { HistoryEntry, StorageError, Stored } from '../../../ports/CheckpointStorage.js'
import type { Context } from '../Context.js'
import * as Journal from './Journal.js'
import type { Layout } from '../files/Layout.js'
import { holderOf } from '../claim/Liveness.js'
import { descent, readListed } from './Read.js'

/** A journal with a base and its revisions that count: the base of a higher number replaces them from its revision on. */
interface Segment {
  readonly base: Journal.Base
  readonly changes: ReadonlyArray<Json>
}

export const history = async (
  context: Context,
  layout: Layout
): Promise<E.Either<StorageError, ReadonlyArray<HistoryEntry>>> =>
  E.map(({ segments }: Scan) => segments.flatMap(entriesOf))(await readAll(context, layout))

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
  const { highest, segments } = whole.right
  const index = segments.findIndex((segment) => segment.base.revision <= revision && revision < endOf(segment))
  const segment = segments[index]
  if (segment === undefined || !Number.isInteger(revision)) return E.right(O.none)
  const { base, changes } = withOwnChange(segment, segments[index + 1], revision)
  return E.right(
    O.some({
      revision,
      checkpoint: base.checkpoint,
      changes: changes.slice(1, revision - base.revision + 1),
      found: { _tag: 'Exact' },
      heldBy: O.fromNullable(await holderOf(context, layout, highest))
    })
  )
}

const endOf = ({ base, changes }: Segment): number => base.revision + changes.length

/** A base already contains its change. To show that change, takes the segment below and adds the change, if no revision is missing between. */
const withOwnChange = (segment: Segment, before: Segment | undefined, revision: number): Segment =>
  before !== undefined && revision === segment.base.revision && endOf(before) === revision
    ? { base: before.base, changes: [...before.changes, ...segment.changes.slice(0, 1)] }
    : segment

interface Scan {
  readonly highest: Journal.Journal | undefined
  readonly segments: ReadonlyArray<Segment>
}

const readAll = async (context: Context, layout: Layout): Promise<E.Either<StorageError, Scan>> =>
  E.map((scan: Scan | undefined) => scan ?? { highest: undefined, segments: [] })(
    await readListed(context, layout, (numbers) => readEach(context, layout, numbers))
  )

/** `undefined`: a listed file is missing; it was pruned. */
const readEach = async (
  context: Context,
  layout: Layout,
  numbers: ReadonlyArray<number>
): Promise<E.Either<StorageError, Scan | undefined>> => {
  const segments: Array<Segment> = []
  let highest: Journal.Journal | undefined
  let end = Number.POSITIVE_INFINITY
  for await (const level of descent(context, layout, numbers)) {
    if (E.isLeft(level)) return level
    if (level.right === undefined) return E.right(undefined)
    const { whole, journal } = level.right
    highest ??= whole
    if (journal.base === undefined || journal.base.revision >= end) continue
    const { base, changes } = journal
    segments.push({
      base,
      changes: changes.slice(0, Math.min(Journal.newestRevision(journal) + 1, end) - base.revision)
    })
    end = base.revision
  }
  return E.right({ highest, segments })
}
