/** Lists 10,000 runs of a database by page. */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import type { CheckpointStorage } from 'dogear'
import { listRuns, run, workflow } from 'dogear/promise'
import { postgresStorage } from 'dogear/postgres'
import { connect } from 'dogear/sqlite'
import { startServer } from './databases.js'

/** Milliseconds. `page`: the median of one page. */
export interface Paging {
  readonly page: number
  readonly all: number
}

export const PAGE = 100

const ID = 'run-00000'

/** A completed run of ten steps, to copy. */
const first = async (storage: CheckpointStorage): Promise<void> => {
  let flow = workflow('listed')
  for (let n = 0; n < 10; n++) flow = flow.step(`step-${n}`, () => n)
  await run(flow, { id: ID, storage })
}

const paged = async (storage: CheckpointStorage, count: number): Promise<Paging> => {
  const pages: Array<number> = []
  const began = performance.now()
  let [listed, after]: [number, string | undefined] = [0, undefined]
  for (;;) {
    const start = performance.now()
    const page = await listRuns({ storage, limit: PAGE, ...(after === undefined ? {} : { after }) })
    pages.push(performance.now() - start)
    listed += page.length
    after = page.at(-1)?.runId
    if (page.length < PAGE) break
  }
  if (listed !== count) throw new Error(`${listed} runs of ${count}`)
  return { page: pages.toSorted((a, b) => a - b)[pages.length >> 1] as number, all: performance.now() - began }
}

/** Copies the row of the run under other ids. */
const copies = (numbers: string, id: string, columns: ReadonlyArray<string>): string => {
  const values = columns.map((one) =>
    one === 'id' ? id : one === 'summary' ? `replace(summary, '${ID}', ${id})` : one
  )
  return `INSERT INTO runs (${columns.join(', ')}) SELECT ${values.join(', ')} FROM runs, ${numbers} WHERE runs.id = '${ID}'`
}

export const postgresPages = async (count: number): Promise<Paging> => {
  const { port, stop } = await startServer()
  const pool = new pg.Pool({ host: '127.0.0.1', port, user: 'postgres', max: 1 })
  const storage = postgresStorage(pool)
  await first(storage)
  const columns = 'id format head epoch token key host pid since summary'.split(' ')
  await pool.query('SET search_path = dogear')
  await pool.query(copies(`generate_series(1, ${count - 1}) AS n`, "'run-' || lpad(n::text, 5, '0')", columns))
  await pool.query('ANALYZE')
  const result = await paged(storage, count)
  await storage.close()
  await pool.end()
  stop()
  return result
}

export const sqlitePages = async (root: string, count: number): Promise<Paging> => {
  const folder = await mkdtemp(join(root, 'paging-'))
  const { storage, close } = connect(join(folder, 'state.db'), Database)
  await first(storage)
  const other = new Database(join(folder, 'state.db'))
  const columns = 'id format head epoch token owner host pid since summary'.split(' ')
  const numbers = `(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ${count - 1}) SELECT n FROM s)`
  other.exec(copies(numbers, "'run-' || printf('%05d', n)", columns))
  other.close()
  const result = await paged(storage, count)
  close()
  await rm(folder, { recursive: true })
  return result
}
