/** Which owners count as alive, which decides only whether a claim may be tried. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import type { CheckpointStorage, Claim } from '../../../src/ports/CheckpointStorage.js'
import type { Processes } from '../../../src/adapters/json-file/claim/Processes.js'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import type { HeartbeatTiming } from '../../../src/adapters/json-file/files/FileSystem.js'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.js'
import { nodeProcesses } from '../../../src/adapters/json-file/claim/Processes.js'
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
import { digestOf, folder, intercepted, journalsOf, next, placesOf, systemError, untilCopied, work } from './kit.js'
import { holding, wait } from './owners.js'

/** A process that sees neither the others nor their sockets, as on another host. */
const faraway = (host: string): Processes => ({
  self: () => ({ ...nodeProcesses.self(), host, bootId: null }),
  isAlive: () => undefined
})

/** A process after the next boot of this machine. */
const afterReboot: Processes = {
  self: () => ({ ...nodeProcesses.self(), bootId: 'the next boot' }),
  isAlive: () => undefined
}

const heartbeatOf = (root: string): string => {
  const { run } = placesOf(root)
  return join(run, readdirSync(run).find((name) => name.startsWith('heartbeat-')) ?? assert.fail('no heartbeat'))
}

const inDays = (days: number): number => Date.now() / 1000 + days * 86_400

const STALE = { staleMillis: 2_000 }

const livenessOf = async (store: CheckpointStorage): Promise<string> => {
  const { heldBy } = some(await right(store.load('a')))
  return O.isSome(heldBy) ? heldBy.value.liveness : 'dead'
}

