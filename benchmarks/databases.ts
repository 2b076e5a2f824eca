/**
 * The cost of a durable step in a database, executor included, against the driver committing the same rows. The driver's saves are
 * spread over the run, in the same process and database, so that other load affects both.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import * as E from 'fp-ts/lib/Either.js'
import pg from 'pg'
import type { CheckpointStorage } from 'dogear'
import { Program, run } from 'dogear'
import { nodeEnvironment } from 'dogear/node'
import { postgresMigrations, postgresStorage } from 'dogear/postgres'
import { connect, sqliteMigrations } from 'dogear/sqlite'

/** `ratio`: the speed of Dogear as a share of the driver's. */
export interface Compared {
  readonly microsPerStep: number
  readonly driverMicros: number
  readonly ratio: number
}

/** The driver saves at every 20th step, and as often as there were steps since. */
const EVERY = 20

/** `save`: what the driver commits for one step. */
const compared = async (
  storage: CheckpointStorage,
  runId: string,
  steps: number,
  save: () => Promise<unknown>
): Promise<Compared> => {
  let [millis, count] = [0, 0]
  const interlude = async (): Promise<void> => {
    const start = performance.now()
    for (let n = 0; n < EVERY; n++) await save()
    millis += performance.now() - start
    count += EVERY
  }
  const tasks = Array.from({ length: steps }, (_, index) =>
    Program.task(`step-${index}`, {
      run: () => async () => {
        if (index % EVERY === 0) await interlude()
        return E.right(index)
      }
    })
  )
  const start = performance.now()
  const outcome = await run(Program.fromSteps('durable', tasks), runId, {})(nodeEnvironment(storage))()
  const own = performance.now() - start - millis
  if (E.isLeft(outcome) || outcome.right._tag !== 'Completed')
    return Promise.reject(new Error(`the run did not complete: ${JSON.stringify(outcome)}`))
  const [microsPerStep, driverMicros] = [(own * 1_000) / steps, (millis * 1_000) / count]
  return { microsPerStep, driverMicros, ratio: driverMicros / microsPerStep }
}

type Row = Readonly<Record<string, string | number | null>>

interface PlainSave {
  readonly head: number
  readonly summary: string
  readonly rows: ReadonlyArray<ReadonlyArray<unknown>>
}

const COLUMNS = ['revision', 'epoch', 'kind', 'at', 'change', 'checkpoint', 'checksum'] as const

/** The rows of one step, again and again with other revisions. As in a run, both ends of the summary change. */
const saves = (run: Row, rows: ReadonlyArray<Row>): (() => PlainSave) => {
  let head = 1_000_000
  return () => {
    const first = head + 1
    head += 2
    const summary = String(run['summary'])
      .replace(/\d+/, String(head))
      .replace(/...Z"}$/, `${head % 1_000}Z"}`)
    const made = rows.map((row, n) => [first + n, ...COLUMNS.slice(1).map((name) => row[name])])
    return { head, summary, rows: made }
  }
}

// --- PostgreSQL

/** A server with default durability. Its folder must be open to another user, because PostgreSQL refuses to run as root. */
export const startServer = async (): Promise<{ readonly port: number; readonly stop: () => void }> => {
  const folder = await mkdtemp(join(tmpdir(), 'dogear-bench-'))
  const args = ['test/adapters/postgres/children/keeper.js', folder, String(process.pid)]
  const keeper = spawn(process.execPath, args, { stdio: 'ignore' })
  const has = (name: string): boolean => existsSync(join(folder, name))
  while (!has('ready') && !has('failed')) await new Promise((resolve) => setTimeout(resolve, 20))
  if (has('failed')) throw new Error(readFileSync(join(folder, 'failed'), 'utf8'))
  const { port } = JSON.parse(readFileSync(join(folder, 'ready'), 'utf8')) as { port: number }
  return { port, stop: () => void keeper.kill() }
}

const FIELDS = COLUMNS.length

const SAVE = `WITH moved AS (UPDATE plain.runs SET head = $2, summary = $3 WHERE id = $1)
  INSERT INTO plain.revisions (run, ${COLUMNS.join(', ')}) VALUES ${[0, 1]
    .map((row) => `($1, ${COLUMNS.map((_, n) => `$${4 + FIELDS * row + n}`).join(', ')})`)
    .join(', ')}`

export const postgres = async (steps: number): Promise<Compared> => {
  const { port, stop } = await startServer()
  const pool = new pg.Pool({ host: '127.0.0.1', port, user: 'postgres', max: 4 })
  const storage = postgresStorage(pool)
  await compared(storage, 'warm-up', 500, () => Promise.resolve())
  await pool.query(postgresMigrations('plain'))
  await pool.query('INSERT INTO plain.runs SELECT * FROM dogear.runs')
  const [run] = (await pool.query('SELECT summary FROM dogear.runs')).rows as [Row]
  const found = await pool.query('SELECT * FROM dogear.revisions WHERE revision BETWEEN 801 AND 802 ORDER BY revision')
  const next = saves(run, found.rows as ReadonlyArray<Row>)
  const save = (): Promise<unknown> => {
    const { head, summary, rows } = next()
    return pool.query({ name: 'save', text: SAVE, values: ['warm-up', head, summary, ...rows.flat()] })
  }
  for (let n = 0; n < 200; n++) await save()
  const result = await compared(storage, 'measured', steps, save)
  await storage.close()
  await pool.end()
  stop()
  return result
}

// --- SQLite

export const sqlite = async (root: string, steps: number): Promise<Compared> => {
  const folder = await mkdtemp(join(root, 'sqlite-'))
  const { storage, close } = connect(join(folder, 'state.db'), Database)
  await compared(storage, 'warm-up', 500, () => Promise.resolve())
  const plain = new Database(join(folder, 'plain.db'))
  plain.pragma('journal_mode = WAL')
  plain.pragma('synchronous = FULL')
  for (const { sql } of sqliteMigrations) plain.exec(sql)
  plain.exec(`ATTACH '${join(folder, 'state.db')}' AS state; INSERT INTO runs SELECT * FROM state.runs`)
  const run = plain.prepare('SELECT summary FROM runs').get() as Row
  const found = plain
    .prepare('SELECT * FROM state.revisions WHERE revision BETWEEN 801 AND 802 ORDER BY revision')
    .all()
  plain.exec('DETACH state')
  const next = saves(run, found as ReadonlyArray<Row>)
  const move = plain.prepare("UPDATE runs SET head = ?, summary = ? WHERE id = 'warm-up'")
  const insert = plain.prepare(
    `INSERT INTO revisions (run, ${COLUMNS.join(', ')}) VALUES ('warm-up', ${COLUMNS.map(() => '?').join(', ')})`
  )
  const commit = plain.transaction(({ head, summary, rows }: PlainSave) => {
    move.run(head, summary)
    for (const row of rows) insert.run(...row)
  })
  const save = (): Promise<unknown> => Promise.resolve(commit(next()))
  for (let n = 0; n < 200; n++) await save()
  const result = await compared(storage, 'measured', steps, save)
  plain.close()
  close()
  await rm(folder, { recursive: true })
  return result
}
