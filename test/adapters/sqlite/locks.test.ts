/** Locks of other connections, and who is alive. */
import assert from 'node:assert/strict'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import type { Request } from '../../../src/domain/request/Request.js'
import { describeStorage } from '../../../src/executor/errors/portErrors.js'
import type { SqliteStores } from '../../../src/adapters/sqlite/index.js'
import { connect, sqliteStorage } from '../../../src/adapters/sqlite/index.js'
import {
  assertLoads,
  claimed,
  left,
  OTHER,
  OWNER,
  revisions,
  right,
  some
} from '../../../src/testing/conformance/fixtures.js'
import type { CheckpointStorage, Stored } from '../../../src/ports/CheckpointStorage.js'
import { beside, connected, drivers, folder, placeOf, reopen } from './kit.js'

describe.each(drivers.map((driver) => [driver.name, driver] as const))('with %s', (_, driver) => {
  const store = (options = {}): SqliteStores & { readonly file: string } => {
    const file = join(folder(), 'state.db')
    return { file, ...connect(file, driver.open, options) }
  }
  const locked = (file: string) => {
    const other = new driver.open(file)
    other.exec('BEGIN IMMEDIATE')
    return other
  }

  test('a save waits for the lock of another connection without blocking the thread', async () => {
    const { file, storage } = store()
    const claim = await claimed(storage, 'a')
    const other = locked(file)
    let turns = 0
    const timer = setInterval(() => turns++, 5)
    const saved = storage.save(claim, revisions([1]))()
    await wait(200)
    other.exec('COMMIT')
    assert.ok(E.isRight(await saved))
    clearInterval(timer)
    assert.ok(turns > 5, `${turns} turns of the event loop`)
    await assertLoads(storage, 'a', [1])
  })

  test('a load does not wait for the lock of a writer', async () => {
    const { file, storage } = store({ busyMillis: 50 })
    const claim = await claimed(storage, 'a')
    await right(storage.save(claim, revisions([1])))
    const other = locked(file)
    await assertLoads(storage, 'a', [1])
    other.close()
  })

  test('a claim that always loses the race against another one fails with the advice to try again', async () => {
    const file = join(folder(), 'state.db')
    const other = connect(file, driver.open)
    await right(other.storage.release(await claimed(other.storage, 'a')))
    const pass = async (): Promise<void> => right(other.storage.release(await claimed(other.storage, 'a')))
    const { storage } = connect(file, driver.open, { pass })
    const refused = await left(storage.claim('a', OWNER), 'WriteFailed')
    assert.match(describeStorage(refused), /EAGAIN: another claim was quicker, 100 times; try again/)
  })

  test('a pause that replaces an older one stays if it arrives while the older one is withdrawn', async () => {
    const { file, storage, requests } = store()
    await claimed(storage, 'a')
    const asked = (requestedAt: string): Request => ({
      ...{ _tag: 'Pause', runId: 'a', addressee: { host: 'h', pid: 1, since: requestedAt }, commit: true },
      requestedAt
    })
    const [older, newer] = [asked('2026-01-02T03:04:05.000Z'), asked('2026-01-02T03:04:06.000Z')]
    await right(requests.leave(older))
    let passes = 0
    const pass = async (): Promise<void> => (++passes === 2 ? right(requests.leave(newer)) : undefined)
    await right(connect(file, driver.open, { pass }).requests.withdraw(older))
    assert.equal(passes, 2)
    assert.deepEqual(await right(requests.list('a')), [newer])
  })

  test('a call that waits too long fails with SQLITE_BUSY, and the process can claim the run again', async () => {
    const { file, storage } = store({ busyMillis: 100 })
    const claim = await claimed(storage, 'a')
    await right(storage.save(claim, revisions([1])))
    const other = locked(file)
    const failed = await left(storage.save(claim, revisions([1, 2])), 'WriteFailed')
    assert.match(failed.code, /^SQLITE_BUSY/)
    assert.deepEqual([failed.committed, failed.operation], ['no', 'BEGIN IMMEDIATE'])
    assert.equal((await left(storage.release(claim), 'WriteFailed')).committed, 'no')
    other.exec('COMMIT')
    const again = await right(storage.claim('a', OTHER))
    assert.equal(some(again.stored).revision, 0)
    await right(storage.save(again.claim, revisions([1, 2])))
  })

  test('a signal ends the wait for a lock', async () => {
    const controller = new AbortController()
    const { file, storage } = store({ signal: controller.signal })
    const claim = await claimed(storage, 'a')
    const other = locked(file)
    const begun = performance.now()
    const saved = storage.save(claim, revisions([1]))()
    await wait(50)
    controller.abort()
    const result = await saved
    assert.ok(E.isLeft(result) && result.left._tag === 'WriteFailed' && result.left.committed === 'no')
    assert.ok(performance.now() - begun < 5_000)
    other.close()
  })

  test('a run whose save and release failed is free for other processes if its owner holds no other run', async () => {
    const place = placeOf(driver.open)
    const { storage: one } = beside(place, { busyMillis: 50 })
    const { storage: other } = beside(place)
    const claim = await claimed(one, 'a')
    const lock = locked(place.file)
    await left(one.save(claim, revisions([1])), 'WriteFailed')
    await left(one.release(claim), 'WriteFailed')
    lock.exec('COMMIT')
    const next = await claimed(other, 'a', OTHER)
    await right(other.release(next))
    assert.deepEqual(readdirSync(`${place.file}-owners`), [])
  })

  test('a release that failed can be repeated, and then deletes the lock file', async () => {
    const { file, storage } = store({ busyMillis: 50 })
    const claim = await claimed(storage, 'a')
    const lock = locked(file)
    await left(storage.release(claim), 'WriteFailed')
    assert.equal(readdirSync(`${file}-owners`).length, 1)
    lock.exec('COMMIT')
    await right(storage.release(claim))
    assert.deepEqual(readdirSync(`${file}-owners`), [])
  })

  test('two stores of a thread share its lock file and see each other alive', async () => {
    const { file, storage } = store()
    const second = sqliteStorage(connected({ driver: driver.open, root: '', file, processes: [], connections: [] }))
    const first = await claimed(storage, 'a')
    await claimed(second, 'b')
    assert.equal(readdirSync(`${file}-owners`).length, 1)
    assert.equal((await left(second.claim('a', OTHER), 'HeldBy')).holder.liveness, 'alive')
    await right(storage.release(first))
    await claimed(second, 'a')
  })

  test('an owner whose lock file was deleted is undecided, and can be superseded only with takeOver', async () => {
    const place = placeOf(driver.open)
    const { storage: one } = beside(place)
    const { storage: other } = beside(place)
    const zombie = await claimed(one, 'a', OWNER)
    await right(one.save(zombie, revisions([1])))
    rmSync(`${place.file}-owners`, { recursive: true })
    const { holder } = await left(other.claim('a', OTHER), 'HeldBy')
    assert.equal(holder.liveness, 'undecided')
    assert.equal(some(some(await right(other.load('a'))).heldBy).liveness, 'undecided')
    await left(other.remove('a'), 'HeldBy')
    const { claim } = await right(other.claim('a', OTHER, { takeOver: true }))
    await left(one.save(zombie, revisions([1, 2])), 'Fenced')
    await right(other.save(claim, revisions([1, 3])))
  })

  test('a listing ends although a new owner claims the run before each of its reads', async () => {
    const place = placeOf(driver.open)
    const { storage } = beside(place)
    let claim = await claimed(storage, 'a')
    await right(storage.save(claim, revisions([1])))
    let passes = 0
    const pass = async (): Promise<void> => {
      if (++passes > 20) return
      await right(storage.release(claim))
      claim = await claimed(storage, 'a')
    }
    assert.equal((await right(beside(place, { pass }).storage.list())).length, 1)
    assert.ok(passes > 1 && passes < 10, `${passes} passes`)
  })

  test.each([
    ['deleted', false],
    ['unlocked, but not deleted yet', true]
  ])(
    'a read during which the owner saves and releases the run returns the saved state, with its lock file %s',
    async (_, keepsFile) => {
      const place = placeOf(driver.open)
      const locks = `${place.file}-owners`
      const seen = async (read: (storage: CheckpointStorage) => Promise<unknown>): Promise<unknown> => {
        const { storage } = beside(place)
        const claim = await claimed(storage, 'a')
        await right(storage.save(claim, revisions([1])))
        let passes = 0
        const pass = async (): Promise<void> => {
          if (++passes !== 2) return
          const [lock = ''] = readdirSync(locks)
          await right(storage.save(claim, revisions([1, 2])))
          await right(storage.release(claim))
          if (keepsFile) writeFileSync(join(locks, lock), '')
        }
        const found = await read(beside(place, { pass }).storage)
        assert.ok(passes >= 2, 'the owner released the run during the read')
        await right(beside(place).storage.remove('a'))
        rmSync(locks, { recursive: true, force: true })
        return found
      }
      const stored = ({ revision, heldBy }: Stored): unknown => [revision, O.isNone(heldBy)]
      assert.deepEqual(await seen(async (one) => stored(some(await right(one.load('a'))))), [1, true])
      assert.deepEqual(
        await seen(async (one) => (await right(one.list())).map(({ summary }) => summary?.revision)),
        [1]
      )
      assert.deepEqual(await seen(async (one) => stored(some(await right(one.loadRevision('a', 0))))), [0, true])
    }
  )

  test('concurrent probes of a dead owner do not take one another for the owner', async () => {
    const place = placeOf(driver.open)
    const dead = beside(place)
    await claimed(dead.storage, 'a')
    const stores = [reopen(place), ...Array.from({ length: 4 }, () => beside(place).storage)]
    const loaded = await Promise.all(stores.map((one) => one.list()()))
    assert.ok(loaded.every(E.isRight))
    for (const one of stores) assert.deepEqual(await right(one.load('a')), O.none)
    assert.equal((await claimed(stores[0] as (typeof stores)[0], 'a')).epoch, 2)
  })

  test('an owner with a hundred claims needs one lock file, and its death frees all of them', async () => {
    const place = placeOf(driver.open)
    const { storage } = beside(place, { checkIntervalMillis: 60_000 })
    const ids = Array.from({ length: 100 }, (_, n) => `run-${String(n).padStart(4, '0')}`)
    for (const runId of ids) await claimed(storage, runId)
    assert.equal(readdirSync(`${place.file}-owners`).length, 1)
    const next = reopen(place, { checkIntervalMillis: 60_000 })
    for (const runId of ids) await claimed(next, runId)
  })
})
