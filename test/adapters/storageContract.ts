import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import { afterEach, beforeEach, describe, test } from 'vitest'
import type { Json } from '../../src/domain/Json.js'
import type { CheckpointStorage, Revision, Stored } from '../../src/ports/CheckpointStorage.js'
import { claimLaws, zombieLaws } from './storageClaims.js'
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

/** A store under test. */
export interface Subject {
  readonly storage: CheckpointStorage
  /** The same runs as another process finds them after this one was killed: the owners of all claims count as dead. */
  readonly reopen: () => CheckpointStorage
  readonly dispose?: () => Promise<void>
}

// prettier-ignore
const INVALID_IDS = [
  '', '.', '..', '/x', 'a/b', 'a/../../b', '../a', 'a\\b', 'Release', 'é', ' a', 'a ', '-a', '_a', '.a', 'a.', 'a\0', 'a\n',
  'con', 'con.txt', 'nul', 'com1', 'lpt9.log', '%2e%2e', 'C:', 'a'.repeat(129)
]

const PAYLOADS: Readonly<Record<string, Json>> = {
  'characters of every length': 'é 漢 👩‍👩‍👧 \u{10FFFF} \uFEFF',
  'NUL and other control characters': '\0\u0001\b\t\n\r\u001b\u007f\u2028\u2029',
  'lone surrogates': ['\ud800', 'x\udfff', '\udc00\ud800'],
  'keys that objects already have': JSON.parse(
    '{"__proto__":{"polluted":true},"constructor":1,"toString":null,"hasOwnProperty":[],"":"empty"}'
  ) as Json,
  'numbers at the edge': [0, 5e-324, -1.7976931348623157e308, 9007199254740991, 0.1],
  'null, empty and nested values': [null, {}, [], [[]], { a: { b: { c: [{}] } } }, true, false, ''],
  'a value 400 levels deep': Array.from({ length: 400 }).reduce<Json>((inner) => [inner], 'x'),
  'a long text': 'x'.repeat(1_000_000)
}

/**
 * The laws of the storage port, for any store. Each test gets a subject of its own.
 */
export const storageContract = (name: string, make: () => Promise<Subject>): void => {
  describe(`the storage laws, kept by ${name}`, () => {
    let storage: CheckpointStorage
    let subject: Subject

    beforeEach(async () => {
      subject = await make()
      storage = subject.storage
    })
    afterEach(() => subject.dispose?.())

    const both = { storage: () => storage, reopen: () => subject.reopen() }
    describe('what is stored', () => storedLaws(both))
    describe('which saves are accepted', () => saveLaws(both))
    describe('who writes', () => claimLaws(both))
    describe('an owner that was superseded', () => zombieLaws(both))
    describe('many runs', () => runsLaws(both))
  })
}

