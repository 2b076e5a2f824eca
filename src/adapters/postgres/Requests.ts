/** Keeps requests to runs, and the pointer to the run that paused last, as rows. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as RunId from '../../domain/checkpoint/RunId.js'
import { describe } from '../../domain/data/Malformed.js'
import type { ContinueHere } from '../../domain/request/Pause.js'
import type { Request } from '../../domain/request/Request.js'
import { byTime, isSameRequest, slotOf } from '../../domain/request/Request.js'
import type { ReadFailed, UnsupportedFormat, WriteFailed } from '../../ports/CheckpointStorage.js'
import type { AlreadyAnswered, PointerError, RequestError, Requests } from '../../ports/Requests.js'
import { ofRun } from '../sql/checkedCalls.js'
import * as Records from '../sql/Records.js'
import type { Database } from './Database.js'
import { readRows, writeFailed, writeRows } from './Database.js'
import type { Fields } from './Driver.js'
import { refusal } from './Failure.js'

/** What this process knows without a query. `known`: whether a run that it holds has requests; `undefined` for other runs. `learn` updates that. */
export interface Inbox {
  readonly known: (runId: string) => boolean | undefined
  readonly learn: (runId: string, isAny: boolean) => void
}

type Result<Failure, A> = Promise<E.Either<Failure, A>>

export const requestsIn = (database: Database, inbox: Inbox): Requests => {
  return {
    leave: (request) => ofRun(request.runId, () => leave(database, inbox, request)),
    isAny: (runId) => E.isRight(RunId.parse(runId)) && inbox.known(runId) !== false,
    list: (runId) =>
      ofRun(runId, async () => {
        const found = await list(database, runId)
        if (E.isRight(found)) inbox.learn(runId, found.right.length > 0)
        return found
      }),
    withdraw: (request) => ofRun(request.runId, () => withdraw(database, request)),
    clearPause: (runId) =>
      ofRun(runId, async () => E.map(() => undefined)(await remove(database, runId, Records.PAUSE))),
    ...pointerIn(database)
  }
}

/** Locks the run against removal while it inserts. An answer replaces nothing; a pause or cancel replaces an earlier one. */
const leave = async (
  database: Database,
  inbox: Inbox,
  request: Request
): Result<RequestError | AlreadyAnswered, void> => {
  const { runId } = request
  const text = Records.encodeRequest(request, database.where('requests'))
  if (E.isLeft(text)) return text
  const slot = slotOf(request)
  const isAnswer = request._tag === 'Answer'
  const onConflict = isAnswer ? 'NOTHING' : 'UPDATE SET request = excluded.request'
  const written = await write(
    database,
    runId,
    `WITH run AS (SELECT id FROM ${database.table('runs')} WHERE id = $1 FOR KEY SHARE),
      put AS (INSERT INTO ${database.table('requests')} (run, slot, request) SELECT id, $2, $3 FROM run ON CONFLICT (run, slot) DO ${onConflict} RETURNING run)
      SELECT (SELECT count(*) FROM run)::text AS runs, (SELECT count(*) FROM put)::text AS put`,
    slot,
    text.right
  )
  if (E.isLeft(written)) return written
  const [row = {}] = written.right
  if (row['runs'] !== '1') {
    const missing = refusal('NO_SUCH_RUN', `run ${runId} does not exist; start it first`)
    return E.left(writeFailed(database, { table: 'requests', operation: 'INSERT requests', runId })(missing))
  }
  inbox.learn(runId, true)
  // An earlier attempt whose reply was lost may have put exactly this request.
  if (row['put'] === '1' || (isAnswer && (await isStored(database, request)))) return E.right(undefined)
  return isAnswer ? E.left({ _tag: 'AlreadyAnswered', runId, unit: request.unit }) : E.right(undefined)
}

const isStored = async (database: Database, request: Request): Promise<boolean> => {
  const found = await list(database, request.runId)
  return E.isRight(found) && found.right.some((one) => isSameRequest(one, request))
}