describe('an owner known only by its heartbeat', { concurrent: true }, () => {
  const owned = async (heartbeat = {}, othersHeartbeat = {}) => {
    const root = folder()
    const storage = jsonFileStorage(root, { processes: faraway('near'), heartbeat })
    return {
      root,
      storage,
      claim: await work(storage, [1, 2]),
      other: jsonFileStorage(root, { processes: faraway('far'), heartbeat: othersHeartbeat })
    }
  }

  test('an owner is undecided at the first look at its heartbeat, and alive once the heartbeat has moved', async () => {
    const { root, other } = await owned()
    const { holder } = await left(other.claim('a', OTHER), 'HeldBy')
    assert.deepEqual([holder.host, holder.pid, holder.liveness], [OWNER.host, OWNER.pid, 'undecided'])
    assert.equal(await livenessOf(other), 'undecided')
    const soon = Date.now() / 1000 - 20
    utimesSync(heartbeatOf(root), soon, soon)
    assert.equal((await left(other.claim('a', OTHER), 'HeldBy')).holder.liveness, 'alive')
    assert.equal(await livenessOf(other), 'alive')
  })

  test.each([
    [{ updateMillis: 60_000 }, 15_000],
    [{ updateMillis: 0 }, 1_000],
    [{ updateMillis: 5_000, staleMillis: 500 }, 1_000],
    [{ updateMillis: 4_000, staleMillis: Infinity }, 4_000]
  ])(
    'an owner touches its heartbeat twice within the stale time, and at most once a second: %j',
    async (heartbeat, every) => {
      const found: Array<number> = []
      const fs = {
        ...nodeFileSystem,
        heartbeat: (_: string, { updateMillis }: HeartbeatTiming) => {
          found.push(updateMillis)
          return Promise.resolve(() => Promise.resolve())
        }
      }
      const storage = jsonFileStorage(folder(), { fs, processes: faraway('near'), heartbeat })
      await right(storage.release(await work(storage, [1])))
      assert.deepEqual(found, [every])
    }
  )

  test('an owner keeps its heartbeat fresh', async () => {
    const { other } = await owned({ updateMillis: 1000 }, { staleMillis: 2500 })
    await left(other.claim('a', OTHER), 'HeldBy')
    await wait(3500)
    assert.equal((await left(other.claim('a', OTHER), 'HeldBy')).holder.liveness, 'alive')
  })

  test('an owner is not dead before proper-lockfile could have touched its heartbeat, whatever the settings', async () => {
    const { other } = await owned({}, { staleMillis: 100 })
    await left(other.claim('a', OTHER), 'HeldBy')
    await wait(1500)
    await left(other.claim('a', OTHER), 'HeldBy')
    await wait(600)
    await right(other.claim('a', OTHER))
  })

  for (const [how, change] of [
    ['is years old', (path: string) => utimesSync(path, inDays(-700), inDays(-700))],
    ['is a day ahead of our clock', (path: string) => utimesSync(path, inDays(1), inDays(1))],
    ['is missing', (path: string) => rmdirSync(path)]
  ] as const) {
    test(`an owner whose heartbeat ${how} is dead only after two reads, the stale time apart, find it unchanged`, async () => {
      const { root, storage, claim, other } = await owned({}, STALE)
      change(heartbeatOf(root))
      await left(other.claim('a', OTHER), 'HeldBy')
      await wait(1_000)
      assert.equal((await left(other.claim('a', OTHER), 'HeldBy')).holder.liveness, 'undecided')
      await wait(1_100)
      const taken = await right(other.claim('a', OTHER))
      assert.equal(some(taken.stored).revision, 1)
      await left(storage.save(claim, revisions([1, 2, 3])), 'Fenced')
      await right(other.save(taken.claim, revisions([1, 2, 'other'])))
      await assertLoads(other, 'a', [1, 2, 'other'])
    })
  }

  test('an owner seen alive is dead when its heartbeat has not moved for the stale time', async () => {
    const { root, other } = await owned({}, STALE)
    assert.equal(await livenessOf(other), 'undecided')
    await wait(1_500)
    utimesSync(heartbeatOf(root), inDays(1), inDays(1))
    assert.equal(await livenessOf(other), 'alive')
    await wait(1_500)
    assert.equal(await livenessOf(other), 'alive')
    await wait(600)
    assert.equal(await livenessOf(other), 'dead')
    await right(other.claim('a', OTHER))
  })

  test('an owner whose heartbeat is unreadable stays undecided and can be superseded', async () => {
    const { root } = await owned()
    const fs = intercepted(({ call, target }) => {
      if (call === 'lstatSync' && String(target).includes('heartbeat-')) throw systemError('EACCES')
    })
    const other = jsonFileStorage(root, { processes: faraway('far'), heartbeat: STALE, fs })
    assert.equal(await livenessOf(other), 'undecided')
    await wait(2_100)
    assert.equal((await left(other.claim('a', OTHER), 'HeldBy')).holder.liveness, 'undecided')
    await right(other.claim('a', OTHER, { takeOver: true }))
  })

  test('an owner whose heartbeat was disturbed keeps its claim and restarts the heartbeat', async () => {
    const { root, storage, claim, other } = await owned({ updateMillis: 1000, staleMillis: 5000 })
    const old = Date.now() / 1000 - 10
    utimesSync(heartbeatOf(root), old, old)
    await wait(2500)
    await left(other.claim('a', OTHER), 'HeldBy')
    rmdirSync(heartbeatOf(root))
    await wait(2500)
    await left(other.claim('a', OTHER), 'HeldBy')
    assert.equal(claim.lost.aborted, false)
    await right(storage.save(claim, revisions([1, 2, 3])))
    await right(storage.release(claim))
    assert.deepEqual(readdirSync(placesOf(root).run).sort(), ['checkpoint.json', 'history'])
  })

  test('a superseded owner also learns from its heartbeat that it was superseded', async () => {
    const root = folder()
    const storage = jsonFileStorage(root, {
      processes: faraway('near'),
      checkIntervalMillis: 3_600_000,
      heartbeat: { updateMillis: 1000 }
    })
    const claim = await work(storage, [1])
    await claimed(jsonFileStorage(root, { processes: { ...faraway('far'), isAlive: () => false } }), 'a')
    await new Promise((resolve) => claim.lost.addEventListener('abort', resolve))
    assert.equal((claim.lost.reason as { _tag: string })._tag, 'Fenced')
  })
})

