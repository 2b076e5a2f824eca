import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import { jsonFileStorage } from '../../src/adapters/json-file/index.js'
import { memoryArtifacts, memoryData, memoryRequests, memoryStorage } from '../../src/adapters/memory.js'
import type { MemoryData } from '../../src/adapters/memory.js'
import { nodeEnvironment } from '../../src/adapters/node/index.js'
import { status } from '../../src/domain/checkpoint/Checkpoint.js'
import { encode } from '../../src/domain/checkpoint/CheckpointCodec.js'
import { restoreStored } from '../../src/executor/storage/stored.js'
import { describe as describeError } from '../../src/executor/errors/describe.js'
import { move } from '../../src/hosts/move.js'
import type {
  ArtifactError,
  Checkpoint,
  Claimed,
  Environment,
  Executor,
  ReadFailed,
  RunError,
  Stored
} from '../../src/index.js'
import { answer, cancel, confirm, fork, pause, planRun, prune, resumeAll } from '../../src/index.js'
import { isRunFailure, resume, runOrResume, runOutcome, workflow } from '../../src/promise/index.js'
import { FULL } from '../executor/fixtures.js'

/** The ports of a process on this data. */
const portsOf = (data: MemoryData): Environment =>
  nodeEnvironment(memoryStorage(data), { artifacts: memoryArtifacts(data), requests: memoryRequests(data) })

/** Makes an artifact, and then waits for an answer. */
const program = workflow('w')
  .step('make', async ({ artifacts }) => {
    await artifacts.put('model', 'weights')
    return 'made'
  })
  .waitFor('approve')
  .step('use', async ({ artifacts }) => Buffer.from((await artifacts.get('model')) ?? []).toString())

const started = async (data: MemoryData): Promise<void> => {
  const environment = portsOf(data)
  const { storage } = environment
  assert.equal((await runOutcome(program, { id: 'r', storage, environment }))._tag, 'Pending')
}

const moveFrom = (source: Environment, target: Environment): Promise<E.Either<RunError, void>> =>
  move('r', { from: 'store S', to: 'store T', target })(source)()

const copyIn = async ({ storage }: Environment): Promise<Checkpoint | undefined> => {
  const found = await storage.load('r')()
  assert.ok(E.isRight(found))
  if (O.isNone(found.right)) return undefined
  const restored = restoreStored(found.right.value)
  return E.isRight(restored) ? restored.right : assert.fail(JSON.stringify(restored.left))
}

/** What a move must keep. */
const contentOf = (checkpoint: Checkpoint): unknown => {
  const { revision: _, updatedAt: __, ...content } = encode(checkpoint) as { revision: number; updatedAt: string }
  return content
}

/** The stores in which the run can be resumed. */
const resumable = async (stores: Readonly<Record<string, Environment>>): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  for (const [name, environment] of Object.entries(stores)) {
    const planned = await planRun(program, 'r')(environment)()
    if (E.isRight(planned)) found.push(name)
    else assert.ok(['NoSuchRun', 'RunMoved'].includes(planned.left._tag), planned.left._tag)
  }
  return found
}

interface Kill {
  readonly at: number
  readonly when: 'before' | 'after'
}

type Call = () => Promise<unknown>

/** Wraps the ports of a move so that each of their calls goes through `perform`. */
const through = (perform: (call: Call) => Promise<unknown>) => {
  const wrap = <A extends object>(port: A): A =>
    new Proxy(port, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function' || name === 'isAny') return member
        return (...given: ReadonlyArray<unknown>) => {
          const task = (member as (...given: ReadonlyArray<unknown>) => unknown)(...given)
          return typeof task === 'function' ? () => perform(task as Call) : task
        }
      }
    })
  return ({ storage, artifacts, requests, ...others }: Environment): Environment => ({
    ...others,
    storage: wrap(storage),
    ...(artifacts === undefined ? {} : { artifacts: wrap(artifacts) }),
    ...(requests === undefined ? {} : { requests: wrap(requests) })
  })
}

