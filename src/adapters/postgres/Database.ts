/** Sends statements to the database: prepares its tables before the first one, and repeats those that fail transiently. */
import { defined } from '../../domain/data/defined.js'
import * as E from 'fp-ts/lib/Either.js'
import type { Check, OptionTable } from '../../domain/data/Options.js'
import {
  amount,
  describeInvalid,
  eachOf,
  readable,
  flag,
  interval,
  nested,
  oneOf,
  signal as isSignal,
  wholeFrom
} from '../../domain/data/Options.js'
import type { ReadFailed, StorageError, UnsupportedFormat, WriteFailed } from '../../ports/CheckpointStorage.js'
import { sleep } from '../sql/sleep.js'
import type { Fields, Table } from '../sql/Table.js'
import type { PostgresPool, PostgresStatement } from './Driver.js'
import { rowsOf } from './Driver.js'
import type { Failure } from './Failure.js'
import { failureOf, refusal, refused } from './Failure.js'
import * as Migrations from './Migrations.js'

/**
 * A setting that may lose acknowledged saves when the server's machine loses power.
 *
 * @category model
 */
export type PostgresWeakness =
  'synchronous_commit=off' | 'synchronous_commit=local' | 'synchronous_commit=remote_write' | 'fsync=off'

const WEAKNESSES: Readonly<Record<PostgresWeakness, true>> = {
  'synchronous_commit=off': true,
  'synchronous_commit=local': true,
  'synchronous_commit=remote_write': true,
  'fsync=off': true
}

/**
 * Options of everything that this package keeps in PostgreSQL.
 *
 * - `schema`: the schema of the tables, a name of at most 63 bytes. Default `dogear`.
 * - `migrate`: creates and upgrades the tables at the first call. Default true; otherwise run {@link postgresMigrations} yourself.
 * - `allow`: settings that are otherwise refused, because an acknowledged save may be lost with them.
 * - `retryMillis`: how long a call is repeated while the server cannot be reached, fails over or is busy. Default 10 s.
 * - `signal`: ends these repetitions.
 *
 * @category model
 */
export interface PostgresDatabaseOptions {
  readonly schema?: string
  readonly migrate?: boolean
  readonly allow?: ReadonlyArray<PostgresWeakness>
  readonly retryMillis?: number
  readonly signal?: AbortSignal
  /** @internal False for a user who cannot set options: errors name none. */
  readonly namesOptions?: boolean
}

export interface Database {
  readonly pool: PostgresPool
  /** The quoted name of a table. */
  readonly table: (name: string) => string
  /** The name of a table in errors. */
  readonly where: (name: string) => string
  readonly schema: string
  readonly migrate: boolean
  readonly allow: ReadonlyArray<PostgresWeakness>
  readonly retryMillis: number
  readonly signal: AbortSignal | undefined
  readonly namesOptions: boolean
  /** Why the options are invalid, if they are. */
  readonly invalid: string | undefined
  /** The preparation of the tables, once it has begun. */
  prepared: Promise<E.Either<Failure, Preparation>> | undefined
}

/** `version`: of the tables. */
export interface Preparation {
  readonly version: number
  readonly weakness: PostgresWeakness | undefined
}

/** PostgreSQL cuts longer names, so that two schemas would be one. */
const schemaName: Check = (value) =>
  typeof value === 'string' && value !== '' && Buffer.byteLength(value) <= 63 ? undefined : 'a string of 1 to 63 bytes'

/** The options of all three stores, because hosts pass the same options to each. */
const OPTIONS: OptionTable = {
  schema: schemaName,
  migrate: flag,
  allow: eachOf(...Object.keys(WEAKNESSES)),
  retryMillis: amount,
  signal: isSignal,
  liveness: oneOf('lock', 'lease'),
  leaseMillis: interval,
  checkIntervalMillis: interval,
  keep: wholeFrom(1),
  limits: nested({ checkpointBytes: amount, baseBytes: amount }),
  maxBytes: amount
}

export const invalidOptions = (options: unknown): string | undefined =>
  describeInvalid('a PostgreSQL store', options, OPTIONS, ['namesOptions'])

const watched = new WeakSet<PostgresPool>()

export const databaseOf = (pool: PostgresPool, options: PostgresDatabaseOptions): Database => {
  const given = readable(options)
  const { schema = 'dogear', migrate = true, allow = [], retryMillis = 10_000, signal, namesOptions = true } = given
  // Without a listener, an idle connection that breaks would end the process.
  if (!watched.has(pool)) pool.on('error', () => undefined)
  watched.add(pool)
  return {
    pool,
    schema,
    table: (name) => `${Migrations.quoted(schema)}.${name}`,
    where: (name) => `${schema}.${name}`,
    migrate,
    allow,
    retryMillis,
    signal,
    namesOptions,
    invalid: invalidOptions(options),
    prepared: undefined
  }
}

