/** A save is one statement, which is fenced by the row that it moves. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { afterEach, beforeEach, test } from 'vitest'
import { assertLoads, claimed, left, OTHER, revisions, right, upTo } from '../../../src/testing/conformance/fixtures.js'
import { sweep } from '../../sweep.js'
import type { Place } from './kit.js'
import { destroy, open, place } from './kit.js'

let where: Place
beforeEach(async () => {
  where = await place()
})
afterEach(() => destroy(where))

test('a save is one statement, which checks the claim and commits by itself', async () => {
  const log: Array<string> = []
  const around = (text: string): undefined => void log.push(text)
  const { storage } = open(where, { around, checkIntervalMillis: 60_000 })
  const claim = await claimed(storage, 'a')
  log.length = 0
  await right(storage.save(claim, revisions([1])))
  await right(storage.save(claim, revisions([1, 2, 3], 2)))
  assert.equal(log.length, 2)
  for (const text of log) {
    assert.match(text, /WHERE id = \$1 AND epoch = \$2::bigint AND token = \$3::uuid AND head = \$4::bigint/)
    assert.doesNotMatch(text, /BEGIN|COMMIT/)
  }
})

test('usual saves of a claim use one prepared statement for each number of rows, and larger saves use none', async () => {
  const { storage, pool } = open(where, { checkIntervalMillis: 60_000 })
  const sent: Array<{ readonly text: string; readonly name?: string }> = []
  const query = pool.query.bind(pool) as (statement: { text: string; name?: string }) => Promise<unknown>
  pool.query = ((statement: { text: string; name?: string }) => {
    if (statement.text.includes('moved AS')) sent.push(statement)
    return query(statement)
  }) as unknown as typeof pool.query
  const claim = await claimed(storage, 'a')
  for (const [total, count] of [
    [1, 1],
    [3, 2],
    [5, 2],
    [7, 2],
    [12, 5]
  ] as const) {
    await right(storage.save(claim, revisions(upTo(total), count)))
    if (total === 3) await sleep(60)
  }
  const [base, ...two] = sent.map(({ name }) => name)
  const five = two.pop()
  assert.deepEqual([base, five], [undefined, undefined])
  for (const name of two) assert.match(name ?? '', /^dogear-[0-9a-f]{16}$/)
  // A save that also looks for requests, at most once in 50 ms, is another statement.
  const texts = new Set(
    sent.slice(1, -1).map(({ text }) => text.replace(/EXISTS \(SELECT FROM [^)]*\)|NULL::boolean/, ''))
  )
  assert.equal(texts.size, 1)
  assert.equal(new Set(two).size, new Set(sent.slice(1, -1).map(({ text }) => text)).size)
  await assertLoads(storage, 'a', upTo(12))
})

test('of two owners that race to save each revision, only the one that claimed last is accepted', async () => {
  const latter = open(where).storage
  for (let round = 0; round < (sweep ? 1_000 : 40); round++) {
    const runId = `run-${round}`
    const former = open(where)
    const zombie = await claimed(former.storage, runId)
    await right(former.storage.save(zombie, revisions(['first'])))
    await former.declareDead()
    const late = former.storage.save(zombie, revisions(['first', 'late']))()
    const { claim, stored } = await right(latter.claim(runId, OTHER))
    const saved = await late
    const payloads = stored._tag === 'Some' && stored.value.revision === 1 ? ['first', 'late'] : ['first']
    assert.equal(E.isRight(saved), payloads.length === 2, 'a save counts exactly if the next claim finds it')
    const [again] = await Promise.all([
      former.storage.save(zombie, revisions([...payloads, 'zombie']))(),
      right(latter.save(claim, revisions([...payloads, 'next'])))
    ])
    assert.ok(E.isLeft(again) && again.left._tag === 'Fenced')
    await assertLoads(latter, runId, [...payloads, 'next'])
    await former.pool.end()
    where.opened.splice(where.opened.indexOf(former), 1)
  }
}, 600_000)

test('a claim whose commit was lost in a failover is fenced by its token, although a later claim gets the same epoch', async () => {
  const { storage } = open(where)
  const lost = await claimed(storage, 'a')
  // The new primary has neither the claim nor its epoch, and grants the same one to another host.
  await where.admin.query(`UPDATE ${where.schema}.runs SET token = gen_random_uuid() WHERE id = 'a'`)
  await left(storage.save(lost, revisions([1])), 'Fenced')
  await assertLoads(storage, 'a', [])
})

test('acknowledged saves that were lost in a failover are noticed as a conflict, and nothing is written', async () => {
  const { storage } = open(where)
  const claim = await claimed(storage, 'a')
  await right(storage.save(claim, revisions(upTo(3), 3)))
  await where.admin.query(`UPDATE ${where.schema}.runs SET head = 0 WHERE id = 'a'`)
  const { expected, found } = await left(storage.save(claim, revisions(upTo(4))), 'RevisionConflict')
  assert.deepEqual([expected, found], [1, 3])
})

test('a save deletes the whole checkpoints older than the kept ones, with the revisions before them', async () => {
  const { storage } = open(where, { keep: 3 })
  for (let n = 1; n <= 6; n++) {
    const claim = await claimed(storage, 'a')
    await right(storage.save(claim, revisions(upTo(n))))
    await right(storage.release(claim))
  }
  assert.deepEqual(
    (await right(storage.history('a'))).map(({ revision }) => revision),
    [5, 4, 3]
  )
  await assertLoads(storage, 'a', upTo(6))
})
