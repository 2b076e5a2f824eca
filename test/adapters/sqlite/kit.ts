/** Drivers and helpers for tests of the SQLite store. */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type BetterSqlite3 from 'better-sqlite3'
import { afterAll, test } from 'vitest'
import type { SqliteDatabase, SqliteDriver, SqliteStorageOptions } from '../../../src/adapters/sqlite/index.js'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.js'
import type { Threads } from '../../../src/adapters/sqlite/Owners.js'
import type { CheckpointStorage } from '../../../src/ports/CheckpointStorage.js'
import type { RevisionOfRun } from '../../../src/testing/conformance/Spec.js'
import type { OtherProcess, StorageSpec } from '../../../src/testing/index.js'
import { stallGate } from '../../../src/testing/index.js'

/** A driver, and the module that a child process imports it from. */
export interface Driver {
  readonly name: string
  readonly exported: string
  readonly open: SqliteDriver
}

/** Does not compile unless the types of better-sqlite3 fit. */
export const fits: typeof BetterSqlite3 extends SqliteDriver ? true : never = true

/** `better-sqlite3` is built for one version of Node, and Node 20 has no `node:sqlite`. */
const load = async (name: string, exported: string): Promise<ReadonlyArray<Driver>> => {
  try {
    const module = (await import(name)) as Readonly<Record<string, SqliteDriver>>
    const open = module[exported] as SqliteDriver
    new open(':memory:').close()
    return [{ name, exported, open }]
  } catch {
    return []
  }
}

export const drivers: ReadonlyArray<Driver> = [
  ...(await load('better-sqlite3', 'default')),
  ...(await load('node:sqlite', 'DatabaseSync'))
]

// Node 22.12 has `node:sqlite` behind a flag, and a file without a test fails.
if (drivers.length === 0 && process.version.startsWith('v22.12.')) test.skip('no driver loads', () => undefined)

const folders: Array<string> = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 20 })
})

/** A folder that is deleted after the tests of the file. */
export const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'dogear-sqlite-'))
  folders.push(path)
  return path
}

/** A database, and the processes that ever used it. */
export interface Place {
  readonly driver: SqliteDriver
  readonly root: string
  readonly file: string
  readonly processes: Array<Threads>
  readonly connections: Array<SqliteDatabase>
}

export const placeOf = (driver: SqliteDriver): Place => {
  const root = folder()
  return { driver, root, file: join(root, 'state.db'), processes: [], connections: [] }
}

export const connected = ({ driver, file, connections }: Place): SqliteDatabase => {
  const database = new driver(file)
  database.exec('PRAGMA synchronous = FULL')
  connections.push(database)
  return database
}

/** Ends the locks of a process, as its death would. Its instances keep working. */
const die = (threads: Threads): void => {
  for (const { lock } of threads.values()) {
    try {
      lock.close()
    } catch {}
  }
}

interface Opened {
  readonly storage: CheckpointStorage
  readonly threads: Threads
}

/** A store in another live process. */
export const beside = (
  place: Place,
  options: SqliteStorageOptions = {},
  database: SqliteDatabase = connected(place)
): Opened => {
  const threads: Threads = new Map()
  place.processes.push(threads)
  const open = (file: string): SqliteDatabase => new place.driver(file)
  const storage = sqliteStorage(database, {
    checkIntervalMillis: 50,
    open,
    ...options,
    owners: { threads, ...options.owners }
  })
  return { storage, threads }
}

/** A process that starts after all others were killed. */
export const reopen = (place: Place, options?: SqliteStorageOptions, database?: SqliteDatabase): CheckpointStorage => {
  place.processes.forEach(die)
  return beside(place, options, database).storage
}

const other = (place: Place): OtherProcess => {
  const { storage, threads } = beside(place)
  return {
    storage,
    kill: () => {
      die(threads)
      return Promise.resolve()
    }
  }
}

/** A process that finds no lock file of another one. */
const unsure = (place: Place): CheckpointStorage =>
  beside(place, { owners: { folderOf: () => join(place.root, 'elsewhere') } }).storage

