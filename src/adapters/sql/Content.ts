/** Reads the rows of a run back into a checkpoint and the changes after it. Knows no database. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Json } from '../../domain/data/Json.js'
import { parsed } from '../../domain/data/Json.js'
import * as Summary from '../../domain/checkpoint/Summary.js'
import type { Corrupt, Holder, KeptSummary, Stored, UnsupportedFormat } from '../../ports/CheckpointStorage.js'
import type { Row } from './Rows.js'
import { checksumOf, FORMAT } from './Rows.js'

/** What is stored of a run, without its holder. */
export type Content = Omit<Stored, 'heldBy'>

/** A run's row as far as reading needs it. `where`: the table, for errors and messages. */
export interface RunRow {
  readonly runId: string
  readonly head: number
  readonly where: string
}

/** Refuses a run of a newer format. */
export const checkFormat = (runId: string, found: number, where: string): E.Either<UnsupportedFormat, void> =>
  found > FORMAT ? E.left({ _tag: 'UnsupportedFormat', runId, where, found, supported: FORMAT }) : E.right(undefined)

/**
 * Reads the newest revision from rows in the order of their revisions. Pass the rows from the newest base on first; only if
 * these are damaged (`isWhole` is false), pass all rows of the run.
 */
export const newest = (run: RunRow, rows: ReadonlyArray<Row>): E.Either<Corrupt, O.Option<Content>> => {
  if (run.head < 0) return E.right(O.none)
  const { content, damage } = read(run, rows, { until: run.head, highestBase: run.head })
  return content === undefined ? E.left(corrupt(run, damage)) : E.right(O.some(content))
}

/** Returns whether a result needs no older rows. */
export const isWhole = (result: E.Either<Corrupt, O.Option<Content>>): boolean =>
  E.isRight(result) && (O.isNone(result.right) || result.right.value.found._tag === 'Exact')

/**
 * Reads one revision from its row and the rows before it, from the newest base below it on. If that base or a row after it is
 * damaged, the checkpoint of the revision itself is used.
 */
export const revisionOf = (
  run: RunRow,
  rows: ReadonlyArray<Row>,
  revision: number
): E.Either<Corrupt, O.Option<Content>> => {
  if (rows.at(-1)?.revision !== revision) return E.right(O.none)
  const before = read(run, rows, { until: revision, highestBase: revision - 1 })
  if (before.content?.revision === revision) return E.right(O.some(before.content))
  const { content, damage } = read(run, rows, { until: revision, highestBase: revision })
  return content?.revision === revision ? E.right(O.some(content)) : E.left(corrupt(run, damage))
}

interface Reading {
  readonly content: Content | undefined
  readonly damage: ReadonlyArray<string>
}

interface Range {
  /** The last revision to read. */
  readonly until: number
  /** The highest revision whose base may be used. */
  readonly highestBase: number
}

/** Reads changes from the newest allowed base that is intact. */
const read = (run: RunRow, rows: ReadonlyArray<Row>, { until, highestBase }: Range): Reading => {
  const byRevision = new Map(rows.map((row) => [row.revision, row]))
  const damage: Array<string> = []
  for (let at = rows.length - 1; at >= 0; at--) {
    const row = rows[at] as Row
    if (row.checkpoint === null || row.revision > highestBase) continue
    const base = verify(run, row)
    if (E.isRight(base)) return readChanges(run, byRevision, until, row, base.right, damage)
    damage.push(`revision ${row.revision}: ${base.left}`)
  }
  return { content: undefined, damage: damage.length > 0 ? damage : ['no revision with a whole checkpoint is left'] }
}

/** Adds the changes after a base, up to the first damaged row. */
const readChanges = (
  run: RunRow,
  rows: ReadonlyMap<number, Row>,
  until: number,
  base: Row,
  { checkpoint }: Verified,
  damageAbove: ReadonlyArray<string>
): Reading => {
  const changes: Array<Json> = []
  const damage = [...damageAbove]
  let revision = base.revision
  while (revision < until) {
    const row = rows.get(revision + 1)
    const next = row === undefined ? E.left('it is missing') : verify(run, row)
    if (E.isLeft(next)) {
      damage.push(`revision ${revision + 1}: ${next.left}`)
      break
    }
    changes.push(next.right.change)
    revision += 1
  }
  const found: Content['found'] =
    revision === until
      ? { _tag: 'Exact' }
      : {
          _tag: 'Recovered',
          from: `revision ${revision} in ${run.where}`,
          lost: `${damage.join('; ')}; revisions after ${revision} are lost`
        }
  return { content: { revision, checkpoint: checkpoint as Json, changes, found }, damage }
}

interface Verified {
  readonly change: Json
  readonly checkpoint: Json | undefined
}

const verify = ({ runId }: RunRow, row: Row): E.Either<string, Verified> => {
  if (checksumOf(runId, row) !== row.checksum) return E.left('its checksum is wrong')
  try {
    const checkpoint = row.checkpoint === null ? undefined : (JSON.parse(row.checkpoint) as Json)
    return E.right({ change: JSON.parse(row.change) as Json, checkpoint })
  } catch {
    return E.left('it is not JSON')
  }
}

const corrupt = ({ runId, where }: RunRow, damage: ReadonlyArray<string>): Corrupt => ({
  _tag: 'Corrupt',
  runId,
  where,
  why: damage.join('; ')
})

/** Decodes the summary column; none if it is damaged or of another revision than `head`. The caller of the listing then loads the run. */
export const summaryOf = (column: string | null, head: number, heldBy: O.Option<Holder>): O.Option<KeptSummary> => {
  const summary = Summary.decode(parsed(column ?? '') ?? null)
  return O.isSome(summary) && summary.value.revision === head ? O.some({ ...summary.value, heldBy }) : O.none
}
