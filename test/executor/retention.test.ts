/** A completed run is removed when its program requests it and its completion is durable; a pruned run is removed as a whole. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import { memoryArtifacts, memoryStorage } from '../../src/adapters/memory.js'
import type { Archive, CheckpointStorage, Environment, Listed, ListOptions, Stored } from '../../src/index.js'
import type { ArchivedRun } from '../../src/ports/Archive.js'
import type * as Retention from '../../src/domain/checkpoint/Retention.js'
import {
  CheckpointCodec,
  findExpired,
  listRuns,
  newestFirst,
  poll,
  Program,
  prune,
  removeRuns,
  resume,
  run,
  runOrResume
} from '../../src/index.js'
import * as Async from '../../src/promise/index.js'
import { ended, fakeClock, loaded, newProcess, newWorld, outputsOf, refused, right, WRITE_FAILED } from './fixtures.js'

const archiveIn = (kept: Array<ArchivedRun>): Archive => ({
  keep: (one) => TE.fromIO(() => `place ${kept.push(one)}`)
})

const program = (onSuccess: Retention.OnSuccess, last: TE.TaskEither<unknown, unknown> = TE.right('two')) =>
  pipe(
    Program.start('p', { onSuccess }),
    Program.step('one', { run: ({ artifacts }) => artifacts.put('log', 'text') }),
    Program.step('two', { run: () => last })
  )

const ports = (
  data = newWorld()
): { readonly world: typeof data; readonly given: Pick<Required<Environment>, 'artifacts'> } => ({
  world: data,
  given: { artifacts: memoryArtifacts(data.data) }
})

const tagsOf = (events: ReadonlyArray<{ readonly _tag: string }>): ReadonlyArray<string> =>
  events.map(({ _tag }) => _tag)

const RESUMED = 'another process resumed it meanwhile'

/** Lets another process act after the check of each run that is removed, and before its removal. */
const beforeRemoval =
  (act: () => Promise<void>) =>
  (storage: CheckpointStorage): CheckpointStorage => ({
    ...storage,
    remove: (...given) => {
      const task = storage.remove(...given)
      return () => act().then(task)
    }
  })

