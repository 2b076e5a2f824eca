/** The statements that save revisions: each moves the head of the run only if the claim still stands, and inserts the rows only then. */
import { sha256 } from '../../domain/data/Digest.js'
import type { Row, Save } from '../sql/Rows.js'
import type { Database } from './Database.js'
import type { PostgresStatement } from './Driver.js'

/** `claimValues`: `$1` to `$7`. `readsInbox`: the result then has `has_requests`, true if the run has requests. */
export interface StatementOptions {
  readonly claimValues: ReadonlyArray<unknown>
  readonly readsInbox: boolean
}

/** Makes the statement of a save. Its result is empty if the head did not move. */
export type StatementOf = (save: Save, options: StatementOptions) => PostgresStatement

/** `$1` to `$7`: the run, its epoch, token and head, the next head, the summary, and the accepted settings. */
const CLAIM_VALUES = 7

/** Up to this number of rows, each value is a parameter, which is faster than arrays; each number of rows is a statement of its own. */
const FEW_ROWS = 4

/**
 * `isNamed`: whether the server keeps the plans of the common statements, because planning one takes longer than running it. A transaction pooler
 * breaks named statements.
 */
export const statementsOf = ({ table }: Database, keep: number, isNamed: boolean): StatementOf => {
  const runs = table('runs')
  const revisions = table('revisions')
  const moved = `moved AS (UPDATE ${runs} SET head = $5::bigint, summary = $6
    WHERE id = $1 AND epoch = $2::bigint AND token = $3::uuid AND head = $4::bigint AND current_setting('synchronous_commit') = ANY ($7::text[])
    RETURNING id)`
  const hasRequests = (readsInbox: boolean): string =>
    readsInbox
      ? `EXISTS (SELECT FROM ${table('requests')} q WHERE q.run = $1) AS has_requests`
      : 'NULL::boolean AS has_requests'
  const few = (count: number, readsInbox: boolean): string => {
    const rows = Array.from({ length: count }, (_, row) => {
      const [revision, ...texts] = Array.from({ length: 5 }, (_, n) => `$${CLAIM_VALUES + 1 + 5 * row + n}`)
      return `(${revision}::bigint, ${texts.join(', ')})`
    })
    return `WITH ${moved} INSERT INTO ${revisions} (run, epoch, revision, kind, at, change, checksum)
      SELECT moved.id, $2::bigint, row.* FROM moved, (VALUES ${rows.join(', ')}) AS row RETURNING ${hasRequests(readsInbox)}`
  }
  const named = new Map<string, PostgresStatement>()
  const fewNamed = (count: number, readsInbox: boolean): PostgresStatement => {
    const key = `${count} ${readsInbox}`
    const known = named.get(key)
    if (known !== undefined) return known
    const text = few(count, readsInbox)
    const made = isNamed ? { text, name: `dogear-${sha256(text).slice(0, 16)}` } : { text }
    named.set(key, made)
    return made
  }
  const many = manyOf(revisions, moved, hasRequests(true), keep)
  return ({ rows, hasBase }, { claimValues, readsInbox }) =>
    rows.length > FEW_ROWS || hasBase
      ? { text: many(hasBase), values: [...claimValues, ...columnsOf(rows)] }
      : { ...fewNamed(rows.length, readsInbox), values: [...claimValues, ...rows.flatMap(fieldsOf)] }
}

/** A save with a base, as the first of each claim, also deletes rows above the head, which are damaged, and rows below the oldest base to keep. */
const manyOf = (
  revisions: string,
  moved: string,
  hasRequests: string,
  keep: number
): ((hasBase: boolean) => string) => {
  const oldest =
    keep < 2
      ? '($8::bigint[])[1]'
      : `(SELECT b.revision FROM ${revisions} b WHERE b.run = $1 AND b.checkpoint IS NOT NULL AND b.revision < ($8::bigint[])[1]
        ORDER BY b.revision DESC OFFSET ${keep - 2} LIMIT 1)`
  const pruned = `, damaged AS (DELETE FROM ${revisions} v USING moved WHERE v.run = moved.id AND v.revision > $5::bigint),
    old AS (DELETE FROM ${revisions} v USING moved WHERE v.run = moved.id AND v.revision < ${oldest})`
  const replacing = ` ON CONFLICT (run, revision) DO UPDATE SET epoch = excluded.epoch, kind = excluded.kind, at = excluded.at,
      change = excluded.change, checkpoint = excluded.checkpoint, checksum = excluded.checksum`
  return (
    hasBase
  ) => `WITH ${moved}, saved AS (INSERT INTO ${revisions} (run, epoch, revision, kind, at, change, checkpoint, checksum)
    SELECT moved.id, $2::bigint, row.* FROM moved, unnest($8::bigint[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[]) AS row${hasBase ? replacing : ''})${hasBase ? pruned : ''}
    SELECT ${hasRequests} FROM moved`
}

const fieldsOf = ({ revision, kind, at, change, checksum }: Row): ReadonlyArray<unknown> => [
  revision,
  kind,
  at,
  change,
  checksum
]

const columnsOf = (rows: ReadonlyArray<Row>): ReadonlyArray<unknown> =>
  (['revision', 'kind', 'at', 'change', 'checkpoint', 'checksum'] as const).map((name) => rows.map((row) => row[name]))