describe('a claim with takeOver', () => {
  test('a claim with takeOver supersedes the undecided owner that it saw first, and no owner that claims in between', async () => {
    const root = folder()
    const former = jsonFileStorage(root, { processes: faraway('near') })
    await work(former, [1])
    const third = jsonFileStorage(root, { processes: faraway('third') })
    let between: (() => Promise<unknown>) | undefined
    const fs = {
      ...nodeFileSystem,
      link: async (from: string, to: string): Promise<void> => {
        const first = between
        between = undefined
        await first?.()
        return nodeFileSystem.link(from, to)
      }
    }
    const other = jsonFileStorage(root, { processes: faraway('far'), fs })
    between = third.claim('a', { host: 'third', pid: 3 }, { takeOver: true })
    const { holder } = await left(other.claim('a', OTHER, { takeOver: true }), 'HeldBy')
    assert.deepEqual([holder.host, holder.liveness], ['third', 'undecided'])
  })

  test('a refused claim with takeOver changes nothing', async () => {
    const root = folder()
    const storage = jsonFileStorage(root)
    await work(storage, [1])
    await untilCopied(root, 0)
    const before = digestOf(root)
    assert.equal((await left(storage.claim('a', OTHER, { takeOver: true }), 'HeldBy')).holder.liveness, 'alive')
    assert.equal(digestOf(root), before)
  })
})

describe('runs after a reboot', { skip: process.platform !== 'linux' }, () => {
  test('a run on a disk can be claimed at once after a reboot, even if the clock was a day ahead at the crash', async () => {
    const root = folder()
    const owner = await holding(root, {}, 3)
    await owner.kill()
    utimesSync(heartbeatOf(root), inDays(1), inDays(1))
    const begun = performance.now()
    const { stored } = await right(jsonFileStorage(root, { processes: afterReboot }).claim('a', OTHER))
    assert.equal(some(stored).revision, 2)
    const took = performance.now() - begun
    assert.ok(took < 1_000, `took ${took} ms`)
  })

  test('a living owner holds its run even if another process reads a different boot id', async () => {
    const root = folder()
    const owner = await holding(root)
    const other = jsonFileStorage(root, { processes: afterReboot })
    assert.equal((await left(other.claim('a', OTHER), 'HeldBy')).holder.liveness, 'alive')
    assert.equal((await left(other.claim('a', OTHER, { takeOver: true }), 'HeldBy')).holder.liveness, 'alive')
    await owner.does({ op: 'save', count: 1 }, 'Done')
  })

  test('a run on a volatile file system waits for the stale time after a reboot', async ({ skip }) => {
    if (!existsSync('/dev/shm')) skip('skipped: there is no /dev/shm')
    const root = folder('/dev/shm')
    const owner = await holding(root)
    await owner.kill()
    const other = jsonFileStorage(root, { processes: afterReboot, heartbeat: STALE })
    assert.equal((await left(other.claim('a', OTHER), 'HeldBy')).holder.liveness, 'undecided')
    await wait(2_100)
    await right(other.claim('a', OTHER))
  })
})

describe('claims of this thread', () => {
  test('a claim of this thread is alive for every store of this thread', async () => {
    const root = folder()
    await claimed(jsonFileStorage(root), 'a')
    await left(jsonFileStorage(root).claim('a', OTHER), 'HeldBy')
  })

  test('a claim that is refused because the run is held leaves no journal', async () => {
    const root = folder()
    await claimed(jsonFileStorage(root), 'a')
    for (let n = 0; n < 10; n++) await left(jsonFileStorage(root).claim('a', OTHER), 'HeldBy')
    assert.equal(journalsOf(root).length, 1)
  })
})