describe('a run that has completed', () => {
  test('a completed run of a program with onSuccess keep is kept', async () => {
    const { world, given } = ports()
    const process = newProcess(world, given)
    ended(await process.perform(run(program('keep'), 'r', {})), 'Completed')
    assert.ok(O.isSome(await loaded(process.storage)))
    assert.deepEqual(tagsOf(process.events).slice(-1), ['RunCompleted'])
  })

  test('a completed run is deleted with its artifacts once its completion is durable, and still returns its outcome and outputs', async () => {
    const { world, given } = ports()
    const process = newProcess(world, given)
    const outcome = ended(await process.perform(run(program('delete'), 'r', {})), 'Completed')
    assert.equal(outputsOf(outcome.checkpoint)['two'], 'two')
    assert.deepEqual(process.calls.slice(-3), ['save', 'release', 'remove'])
    assert.deepEqual(tagsOf(process.events).slice(-2), ['RunCompleted', 'RunRemoved'])
    assert.deepEqual(await loaded(process.storage), O.none)
    assert.deepEqual(right(await memoryArtifacts(world.data).list('r')()), [])
    const flow = Async.workflow('q', { onSuccess: 'delete' }).step('a', () => 1)
    const storage = memoryStorage(world.data)
    assert.deepEqual(await Async.run(flow, { id: 'q', storage }), { a: 1 })
    assert.deepEqual(
      right(await storage.list()()).map(({ runId }) => runId),
      []
    )
  })

  test('a completed run is archived in its last state before the state is deleted', async () => {
    const { world, given } = ports()
    const kept: Array<ArchivedRun> = []
    let there: unknown
    const archive: Archive = {
      keep: (one) => async () => {
        there = await loaded(memoryStorage(world.data))
        return archiveIn(kept).keep(one)()
      }
    }
    const process = newProcess(world, { ...given, archive })
    const outcome = ended(await process.perform(run(program('archive'), 'r', { a: 1 })), 'Completed')
    assert.notDeepEqual(there, O.none)
    assert.deepEqual(kept, [
      { runId: 'r', createdAt: outcome.checkpoint.createdAt, checkpoint: CheckpointCodec.encode(outcome.checkpoint) }
    ])
    assert.deepEqual(process.events.at(-1), { _tag: 'RunRemoved', runId: 'r', archivedAt: 'place 1' })
    assert.deepEqual(await loaded(process.storage), O.none)
  })

  test('a completed run that cannot be archived or removed is kept, and the next resume removes it', async () => {
    const sealed: Archive = { keep: () => TE.left(WRITE_FAILED) }
    const stuck = (storage: CheckpointStorage): CheckpointStorage => ({
      ...storage,
      remove: () => TE.left(WRITE_FAILED)
    })
    const throwing: Archive = { keep: () => () => Promise.reject(new Error('it throws')) }
    for (const trouble of [{ archive: sealed }, { archive: throwing }, { archive: archiveIn([]), around: stuck }]) {
      const { world, given } = ports()
      const first = newProcess(world, { ...given, ...trouble })
      ended(await first.perform(run(program('archive'), 'r', {})), 'Completed')
      assert.equal(first.events.at(-1)?._tag, 'RunNotRemoved')
      const second = newProcess(world, { ...given, archive: archiveIn([]) })
      assert.ok(O.isSome(await loaded(second.storage)))
      ended(await second.perform(resume(program('archive'), 'r')), 'Completed')
      assert.ok(!tagsOf(second.events).includes('StepStarted'))
      assert.deepEqual(await loaded(second.storage), O.none)
    }
  })

  test('a completed run stays if another process resumed it or reused its id before the removal', async () => {
    for (const isNew of [false, true]) {
      const { world, given } = ports()
      const other = async (): Promise<void> => {
        const process = newProcess(world, given)
        const failing = program('keep', TE.left('no'))
        if (isNew) right(await process.storage.remove('r')())
        await process.clock.advance(1)
        ended(
          await process.perform(isNew ? run(failing, 'r', {}) : resume(failing, 'r', { fromStep: 'two' })),
          'Failed'
        )
      }
      const archive: Archive = { keep: (one) => () => other().then(archiveIn([]).keep(one)) }
      const process = newProcess(world, { ...given, archive })
      ended(await process.perform(run(program('archive'), 'r', {})), 'Completed')
      assert.deepEqual(process.events.at(-1), {
        _tag: 'RunNotRemoved',
        runId: 'r',
        why: RESUMED
      })
      assert.ok(O.isSome(await loaded(process.storage)))
    }
  })

  test('a completed run stays if another process resumes it, or reuses its id, between the check and the removal', async () => {
    for (const isNew of [false, true]) {
      const { world, given } = ports()
      const other = async (): Promise<void> => {
        const process = newProcess(world, given)
        if (isNew) right(await process.storage.remove('r')())
        await process.clock.advance(1)
        const again = isNew ? run(program('keep'), 'r', {}) : resume(program('keep'), 'r', { fromStep: 'two' })
        ended(await process.perform(again), 'Completed')
      }
      const process = newProcess(world, { ...given, around: beforeRemoval(other) })
      ended(await process.perform(run(program('delete'), 'r', {})), 'Completed')
      assert.deepEqual(process.events.at(-1), { _tag: 'RunNotRemoved', runId: 'r', why: RESUMED })
      assert.equal(right(await memoryArtifacts(world.data).list('r')()).length, 1)
      assert.ok(O.isSome(await loaded(process.storage)))
    }
  })

  test('a run with onSuccess: delete is removed when a poll completes it', async () => {
    const { world, given } = ports()
    const job = pipe(
      Program.start('p', { onSuccess: 'delete' }),
      Program.step('a', {
        job: { submit: () => TE.right(1), poll: () => TE.right({ _tag: 'Finished' }), collect: () => TE.right(2) }
      })
    )
    const process = newProcess(world, given)
    ended(await process.perform(run(job, 'r', {})), 'Pending')
    assert.ok(O.isSome(await loaded(process.storage)))
    assert.equal(right(await poll(job, 'r')(process.environment)())._tag, 'Polled')
    assert.deepEqual(await loaded(process.storage), O.none)
  })
})

test('a failed run is kept, whatever onSuccess its program sets', async () => {
  for (const onSuccess of ['delete', 'archive'] as const) {
    const { world, given } = ports()
    const process = newProcess(world, { ...given, archive: archiveIn([]) })
    ended(await process.perform(run(program(onSuccess, TE.left('no')), 'r', {})), 'Failed')
    assert.ok(O.isSome(await loaded(process.storage)))
    assert.ok(!process.calls.includes('remove'))
  }
})

test('a run is refused if its onSuccess is unknown or needs an archive that is missing', async () => {
  const process = newProcess()
  refused(await process.perform(run(program('archive'), 'r', {})), 'NoArchive')
  refused(await process.perform(runOrResume(program('remove' as 'delete'), 'r', {})), 'PlanError')
  assert.deepEqual(process.calls, [])
})

