/** Keeps requests to runs, and the pointer to the run that paused last, in the database of the runs. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as RunId from '../../domain/checkpoint/RunId.js'
import type { Request } from '../../domain/request/Request.js'
import { slotOf } from '../../domain/request/Request.js'
import type { WriteFailed } from '../../ports/CheckpointStorage.js'
import type { AlreadyAnswered, PointerError, RequestError, Requests } from '../../ports/Requests.js'
import { ofRun } from '../sql/checkedCalls.js'
import { encodePointer, encodeRequest } from '../sql/Records.js'
import { pausePointerIn, pointerOf, requestsIn } from '../sql/Requests.js'
import type { Fields } from '../sql/Table.js'
import type { Connection, SqliteOptions } from './Connection.js'
import { connectionOf, sql, tableOf, write } from './Connection.js'
import type { SqliteDatabase } from './Driver.js'

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
  const pointer = tableOf(self, 'pointer')
  return {
    ...requestsIn(tableOf(self, 'requests'), 'body'),
    leave: (request) => ofRun(request.runId, () => leave(self, request)),
    isAny: (runId) => E.isRight(RunId.parse(runId)) && isAny(self, runId),
    ...pausePointerIn(
      pointer,
      'body',
      (to) => pointer.write({}, 'INSERT OR REPLACE INTO pointer (one, body) VALUES (1, ?)', encodePointer(to)),
      (runId) => removePointer(self, runId, pointer.where)
    )
  }
}

const DONE: E.Either<never, void> = E.right(undefined)

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

const removePointer = (self: Connection, runId: string, where: () => string) =>
  write<void, PointerError>(self, {}, () => {
    const rows = sql(self, 'SELECT body AS pointer FROM pointer').all() as ReadonlyArray<Fields>
    const found = pointerOf(rows, where())
    if (E.isLeft(found)) return found
    if (O.isSome(found.right) && found.right.value.runId === runId) sql(self, 'DELETE FROM pointer').run()
    return DONE
  })