const storedLaws = ({ storage, reopen }: Under): void => {
  test('an unknown run has no checkpoint, no history and no revisions', async () => {
    assert.deepEqual(await right(storage().load('unknown')), O.none)
    assert.deepEqual(await right(storage().history('unknown')), [])
    assert.deepEqual(await right(storage().loadRevision('unknown', 0)), O.none)
    assert.deepEqual(await right(storage().list()), [])
  })

  test('a claim writes no checkpoint', async () => {
    const { stored } = await right(storage().claim('a', OWNER))
    assert.deepEqual(stored, O.none)
    assert.deepEqual(await right(storage().load('a')), O.none)
  })

  for (const [title, payload] of Object.entries(PAYLOADS)) {
    test(`${title}: loaded as saved, in a checkpoint and in a change`, async () => {
      await seed(storage(), 'a', [payload, payload])
      await assertLoads(storage(), 'a', [payload, payload])
      await assertLoads(reopen(), 'a', [payload, payload])
    })
  }

  test('neither what was given nor what was loaded is shared with the store', async () => {
    const payload = { items: ['kept'] }
    const claim = await claimed(storage(), 'a')
    await right(storage().save(claim, revisions([payload])))
    await right(storage().save(claim, revisions([payload, payload])))
    payload.items.push('added by the giver')
    const loaded = some(await right(storage().load('a')))
    const taken = JSON.parse(JSON.stringify(loaded)) as Stored
    for (const value of [loaded.checkpoint, ...loaded.changes])
      Object.assign(value as object, { format: 'changed by the taker' })
    assert.deepEqual(JSON.parse(JSON.stringify(some(await right(storage().load('a'))))), taken)
    await assertLoads(storage(), 'a', [{ items: ['kept'] }, { items: ['kept'] }])
  })

  test('every revision of one save is stored', async () => {
    const claim = await claimed(storage(), 'a')
    await right(storage().save(claim, revisions([1, 2, 3], 3)))
    await right(storage().save(claim, revisions([1, 2, 3, 4, 5], 2)))
    await assertLoads(storage(), 'a', [1, 2, 3, 4, 5])
  })

  test('after each of many saves, large and small, the run is as it was saved', async () => {
    const claim = await claimed(storage(), 'a')
    const payloads: Array<Json> = []
    for (let n = 0; n < 120; n++) {
      payloads.push(n % 10 === 0 ? 'x'.repeat(100_000) : n)
      await right(storage().save(claim, revisions(payloads)))
      await assertLoads(storage(), 'a', payloads)
    }
    await assertLoads(reopen(), 'a', payloads)
  })

  test('the history is newest first, without gaps, and tells each change and its time', async () => {
    await seed(storage(), 'a', [1, 2, 3])
    const at = '2026-01-02T03:04:05.678Z'
    assert.deepEqual(
      await right(storage().history('a')),
      [2, 1, 0].map((revision) => ({ revision, change: 'StepCompleted', at }))
    )
  })

  test('each revision of the history can be loaded, and no other', async () => {
    const payloads = Array.from({ length: 40 }, (_, n) => (n % 4 === 0 ? 'x'.repeat(200_000) : n))
    await seed(storage(), 'a', payloads)
    const history = await right(storage().history('a'))
    assert.equal(history[0]?.revision, 39)
    for (const { revision } of history) {
      assertHolds(some(await right(storage().loadRevision('a', revision))), payloads.slice(0, revision + 1))
    }
    for (const revision of [-1, 40, 1.5, Number.NaN]) {
      assert.deepEqual(await right(storage().loadRevision('a', revision)), O.none)
    }
  })
}

const saveLaws = ({ storage }: Under): void => {
  test('a first save that does not begin at revision 0 is refused', async () => {
    const claim = await claimed(storage(), 'a')
    const { expected, found } = await left(storage().save(claim, revisions([1, 2])), 'RevisionConflict')
    assert.deepEqual({ expected, found }, { expected: 0, found: 1 })
    await assertLoads(storage(), 'a', [])
  })

  test('a save that leaves a revision out is refused, and the right one is accepted after it', async () => {
    const claim = await claimed(storage(), 'a')
    await right(storage().save(claim, revisions([1])))
    const { expected, found } = await left(storage().save(claim, revisions([1, 2, 3])), 'RevisionConflict')
    assert.deepEqual({ expected, found }, { expected: 1, found: 2 })
    await assertLoads(storage(), 'a', [1])
    await right(storage().save(claim, revisions([1, 2])))
    await assertLoads(storage(), 'a', [1, 2])
  })

  test('a save of a revision that is there already is refused', async () => {
    const claim = await claimed(storage(), 'a')
    await right(storage().save(claim, revisions([1, 2], 2)))
    const { expected, found } = await left(storage().save(claim, revisions([1, 9])), 'RevisionConflict')
    assert.deepEqual({ expected, found }, { expected: 2, found: 1 })
    await assertLoads(storage(), 'a', [1, 2])
  })

  test('of a save with a gap inside, nothing is stored', async () => {
    const claim = await claimed(storage(), 'a')
    await right(storage().save(claim, revisions([1])))
    const [second, , fourth] = revisions([1, 2, 3, 4], 3)
    const gap = [second, fourth] as unknown as ReadonlyNonEmptyArray<Revision>
    await left(storage().save(claim, gap), 'RevisionConflict')
    await assertLoads(storage(), 'a', [1])
    assert.equal((await right(storage().history('a'))).length, 1)
  })

  test('a task that is not run does nothing', async () => {
    const claim = await claimed(storage(), 'a')
    await right(storage().save(claim, revisions([1])))
    storage().save(claim, revisions([1, 2]))
    storage().release(claim)
    storage().remove('a')
    storage().claim('b', OWNER)
    await new Promise((resolve) => setTimeout(resolve, 20))
    await assertLoads(storage(), 'a', [1])
    await left(storage().claim('a', OTHER), 'HeldBy')
    await claimed(storage(), 'b', OTHER)
  })

  test('of ten saves of one revision at once, one is stored', async () => {
    const claim = await claimed(storage(), 'a')
    await right(storage().save(claim, revisions([0])))
    const rivals = Array.from({ length: 10 }, (_, rival) => storage().save(claim, revisions([0, `rival ${rival}`])))
    const results = await Promise.all(rivals.map((save) => save()))
    assert.deepEqual(tally(results), { granted: 1, RevisionConflict: 9 })
    await assertLoads(storage(), 'a', [0, `rival ${results.findIndex(E.isRight)}`])
  })
}

