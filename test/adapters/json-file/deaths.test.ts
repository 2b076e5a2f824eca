/** Killed, stopped and busy owners in real processes, seen through their sockets only. */
import assert from 'node:assert/strict'
import { existsSync, utimesSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, test } from 'vitest'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import { nodeProcesses } from '../../../src/adapters/json-file/claim/Processes.js'
import { claimed, left, OTHER, right } from '../../../src/testing/conformance/fixtures.js'
import { folder, placesOf } from './kit.js'
import { ended, holding, script, started, wait } from './owners.js'
import { blind, LINUX, seen, socketOf, socketsIn } from './sockets.js'

describe('a killed owner', LINUX, () => {
  for (const at of [
    'between bind and listen',
    'between listen and rename',
    'between rename and publish',
    'between publish and grant'
  ]) {
    test(`an owner killed ${at} blocks no one, and the next claim deletes its files`, async () => {
      const root = folder()
      const owner = await started(root)
      await owner.does({ op: 'die', at }, 'Told')
      owner.tell({ op: 'claim', runId: 'a' })
      await ended(owner.child)
      const before = socketsIn(root)
      assert.equal(before.length, 1, String(before))
      assert.equal(before[0]?.startsWith('.'), /listen/.test(at))
      const claim = await claimed(blind(root), 'a')
      assert.equal(claim.epoch, at.includes('grant') ? 2 : 1)
      // A socket without a record may belong to a process that is about to claim.
      const kept = socketsIn(root).filter((name) => before.includes(name))
      assert.deepEqual(kept, at.includes('grant') ? [] : before)
      const old = Date.now() / 1000 - 3_700
      for (const name of kept) utimesSync(join(placesOf(root).run, name), old, old)
      await right(jsonFileStorage(root, { processes: { ...nodeProcesses, isAlive: () => false } }).load('a'))
      await claimed(jsonFileStorage(root, { processes: dead }), 'a')
      assert.deepEqual(
        socketsIn(root).filter((name) => before.includes(name)),
        []
      )
    })
  }

  const dead = { self: () => ({ ...nodeProcesses.self(), start: 'later' }), isAlive: () => false }

  test('a killed owner is dead at once for a process that sees only its socket', async () => {
    const root = folder()
    const owner = await holding(root)
    assert.equal(await seen(root), 'alive')
    await owner.kill()
    assert.equal(await seen(root), 'dead')
  })

  test('a killed cluster worker is dead at once, although the primary process lives', async () => {
    const root = folder()
    const owner = await holding(root, { script: 'cluster.js' })
    assert.equal(await seen(root), 'alive')
    const path = socketOf(root)
    await owner.does({ op: 'kill' }, 'Told')
    assert.ok(existsSync(path), 'the primary process deleted it')
    assert.equal(await seen(root), 'dead')
    assert.equal(owner.child.exitCode, null)
  })
})

describe('a living owner', LINUX, () => {
  test('an owner in a worker thread is dead when the thread has ended, although its process lives', async () => {
    const root = folder()
    const thread = new Worker(script('worker.js'), { workerData: { root } })
    assert.deepEqual(await once(thread, 'message'), ['Granted'])
    assert.equal((await left(blind(root).claim('a', OTHER), 'HeldBy')).holder.liveness, 'alive')
    await thread.terminate()
    await right(blind(root).claim('a', OTHER))
  })

  test('an owner is alive while its thread is busy computing', async () => {
    const root = folder()
    const owner = await holding(root)
    await owner.does({ op: 'block', millis: 3_000 }, 'Blocking')
    for (let n = 0; n < 5; n++) {
      assert.equal(await seen(root), 'alive')
      await wait(300)
    }
    await owner.does({ op: 'save', count: 1 }, 'Done')
  })

  test('an owner suspended with SIGSTOP counts as alive, even with a full socket backlog', async () => {
    const root = folder()
    const owner = await holding(root)
    owner.child.kill('SIGSTOP')
    for (let n = 0; n < 100; n++) assert.equal(await seen(root), 'alive', `look ${n}`)
    owner.child.kill('SIGCONT')
    await owner.does({ op: 'save', count: 1 }, 'Done')
    assert.equal(await seen(root), 'alive')
  })

  test('an owner that could not record its release refuses connections, so its socket reports it dead', async () => {
    const root = folder()
    const owner = await holding(root)
    await owner.does({ op: 'break' }, 'Told')
    await owner.does({ op: 'save', count: 1 }, 'Refused')
    assert.equal(await seen(root), 'alive')
    await owner.does({ op: 'release' }, 'Released')
    assert.equal(socketsIn(root).length, 1)
    await right(blind(root).claim('a', OTHER))
    assert.equal(owner.child.exitCode, null)
  })
})
