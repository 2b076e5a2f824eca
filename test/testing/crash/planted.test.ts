/** Planted faults that the simulator must find: a store that misleads the executor breaks each law. */
import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import type { MemoryData } from '../../../src/adapters/memory.js'
import { memoryData, memoryStorage } from '../../../src/adapters/memory.js'
import type { CheckpointStorage, Stored } from '../../../src/index.js'
import type * as Change from '../../../src/domain/change/Change.js'
import { Workflow } from '../../../src/index.js'
import { workflow } from '../../../src/promise/index.js'
import { crashEverywhere } from '../../../src/testing/crash/crashEverywhere.js'
import type { CrashLaw } from '../../../src/testing/crash/CrashReport.js'
import { toText } from '../../../src/testing/crash/CrashReport.js'
import type { ProcessContext } from '../../../src/testing/crash/process/Process.js'
import { withFaults } from '../../../src/testing/faults.js'

const three = workflow('three')
  .step('one', () => 1)
  .step('two', () => 2)
  .step('three', () => 3)

const misled = (around: (storage: CheckpointStorage) => CheckpointStorage) => ({
  create: () => Promise.resolve(memoryData()),
  reopen: (data: MemoryData) => Promise.resolve(around(memoryStorage(data)))
})

/** A store that changes the stored run, for claims only or for all readers. */
const giving = (change: (stored: Stored) => Stored, to: 'claimants' | 'all' = 'claimants') =>
  misled((storage) => ({
    ...storage,
    claim: (runId, owner) =>
      pipe(
        storage.claim(runId, owner),
        TE.map(({ claim, stored }) => ({ claim, stored: pipe(stored, O.map(change)) }))
      ),
    load: to === 'all' ? (runId) => pipe(storage.load(runId), TE.map(O.map(change))) : storage.load
  }))

const asItBegan = (stored: Stored): Stored => ({
  ...stored,
  changes: [],
  revision: stored.revision - stored.changes.length
})

const found = async (storage: ReturnType<typeof misled>): Promise<ReadonlyArray<CrashLaw>> => {
  const report = await crashEverywhere(three, { storage, twice: 0, stopAfter: 1000, patienceMillis: 10 })
  assert.ok(report.violations.length > 0, toText(report))
  return report.violations.map(({ law }) => law)
}