const runsLaws = ({ storage, reopen }: Under): void => {
  test('what is no run id is refused by everything', async () => {
    const lost = new AbortController().signal
    for (const runId of INVALID_IDS) {
      const { runId: told } = await left(storage().claim(runId, OWNER), 'InvalidRunId')
      assert.equal(told, runId)
      await left(storage().save({ runId, epoch: 1, lost }, revisions([1])), 'InvalidRunId')
      await left(storage().load(runId), 'InvalidRunId')
      await left(storage().history(runId), 'InvalidRunId')
      await left(storage().loadRevision(runId, 0), 'InvalidRunId')
      await left(storage().remove(runId), 'InvalidRunId')
    }
    assert.deepEqual(await right(storage().list()), [])
  })

  test('the longest run id, and those that look like a file of ours, are ids like any other', async () => {
    const ids = ['a'.repeat(128), 'checkpoint.json', 'history', 'lock', 'runs', '0', 'constructor', 'x.tmp', 'a.lock']
    for (const runId of ids) await seed(storage(), runId, [runId])
    for (const runId of ids) await assertLoads(storage(), runId, [runId])
    assert.deepEqual(await right(storage().list()), [...ids].sort())
  })

  test('runs whose ids begin alike are apart', async () => {
    const ids = ['a', 'a-b', 'a.b', 'a_b', 'aa', 'ab']
    for (const runId of ids) await seed(storage(), runId, [runId, 1])
    await right(storage().remove('a'))
    await claimed(storage(), 'aa')
    await assertLoads(storage(), 'a', [])
    for (const runId of ids.slice(1)) await assertLoads(storage(), runId, [runId, 1])
    await claimed(storage(), 'a-b')
  })

  test('ten runs written at once are all whole', async () => {
    const ids = Array.from({ length: 10 }, (_, n) => `run-${n}`)
    await Promise.all(ids.map((runId) => seed(storage(), runId, [runId, 1, 2, 3])))
    for (const runId of ids) await assertLoads(reopen(), runId, [runId, 1, 2, 3])
  })

  test('the listing has the id of every run that has a checkpoint, in order; who holds it does not matter', async () => {
    for (const runId of ['b', 'c', 'a']) await seed(storage(), runId, [runId])
    await claimed(storage(), 'c')
    assert.deepEqual(await right(storage().list()), ['a', 'b', 'c'])
    assert.deepEqual(await right(reopen().list()), ['a', 'b', 'c'])
  })

  test('a removed run is gone, and removing what is not there does nothing', async () => {
    await seed(storage(), 'a', [1, 2])
    await seed(storage(), 'b', [1])
    await right(storage().remove('a'))
    await right(storage().remove('a'))
    assert.deepEqual(await right(storage().load('a')), O.none)
    assert.deepEqual(await right(storage().history('a')), [])
    assert.deepEqual(await right(storage().loadRevision('a', 0)), O.none)
    assert.deepEqual(await right(storage().list()), ['b'])
  })

  test('a run that a live owner holds is not removed', async () => {
    const claim = await claimed(storage(), 'a')
    await right(storage().save(claim, revisions([1])))
    const { holder } = await left(storage().remove('a'), 'HeldBy')
    assert.equal(holder.pid, OWNER.pid)
    await right(storage().save(claim, revisions([1, 2])))
    await assertLoads(storage(), 'a', [1, 2])
  })

  test('the run of a dead owner can be removed', async () => {
    const dead = await claimed(storage(), 'a')
    await right(storage().save(dead, revisions([1])))
    const restarted = reopen()
    await right(restarted.remove('a'))
    await assertLoads(restarted, 'a', [])
  })

  test('an id that is used again after a removal starts from nothing, at revision 0', async () => {
    await seed(storage(), 'a', ['old', 'old'])
    await right(storage().remove('a'))
    const { claim, stored } = await right(storage().claim('a', OWNER))
    assert.deepEqual(stored, O.none)
    await left(storage().save(claim, revisions(['old', 'old', 'new'])), 'RevisionConflict')
    await right(storage().save(claim, revisions(['new'])))
    await assertLoads(storage(), 'a', ['new'])
    assert.equal((await right(storage().history('a'))).length, 1)
  })
}
