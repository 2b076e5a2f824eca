/** The behaviour of every inbox, in memory and in files. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { fileRequests } from '../../src/adapters/json-file/index.js'
import { connect } from '../../src/adapters/sqlite/index.js'
import { memoryData, memoryRequests, memoryStorage } from '../../src/adapters/memory.js'
import type { Requests } from '../../src/index.js'
import type * as Request from '../../src/domain/request/Request.js'
import type { Driver } from './sqlite/kit.js'
import { drivers } from './sqlite/kit.js'
import { describeStorage } from '../../src/executor/errors/portErrors.js'
import { seed } from '../../src/testing/conformance/fixtures.js'

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
  value: { ok: [true, null, 1.5] },
  by,
  requestedAt: at(second)
})

const right = <A>(result: E.Either<unknown, A>): A =>
  E.isRight(result) ? result.right : assert.fail(JSON.stringify(result.left))

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'dogear-requests-'))
  for (const run of ['r', 's']) mkdirSync(join(root, 'runs', run), { recursive: true })
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** Requests in a database need the rows of their runs. */
const inSqlite = async ({ open }: Driver): Promise<Requests> => {
  const { storage, requests } = connect(join(root, 'state.db'), open)
  for (const runId of ['r', 's']) await seed(storage, runId, [1])
  return requests
}

describe.each<[string, () => Requests | Promise<Requests>]>([
  ['memory', () => memoryRequests()],
  ['files', () => fileRequests(root)],
  ...drivers.map((driver): [string, () => Promise<Requests>] => [`SQLite with ${driver.name}`, () => inSqlite(driver)])
])('an inbox in %s', (_, open) => {
  const listed = async (requests: Requests, runId = 'r'): Promise<ReadonlyArray<Request.Request>> =>
    right(await requests.list(runId)())

  test('an inbox is empty until a request is left and after the last one is withdrawn', async () => {
    const requests = await open()
    assert.equal(requests.isAny('r'), false)
    assert.deepEqual(await listed(requests), [])
    for (const one of [pauseAt(1), cancelAt(2)]) right(await requests.leave(one)())
    assert.equal(requests.isAny('r'), true)
    right(await requests.withdraw(pauseAt(1))())
    assert.equal(requests.isAny('r'), true)
    right(await requests.withdraw(cancelAt(2))())
    assert.equal(requests.isAny('r'), false)
    assert.deepEqual(await listed(requests), [])
  })

  test('an inbox returns all requests, oldest first', async () => {
    const requests = await open()
    const all = [pauseAt(3), answerAt(4), cancelAt(1), answerAt(2, 'approve/other')]
    for (const one of all) right(await requests.leave(one)())
    assert.deepEqual(await listed(requests), [all[2], all[3], all[0], all[1]])
  })

  test('an inbox belongs to one run', async () => {
    const requests = await open()
    right(await requests.leave(cancelAt(1, 's'))())
    assert.equal(requests.isAny('r'), false)
    right(await requests.withdraw(cancelAt(1))())
    assert.deepEqual(await listed(requests, 's'), [cancelAt(1, 's')])
  })

  test.each([
    ['pause', pauseAt],
    ['cancel', cancelAt]
  ])('an inbox has at most one %s, the newest', async (_kind, make) => {
    const requests = await open()
    for (const second of [2, 1]) right(await requests.leave(make(second))())
    assert.deepEqual(await listed(requests), [make(1)])
  })

  test.each<[string, (second: number) => Request.Request]>([
    ['pause', pauseAt],
    ['cancel', cancelAt],
    ['answer', answerAt]
  ])('withdrawing removes exactly the given %s and no other', async (_kind, make) => {
    const requests = await open()
    right(await requests.leave(make(2))())
    right(await requests.withdraw(make(1))())
    assert.deepEqual(await listed(requests), [make(2)])
    right(await requests.withdraw(make(2))())
    right(await requests.withdraw(make(2))())
    assert.equal(requests.isAny('r'), false)
  })

  test('an inbox refuses a second answer for a unit and keeps the first', async () => {
    const requests = await open()
    right(await requests.leave(answerAt(1))())
    assert.deepEqual(
      await requests.leave(answerAt(2, 'approve', 'sam'))(),
      E.left({ _tag: 'AlreadyAnswered', runId: 'r', unit: 'approve' })
    )
    assert.deepEqual(await listed(requests), [answerAt(1)])
  })

  test('an inbox accepts exactly one of many concurrent answers for a unit', async () => {
    const ports = await open()
    const left = await Promise.all(
      Array.from({ length: 20 }, (_, index) => ports.leave(answerAt(index, 'approve', `user-${index}`))())
    )
    const taken = left.flatMap((one, index) => (E.isRight(one) ? [index] : []))
    assert.equal(taken.length, 1)
    assert.deepEqual(await listed(ports), [answerAt(taken[0] ?? -1, 'approve', `user-${taken[0]}`)])
  })

  test('clearing removes the pause of an ended execution and nothing else', async () => {
    const requests = await open()
    for (const one of [pauseAt(1), cancelAt(2), answerAt(3)]) right(await requests.leave(one)())
    right(await requests.clearPause('r')())
    assert.deepEqual(await listed(requests), [cancelAt(2), answerAt(3)])
    right(await requests.clearPause('r')())
    right(await requests.clearPause('s')())
  })
})

test('an inbox in memory is removed with its run', async () => {
  const data = memoryData()
  const storage = memoryStorage(data)
  await seed(storage, 'r', [1])
  const requests = memoryRequests(data)
  right(await requests.leave(cancelAt(1))())
  right(await storage.remove('r')())
  assert.equal(requests.isAny('r'), false)
})

test.each(drivers.map((driver) => [driver.name, driver] as const))(
  'an inbox in a database is removed with its run, and none is made for a missing run (%s)',
  async (_, driver) => {
    const { storage, requests } = connect(join(root, 'other.db'), driver.open)
    await seed(storage, 'r', [1])
    right(await requests.leave(cancelAt(1))())
    right(await storage.remove('r')())
    assert.equal(requests.isAny('r'), false)
    const left = await requests.leave(cancelAt(2))()
    assert.ok(E.isLeft(left) && left.left._tag === 'WriteFailed' && left.left.code === 'NO_SUCH_RUN')
    assert.match(describeStorage(left.left), /run r does not exist; start it first/)
    await seed(storage, 'r', [2])
    assert.equal(requests.isAny('r'), false)
  }
)

test.each(drivers.map((driver) => [driver.name, driver] as const))(
  'a database has one pause pointer, which is removed only for its run (%s)',
  async (_, driver) => {
    const { requests } = connect(join(root, 'pointer.db'), driver.open)
    const pointer = { workflow: 'w', stepIndex: 0, unit: 'a', commits: [], pausedAt: at(1) }
    assert.deepEqual(await requests.pointer(), E.right(O.none))
    for (const runId of ['r', 's']) assert.match(right(await requests.point({ runId, ...pointer })()), /pointer\.db$/)
    right(await requests.unpoint('r')())
    assert.deepEqual(await requests.pointer(), E.right(O.some({ runId: 's', ...pointer })))
    right(await requests.unpoint('s')())
    assert.deepEqual(await requests.pointer(), E.right(O.none))
  }
)