/** Sends one statement once. */
export const send = async (
  { pool }: { readonly pool: Pick<PostgresPool, 'query'> },
  statement: PostgresStatement
): Promise<E.Either<Failure<never>, ReadonlyArray<Fields>>> => {
  try {
    return E.right(rowsOf(await pool.query(statement)))
  } catch (cause) {
    return E.left(failureOf(cause))
  }
}

const LONGEST_PAUSE_MILLIS = 1_000

/**
 * Repeats `act` until it succeeds, fails permanently, or the time is over. `effect` of the failure says whether any attempt may have
 * taken effect.
 */
export const retry = async <A, Refused extends StorageError>(
  { retryMillis, signal }: Pick<Database, 'retryMillis' | 'signal'>,
  act: (attempt: number) => Promise<E.Either<Failure<Refused>, A>>,
  lost?: AbortSignal
): Promise<E.Either<Failure<Refused>, A>> => {
  const end = performance.now() + retryMillis
  let effect: Failure['effect'] = 'none'
  for (let attempt = 0; ; attempt++) {
    const result = await act(attempt)
    if (E.isRight(result)) return result
    if (result.left.effect === 'unknown') effect = 'unknown'
    const isOver = performance.now() >= end || signal?.aborted === true || lost?.aborted === true
    if (!result.left.isTransient || isOver) return E.left({ ...result.left, effect })
    const pause = Math.min(LONGEST_PAUSE_MILLIS, 20 * 2 ** attempt, Math.max(0, end - performance.now()))
    await sleep(pause * (0.5 + Math.random() / 2), signal, lost)
  }
}

/** Sends a statement, once the tables exist, and repeats it after transient failures. Repeating it must do no harm. */
export const sendRepeatedly = (
  database: Database,
  statement: PostgresStatement
): Promise<E.Either<Failure, ReadonlyArray<Fields>>> =>
  retry(database, async () => {
    const prepared = await prepare(database)
    return E.isLeft(prepared) ? prepared : send(database, statement)
  })

/** Creates or checks the tables, once. */
export const prepare = async (database: Database): Promise<E.Either<Failure, Preparation>> => {
  const prepared = (database.prepared ??= checkTables(database))
  const result = await prepared
  if (E.isLeft(result) && database.prepared === prepared) database.prepared = undefined
  return result
}

const checkTables = async (database: Database): Promise<E.Either<Failure, Preparation>> => {
  const { schema, migrate, invalid } = database
  if (invalid !== undefined) return E.left(refusal('INVALID_OPTIONS', invalid))
  let found = await versionOf(database)
  if (E.isRight(found) && found.right.version < Migrations.VERSION && migrate) {
    const migrated = await send(database, { text: Migrations.script(schema) })
    // With these codes, another process created the schema at the same time.
    if (E.isLeft(migrated))
      return E.left({
        ...migrated.left,
        isTransient: migrated.left.isTransient || /^(23505|42P0[67]|42710)$/.test(migrated.left.code)
      })
    found = await versionOf(database)
  }
  if (E.isLeft(found)) return found
  const { version } = found.right
  if (version < Migrations.VERSION)
    return E.left(
      refusal(
        'NO_TABLES',
        `the tables of Dogear are missing or old; run the SQL of \`postgresMigrations(${JSON.stringify(schema)})\``
      )
    )
  const newer = refuseNewer(database, version)
  return E.isLeft(newer) ? newer : found
}

/** Refuses tables that a newer version migrated, perhaps after this process prepared them. The next call checks again. */
export const refuseNewer = (database: Database, found: number): E.Either<Failure, void> => {
  const supported = Migrations.VERSION
  if (found <= supported) return E.right(undefined)
  database.prepared = undefined
  const where = database.where('migrations')
  return E.left(refused({ _tag: 'UnsupportedFormat', runId: '', where, found, supported }))
}

const versionOf = async (database: Database): Promise<E.Either<Failure, Preparation>> => {
  const settings = `current_setting('synchronous_commit') AS synchronous_commit, current_setting('fsync') AS fsync`
  const present = await send(database, {
    text: `SELECT to_regclass($1) IS NOT NULL AS present, ${settings}`,
    values: [database.table('migrations')]
  })
  if (E.isLeft(present)) return present
  const [row = {}] = present.right
  const weakness = weaknessOf(String(row['synchronous_commit']), String(row['fsync']))
  if (row['present'] !== true) return E.right({ version: 0, weakness })
  const version = await send(database, {
    text: `SELECT max(version)::text AS version FROM ${database.table('migrations')}`
  })
  return E.map(([found]: ReadonlyArray<Fields>) => ({ version: Number(found?.['version'] ?? 0), weakness }))(version)
}