describe('a living owner with a damaged journal', () => {
  const damaged = async (end: (storage: CheckpointStorage, claim: Claim) => Promise<unknown>) => {
    const root = folder()
    const storage = jsonFileStorage(root)
    const claim = await work(storage, [1, 2])
    await end(storage, claim)
    const journal = join(placesOf(root).history, journalsOf(root).at(-1) ?? '')
    const bytes = readFileSync(journal)
    const lines = bytes.toString('latin1').split('\n')
    const middle = lines.slice(0, -2).join('\n').length - 5
    bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle)
    writeFileSync(journal, bytes)
    return { root, storage }
  }

  test('a run that its owner released is free, even if the journal is damaged', async () => {
    const { root, storage } = await damaged((store, claim) => right(store.release(claim)))
    for (const store of [storage, jsonFileStorage(root, { processes: { ...nodeProcesses, isAlive: () => true } })]) {
      assert.equal(some(await right(store.load('a'))).heldBy, O.none)
    }
    assert.equal(some((await right(storage.claim('a', OTHER))).stored).found._tag, 'Recovered')
  })

  test('an owner with a damaged journal is alive if only its heartbeat is missing, and undecided if only its socket is missing', async () => {
    for (const kind of ['heartbeat', 'alive']) {
      const { root, storage } = await damaged(() => Promise.resolve())
      const { run } = placesOf(root)
      for (const name of readdirSync(run)) if (name.startsWith(kind)) rmSync(join(run, name), { recursive: true })
      const { holder } = await left(storage.claim('a', OTHER), 'HeldBy')
      assert.equal(holder.liveness, kind === 'alive' ? 'undecided' : 'alive')
    }
  })

  test('an owner with a damaged journal, a heartbeat and a socket holds its run', async () => {
    const { storage } = await damaged(() => Promise.resolve())
    await left(storage.claim('a', OTHER), 'HeldBy')
  })
})

describe('the found line of a claim', () => {
  test('the `found` line of a claim hides the refused writes of the previous owner', async () => {
    const root = folder()
    const former = next(root)
    const zombie = await work(former, [1, 2])
    const second = await claimed(next(root), 'a')
    await left(former.save(zombie, revisions([1, 2, 'zombie'])), 'Fenced')
    for (const storage of [next(root), next(root)]) {
      await assertLoads(storage, 'a', [1, 2])
      assert.deepEqual(
        (await right(storage.history('a'))).map(({ revision }) => revision),
        [1, 0]
      )
      assert.deepEqual(await right(storage.loadRevision('a', 2)), O.none)
      await claimed(storage, 'a')
    }
    assert.equal(second.epoch, 2)
  })

  test('the `found` line of a claim hides a previous owner that had saved nothing', async () => {
    const root = folder()
    const former = next(root)
    const zombie = await claimed(former, 'a')
    await claimed(next(root), 'a')
    await left(former.save(zombie, revisions(['zombie'])), 'Fenced')
    assert.deepEqual(await right(next(root).load('a')), O.none)
    assert.deepEqual(await right(next(root).history('a')), [])
    const { stored } = await right(next(root).claim('a', OTHER))
    assert.deepEqual(stored, O.none)
  })

  test('the `found` line of a claim reveals lines that were cut off exactly at a newline', async () => {
    const root = folder()
    const storage = next(root)
    await right(storage.release(await work(storage, [1, 2, 3])))
    await claimed(next(root), 'a')
    const { history, copy } = placesOf(root)
    const path = join(history, 'e000001.jsonl')
    writeFileSync(path, `${readFileSync(path, 'utf8').split('\n').slice(0, -3).join('\n')}\n`)
    rmSync(copy)
    const { revision, found } = some(await right(next(root).load('a')))
    assert.equal(revision, 1)
    assert.ok(found._tag === 'Recovered' && found.lost.includes('revision 2'), JSON.stringify(found))
  })
})

test('an empty run folder, as left by a claim killed early, holds nothing and blocks no claim', async () => {
  const root = folder()
  mkdirSync(placesOf(root).run, { recursive: true })
  assert.deepEqual(await right(next(root).load('a')), O.none)
  await right(next(root).remove('a'))
  mkdirSync(placesOf(root).history, { recursive: true })
  await claimed(next(root), 'a')
})
