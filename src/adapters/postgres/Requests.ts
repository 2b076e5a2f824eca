/** Keeps requests to runs, and the pointer to the run that paused last, as rows. */
import * as E from 'fp-ts/lib/Either.js'
import * as RunId from '../../domain/checkpoint/RunId.js'
import type { Request } from '../../domain/request/Request.js'
import { isSameRequest, slotOf } from '../../domain/request/Request.js'
import type { AlreadyAnswered, RequestError, Requests } from '../../ports/Requests.js'
import { ofRun } from '../sql/checkedCalls.js'
import { encodePointer, encodeRequest } from '../sql/Records.js'
import { pausePointerIn, requestsIn } from '../sql/Requests.js'
import type { Database } from './Database.js'
import { tableOf, writeFailed, writeRows } from './Database.js'
import { refusal } from './Failure.js'

/** What this process knows without a query. `known`: whether a run that it holds has requests; `undefined` for other runs. `learn` updates that. */
export interface Inbox {
  readonly known: (runId: string) => boolean | undefined
  readonly learn: (runId: string, isAny: boolean) => void
}

export const requestsOf = (database: Database, inbox: Inbox): Requests => {
  const rows = requestsIn(tableOf(database, 'requests'), 'request')
  const pointer = tableOf(database, 'pointer')
  return {
    ...rows,
    leave: (request) => ofRun(request.runId, () => leave(database, inbox, rows, request)),
    isAny: (runId) => E.isRight(RunId.parse(runId)) && inbox.known(runId) !== false,
    list: (runId) => async () => {
      const found = await rows.list(runId)()
      if (E.isRight(found)) inbox.learn(runId, found.right.length > 0)
      return found
    },
    ...pausePointerIn(
      pointer,
      'pointer',
      (to) => {
        const text = `INSERT INTO ${pointer.name} (run, pointer) VALUES (?, ?)
          ON CONFLICT (id) DO UPDATE SET run = excluded.run, pointer = excluded.pointer`
        return pointer.write({}, text, to.runId, encodePointer(to))
      },
      (runId) => pointer.write({}, `DELETE FROM ${pointer.name} WHERE run = ?`, runId)
    )
  }
}

/** Locks the run against removal while it inserts. An answer replaces nothing; a pause or cancel replaces an earlier one. */
const leave = async (
  database: Database,
  inbox: Inbox,
  { list }: Pick<Requests, 'list'>,
  request: Request
): Promise<E.Either<RequestError | AlreadyAnswered, void>> => {
  const { runId } = request
  const body = encodeRequest(request, database.where('requests'))
  if (E.isLeft(body)) return body
  const isAnswer = request._tag === 'Answer'
  const onConflict = isAnswer ? 'NOTHING' : 'UPDATE SET request = excluded.request'
  const place = { table: 'requests', operation: 'INSERT requests', runId }
  const text = `WITH run AS (SELECT id FROM ${database.table('runs')} WHERE id = $1 FOR KEY SHARE),
      put AS (INSERT INTO ${database.table('requests')} (run, slot, request) SELECT id, $2, $3 FROM run ON CONFLICT (run, slot) DO ${onConflict} RETURNING run)
      SELECT (SELECT count(*) FROM run)::text AS runs, (SELECT count(*) FROM put)::text AS put`
  const written = await writeRows(database, place, text, runId, slotOf(request), body.right)
  if (E.isLeft(written)) return written
  const [row = {}] = written.right
  if (row['runs'] !== '1')
    return E.left(writeFailed(database, place)(refusal('NO_SUCH_RUN', `run ${runId} does not exist; start it first`)))
  inbox.learn(runId, true)
  if (!isAnswer || row['put'] === '1') return E.right(undefined)
  // An earlier attempt whose reply was lost may have put exactly this request.
  const found = await list(runId)()
  const isStored = E.isRight(found) && found.right.some((one) => isSameRequest(one, request))
  return isStored ? E.right(undefined) : E.left({ _tag: 'AlreadyAnswered', runId, unit: request.unit })
}
