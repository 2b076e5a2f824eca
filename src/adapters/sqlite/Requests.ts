/** Keeps requests to runs, and the pointer to the run that paused last, in the database of the runs. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as RunId from '../../domain/checkpoint/RunId.js'
import { describe } from '../../domain/data/Malformed.js'
import type { ContinueHere } from '../../domain/request/Pause.js'
import type { Request } from '../../domain/request/Request.js'
import { byTime, isSameRequest, slotOf } from '../../domain/request/Request.js'
import type { WriteFailed } from '../../ports/CheckpointStorage.js'
import type { AlreadyAnswered, PointerError, RequestError, Requests } from '../../ports/Requests.js'
import { ofRun } from '../sql/checkedCalls.js'
import { encodePointer, encodeRequest, PAUSE, pointerIn, requestIn } from '../sql/Records.js'
import type { Connection, Failure, SqliteOptions } from './Connection.js'
import { connectionOf, read, sql, write } from './Connection.js'
import type { SqliteDatabase } from './Driver.js'

interface Slot {
  readonly slot: string
  readonly body: string
}

/**
 * The inboxes of the runs of a {@link sqliteStorage}, and the pause pointer, in the same database.
 *
 * @example
 * import Database from 'better-sqlite3'
 * import { sqliteRequests } from 'dogear/sqlite'
 * import assert from 'node:assert/strict'
 *
 * assert.equal(sqliteRequests(new Database('state.db')).isAny('release-42'), false)
 *
 * @category constructors
 */
export const sqliteRequests = (database: SqliteDatabase, options: SqliteOptions = {}): Requests => {
  const self = connectionOf(database, options)

  return {
    leave: (request) => ofRun(request.runId, () => leave(self, request)),
    isAny: (runId) => E.isRight(RunId.parse(runId)) && isAny(self, runId),
    list: (runId) => ofRun(runId, () => list(self, runId)),
    withdraw: (request) => ofRun(request.runId, () => withdraw(self, request)),
    clearPause: (runId) =>
      ofRun(runId, () =>
        write(self, { runId }, () => {
          sql(self, DELETE).run(runId, PAUSE)
          return DONE
        })
      ),
    point: (to) => async () =>
      asPointerError(
        await write<string, never>(self, {}, () => {
          sql(self, 'INSERT OR REPLACE INTO pointer (one, body) VALUES (1, ?)').run(encodePointer(to))
          return E.right(placeOf(self))
        })
      ),
    pointer: async () => asPointerError(await read(self, {}, () => pointer(self))),
    unpoint: (runId) => async () =>
      asPointerError(
        await write<void, PointerError>(self, {}, () => {
          const found = pointer(self)
          if (E.isLeft(found)) return found
          if (O.isSome(found.right) && found.right.value.runId === runId) sql(self, 'DELETE FROM pointer').run()
          return DONE
        })
      )
  }
}

const DONE: E.Either<never, void> = E.right(undefined)

const DELETE = 'DELETE FROM requests WHERE run = ? AND slot = ?'

const placeOf = ({ file }: Connection): string => `pointer of ${file}`

/** An inbox that cannot be read holds no requests. */
const isAny = (self: Connection, runId: string): boolean => {
  try {
    return sql(self, 'SELECT 1 FROM requests WHERE run = ? LIMIT 1').all(runId).length > 0
  } catch {
    return false
  }
}

const leave = (self: Connection, request: Request): Promise<E.Either<RequestError | AlreadyAnswered, void>> =>
  write<void, RequestError | AlreadyAnswered>(self, { runId: request.runId }, () => {
    const { runId } = request
    const body = encodeRequest(request, `requests of ${self.file}`)
    if (E.isLeft(body)) return body
    // A request without a run would wait for a later run with the same id.
    if (sql(self, 'SELECT 1 FROM runs WHERE id = ?').all(runId).length === 0) return E.left(noRun(self, runId))
    const how = request._tag === 'Answer' ? 'OR IGNORE' : 'OR REPLACE'
    const put = sql(self, `INSERT ${how} INTO requests (run, slot, body) VALUES (?, ?, ?)`)
    const { changes } = put.run(runId, slotOf(request), body.right)
    return Number(changes) === 0 && request._tag === 'Answer'
      ? E.left({ _tag: 'AlreadyAnswered', runId, unit: request.unit })
      : DONE
  })

const noRun = ({ file }: Connection, runId: string): WriteFailed => ({
  _tag: 'WriteFailed',
  committed: 'no',
  where: `requests of ${file}`,
  operation: 'INSERT requests',
  code: 'NO_SUCH_RUN',
  cause: new Error(`run ${runId} does not exist; start it first`)
})

const list = (self: Connection, runId: string): Promise<E.Either<RequestError, ReadonlyArray<Request>>> =>
  read<ReadonlyArray<Request>, RequestError>(self, { runId }, () => {
    const rows = sql(self, 'SELECT slot, body FROM requests WHERE run = ? ORDER BY slot').all(runId)
    const found: Array<Request> = []
    for (const { slot, body } of rows as ReadonlyArray<Slot>) {
      const request = requestIn(runId, slot, body, `requests of ${self.file}`)
      if (E.isLeft(request)) return request
      found.push(request.right)
    }
    return E.right(found.sort(byTime))
  })

const withdraw = (self: Connection, request: Request): Promise<E.Either<RequestError, void>> =>
  write<void, RequestError>(self, { runId: request.runId }, () => {
    const { runId } = request
    const slot = slotOf(request)
    const [row] = sql(self, 'SELECT slot, body FROM requests WHERE run = ? AND slot = ?').all(runId, slot)
    if (row === undefined) return DONE
    const found = requestIn(runId, slot, (row as Slot).body, `requests of ${self.file}`)
    if (E.isLeft(found)) return found
    if (isSameRequest(found.right, request)) sql(self, DELETE).run(runId, slot)
    return DONE
  })

const pointer = (self: Connection): E.Either<PointerError, O.Option<ContinueHere>> => {
  const [row] = sql(self, 'SELECT body FROM pointer').all()
  if (row === undefined) return E.right(O.none)
  const found = pointerIn((row as Slot).body, placeOf(self))
  return E.isLeft(found) ? found : E.right(O.some(found.right))
}

/** A newer schema makes the pointer invalid. A damaged database does not: without a run it is a `ReadFailed` or `WriteFailed`. */
const asPointerError = <A>(result: E.Either<PointerError | Failure, A>): E.Either<PointerError, A> => {
  if (E.isRight(result)) return result
  const error = result.left
  switch (error._tag) {
    case 'Corrupt':
      return E.left({ _tag: 'InvalidPointer', where: error.where, why: error.why })
    case 'UnsupportedFormat':
      return E.left({
        _tag: 'InvalidPointer',
        where: error.where,
        why: describe({ ...error, _tag: 'NewerFormat' })
      })
    default:
      return E.left(error)
  }
}