describe('planted faults of the crash simulator', () => {
  test('the simulator finds a recorded unit that runs again', async () => {
    // A claim returns an old state, and a save that does not follow the stored state is acknowledged and dropped.
    const stale = misled((storage) => ({
      ...storage,
      claim: (runId, owner) =>
        pipe(
          storage.claim(runId, owner),
          TE.map(({ claim, stored }) => ({ claim, stored: pipe(stored, O.map(asItBegan)) }))
        ),
      save: (claim, revisions) =>
        pipe(
          storage.save(claim, revisions),
          TE.orElse((error) => (error._tag === 'RevisionConflict' ? TE.right(undefined) : TE.left(error)))
        )
    }))
    assert.ok((await found(stale)).includes('NothingTwice'))
  })

  test('the simulator finds a stored state that cannot be resumed', async () => {
    const other = giving((stored) => JSON.parse(JSON.stringify(stored).replaceAll('"one"', '"uno"')) as Stored, 'all')
    assert.deepEqual(new Set(await found(other)), new Set(['Undisturbed']))
    let reads = 0
    const later = giving((stored) => {
      reads += 1
      return reads < 10 ? stored : (JSON.parse(JSON.stringify(stored).replaceAll('"one"', '"uno"')) as Stored)
    }, 'all')
    assert.ok((await found(later)).includes('NothingForgotten'))
  })

  test('the simulator finds a record of a unit that never ran', async () => {
    const optimistic = giving((stored) => ({
      ...stored,
      changes: stored.changes.map((change) => {
        const made = change as unknown as Change.Change
        return made._tag === 'AttemptStarted' && made.attempts[0]?.unit === 'three'
          ? { _tag: 'Assumed', at: made.at, unit: 'three', captured: [] }
          : change
      })
    }))
    const laws = await found(optimistic)
    assert.ok(laws.includes('AtLeastOnce'), laws.join())
  })

  test('the simulator finds a claim that returns the state before a save in flight', async () => {
    const storage = {
      create: () => {
        const data = memoryData()
        return Promise.resolve({ data, storage: memoryStorage(data) })
      },
      // The claim of a dead owner ends at the next claim, and not before.
      reopen: ({ data, storage }: { readonly data: MemoryData; readonly storage: CheckpointStorage }) => {
        let seen: O.Option<Stored> = O.none
        const free = (runId: string): void => {
          const run = data.runs.get(runId)
          if (run !== undefined) run.held = undefined
        }
        const caching: CheckpointStorage = {
          ...storage,
          load: (runId) =>
            pipe(
              storage.load(runId),
              TE.map((stored) => {
                seen = pipe(
                  stored,
                  O.map((one) => ({ ...one, heldBy: O.none }))
                )
                return stored
              })
            ),
          claim: (runId, owner) => () => {
            free(runId)
            return pipe(
              storage.claim(runId, owner),
              TE.map(({ claim, stored }) => ({ claim, stored: O.isSome(seen) ? seen : stored }))
            )()
          }
        }
        return Promise.resolve(caching)
      }
    }
    const report = await crashEverywhere(three, { storage, twice: 0, stopAfter: 1000, patienceMillis: 10 })
    const ways = new Set(report.violations.flatMap(({ only }) => only.schedule.map(({ how }) => how)))
    assert.deepEqual([...ways], ['slow', 'meanwhile'], toText(report))
  })

  test('the simulator finds a crash that costs a unit an attempt', async () => {
    const restarting = giving((stored) => ({
      ...stored,
      changes: stored.changes.map(
        (change) => JSON.parse(JSON.stringify(change).replaceAll('"attempt":1}]', '"attempt":2}]')) as typeof change
      )
    }))
    assert.ok((await found(restarting)).includes('SameAttempt'))
  })

  test('the simulator finds a group that relies on another one that it does not need', async () => {
    const report = await crashEverywhere(
      () => {
        let made = false
        return workflow('wave').wave('checks', {
          make: () => {
            made = true
            return 1
          },
          use: async () => {
            await Promise.resolve()
            return made
          }
        })
      },
      { twice: 0 }
    )
    assert.deepEqual(
      report.violations.map(({ only }) => only.schedule),
      [[{ _tag: 'AtUnit', unit: 'checks/make', n: 1, how: 'waits' }]]
    )
    assert.match(toText(report), /checks\/make started after all others/)
  })

  test('the simulator finds a store whose claim, save or load hangs or rejects, or whose release hangs', async () => {
    for (const call of ['claim', 'save', 'release', 'load'] as const) {
      const silent = misled((storage) => withFaults(storage, [{ call, fault: { _tag: 'Hang', when: 'after' } }]))
      assert.deepEqual(new Set(await found(silent)), new Set(['Undisturbed']), call)
      if (call === 'release') continue
      const rejecting = misled((storage) => ({ ...storage, [call]: () => () => Promise.reject(new Error('no')) }))
      assert.deepEqual(new Set(await found(rejecting)), new Set(['Undisturbed']), call)
    }
  })

  test('the simulator finds a workflow that throws while it is planned', async () => {
    const throwing = {
      ...three,
      steps: three.steps.map((step) => ({ ...step, accepts: () => assert.fail('no judgement') }))
    }
    const report = await crashEverywhere(throwing as unknown as typeof three, { twice: 0 })
    assert.match(toText(report), /no judgement/)
    assert.equal(Workflow.problems(three).length, 0)
  })
})

describe('a killed process', () => {
  test('a killed process has no later effects, and its signal fires', async () => {
    const stopped: Array<number> = []
    let stoppedBeforeTheNext = 0
    const report = await crashEverywhere(
      ({ world, sleep, effect, life }: ProcessContext<Array<number>>) =>
        workflow('slow').step('write', async ({ signal }) => {
          if (life === 2) stoppedBeforeTheNext = stopped.length
          signal.addEventListener('abort', () => stopped.push(life))
          await sleep(1000)
          await effect('write', () => world.push(life))
          return 'written'
        }),
      {
        world: () => [],
        only: { schedule: [{ _tag: 'AtUnit', unit: 'write', n: 1, how: 'during' }], answer: 'again' },
        invariants: {
          'only the second process writes': ({ world, completed, trace }) =>
            !completed || trace.every(({ life }) => life === 1) || (world.length === 1 && world[0] === 2)
        }
      }
    )
    assert.equal(report.violations.length, 0, toText(report))
    assert.ok(stoppedBeforeTheNext > 0)
  })

  test('a killed process leaves no timer and no unhandled rejection', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    const unhandled: Array<unknown> = []
    const note = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    const before = timers()
    const report = await crashEverywhere(
      ({ sleep }: ProcessContext<undefined>) =>
        workflow('failing')
          .wave('both', {
            one: async () => {
              await sleep(10)
              return 1
            },
            two: async ({ signal }) => {
              await sleep(20, signal)
              if (signal.aborted) throw new Error('stopped')
              return 2
            }
          })
          .step('last', { timeoutMillis: 1000, run: () => 3 }),
      { twice: 20 }
    )
    assert.equal(report.violations.length, 0, toText(report))
    await new Promise((resolve) => setTimeout(resolve, 5))
    process.off('unhandledRejection', note)
    assert.deepEqual(unhandled, [])
    assert.ok(timers() <= before)
  })
})
