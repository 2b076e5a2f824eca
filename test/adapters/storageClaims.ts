/** The storage laws on who writes a run. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { test } from 'vitest'
import type { Json } from '../../src/domain/Json.js'
import type { StorageError } from '../../src/ports/CheckpointStorage.js'
import type { Under } from './storageFixture.js'
import {
  assertHolds,
  assertLoads,
  claimed,
  left,
  OTHER,
  OWNER,
  revisions,
  right,
  seed,
  some,
  tally
} from './storageFixture.js'

export const claimLaws = ({ storage, reopen }: Under): void => {
  test('a run that a live owner holds is refused, with who and since when', async () => {
    const before = new Date().toISOString()
    await claimed(storage(), 'a', OWNER)
    const { runId, holder } = await left(storage().claim('a', OTHER), 'HeldBy')
    assert.deepEqual({ runId, host: holder.host, pid: holder.pid }, { runId: 'a', ...OWNER })
    assert.ok(before <= holder.since && holder.since <= new Date().toISOString(), holder.since)
  })

  test('a refused claim disturbs the owner in nothing', async () => {
    const claim = await claimed(storage(), 'a')
    await left(storage().claim('a', OTHER), 'HeldBy')
    await right(storage().save(claim, revisions([1])))
    assert.equal(claim.lost.aborted, false)
  })

  test('a load tells the live owner, until the claim is given back', async () => {
    const claim = await claimed(storage(), 'a', OWNER)
    await right(storage().save(claim, revisions([1])))
    const { host, pid } = some(some(await right(storage().load('a'))).heldBy)
    assert.deepEqual({ host, pid }, OWNER)
    await right(storage().release(claim))
    assert.deepEqual(some(await right(storage().load('a'))).heldBy, O.none)
  })

  test('a run that was given back is claimed at once, with what is stored', async () => {
    await seed(storage(), 'a', [1, 2])
    const next = await right(storage().claim('a', OTHER))
    assertHolds(some(next.stored), [1, 2])
    await right(storage().save(next.claim, revisions([1, 2, 3])))
    await assertLoads(storage(), 'a', [1, 2, 3])
  })

  test('the run of a dead owner is claimed at once, with every save that resolved', async () => {
    const dead = await claimed(storage(), 'a')
    await right(storage().save(dead, revisions([1])))
    await right(storage().save(dead, revisions([1, 2, 3], 2)))
    const restarted = reopen()
    const next = await right(restarted.claim('a', OTHER))
    assertHolds(some(next.stored), [1, 2, 3])
    await right(restarted.save(next.claim, revisions([1, 2, 3, 4])))
    await assertLoads(restarted, 'a', [1, 2, 3, 4])
  })

  test('each claim of a run has a higher epoch than all before: after a release and after a death', async () => {
    const first = await claimed(storage(), 'a')
    await right(storage().release(first))
    const second = await claimed(storage(), 'a')
    const restarted = reopen()
    const third = await claimed(restarted, 'a')
    await right(restarted.save(third, revisions([1])))
    await right(restarted.release(third))
    const epochs = [first, second, third].map(({ epoch }) => epoch)
    assert.deepEqual(
      epochs,
      [...new Set(epochs)].sort((a, b) => a - b)
    )
  })

  test('after its release a claim writes nothing more, and a second release is harmless', async () => {
    const claim = await claimed(storage(), 'a')
    await right(storage().save(claim, revisions([1])))
    await right(storage().release(claim))
    await right(storage().release(claim))
    await left(storage().save(claim, revisions([1, 2])), 'Fenced')
    await assertLoads(storage(), 'a', [1])
  })

  test('of ten claims at once, one is granted', async () => {
    const results = await Promise.all(Array.from({ length: 10 }, () => storage().claim('a', OWNER)()))
    assert.deepEqual(tally(results), { granted: 1, HeldBy: 9 })
    const winner = results.find(E.isRight)?.right.claim ?? assert.fail('nobody won')
    await right(storage().save(winner, revisions([1])))
    await assertLoads(storage(), 'a', [1])
  })

  test("of ten claims at once of a dead owner's run, one is granted", async () => {
    const dead = await claimed(storage(), 'a')
    await right(storage().save(dead, revisions([1])))
    const restarted = reopen()
    const results = await Promise.all(Array.from({ length: 10 }, () => restarted.claim('a', OTHER)()))
    assert.deepEqual(tally(results), { granted: 1, HeldBy: 9 })
    await assertLoads(restarted, 'a', [1])
  })
}

export const zombieLaws = ({ storage, reopen }: Under): void => {
  /** A run with one revision whose first owner lives on, though it counts as dead, and whose second has the run. */
  const takeover = async () => {
    const former = storage()
    const zombie = await claimed(former, 'a', OWNER)
    await right(former.save(zombie, revisions(['first'])))
    const latter = reopen()
    return { former, zombie, latter, owner: await claimed(latter, 'a', OTHER) }
  }

  test('its saves are refused, for ever, and stored nowhere', async () => {
    const { former, zombie, latter, owner } = await takeover()
    for (let n = 0; n < 3; n++) {
      const { runId, epoch, by } = await left(former.save(zombie, revisions(['first', 'zombie'])), 'Fenced')
      assert.deepEqual({ runId, epoch }, { runId: 'a', epoch: zombie.epoch })
      if (O.isSome(by)) assert.ok(by.value > epoch)
    }
    await assertLoads(latter, 'a', ['first'])
    await right(latter.save(owner, revisions(['first', 'second'])))
    await left(former.save(zombie, revisions(['first', 'zombie'])), 'Fenced')
    await left(former.save(zombie, revisions(['first', 'second', 'zombie'])), 'Fenced')
    await assertLoads(latter, 'a', ['first', 'second'])
    await right(latter.release(owner))
    await left(former.save(zombie, revisions(['first', 'second', 'zombie'])), 'Fenced')
    await assertLoads(latter, 'a', ['first', 'second'])
  })

  test('its lost signal fires, at the latest when a save of it is refused, and says why', async () => {
    const { former, zombie, owner } = await takeover()
    await left(former.save(zombie, revisions(['first', 'zombie'])), 'Fenced')
    assert.equal(zombie.lost.aborted, true)
    const { _tag, runId, epoch } = zombie.lost.reason as Extract<StorageError, { _tag: 'Fenced' }>
    assert.deepEqual({ _tag, runId, epoch }, { _tag: 'Fenced', runId: 'a', epoch: zombie.epoch })
    assert.equal(owner.lost.aborted, false)
  })

  test('its release frees nothing', async () => {
    const { former, zombie, latter, owner } = await takeover()
    await former.release(zombie)()
    await left(latter.claim('a', OWNER), 'HeldBy')
    await right(latter.save(owner, revisions(['first', 'second'])))
    assert.equal(owner.lost.aborted, false)
  })

  test('saving at the same time as its successor, it never has the same revision accepted', async () => {
    const { former, zombie, latter, owner } = await takeover()
    const payloads: Array<Json> = ['first']
    for (let n = 1; n <= 20; n++) {
      const [stale, good] = await Promise.all([
        former.save(zombie, revisions([...payloads, 'zombie']))(),
        latter.save(owner, revisions([...payloads, n]))()
      ])
      assert.equal(E.isLeft(stale) && stale.left._tag, 'Fenced')
      assert.ok(E.isRight(good))
      payloads.push(n)
    }
    await assertLoads(latter, 'a', payloads)
  })

  test("it can't write into a run that reuses the id of a removed one", async () => {
    const former = storage()
    const zombie = await claimed(former, 'a', OWNER)
    await right(former.save(zombie, revisions(['old'])))
    const latter = reopen()
    await right(latter.remove('a'))
    await left(former.save(zombie, revisions(['old', 'zombie'])), 'Fenced')
    await left(former.save(zombie, revisions(['zombie'])), 'Fenced')
    await assertLoads(latter, 'a', [])

    const { claim, stored } = await right(latter.claim('a', OTHER))
    assert.deepEqual(stored, O.none)
    await left(former.save(zombie, revisions(['zombie'])), 'Fenced')
    await right(latter.save(claim, revisions(['new'])))
    await left(former.save(zombie, revisions(['new', 'zombie'])), 'Fenced')
    await assertLoads(latter, 'a', ['new'])
    await right(latter.save(claim, revisions(['new', 'newer'])))
  })
}