describe('pruning', () => {
  const simple = (last: TE.TaskEither<unknown, unknown>) =>
    pipe(Program.start('p'), Program.step('a', { run: () => last }))

  /** Runs done-1 … done-3 that completed one after the other, and one that failed. */
  const withRuns = async () => {
    const { world, given } = ports()
    for (const [index, id] of ['done-1', 'done-2', 'done-3', 'broken'].entries()) {
      const process = newProcess(world, given)
      await process.clock.advance(index * 1000)
      await process.perform(run(simple(id === 'broken' ? TE.left('no') : TE.right(id)), id, {}))
    }
    return { world, given }
  }

  test('pruning removes the runs that the policy selects, oldest first, and a failed run only if the policy names that status', async () => {
    const { world, given } = await withRuns()
    const process = newProcess(world, given)
    const found = right(await findExpired({ keep: 1 })(process.environment)())
    assert.deepEqual(
      found.map(({ runId }) => runId),
      ['done-1', 'done-2']
    )
    assert.deepEqual(
      right(await process.storage.list()()).map(({ runId }) => runId),
      ['broken', 'done-1', 'done-2', 'done-3']
    )
    const pruned = right(await prune({ keep: 1 })(process.environment)())
    assert.deepEqual(pruned, { removed: found, left: [], neverStarted: [], isStopped: false })
    assert.deepEqual(
      right(await process.storage.list()()).map(({ runId }) => runId),
      ['broken', 'done-3']
    )
    right(await prune({ keep: 0, statuses: ['failed'] })(process.environment)())
    assert.deepEqual(
      right(await process.storage.list()()).map(({ runId }) => runId),
      ['done-3']
    )
  })

  test('pruning removes artifacts even if they are stored apart from the checkpoints', async () => {
    const { world } = await withRuns()
    const apart = memoryArtifacts()
    right(await apart.put('done-1', 'log', 'text')())
    right(await apart.put('done-1', '_own/x', 'text')())
    right(await prune({ keep: 2 })(newProcess(world, { artifacts: apart }).environment)())
    assert.deepEqual(right(await apart.list('done-1')()), [])
  })

  test('if the artifacts of a removed run cannot be removed, the report says that the run is removed and its artifacts are left', async () => {
    const { world, given } = ports()
    const artifacts = { ...given.artifacts, remove: () => TE.left(WRITE_FAILED) }
    const around = (storage: CheckpointStorage): CheckpointStorage => ({
      ...storage,
      remove: (id) => apart(storage, id)
    })
    // The artifacts of a store that does not keep checkpoints survive the removal of their run.
    const apart = (storage: CheckpointStorage, id: string) =>
      pipe(
        storage.remove(id),
        TE.chainFirst(() => TE.fromTask(() => given.artifacts.put(id, 'log', 'text')()))
      )
    const why = /^the run is removed, but its artifacts are left under its id: Writing /
    const deleting = newProcess(world, { artifacts, around })
    ended(await deleting.perform(run(program('delete'), 'deleted', {})), 'Completed')
    const last = deleting.events.at(-1)
    assert.ok(last?._tag === 'RunNotRemoved' && why.test(last.why), JSON.stringify(last))
    const pruning = newProcess(world, { artifacts, around })
    ended(await pruning.perform(run(program('keep'), 'pruned', {})), 'Completed')
    const { left } = right(await prune({ keep: 0 })(pruning.environment)())
    assert.match(left[0]?.why ?? '', why)
    assert.deepEqual(await loaded(pruning.storage), O.none)
  })

  test('pruning keeps the artifacts of a new run that reuses the id of a removed run at once', async () => {
    const { world } = await withRuns()
    const given = { artifacts: memoryArtifacts() }
    right(await given.artifacts.put('done-1', 'old', 'text')())
    const around = (storage: CheckpointStorage): CheckpointStorage => ({
      ...storage,
      remove: (...args) => {
        const task = storage.remove(...args)
        return async () => {
          const removed = await task()
          ended(await newProcess(world, given).perform(run(program('keep'), 'done-1', {})), 'Completed')
          return removed
        }
      }
    })
    const { removed } = right(await prune({ keep: 2 })(newProcess(world, { ...given, around }).environment)())
    assert.equal(removed.length, 1)
    assert.ok(right(await given.artifacts.list('done-1')()).some(({ id }) => id === 'log'))
  })

  test('pruning keeps a run that another process resumed meanwhile, and continues with the others', async () => {
    const { world, given } = await withRuns()
    const found = right(await findExpired({ keep: 0 })(newProcess(world, given).environment)())
    await newProcess(world, given).perform(resume(simple(TE.left('no')), 'done-1', { fromStep: 'a' }))
    const process = newProcess(world, given)
    const claimed = right(await process.storage.claim('done-2', { host: 'h', pid: 1 })())
    const { removed, left } = right(await removeRuns(found)(process.environment)())
    assert.deepEqual(
      removed.map(({ runId }) => runId),
      ['done-3']
    )
    assert.deepEqual(
      left.map(({ run: { runId }, reason }) => [runId, reason]),
      [
        ['done-1', 'resumed'],
        ['done-2', 'resumed']
      ]
    )
    await process.storage.release(claimed.claim)()
    assert.deepEqual(
      right(await process.storage.list()()).map(({ runId }) => runId),
      ['broken', 'done-1', 'done-2']
    )
  })

  test('pruning keeps a run that another process resumes, or whose id it reuses, between the check and the removal', async () => {
    for (const how of ['resumed', 'reused', 'reused before the check'] as const) {
      const { world, given } = await withRuns()
      const found = right(await findExpired({ keep: 2 })(newProcess(world, given).environment)())
      const storage = memoryStorage(world.data)
      if (how === 'reused before the check') right(await storage.remove('done-1')())
      const other = async (): Promise<void> => {
        const process = newProcess(world, given)
        if (how === 'reused') right(await process.storage.remove('done-1')())
        await process.clock.advance(1)
        const failing = simple(TE.left('no'))
        const again = how === 'resumed' ? resume(failing, 'done-1', { fromStep: 'a' }) : run(failing, 'done-1', {})
        ended(await process.perform(again), 'Failed')
      }
      const process = newProcess(world, { ...given, around: beforeRemoval(other) })
      const { removed, left } = right(await removeRuns(found)(process.environment)())
      assert.deepEqual(
        [removed, left.map(({ run: { runId }, reason, why }) => [runId, reason, why])],
        [[], [['done-1', 'resumed', RESUMED]]],
        how
      )
      assert.ok(O.isSome(right(await process.storage.load('done-1')())), how)
    }
  })

  test('pruning keeps a run whose checkpoint is damaged, even if its summary is intact', async () => {
    const { world, given } = await withRuns()
    const found = { _tag: 'Recovered', from: 'revision 1', lost: 'line 3 is damaged' } as const
    const around = (storage: CheckpointStorage): CheckpointStorage => ({
      ...storage,
      load: (runId) =>
        TE.map(O.map((stored: Stored): Stored => (runId === 'done-1' ? { ...stored, found } : stored)))(
          storage.load(runId)
        )
    })
    const { removed, left } = right(await prune({ keep: 1 })(newProcess(world, { ...given, around }).environment)())
    assert.deepEqual(
      removed.map(({ runId }) => runId),
      ['done-2']
    )
    assert.deepEqual(
      left.map(({ run: { runId }, reason, why }) => [runId, reason, why]),
      [['done-1', 'damaged', 'its newest state is damaged: line 3 is damaged']]
    )
  })

  test('pruning reports the runs that it could not remove, and a stop ends it between two runs', async () => {
    const { world, given } = await withRuns()
    const stuck = newProcess(world, {
      ...given,
      around: (storage) => ({ ...storage, remove: () => TE.left(WRITE_FAILED) })
    })
    const { removed, left } = right(await prune({ keep: 2 })(stuck.environment)())
    assert.deepEqual([removed, left.map(({ reason }) => reason)], [[], ['failed']])
    assert.match(left[0]?.why ?? '', /the disk is full/)
    const stopped = newProcess(world, given)
    stopped.stop()
    assert.deepEqual(right(await prune({ keep: 0 })(stopped.environment)()), {
      removed: [],
      left: [],
      neverStarted: [],
      isStopped: true
    })
    assert.ok(E.isRight(await stopped.storage.load('done-1')()))
  })

  test('pruning removes a run that the store lists as abandoned, unless a process claimed or saved it meanwhile', async () => {
    const { world, given } = await withRuns()
    const remove: CheckpointStorage['remove'] = (runId, options) => {
      asked.push([runId, options])
      if (runId === 'claimed') return TE.left({ _tag: 'HeldBy', runId, holder })
      if (runId === 'saved') return TE.left({ _tag: 'RunChanged', runId, expected: -1, found: 0 })
      return runId === 'full' ? TE.left(WRITE_FAILED) : TE.right(undefined)
    }
    const holder = { host: 'h', pid: 1, since: '2026-01-01T00:00:00.000Z', liveness: 'alive' } as const
    const asked: Array<unknown> = []
    const listed = ['claimed', 'done-1', 'full', 'none', 'saved'].map((runId) => ({ runId, isAbandoned: true }))
    const around = (storage: CheckpointStorage): CheckpointStorage => ({
      ...storage,
      list: () => TE.right(listed),
      remove
    })
    const process = newProcess(world, { ...given, around })
    const { removed, left, neverStarted } = right(await prune({ keep: 9 })(process.environment)())
    assert.deepEqual([removed, left], [[], []])
    assert.deepEqual(
      neverStarted.map(({ runId, why }) => [runId, why === undefined]),
      [
        ['none', true],
        ['full', false]
      ]
    )
    const newest = { revision: -1, at: '' }
    assert.deepEqual(
      asked,
      ['claimed', 'full', 'none', 'saved'].map((runId) => [runId, { newest }])
    )
  })

  test('pruning notices a stop between two runs even if the store answers synchronously', async () => {
    const { world, given } = await withRuns()
    const process = newProcess(world, given)
    const found = right(await findExpired({ keep: 0 })(process.environment)())
    const many = Array.from({ length: 100 }, () => found).flat()
    setImmediate(process.stop)
    const { removed, isStopped } = right(await removeRuns(many)(process.environment)())
    assert.ok(isStopped)
    assert.ok(removed.length < many.length / 2)
  })
})

