/** Artifacts and requests in PostgreSQL. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { postgresArtifacts, postgresRequests } from '../../../src/adapters/postgres/index.js'
import type * as Request from '../../../src/domain/request/Request.js'
import type { Requests } from '../../../src/index.js'
import { artifactConformanceTests } from '../../../src/testing/index.js'
import { claimed, OTHER, revisions, right, seed } from '../../../src/testing/conformance/fixtures.js'
import type { Opened, Place } from './kit.js'
import { destroy, later, open, place, poolOf } from './kit.js'

artifactConformanceTests(
  { describe, test },
  {
    name: 'the artifact store in PostgreSQL',
    create: () => place(),
    reopen: (where: Place) => {
      const { pool } = open(where)
      return Promise.resolve(postgresArtifacts(pool, { schema: where.schema }))
    },
    damage: async (where, runId, id) => {
      const half = `set_byte(content, length(content) / 2, 255 - get_byte(content, length(content) / 2))`
      await where.admin.query(`UPDATE ${where.schema}.artifacts SET content = ${half} WHERE run = $1 AND id = $2`, [
        runId,
        id
      ])
    },
    destroy,
    capabilities: ['large', 'damage']
  }
)

const at = (second: number): string => `2026-01-02T03:04:${String(second).padStart(2, '0')}.000Z`

const pauseAt = (second: number, runId = 'r'): Request.PauseRequest => ({
  _tag: 'Pause',
  runId,
  addressee: { host: 'build-1', pid: 100, since: at(0) },
  commit: true,
  requestedAt: at(second)
})

const cancelAt = (second: number, runId = 'r'): Request.CancelRequest => ({
  _tag: 'Cancel',
  runId,
  requestedAt: at(second)
})

const answerAt = (second: number, unit = 'approve', by = 'alex'): Request.AnswerRequest => ({
  _tag: 'Answer',
  runId: 'r',
  unit,
  value: { ok: [true, null, 1.5, '\0'] },
  by,
  requestedAt: at(second)
})

describe('an inbox in PostgreSQL', () => {
  let where: Place
  let opened: Opened
  let requests: Requests
  beforeEach(async () => {
    where = await place()
    opened = open(where)
    for (const run of ['r', 's']) await seed(opened.storage, run, [1])
    requests = postgresRequests(opened.pool, { schema: where.schema })
  })
  afterEach(() => destroy(where))

  const listed = async (runId = 'r'): Promise<ReadonlyArray<Request.Request>> => right(requests.list(runId))

  test('an inbox returns all requests, oldest first, until each is withdrawn', async () => {
    assert.deepEqual(await listed(), [])
    const all = [pauseAt(3), answerAt(4), cancelAt(1), answerAt(2, 'approve/other')]
    for (const one of all) await right(requests.leave(one))
    assert.deepEqual(await listed(), [all[2], all[3], all[0], all[1]])
    for (const one of all) await right(requests.withdraw(one))
    assert.deepEqual(await listed(), [])
  })

  test('a newer pause replaces an older one, and withdrawing the older one keeps the newer', async () => {
    for (const second of [2, 1]) await right(requests.leave(pauseAt(second)))
    await right(requests.withdraw(pauseAt(2)))
    assert.deepEqual(await listed(), [pauseAt(1)])
    await right(requests.leave(cancelAt(2)))
    await right(requests.clearPause('r'))
    assert.deepEqual(await listed(), [cancelAt(2)])
  })

  test('an inbox accepts exactly one of many concurrent answers for a unit', async () => {
    const left = await Promise.all(
      Array.from({ length: 20 }, (_, index) => requests.leave(answerAt(index, 'approve', `user-${index}`))())
    )
    const taken = left.flatMap((one, index) => (E.isRight(one) ? [index] : []))
    assert.equal(taken.length, 1)
    assert.deepEqual(await listed(), [answerAt(taken[0] ?? -1, 'approve', `user-${taken[0]}`)])
    const again = await requests.leave(answerAt(30))()
    assert.deepEqual(again, E.left({ _tag: 'AlreadyAnswered', runId: 'r', unit: 'approve' }))
  })

  test('a request for a run that does not exist is refused, and a removal of a run removes its requests and artifacts', async () => {
    const missing = await requests.leave(cancelAt(1, 'none'))()
    assert.ok(E.isLeft(missing) && missing.left._tag === 'WriteFailed' && missing.left.code === 'NO_SUCH_RUN')
    const artifacts = postgresArtifacts(opened.pool, { schema: where.schema })
    await right(requests.leave(cancelAt(1)))
    await right(artifacts.put('r', 'report', 'done'))
    await right(opened.storage.remove('r'))
    assert.deepEqual(await listed(), [])
    assert.deepEqual(await right(artifacts.list('r')), [])
  })

  test('a request that arrives during the removal of its run waits for the removal, is refused, and leaves no row', async () => {
    const remover = await where.admin.connect()
    await remover.query('BEGIN')
    await remover.query(`DELETE FROM ${where.schema}.runs WHERE id = 'r'`)
    const leaving = requests.leave(cancelAt(1))()
    await later(300)
    await remover.query('COMMIT')
    remover.release()
    const left = await leaving
    assert.ok(E.isLeft(left) && left.left._tag === 'WriteFailed' && left.left.code === 'NO_SUCH_RUN')
    assert.deepEqual(await listed(), [])
  })

  test('an owner learns of the request of another process at its next save, or within the check interval', async () => {
    const other = poolOf(where)
    const claim = await claimed(opened.storage, 'r')
    assert.equal(requests.isAny('r'), false)
    const elsewhere = postgresRequests(other, { schema: where.schema })
    await right(elsewhere.leave(cancelAt(1)))
    await right(opened.storage.save(claim, revisions([1, 2])))
    assert.equal(requests.isAny('r'), true)
    await right(requests.withdraw(cancelAt(1)))
    assert.deepEqual(await listed(), [])
    assert.equal(requests.isAny('r'), false)
    await right(elsewhere.leave(cancelAt(2)))
    await later(1_000)
    assert.equal(requests.isAny('r'), true)
    await other.end()
  })

  test('isAny is true for a run that the process does not hold, so that its requests are read from the database', () => {
    assert.equal(requests.isAny('r'), true)
    assert.equal(requests.isAny('../r'), false)
  })

  test('the pause pointer is replaced, read, and removed only for its run', async () => {
    const to = { runId: 'r', workflow: 'w', stepIndex: 1, unit: 'b', commits: [], pausedAt: at(1) }
    assert.deepEqual(await requests.pointer(), E.right(O.none))
    await requests.point({ ...to, runId: 's' })()
    await requests.point(to)()
    await requests.unpoint('s')()
    assert.deepEqual(await requests.pointer(), E.right(O.some(to)))
    await requests.unpoint('r')()
    assert.deepEqual(await requests.pointer(), E.right(O.none))
  })
})

test('an artifact above the limit is refused with TooLarge, both by a put and by a read', async () => {
  const where = await place()
  const { pool } = open(where)
  const options = { schema: where.schema }
  const artifacts = postgresArtifacts(pool, options)
  const tooLarge = await artifacts.put('r', 'big', new Uint8Array(64 * 1_048_576 + 1))()
  assert.ok(E.isLeft(tooLarge) && tooLarge.left._tag === 'TooLarge')
  assert.equal(tooLarge.left.limitBytes, 64 * 1_048_576)
  await right(artifacts.put('r', 'small', 'four'))
  const read = await postgresArtifacts(pool, { ...options, maxBytes: 3 }).get('r', 'small')()
  assert.ok(E.isLeft(read) && read.left._tag === 'TooLarge' && read.left.bytes === 4)
  assert.equal((await open(where).storage.claim('r', OTHER)())._tag, 'Right')
  await destroy(where)
})
