import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import { memoryData, memoryStorage } from '../../src/adapters/memory.js'
import type { CheckpointStorage, Claim, Revision, StorageError } from '../../src/index.js'
import { virtualClock } from '../../src/testing/crash/process/VirtualClock.js'
import type { FaultSchedule } from '../../src/testing/faults.js'
import { fault, faultSchedule, withFaults } from '../../src/testing/faults.js'
import { law } from '../domain/law.js'
import { summary } from '../../src/testing/conformance/fixtures.js'

const right = async <A>(task: TaskEither<StorageError, A>): Promise<A> => {
  const result = await task()
  return E.isRight(result) ? result.right : assert.fail(JSON.stringify(result.left))
}

const left = async <Tag extends StorageError['_tag']>(
  task: TaskEither<StorageError, unknown>,
  tag: Tag
): Promise<Extract<StorageError, { readonly _tag: Tag }>> => {
  const result = await task()
  if (E.isRight(result)) return assert.fail(`accepted, but ${tag} was due`)
  assert.equal(result.left._tag, tag)
  return result.left as Extract<StorageError, { readonly _tag: Tag }>
}

/** The last of this many revisions, numbered from 0. */
const newest = (count: number): ReadonlyNonEmptyArray<Revision> => [
  {
    revision: count - 1,
    change: { _tag: 'Recovered', at: '2026-01-02T03:04:05.000Z', from: 'x', lost: 'y', agreedBy: 'z' },
    checkpoint: () => ({ count }),
    summary: () => summary([count])
  }
]

/** A faulty store, the store that it wraps, and a claim of it. */
const under = async (
  schedule: FaultSchedule,
  options?: Parameters<typeof withFaults>[2]
): Promise<{ readonly faulty: CheckpointStorage; readonly plain: CheckpointStorage; readonly claim: Claim }> => {
  const plain = memoryStorage(memoryData())
  const faulty = withFaults(plain, schedule, options)
  return { faulty, plain, claim: (await right(faulty.claim('a', { host: 'x', pid: 1 }))).claim }
}

const revisionIn = async (storage: CheckpointStorage): Promise<number> => {
  const stored = await right(storage.load('a'))
  return O.isSome(stored) ? stored.value.revision : -1
}

const answered = (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([promise.then(() => true), new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 20))])

describe('a store with faults', () => {
  test('a fault fails a call before or after its effect, with the configured error', async () => {
    const { faulty, plain, claim } = await under([
      { call: 'save', nth: 2, fault: { _tag: 'Fail', when: 'before' } },
      { call: 'save', nth: 3, fault: { _tag: 'Fail', when: 'after' } },
      { call: 'load', fault: { _tag: 'Fail', when: 'before' } },
      { call: 'list', fault: { _tag: 'Fail', when: 'before', error: { _tag: 'Insecure', where: 'x', why: 'y' } } }
    ])
    await right(faulty.save(claim, newest(1)))
    const failed = await left(faulty.save(claim, newest(2)), 'WriteFailed')
    assert.deepEqual([failed.operation, failed.code], ['save', 'EIO'])
    assert.equal(await revisionIn(plain), 0)
    await left(faulty.save(claim, newest(2)), 'WriteFailed')
    assert.equal(await revisionIn(plain), 1)
    assert.equal((await left(faulty.load('a'), 'ReadFailed')).operation, 'load')
    await left(faulty.load('a'), 'ReadFailed')
    await left(faulty.list(), 'Insecure')
    await right(faulty.save(claim, newest(3)))
  })

  test('a dropped call is acknowledged if it returns nothing', async () => {
    const { faulty, plain, claim } = await under([{ fault: { _tag: 'Drop' } }])
    await right(faulty.save(claim, newest(1)))
    assert.equal(await revisionIn(plain), -1)
    await right(faulty.release(claim))
    assert.ok(E.isLeft(await plain.claim('a', { host: 'x', pid: 1 })()))
    assert.deepEqual(await right(faulty.load('a')), O.none)
  })

  test('a duplicated call runs twice and returns the first answer', async () => {
    const { faulty, plain, claim } = await under([{ call: 'save', fault: { _tag: 'Duplicate' } }])
    await right(faulty.save(claim, newest(1)))
    assert.equal(await revisionIn(plain), 0)
  })

  test('a delayed call waits by the clock', async () => {
    const clock = virtualClock()
    const { faulty, plain, claim } = await under([{ call: 'save', fault: { _tag: 'Delay', millis: 5000 } }], { clock })
    const saving = faulty.save(claim, newest(1))()
    await clock.advance(4999)
    assert.equal(await revisionIn(plain), -1)
    await clock.advance(1)
    assert.ok(E.isRight(await saving))
    const real = await under([{ call: 'save', fault: { _tag: 'Delay', millis: 5 } }])
    await right(real.faulty.save(real.claim, newest(1)))
  })

  test('a hanging call never answers, before or after its effect', async () => {
    for (const when of ['before', 'after'] as const) {
      const { faulty, plain, claim } = await under([{ call: 'save', fault: { _tag: 'Hang', when } }])
      assert.equal(await answered(faulty.save(claim, newest(1))()), false)
      assert.equal(await revisionIn(plain), when === 'before' ? -1 : 0)
    }
  })

  test('rules count the calls of a method or all calls, and the first match applies', async () => {
    const fails = (operation: string) =>
      ({ _tag: 'Fail', when: 'before', error: { _tag: 'Insecure', where: operation, why: '' } }) as const
    const { faulty } = await under([
      { nth: 3, fault: fails('third of all') },
      { call: 'load', from: 2, fault: fails('load from the second on') },
      { call: 'load', nth: 1, fault: fails('first load') }
    ])
    const said = async (): Promise<string> => (await left(faulty.load('a'), 'Insecure')).where
    assert.deepEqual(
      [await said(), await said(), await said()],
      ['first load', 'third of all', 'load from the second on']
    )
  })

  test('a store with faults is called each time its TaskEither is executed, and not when the TaskEither is created', async () => {
    const { faulty, claim } = await under([{ call: 'save', nth: 2, fault: { _tag: 'Fail', when: 'before' } }])
    faulty.save(claim, newest(1))
    const save = faulty.save(claim, newest(1))
    await right(save)
    await left(save, 'WriteFailed')
  })
})

describe('arbitrary schedules of faults', () => {
  law(
    'an arbitrary schedule of faults is plain JSON within its limits',
    faultSchedule({ maxRules: 3, maxCalls: 5 }),
    (schedule) => {
      assert.ok(schedule.length <= 3)
      assert.ok(schedule.every(({ nth = 1, from = 1 }) => nth <= 5 && from <= 5))
      assert.deepEqual(JSON.parse(JSON.stringify(schedule)), schedule)
    },
    200
  )

  test('arbitrary schedules have faults of every kind', () => {
    const kinds = fc.sample(fault, { numRuns: 200, seed: 1 }).map(({ _tag }) => _tag)
    assert.deepEqual([...new Set(kinds)].sort(), ['Delay', 'Drop', 'Duplicate', 'Fail', 'Hang'])
  })
})