test('listRuns lists runs newest first, then by descending id, with unreadable ones last', async () => {
  const world = newWorld()
  const begun = async (at: number, ...ids: ReadonlyArray<string>): Promise<void> => {
    for (const id of ids) {
      const { environment } = newProcess(world, { ...ports(world).given, clock: fakeClock(at) })
      ended(await run(program('keep'), id, {})(environment)(), 'Completed')
    }
  }
  await begun(1, 'b', 'c', 'a')
  await begun(2, '0', 'x')
  const around = (storage: CheckpointStorage): CheckpointStorage => ({
    ...storage,
    list: (page) => TE.map((runs: ReadonlyArray<Listed>) => runs.map(({ runId }) => ({ runId })))(storage.list(page)),
    load: (runId) => (runId === 'x' ? TE.left(damaged) : storage.load(runId))
  })
  const damaged = { _tag: 'Corrupt', runId: 'x', where: 'x', why: 'it is damaged' } as const
  const listed = newestFirst(right(await listRuns()(newProcess(world, { around }).environment)()))
  assert.deepEqual(
    listed.map(({ runId }) => runId),
    ['0', 'c', 'b', 'a', 'x']
  )
})

test('a page of listRuns is full even if the store lists a run without a checkpoint', async () => {
  const world = newWorld()
  for (const id of ['a', 'b', 'c', 'd'])
    ended(await newProcess(world, ports(world).given).perform(run(program('keep'), id, {})), 'Completed')
  const pages: Array<ListOptions | undefined> = []
  const around = (storage: CheckpointStorage): CheckpointStorage => ({
    ...storage,
    list: (page) => {
      pages.push(page)
      return TE.map((runs: ReadonlyArray<Listed>) => runs.map(({ runId }) => ({ runId })))(storage.list(page))
    },
    load: (runId) => (runId === 'b' ? TE.right(O.none) : storage.load(runId))
  })
  const { environment } = newProcess(world, { around })
  const idsOf = async (page?: ListOptions) => right(await listRuns(page)(environment)()).map(({ runId }) => runId)
  assert.deepEqual(await idsOf({ limit: 2 }), ['a', 'c'])
  assert.deepEqual(pages, [{ limit: 2 }, { after: 'b', limit: 1 }])
  assert.deepEqual(await idsOf({ after: 'a', limit: 10 }), ['c', 'd'])
  assert.deepEqual(await idsOf({ after: 'd', limit: 1 }), [])
  assert.deepEqual(await idsOf(), ['a', 'c', 'd'])
})

test('listRuns returns the same summary whether the store lists it or the run is loaded for it', async () => {
  const world = newWorld()
  ended(await newProcess(world, ports(world).given).perform(run(program('keep'), 'done', {})), 'Completed')
  await newProcess(world, ports(world).given).perform(run(program('keep', TE.left('no')), 'failed', {}))
  const around = (storage: CheckpointStorage): CheckpointStorage => ({
    ...storage,
    list: (page) => TE.map((runs: ReadonlyArray<Listed>) => runs.map(({ runId }) => ({ runId })))(storage.list(page))
  })
  const kept = right(await listRuns()(newProcess(world).environment)())
  assert.deepEqual(
    kept.map(({ runId, summary }) => [runId, right(summary).status]),
    [
      ['done', 'completed'],
      ['failed', 'failed']
    ]
  )
  assert.deepEqual(right(await listRuns()(newProcess(world, { around }).environment)()), kept)
})
