/** Keeps requests to runs, and the pointer to the run that paused last, as rows. Knows no database. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { describe } from '../../domain/data/Malformed.js'
import type { ContinueHere } from '../../domain/request/Pause.js'
import type { Request } from '../../domain/request/Request.js'
import { byTime, isSameRequest, slotOf } from '../../domain/request/Request.js'
import type { PointerError, RequestError, Requests } from '../../ports/Requests.js'
import { ofRun } from './checkedCalls.js'
import * as Records from './Records.js'
import type { Failure, Fields, Table } from './Table.js'

/** `column`: of the request. */
export const requestsIn = (
  { name, where, read, write }: Table,
  column: string
): Pick<Requests, 'list' | 'withdraw' | 'clearPause'> => {
  const rowsOf = `SELECT slot, ${column} AS request FROM ${name} WHERE run = ?`
  const rowOf = `DELETE FROM ${name} WHERE run = ? AND slot = ?`
  const requestOf = (runId: string, { slot, request }: Fields) =>
    Records.requestIn(runId, String(slot), String(request), where())
  return {
    list: (runId) =>
      ofRun<RequestError, ReadonlyArray<Request>>(runId, async () => {
        const rows = await read({ runId }, `${rowsOf} ORDER BY slot`, runId)
        if (E.isLeft(rows)) return rows
        const found = E.traverseArray((row: Fields) => requestOf(runId, row))(rows.right)
        return E.map((requests: ReadonlyArray<Request>) => [...requests].sort(byTime))(found)
      }),
    withdraw: (request) =>
      ofRun<RequestError, void>(request.runId, async () => {
        const { runId } = request
        const slot = slotOf(request)
        const rows = await read({ runId }, `${rowsOf} AND slot = ?`, runId, slot)
        if (E.isLeft(rows)) return rows
        const [row] = rows.right
        if (row === undefined) return E.right(undefined)
        const found = requestOf(runId, row)
        if (E.isLeft(found)) return found
        if (!isSameRequest(found.right, request)) return E.right(undefined)
        // Deletes the row only as it was read: a request that replaced it stays.
        return write({ runId }, `${rowOf} AND ${column} = ?`, runId, slot, String(row['request']))
      }),
    clearPause: (runId) => ofRun(runId, () => write({ runId }, rowOf, runId, Records.PAUSE))
  }
}

/** `column`: of the pointer. `put` writes the only row; `remove` deletes it if it points to the run. */
export const pausePointerIn = (
  { name, where, read }: Table,
  column: string,
  put: (to: ContinueHere) => Promise<E.Either<Failure, void>>,
  remove: (runId: string) => Promise<E.Either<PointerError | Failure, void>>
): Pick<Requests, 'point' | 'pointer' | 'unpoint'> => ({
  point: (to) => async () => E.bimap(pointerError, where)(await put(to)),
  pointer: async () =>
    E.chain((rows: ReadonlyArray<Fields>) => pointerOf(rows, where()))(
      E.mapLeft(pointerError)(await read({}, `SELECT ${column} AS pointer FROM ${name}`))
    ),
  unpoint: (runId) => async () => E.mapLeft(pointerError)(await remove(runId))
})

export const pointerOf = (
  [row]: ReadonlyArray<Fields>,
  where: string
): E.Either<PointerError, O.Option<ContinueHere>> =>
  row === undefined
    ? E.right(O.none)
    : E.map((to: ContinueHere) => O.some(to))(Records.pointerIn(String(row['pointer']), where))

/** A newer schema makes the pointer invalid. A damaged database does not: without a run it is a `ReadFailed` or `WriteFailed`. */
const pointerError = (error: PointerError | Failure): PointerError => {
  switch (error._tag) {
    case 'Corrupt':
      return { _tag: 'InvalidPointer', where: error.where, why: error.why }
    case 'UnsupportedFormat':
      return { _tag: 'InvalidPointer', where: error.where, why: describe({ ...error, _tag: 'NewerFormat' }) }
    default:
      return error
  }
}