const rowsOf = (database: Database, runId: string): Result<ReadFailed | UnsupportedFormat, ReadonlyArray<Fields>> => {
  const text = `SELECT slot, request FROM ${database.table('requests')} WHERE run = $1 ORDER BY slot`
  return readRows(database, { table: 'requests', runId }, text, runId)
}

const requestIn = (database: Database, runId: string, row: Fields): E.Either<RequestError, Request> =>
  Records.requestIn(runId, String(row['slot']), String(row['request']), database.where('requests'))

const list = async (database: Database, runId: string): Result<RequestError, ReadonlyArray<Request>> => {
  const rows = await rowsOf(database, runId)
  if (E.isLeft(rows)) return rows
  const found: Array<Request> = []
  for (const row of rows.right) {
    const request = requestIn(database, runId, row)
    if (E.isLeft(request)) return request
    found.push(request.right)
  }
  return E.right(found.sort(byTime))
}

/** Deletes the row only as it was read: a request that replaced it stays. */
const withdraw = async (database: Database, request: Request): Result<RequestError, void> => {
  const { runId } = request
  const rows = await rowsOf(database, runId)
  if (E.isLeft(rows)) return rows
  const row = rows.right.find(({ slot }) => slot === slotOf(request))
  if (row === undefined) return E.right(undefined)
  const found = requestIn(database, runId, row)
  if (E.isLeft(found)) return found
  if (!isSameRequest(found.right, request)) return E.right(undefined)
  return E.map(() => undefined)(await remove(database, runId, slotOf(request), String(row['request'])))
}

const remove = (
  database: Database,
  runId: string,
  slot: string,
  text: string | null = null
): ReturnType<typeof write> =>
  write(
    database,
    runId,
    `DELETE FROM ${database.table('requests')} WHERE run = $1 AND slot = $2 AND request = coalesce($3, request)`,
    slot,
    text
  )

const write = (
  database: Database,
  runId: string,
  text: string,
  ...values: ReadonlyArray<unknown>
): Result<WriteFailed | UnsupportedFormat, ReadonlyArray<Fields>> => {
  const operation = text.startsWith('DELETE') ? 'DELETE requests' : 'INSERT requests'
  return writeRows(database, { table: 'requests', operation, runId }, text, runId, ...values)
}

/** One row of the schema points to the run that paused last. */
const pointerIn = (database: Database): Pick<Requests, 'point' | 'pointer' | 'unpoint'> => {
  const table = database.table('pointer')
  const where = database.where('pointer')
  const change = async (text: string, ...values: ReadonlyArray<unknown>): Result<PointerError, void> => {
    const place = { table: 'pointer', operation: `${text.split(' ')[0]} pointer` }
    const rows = await writeRows(database, place, text, ...values)
    return E.isRight(rows) ? E.right(undefined) : E.left(asPointerError(where, rows.left))
  }
  return {
    point: (to) => async () =>
      E.map(() => where)(
        await change(
          `INSERT INTO ${table} (run, pointer) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET run = excluded.run, pointer = excluded.pointer`,
          to.runId,
          Records.encodePointer(to)
        )
      ),
    pointer: async (): Result<PointerError, O.Option<ContinueHere>> => {
      const rows = await readRows(database, { table: 'pointer' }, `SELECT pointer FROM ${table}`)
      if (E.isLeft(rows)) return E.left(asPointerError(where, rows.left))
      const [row] = rows.right
      return row === undefined
        ? E.right(O.none)
        : E.map((to: ContinueHere) => O.some(to))(Records.pointerIn(String(row['pointer']), where))
    },
    unpoint: (runId) => () => change(`DELETE FROM ${table} WHERE run = $1`, runId)
  }
}

const asPointerError = (where: string, error: ReadFailed | WriteFailed | UnsupportedFormat): PointerError =>
  error._tag === 'UnsupportedFormat'
    ? { _tag: 'InvalidPointer', where, why: describe({ ...error, _tag: 'NewerFormat' }) }
    : error