/** `on` waits for the disk of the server, and of a synchronous standby if there is one. */
const STRONG = ['on', 'remote_apply']

const weaknessOf = (synchronousCommit: string, fsync: string): PostgresWeakness | undefined => {
  if (fsync === 'off') return 'fsync=off'
  return STRONG.includes(synchronousCommit)
    ? undefined
    : (`synchronous_commit=${synchronousCommit}` as PostgresWeakness)
}

/** The values of `synchronous_commit` with which this store saves. */
export const durableSettings = ({ allow }: Database): ReadonlyArray<string> => [
  ...STRONG,
  ...allow.filter((one) => one.startsWith('synchronous_commit=')).map((one) => one.slice('synchronous_commit='.length))
]

/** The failure of a write with a setting that may lose it after it is acknowledged. */
export const weakSetting = (weakness: string): Failure<never> =>
  refusal(weakness, `an acknowledged save may be lost with ${weakness}; change the setting`, `allow: ['${weakness}']`)

/** Ensures that the tables exist, and that an acknowledged write is durable. */
export const prepareToWrite = async (database: Database): Promise<E.Either<Failure, void>> => {
  const prepared = await retry(database, () => prepare(database))
  if (E.isLeft(prepared)) return prepared
  const { weakness } = prepared.right
  if (weakness === undefined || database.allow.includes(weakness)) return E.right(undefined)
  return E.left(weakSetting(weakness))
}

// --- errors of the port

/** The table and the statement that failed, for errors: `runs`, `UPDATE runs`. */
export interface Place {
  readonly table: string
  readonly operation: string
  readonly runId?: string
}

/** Adds the run of the call to an error that concerns every run, such as tables of a newer version. */
const withRunId = <Refused extends StorageError>({ runId }: Place, error: Refused): Refused =>
  runId === undefined ? error : { ...error, runId }

/** A missing pool and invalid options concern no single table. */
const factsOf = (database: Database, { table, operation }: Place, { code, cause, option }: Failure<StorageError>) => ({
  where: code === 'NO_POOL' || code === 'INVALID_OPTIONS' ? 'the database' : database.where(table),
  operation,
  code,
  cause,
  ...(database.namesOptions ? defined({ option }) : {})
})

export const readFailed =
  <Refused extends StorageError = UnsupportedFormat>(database: Database, place: Place) =>
  (failure: Failure<Refused>): ReadFailed | Refused =>
    failure.error === undefined
      ? { _tag: 'ReadFailed', ...factsOf(database, place, failure) }
      : withRunId(place, failure.error)

export const writeFailed =
  <Refused extends StorageError = UnsupportedFormat>(database: Database, place: Place) =>
  (failure: Failure<Refused>): WriteFailed | Refused => {
    if (failure.error !== undefined) return withRunId(place, failure.error)
    const committed = failure.effect === 'none' ? 'no' : 'unknown'
    return { _tag: 'WriteFailed', committed, ...factsOf(database, place, failure) }
  }

/** Reads rows of a table. */
export const readRows = async (
  database: Database,
  place: Omit<Place, 'operation'>,
  text: string,
  ...values: Array<unknown>
): Promise<E.Either<ReadFailed | UnsupportedFormat, ReadonlyArray<Fields>>> =>
  E.mapLeft(readFailed(database, { ...place, operation: `SELECT ${place.table}` }))(
    await sendRepeatedly(database, { text, values })
  )

/** Writes to a table, once it is certain that an acknowledged write is durable. Repeating the statement must do no harm. */
export const writeRows = async (
  database: Database,
  place: Place,
  text: string,
  ...values: Array<unknown>
): Promise<E.Either<WriteFailed | UnsupportedFormat, ReadonlyArray<Fields>>> => {
  const ready = await prepareToWrite(database)
  return E.mapLeft(writeFailed(database, place))(
    E.isLeft(ready) ? ready : await sendRepeatedly(database, { text, values })
  )
}

/** A table for statements with `?` for each value. */
export const tableOf = (database: Database, table: string): Table => ({
  name: database.table(table),
  where: () => database.where(table),
  read: (call, text, ...values) => readRows(database, { ...call, table }, numbered(text), ...values),
  write: async (call, text, ...values) => {
    const place = { ...call, table, operation: `${text.split(' ')[0]} ${table}` }
    return E.map(() => undefined)(await writeRows(database, place, numbered(text), ...values))
  }
})

/** Leaves quoted names as they are: that of a schema may contain a question mark. */
const numbered = (text: string): string => {
  let count = 0
  return text.replace(/"[^"]*"|\?/g, (found) => (found === '?' ? `$${(count += 1)}` : found))
}
