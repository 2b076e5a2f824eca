/** Opens the store of a location. A database adapter and its driver load only for a location that needs them. */
import { closeSync, existsSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as E from 'fp-ts/lib/Either.js'
import type { PostgresPool } from '../../adapters/postgres/index.js'
import type { SqliteDriver } from '../../adapters/sqlite/index.js'
import { fieldsOf } from '../../domain/data/Options.js'
import { fromUnknown } from '../../domain/data/StepError.js'
import type { Environment } from '../../ports/Environment.js'
import { firstLine } from '../../view/text.js'
import type { CliError } from '../CliError.js'
import { notDone, refused } from '../CliError.js'
import type { Location } from './Location.js'
import { show } from './Location.js'

/** What the command needs of `pg`. */
interface PostgresDriver {
  readonly Pool: new (options: object) => PostgresPool & { readonly end: () => Promise<unknown> }
}

/** The ports of one database. */
export interface Database extends Pick<Environment, 'storage' | 'artifacts' | 'requests'> {
  readonly close: () => Promise<void>
}

type DatabaseLocation = Exclude<Location, { readonly _tag: 'Files' }>

/** Loads a package: that of the user's project, else the one beside this package. Rejects if neither exists. */
export type Load = (name: string) => Promise<unknown>

const loadIn =
  (folder: string): Load =>
  async (name) => {
    const own = E.tryCatch(
      () => createRequire(join(folder, 'package.json')).resolve(name),
      () => undefined
    )
    return (await import(E.isRight(own) && own.right !== name ? pathToFileURL(own.right).href : name)) as unknown
  }

/** Uses the database at a location, and closes it. */
export const withDatabase = async <A>(
  location: DatabaseLocation,
  how: { readonly folder: string; readonly mayCreate: boolean },
  use: (database: Database) => Promise<E.Either<CliError, A>>
): Promise<E.Either<CliError, A>> => {
  const opened = await open(location, how)
  if (E.isLeft(opened)) return opened
  try {
    return await use(opened.right)
  } finally {
    await opened.right.close()
  }
}

/** `mayCreate`: a SQLite file that does not exist is created. */
export const open = async (
  location: DatabaseLocation,
  { folder, mayCreate, load = loadIn(folder) }: { folder: string; mayCreate: boolean; load?: Load }
): Promise<E.Either<CliError, Database>> => {
  switch (location._tag) {
    case 'Postgres':
      return await postgres(location, load)
    case 'Sqlite':
      return mayCreate || existsSync(location.path)
        ? await sqlite(location, load, mayCreate)
        : E.left(notOpened(location.path, missing('the file does not exist; check the path')))
  }
}

const postgres = async (
  location: Location & { readonly _tag: 'Postgres' },
  load: Load
): Promise<E.Either<CliError, Database>> => {
  const driver = await driverIn<PostgresDriver>(load, 'pg')
  if (E.isLeft(driver)) return E.left(noDriver(location, 'pg', driver.left))
  const { postgresArtifacts, postgresRequests, postgresStorage } = await import('../../adapters/postgres/index.js')
  try {
    const pool = new driver.right.Pool({ connectionString: location.url, allowExitOnIdle: true, keepAlive: true })
    const options = { namesOptions: false }
    const storage = postgresStorage(pool, options)
    const close = async (): Promise<void> => {
      await storage.close()
      await pool.end()
    }
    return E.right({
      storage,
      artifacts: postgresArtifacts(pool, options),
      requests: postgresRequests(pool, options),
      close
    })
  } catch (cause) {
    return E.left(notOpened(show(location), cause))
  }
}

const sqlite = async (
  location: Location & { readonly _tag: 'Sqlite' },
  load: Load,
  mayCreate: boolean
): Promise<E.Either<CliError, Database>> => {
  const driver = await sqliteDriver(load)
  if (E.isLeft(driver)) return E.left(noDriver(location, 'better-sqlite3', driver.left))
  const { connect } = await import('../../adapters/sqlite/index.js')
  if (mayCreate && !existsSync(dirname(location.path)))
    return E.left(notOpened(location.path, missing('its folder does not exist; create it, or check the path')))
  try {
    // Private like the files of a folder: SQLite would let everybody read the file, and gives its WAL the same permissions.
    if (mayCreate && !existsSync(location.path)) closeSync(openSync(location.path, 'a', 0o600))
    const { close, ...ports } = connect(location.path, driver.right)
    return E.right({ ...ports, close: () => Promise.resolve(close()) })
  } catch (cause) {
    return E.left(notOpened(location.path, cause))
  }
}

const sqliteDriver = async (load: Load): Promise<Loaded<SqliteDriver>> => {
  const better = await driverIn<SqliteDriver>(load, 'better-sqlite3')
  if (E.isRight(better) && isBuilt(better.right)) return better
  const own = await driverIn<SqliteDriver>(load, 'node:sqlite', 'DatabaseSync')
  return E.isRight(own) ? own : better
}

/** `better-sqlite3` is built for one version of Node.js, if at all, and loads what was built when it opens a database. */
const isBuilt = (driver: SqliteDriver): boolean => {
  try {
    new driver(':memory:').close()
    return true
  } catch {
    return false
  }
}

/** A driver, or why it did not load. */
type Loaded<D> = E.Either<unknown, D>

const driverIn = <D>(load: Load, name: string, exported = 'default'): Promise<Loaded<D>> =>
  load(name).then(
    (module) =>
      E.fromNullable(new Error(`it exports no ${exported}`))((module as Readonly<Record<string, D>>)[exported]),
    E.left
  )

const noDriver = (location: Location, name: string, cause: unknown): CliError => {
  const [why, text] = isMissing(name, cause)
    ? ['is not installed', 'Install it, then repeat:']
    : [`cannot be loaded: ${firstLine(fromUnknown(cause).message)}`, 'Install a version that can, then repeat:']
  return refused(
    'NoDriver',
    [`Cannot open ${show(location)}: the package ${name} ${why}`],
    [{ text, command: `npm install ${name}` }]
  )
}

/** Returns whether the package itself was not found. One that lacks a dependency fails with the same code. */
const isMissing = (name: string, cause: unknown): boolean =>
  MISSING.has(fieldsOf(cause)['code']) && fromUnknown(cause).message.includes(`'${name}'`)

const MISSING: ReadonlySet<unknown> = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'])

const missing = (message: string): Error => Object.assign(new Error(message), { code: 'ENOENT' })

const notOpened = (where: string, cause: unknown): CliError => {
  const { code } = Object(cause) as { readonly code?: unknown }
  return notDone({
    _tag: 'ReadFailed',
    where,
    operation: 'open',
    code: typeof code === 'string' ? code : 'UNKNOWN',
    cause
  })
}