/** The process never gets the answer of its n-th call. */
const killing = ({ at, when }: Kill) => {
  let count = 0
  let kill = (): void => undefined
  const killed = new Promise<'killed'>((resolve) => (kill = () => resolve('killed')))
  const around = through(async (call) => {
    const nth = ++count
    if (nth < at || (nth === at && when === 'after')) {
      const answered = await call()
      if (nth < at) return answered
    }
    kill()
    return await new Promise(() => undefined)
  })
  return { around, killed, calls: () => count }
}

/** The n-th call reports an error, and all others work. */
const failingAt = ({ at, when }: Kill) => {
  let count = 0
  const error = { _tag: 'WriteFailed', committed: 'unknown', where: 'x', operation: 'x', code: 'EIO', cause: undefined }
  return through(async (call) => {
    const isFailing = ++count === at
    const answered = isFailing && when === 'before' ? undefined : await call()
    return isFailing ? E.left(error) : answered
  })
}

const calls = async (): Promise<number> => {
  const [source, target] = [memoryData(), memoryData()]
  await started(source)
  const { around, calls } = killing({ at: Infinity, when: 'before' })
  assert.ok(E.isRight(await moveFrom(around(portsOf(source)), around(portsOf(target)))))
  return calls()
}

describe('move', () => {
  test('a moved run has the same content, artifacts and requests in the other store, resumes there, and no longer exists in the first', async () => {
    const [source, target] = [portsOf(memoryData()), portsOf(memoryData())]
    const { storage } = source
    await runOutcome(program, { id: 'r', storage, environment: source })
    const before = await copyIn(source)
    assert.ok(before !== undefined && source.requests !== undefined && target.requests !== undefined)
    const request = {
      _tag: 'Answer',
      runId: 'r',
      unit: 'approve',
      value: true,
      by: 'ada',
      requestedAt: before.updatedAt
    } as const
    assert.ok(E.isRight(await source.requests.leave(request)()))
    assert.ok(E.isRight(await moveFrom(source, target)))
    assert.equal(await copyIn(source), undefined)
    const after = await copyIn(target)
    assert.ok(after !== undefined)
    // The move takes the answer in when it releases the copy.
    const { requestedAt: at, unit, value, by } = request
    assert.deepEqual(contentOf(after), { ...(contentOf(before) as object), answers: [{ unit, value, by, at }] })
    assert.equal(target.requests.isAny('r'), false)
    const outputs = await resume(program, { id: 'r', storage: target.storage, environment: target })
    assert.deepEqual(outputs, { make: 'made', approve: true, use: 'weights' })
  })

  test('a move that is killed at any call leaves at most one copy that can be resumed, and a repeated move leaves exactly one', async () => {
    const count = await calls()
    assert.ok(count > 12, String(count))
    const none: Array<string> = []
    for (let at = 1; at <= count; at++)
      for (const when of ['before', 'after'] as const) {
        const place = `${when} call ${at}`
        const [source, target] = [memoryData(), memoryData()]
        await started(source)
        const before = await copyIn(portsOf(source))
        const { around, killed } = killing({ at, when })
        const end = await Promise.race([moveFrom(around(portsOf(source)), around(portsOf(target))), killed])
        assert.equal(end, 'killed', place)
        const stores = { S: portsOf(source), T: portsOf(target) }
        const left = await resumable(stores)
        assert.ok(left.length <= 1, `${place}: ${left.join(' and ')}`)
        if (left.length === 0) none.push(place)
        const again = await moveFrom(stores.S, stores.T)
        assert.ok(
          E.isRight(again) || (again.left._tag === 'RunMoved' && again.left.store === 'store T'),
          `${place}: ${JSON.stringify(again)}`
        )
        assert.deepEqual(await resumable(stores), ['T'], place)
        assert.equal(await copyIn(stores.S), undefined, place)
        const after = await copyIn(stores.T)
        assert.ok(before !== undefined && after !== undefined)
        assert.deepEqual(contentOf(after), contentOf(before), place)
      }
    // Between the save that retires the source and the save that releases the copy.
    assert.ok(none.length > 0 && none.length <= 8, none.join(', '))
  })

  test.each([
    ['that waits', 'pause', 'paused'],
    ['that waits', 'cancel', 'cancelled'],
    ['that failed', 'cancel', 'cancelled']
  ] as const)(
    'a run %s obeys a request to %s, whichever call of its move the request arrives at',
    async (which, what, expected) => {
      const broken = workflow('w').step('make', () => Promise.reject(new Error('no disk')))
      const begin = async (data: MemoryData): Promise<void> => {
        const environment = portsOf(data)
        const { storage } = environment
        if (which === 'that waits') await started(data)
        else assert.equal((await runOutcome(broken, { id: 'r', storage, environment }))._tag, 'Failed')
      }
      let requested = 0
      for (const fails of [false, true])
        for (let at = 1; ; at++) {
          const [source, target] = [memoryData(), memoryData()]
          await begin(source)
          let count = 0
          let given: string | undefined
          const giving = through(async (call) => {
            count += 1
            const answered = await call()
            if (count !== at) return answered
            for (const data of [source, target]) {
              const storage = memoryStorage(data, { formerOwners: 'undecided' })
              const other = nodeEnvironment(storage, { requests: memoryRequests(data) })
              const request: Executor<{ readonly _tag: string }> = what === 'pause' ? pause('r') : cancel('r')
              const ended = await request(other)()
              if (E.isRight(ended) && ended.right._tag === 'Requested') given = ended.right._tag
            }
            return answered
          })
          const [from, to] = [portsOf(source), portsOf(target)]
          const full = { ...to, storage: { ...to.storage, save: () => TE.left(FULL) } }
          const end = await moveFrom(giving(from), giving(fails ? full : to))
          if (count < at) break
          assert.equal(E.isLeft(end), fails, JSON.stringify(end))
          if (given === undefined) continue
          requested += 1
          const left = (await copyIn(portsOf(target))) ?? (await copyIn(portsOf(source)))
          assert.ok(left !== undefined)
          assert.equal(status(left, false), expected, `at call ${at}, fails: ${fails}`)
        }
      assert.ok(requested > 3, String(requested))
    }
  )

  test('a repeated move finishes a broken move even if the two moves name the source store differently', async () => {
    const count = await calls()
    for (let at = 1; at <= count; at++) {
      const [source, target] = [memoryData(), memoryData()]
      await started(source)
      const { around, killed } = killing({ at, when: 'after' })
      await Promise.race([moveFrom(around(portsOf(source)), around(portsOf(target))), killed])
      const stores = { S: portsOf(source), T: portsOf(target) }
      const again = await move('r', { from: 'store S by another name', to: 'store T', target: stores.T })(stores.S)()
      assert.ok(
        E.isRight(again) || (again.left._tag === 'RunMoved' && again.left.store === 'store T'),
        `call ${at}: ${JSON.stringify(again)}`
      )
      assert.deepEqual(await resumable(stores), ['T'], `call ${at}`)
    }
  })

  test('a copy that a broken move left is replaced when the run arrives from a third store', async () => {
    const [source, target, third] = [memoryData(), memoryData(), memoryData()]
    await started(source)
    const count = await calls()
    for (let at = 1; at < count; at++) {
      const { around, killed } = killing({ at, when: 'after' })
      await Promise.race([moveFrom(around(portsOf(source)), around(portsOf(target))), killed])
      if ((await copyIn(portsOf(target))) !== undefined) break
    }
    const stores = { S: portsOf(source), T: portsOf(target), U: portsOf(third) }
    assert.ok(E.isRight(await move('r', { from: 'store S', to: 'store U', target: stores.U })(stores.S)()))
    assert.ok(E.isRight(await move('r', { from: 'store U', to: 'store T', target: stores.T })(stores.U)()))
    assert.deepEqual(await resumable(stores), ['T'])
  })

  test('a move leaves alone the copy of another run with the same id, even if the move of that run broke off in a store of the same name', async () => {
    const [source, target, other] = [memoryData(), memoryData(), memoryData()]
    await started(source)
    const count = await calls()
    for (let at = 1; at < count; at++) {
      const { around, killed } = killing({ at, when: 'after' })
      await Promise.race([moveFrom(around(portsOf(source)), around(portsOf(target))), killed])
      if ((await copyIn(portsOf(source)))?.moved !== undefined) break
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
    await started(other)
    const refused = await moveFrom(portsOf(other), portsOf(target))
    assert.ok(E.isLeft(refused) && refused.left._tag === 'RunExists')
    assert.ok(E.isRight(await moveFrom(portsOf(source), portsOf(target))))
    assert.deepEqual(await resumable({ S: portsOf(source), T: portsOf(target) }), ['T'])
  })

  test('a run that continued after a broken move is moved in its new state', async () => {
    const [source, target] = [memoryData(), memoryData()]
    await started(source)
    const count = await calls()
    for (let at = 1; at < count; at++) {
      const { around, killed } = killing({ at, when: 'after' })
      await Promise.race([moveFrom(around(portsOf(source)), around(portsOf(target))), killed])
      if ((await copyIn(portsOf(target))) !== undefined) break
    }
    const stores = { S: portsOf(source), T: portsOf(target) }
    assert.deepEqual(await resumable(stores), ['S'])
    await answer('r', 'approve', 'yes', {})(stores.S)()
    assert.ok(E.isRight(await moveFrom(stores.S, stores.T)))
    const { storage } = stores.T
    assert.equal((await resume(program, { id: 'r', storage, environment: stores.T })).approve, 'yes')
  })

  test('a copy that is being moved refuses every call that would change it, and names the other store', async () => {
    const [source, target] = [memoryData(), memoryData()]
    await started(source)
    const count = await calls()
    for (let at = count; at > 0; at--) {
      const { around, killed } = killing({ at, when: 'before' })
      await Promise.race([moveFrom(around(portsOf(source)), around(portsOf(target))), killed])
      if ((await copyIn(portsOf(target)))?.moved !== undefined && (await copyIn(portsOf(source)))?.moved !== undefined)
        break
      for (const data of [source, target]) data.runs.clear()
      await started(source)
    }
    for (const [data, store] of [
      [source, 'store T'],
      [target, 'store S']
    ] as const) {
      const environment = portsOf(data)
      const { storage } = environment
      const refused: ReadonlyArray<E.Either<RunError, unknown>> = [
        await planRun(program, 'r', { reopen: true })(environment)(),
        await answer('r', 'approve', 1, {})(environment)(),
        await cancel('r')(environment)(),
        await confirm('r', new Map())(environment)(),
        await fork('r', 'f', { fromStep: 'use' })(environment)()
      ]
      for (const one of refused) assert.ok(E.isLeft(one) && one.left._tag === 'RunMoved' && one.left.store === store)
      const error: unknown = await runOrResume(program, { id: 'r', storage, environment }).catch(
        (cause: unknown) => cause
      )
      assert.ok(isRunFailure(error) && error.outcome._tag === 'Refused' && error.outcome.error._tag === 'RunMoved')
      const left = await resumeAll([program])(environment)()
      assert.ok(E.isRight(left) && left.right[0]?._tag === 'Left' && left.right[0].why === 'Moved')
      const pruned = await prune({ keep: 0 })(environment)()
      assert.ok(E.isRight(pruned) && pruned.right.removed.length === 0)
    }
  })

  test('a move is refused, and changes nothing, if the run is held, missing, or exists in the other store', async () => {
    const [source, target] = [memoryData(), memoryData()]
    const stores = { S: portsOf(source), T: portsOf(target) }
    const tag = async (): Promise<string> => {
      const moved = await moveFrom(stores.S, stores.T)
      return E.isLeft(moved) ? moved.left._tag : 'moved'
    }
    assert.equal(await tag(), 'NoSuchRun')
    const { storage, owner } = stores.S
    await runOutcome(program, { id: 'r', storage, environment: stores.S })
    const held = await storage.claim('r', owner)()
    assert.ok(E.isRight(held))
    assert.equal(await tag(), 'HeldBy')
    await storage.release(held.right.claim)()
    await runOutcome(program, { id: 'r', storage: stores.T.storage, environment: stores.T })
    assert.equal(await tag(), 'RunExists')
    assert.deepEqual(await resumable(stores), ['S', 'T'])
  })

  test('a move leaves alone a run with the same id that starts in the other store after the move has checked that store', async () => {
    const [source, target] = [portsOf(memoryData()), portsOf(memoryData())]
    await runOutcome(program, { id: 'r', storage: source.storage, environment: source })
    const other = workflow('other').step('begin', () => 'begun')
    const claim: Environment['storage']['claim'] =
      (...args) =>
      async () => {
        await runOutcome(other, { id: 'r', storage: target.storage, environment: target })
        return await target.storage.claim(...args)()
      }
    const moved = await moveFrom(source, { ...target, storage: { ...target.storage, claim } })
    assert.equal(E.isLeft(moved) && moved.left._tag, 'RunExists')
    assert.deepEqual(await resumable({ S: source }), ['S'])
    const there = await copyIn(target)
    assert.deepEqual([there?.workflow.name, there?.moved], ['other', undefined])
  })

  test('a move leaves alone a run with the same id that starts in either store between the check of a copy and its removal', async () => {
    const other = workflow('other').step('begin', () => 'begun')
    const replacing = (environment: Environment): Environment => ({
      ...environment,
      storage: {
        ...environment.storage,
        remove: (...given) => {
          const task = environment.storage.remove(...given)
          return async () => {
            assert.ok(E.isRight(await environment.storage.remove('r')()))
            await runOutcome(other, { id: 'r', storage: environment.storage, environment })
            return await task()
          }
        }
      }
    })
    const nameIn = async (environment: Environment) => (await copyIn(environment))?.workflow.name
    const [source, target] = [portsOf(memoryData()), portsOf(memoryData())]
    await runOutcome(program, { id: 'r', storage: source.storage, environment: source })
    const moved = await moveFrom(replacing(source), target)
    assert.ok(E.isLeft(moved))
    assert.match(
      describeError(moved.left),
      /^Run r was not removed: it changed after it was checked \(revision 5 then, 2 now\); look at it, and repeat the removal if it may be deleted$/
    )
    assert.deepEqual([await nameIn(source), await nameIn(target)], ['other', 'w'])
    assert.deepEqual(await resumable({ T: target }), ['T'])

    const [broken, there] = [memoryData(), memoryData()]
    await started(broken)
    for (let at = 1; (await copyIn(portsOf(there)))?.moved === undefined; at++) {
      const { around, killed } = killing({ at, when: 'after' })
      await Promise.race([moveFrom(around(portsOf(broken)), around(portsOf(there))), killed])
    }
    const again = await moveFrom(portsOf(broken), replacing(portsOf(there)))
    assert.ok(E.isLeft(again) && again.left._tag === 'RunExists')
    assert.deepEqual([await nameIn(portsOf(broken)), await nameIn(portsOf(there))], ['w', 'other'])
  })

  test('a run that has moved and is missing in the other store is not copied again', async () => {
    const [source, target] = [memoryData(), memoryData()]
    await started(source)
    const count = await calls()
    // The last call is the removal from the first store.
    const { around, killed } = killing({ at: count, when: 'before' })
    await Promise.race([moveFrom(around(portsOf(source)), around(portsOf(target))), killed])
    const stores = { S: portsOf(source), T: portsOf(target) }
    assert.deepEqual(await resumable(stores), ['T'])
    assert.ok(E.isRight(await stores.T.storage.remove('r')()))
    const again = await moveFrom(stores.S, stores.T)
    assert.ok(E.isLeft(again) && again.left._tag === 'Corrupt')
    assert.deepEqual(await resumable(stores), [])
  })

  test('a move whose store fails at any call leaves at most one copy that can be resumed, and a repeated move leaves exactly one', async () => {
    const count = await calls()
    for (let at = 1; at <= count; at++)
      for (const when of ['before', 'after'] as const) {
        const place = `${when} call ${at}`
        const [source, target] = [memoryData(), memoryData()]
        await started(source)
        const failing = failingAt({ at, when })
        await moveFrom(failing(portsOf(source)), failing(portsOf(target)))
        const stores = { S: portsOf(source), T: portsOf(target) }
        const left = await resumable(stores)
        assert.ok(left.length <= 1, `${place}: ${left.join(' and ')}`)
        const again = await moveFrom(stores.S, stores.T)
        assert.ok(
          E.isRight(again) || (again.left._tag === 'RunMoved' && again.left.store === 'store T'),
          `${place}: ${JSON.stringify(again)}`
        )
        assert.deepEqual(await resumable(stores), ['T'], place)
        const { storage } = stores.T
        await answer('r', 'approve', true, {})(stores.T)()
        assert.equal((await resume(program, { id: 'r', storage, environment: stores.T })).use, 'weights')
      }
  })

  test('an artifact whose copy differs from the original stops the move, and no artifact stays in the target', async () => {
    const [source, target] = [portsOf(memoryData()), portsOf(memoryData())]
    await runOutcome(program, { id: 'r', storage: source.storage, environment: source })
    const { artifacts } = target
    assert.ok(artifacts !== undefined)
    const altering = { ...artifacts, put: (runId: string, id: string) => artifacts.put(runId, id, 'other') }
    const moved = await moveFrom(source, { ...target, artifacts: altering })
    assert.ok(E.isLeft(moved) && moved.left._tag === 'ArtifactsNotCopied' && moved.left.code === 'Corrupt')
    assert.match(describeError(moved.left), /to the target: .*; fix that store, then repeat the copy\./)
    assert.deepEqual(await artifacts.list('r')(), E.right([]))
    assert.deepEqual(await resumable({ S: source, T: target }), ['S'])
  })

  test('the error of a move names the limit of the target if an artifact exceeds it', async () => {
    const [source, target] = [portsOf(memoryData()), portsOf(memoryData())]
    await runOutcome(program, { id: 'r', storage: source.storage, environment: source })
    const { artifacts } = target
    assert.ok(artifacts !== undefined)
    const where = 'artifacts of t.db'
    const error: ArtifactError = { _tag: 'TooLarge', runId: 'r', where, bytes: 7, limitBytes: 6, biggest: [] }
    const moved = await moveFrom(source, { ...target, artifacts: { ...artifacts, put: () => TE.left(error) } })
    assert.ok(E.isLeft(moved))
    assert.match(describeError(moved.left), /7 bytes, the limit is 6; use a store with a higher limit\./)
  })

  test('the error of a move to a full store names that store, and does not mention a resume', async () => {
    const [source, target] = [portsOf(memoryData()), portsOf(memoryData())]
    await runOutcome(program, { id: 'r', storage: source.storage, environment: source })
    const { artifacts } = target
    assert.ok(artifacts !== undefined)
    const moved = await moveFrom(source, { ...target, artifacts: { ...artifacts, put: () => TE.left(FULL) } })
    assert.ok(E.isLeft(moved) && moved.left._tag === 'ArtifactsNotCopied')
    assert.equal(
      describeError(moved.left),
      'Cannot copy the artifacts of run r to the target: Writing B failed: write: ENOSPC (the disk is full: free some space); fix that store, then repeat the copy. The run is unchanged'
    )
  })

  test('a move to a store that cannot be reached does not claim the run', async () => {
    const [source, target] = [portsOf(memoryData()), portsOf(memoryData())]
    await runOutcome(program, { id: 'r', storage: source.storage, environment: source })
    const down: ReadFailed = { _tag: 'ReadFailed', where: 't', operation: 'SELECT', code: 'ENOTFOUND', cause: 0 }
    const claim = (): never => assert.fail('it claims')
    const moved = await moveFrom(
      { ...source, storage: { ...source.storage, claim } },
      { ...target, storage: { ...target.storage, load: () => TE.left(down), claim } }
    )
    assert.ok(E.isLeft(moved) && moved.left._tag === 'ReadFailed')
    assert.match(describeError(moved.left), /ENOTFOUND \(no such host: correct the address\)/)
  })

  test('the error of a move of a missing artifact says to restore it or to run its step again', async () => {
    const [source, target] = [portsOf(memoryData()), portsOf(memoryData())]
    await runOutcome(program, { id: 'r', storage: source.storage, environment: source })
    const { artifacts } = source
    assert.ok(artifacts !== undefined)
    const moved = await moveFrom({ ...source, artifacts: { ...artifacts, get: () => TE.right(O.none) } }, target)
    assert.ok(E.isLeft(moved))
    assert.match(describeError(moved.left), /from their store: model is missing; restore it, or run its step again\./)
  })

  test('a move whose copy of the state cannot be saved leaves no artifact in the target', async () => {
    const [source, target] = [portsOf(memoryData()), portsOf(memoryData())]
    await runOutcome(program, { id: 'r', storage: source.storage, environment: source })
    const moved = await moveFrom(source, { ...target, storage: { ...target.storage, save: () => TE.left(FULL) } })
    assert.ok(E.isLeft(moved) && moved.left._tag === 'WriteFailed')
    assert.deepEqual(await target.artifacts?.list('r')(), E.right([]))
  })

  test('a copy that was saved and cannot be read back keeps its artifacts', async () => {
    const [source, target] = [portsOf(memoryData()), portsOf(memoryData())]
    await runOutcome(program, { id: 'r', storage: source.storage, environment: source })
    const tooLarge = { _tag: 'TooLarge', runId: 'r', where: 't', bytes: 7, limitBytes: 6, biggest: [] } as const
    let isSaved = false
    const { storage } = target
    const reading: typeof storage = {
      ...storage,
      save: (...given) => ((isSaved = true), storage.save(...given)),
      load: (runId) => (isSaved ? TE.left(tooLarge) : storage.load(runId))
    }
    const moved = await moveFrom(source, { ...target, storage: reading })
    assert.ok(E.isLeft(moved) && moved.left._tag === 'TooLarge')
    const listed = await target.artifacts?.list('r')()
    assert.ok(listed !== undefined && E.isRight(listed) && listed.right.length === 1)
  })

  test('a run that exceeds the limit of a store by less than its reserve for changes can move there', async () => {
    const source = portsOf(memoryData())
    const large = workflow('large')
      .step('big', () => 'x'.repeat(100_000))
      .waitFor('approve')
    await runOutcome(large, { id: 'r', storage: source.storage, environment: source })
    const root = await mkdtemp(join(tmpdir(), 'dogear-move-'))
    try {
      const storage = jsonFileStorage(root, { limits: { checkpointBytes: 90_000 } })
      const target = { ...portsOf(memoryData()), storage }
      assert.ok(E.isRight(await moveFrom(source, target)))
      const stored = await storage.load('r')()
      assert.ok(E.isRight(stored) && O.isSome(stored.right))
      const restored = restoreStored(stored.right.value, 'r')
      assert.ok(E.isRight(restored) && restored.right.moved === undefined)
    } finally {
      await rm(root, { recursive: true })
    }
  })

  test('artifacts that an earlier move left in the target do not appear in a run that arrives later', async () => {
    const [source, target] = [portsOf(memoryData()), portsOf(memoryData())]
    await runOutcome(program, { id: 'r', storage: source.storage, environment: source })
    assert.ok(target.artifacts !== undefined)
    await target.artifacts.put('r', 'stale', 'of an earlier move')()
    assert.ok(E.isRight(await moveFrom(source, target)))
    const listed = await target.artifacts.list('r')()
    assert.ok(E.isRight(listed))
    assert.deepEqual(
      listed.right.map(({ id }) => id),
      ['model']
    )
  })

  test('a run whose newest state is damaged is not moved', async () => {
    const source = portsOf(memoryData())
    const { storage } = source
    await runOutcome(program, { id: 'r', storage, environment: source })
    const recovered: Environment = {
      ...source,
      storage: {
        ...storage,
        claim: (...args) =>
          TE.map((claimed: Claimed) => ({
            ...claimed,
            stored: O.map((one: Stored): Stored => ({ ...one, found: { _tag: 'Recovered', from: 'x', lost: 'y' } }))(
              claimed.stored
            )
          }))(storage.claim(...args))
      }
    }
    const target = portsOf(memoryData())
    const moved = await moveFrom(recovered, target)
    assert.ok(E.isLeft(moved) && moved.left._tag === 'RecoveryRefused')
    assert.deepEqual(await resumable({ S: source, T: target }), ['S'])
  })
})