const within = <A>({ driver, file }: Place, act: (database: SqliteDatabase) => A): A => {
  const database = new driver(file)
  try {
    return act(database)
  } finally {
    database.close()
  }
}

const damage = (place: Place, runId: string): void =>
  within(place, (database) => {
    database
      .prepare(
        `UPDATE revisions SET change = replace(change, '"output":"third"', '"output":"thirt"') WHERE run = ?
         AND revision = (SELECT head FROM runs WHERE id = ?)`
      )
      .run(runId, runId)
  })

const swap = (place: Place, one: RevisionOfRun, another: RevisionOfRun): void =>
  within(place, (database) => {
    const move = database.prepare('UPDATE revisions SET run = ?, revision = ? WHERE run = ? AND revision = ?')
    move.run('-', 0, one.runId, one.revision)
    move.run(one.runId, one.revision, another.runId, another.revision)
    move.run(another.runId, another.revision, '-', 0)
  })

const digest = (place: Place, runId: string): string =>
  within(place, (database) => {
    const rows = [
      database.prepare('SELECT * FROM runs WHERE id = ?').all(runId),
      database.prepare('SELECT * FROM revisions WHERE run = ? ORDER BY revision').all(runId)
    ]
    return createHash('sha256').update(JSON.stringify(rows)).digest('hex')
  })

const isWrite = (text: string): boolean => /^\s*(INSERT|UPDATE|DELETE|COMMIT|BEGIN IMMEDIATE)/.test(text)

const isRead = (text: string): boolean => /^\s*(SELECT|WITH)/.test(text)

/** A connection whose statements can be made to fail. */
const faulty = (place: Place) => {
  let failing: { readonly hits: (text: string) => boolean; readonly code: string; after: number } | undefined
  const check = (text: string): void => {
    if (failing?.hits(text) === true && failing.after-- <= 0)
      throw Object.assign(new Error(`injected into ${text}`), { code: failing.code })
  }
  const database = connected(place)
  const wrapped: SqliteDatabase = {
    exec: (text) => {
      check(text)
      return database.exec(text)
    },
    prepare: (text) => {
      const statement = database.prepare(text)
      const checked =
        <Args extends ReadonlyArray<unknown>, A>(call: (...args: Args) => A) =>
        (...args: Args): A => {
          check(text)
          return call(...args)
        }
      return {
        run: checked((...values) => statement.run(...values)),
        get: checked((...values) => statement.get(...values)),
        all: checked((...values) => statement.all(...values))
      }
    },
    close: () => database.close()
  }
  return {
    storage: reopen(place, {}, wrapped),
    fail: (operation: 'read' | 'write', code: string, after = 0) => {
      failing = { hits: operation === 'read' ? isRead : isWrite, code, after }
    },
    heal: () => {
      failing = undefined
    }
  }
}

export const sqliteSpec = ({ name, open }: Driver): StorageSpec<Place> => ({
  name: `the SQLite store with ${name}`,
  create: () => Promise.resolve(placeOf(open)),
  reopen: (place) => Promise.resolve(reopen(place)),
  beside: (place) => Promise.resolve(other(place)),
  damage: (place, runId) => Promise.resolve(damage(place, runId)),
  swap: (place, one, another) => Promise.resolve(swap(place, one, another)),
  newer: (place, runId) =>
    Promise.resolve(
      within(place, (database) => void database.prepare('UPDATE runs SET format = 2 WHERE id = ?').run(runId))
    ),
  digest: (place, runId) => Promise.resolve(digest(place, runId)),
  faulty: (place) => Promise.resolve(faulty(place)),
  undecided: (place) => Promise.resolve(unsure(place)),
  stall: (place) => {
    const gate = stallGate()
    return Promise.resolve({ ...gate, storage: reopen(place, { pass: gate.pass }) })
  },
  destroy: (place) => {
    place.processes.forEach(die)
    for (const connection of place.connections) connection.close()
    rmSync(place.root, { recursive: true, force: true, maxRetries: 20 })
    return Promise.resolve()
  },
  capabilities: ['history', 'large', 'watch', 'processes', 'damage', 'formats', 'faults', 'stalls', 'takeOver']
})
