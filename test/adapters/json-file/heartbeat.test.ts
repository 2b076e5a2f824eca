/** What an owner and the next one see of a heartbeat that fails, is left behind, or is late because its process was suspended. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, test } from 'vitest'
import type { Processes } from '../../../src/adapters/json-file/claim/Processes.js'
import { nodeProcesses } from '../../../src/adapters/json-file/claim/Processes.js'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import { claimed, left, OTHER, OWNER, revisions, right } from '../../../src/testing/conformance/fixtures.js'
import { folder, placesOf, until } from './kit.js'
import { holding, wait } from './owners.js'
import { blind, LINUX, socketOf } from './sockets.js'
import { failEach } from './systemCalls.js'

/** A process on another host. */
const faraway: Processes = {
  self: () => ({ ...nodeProcesses.self(), host: 'far', bootId: null }),
  isAlive: () => undefined
}

const heartbeatsOf = (root: string): ReadonlyArray<string> => {
  const { run } = placesOf(root)
  return readdirSync(run)
    .filter((name) => name.startsWith('heartbeat-'))
    .map((name) => join(run, name))
}

const heartbeatOf = (root: string): string => heartbeatsOf(root)[0] ?? assert.fail('no heartbeat')

/** Waits until a heartbeat was touched this many times. */
const beats = async (path: string, count: number): Promise<void> => {
  for (let n = 0; n < count; n++) {
    const before = statSync(path).mtimeMs
    await until(() => statSync(path).mtimeMs !== before)
  }
}

describe('a heartbeat on a file system with errors', () => {
  for (const call of ['utimes', 'stat'] as const)
    test(`a claim whose heartbeat fails in its first ${call} is refused, leaves no heartbeat, and can be repeated at once`, async () => {
      const root = folder()
      for (const code of ['EIO', 'ENOSPC', 'EACCES']) {
        const heal = failEach((one, path) => (one === call && path.startsWith(root) ? code : undefined))
        const { operation, committed, ...error } = await left(jsonFileStorage(root).claim('a', OWNER), 'WriteFailed')
        assert.deepEqual([operation, committed, error.code, heartbeatsOf(root)], ['lock', 'no', code, []])
        heal()
        const storage = jsonFileStorage(root)
        await right(storage.release(await claimed(storage, 'a')))
      }
    })

  test('a claim loses its heartbeat if the touches fail until it is stale and it cannot restart; the claim can save until it is released', async () => {
    const root = folder()
    const storage = jsonFileStorage(root, { heartbeat: { updateMillis: 1000, staleMillis: 2000 } })
    const claim = await claimed(storage, 'a')
    const heal = failEach((one, path) => (one === 'utimes' && path.startsWith(root) ? 'EIO' : undefined))
    await until(() => claim.lost.aborted)
    const { _tag, operation, code } = claim.lost.reason as Record<string, unknown>
    assert.deepEqual({ _tag, operation, code }, { _tag: 'WriteFailed', operation: 'lock', code: 'EIO' })
    heal()
    await right(storage.save(claim, revisions([0])))
    await left(jsonFileStorage(root).claim('a', OTHER), 'HeldBy')
    await right(storage.release(claim))
    await claimed(jsonFileStorage(root), 'a')
  })

  test('a claim keeps its heartbeat if its folder was stale but can be made again', async () => {
    const root = folder()
    const storage = jsonFileStorage(root, { heartbeat: { updateMillis: 1000, staleMillis: 2000 } })
    const claim = await claimed(storage, 'a')
    const path = heartbeatOf(root)
    // A beat reads the time of the folder before it touches it; only a new heartbeat begins with a touch.
    let isNew = false
    failEach((call, at) => {
      if (at === path && call === 'utimes') isNew = true
      return at === path && !isNew ? 'EIO' : undefined
    })
    await until(() => isNew && existsSync(path))
    await beats(path, 2)
    assert.equal(claim.lost.aborted, false)
    await right(storage.release(claim))
    assert.deepEqual(heartbeatsOf(root), [])
  })
})

describe('a suspended owner', LINUX, () => {
  const HEARTBEAT = { updateMillis: 1000, staleMillis: 2000 }

  /**
   * Suspends an owner whose process and socket are invisible, as on another host, after this number of `touches`. proper-lockfile makes the second.
   */
  const suspended = async (touches: number) => {
    const root = folder()
    const owner = await holding(root, { options: { heartbeat: HEARTBEAT, checkIntervalMillis: 3_600_000 } })
    const path = heartbeatOf(root)
    await beats(path, touches)
    owner.child.kill('SIGSTOP')
    rmSync(socketOf(root))
    const other = jsonFileStorage(root, { processes: faraway, heartbeat: HEARTBEAT })
    await left(other.claim('a', OTHER), 'HeldBy')
    await wait(2_200)
    return { root, owner, path, other }
  }

  for (const touches of [0, 2])
    test(`an owner suspended beyond the stale time after ${touches} touches learns from its heartbeat that another owner has the run, and leaves the heartbeat of that owner alone`, async () => {
      const { root, owner, path, other } = await suspended(touches)
      const claim = await claimed(other, 'a')
      const rival = heartbeatOf(root)
      assert.notEqual(rival, path)
      owner.child.kill('SIGCONT')
      const lost = await owner.said(0, 'Lost')
      assert.equal(lost.reason._tag, 'Fenced')
      await beats(rival, 2)
      assert.deepEqual([heartbeatsOf(root), claim.lost.aborted], [[rival], false])
      const { error } = await owner.does({ op: 'save', count: 1 }, 'Refused')
      assert.equal(error._tag, 'Fenced')
      await right(other.save(claim, revisions([0, 1])))
      await owner.does({ op: 'release' }, 'Released')
      assert.deepEqual(heartbeatsOf(root), [rival])
      await right(other.release(claim))
    })

  for (const touches of [0, 2])
    test(`an owner suspended beyond the stale time after ${touches} touches keeps its claim and its heartbeat if no other owner took the run`, async () => {
      const { owner, path } = await suspended(touches)
      // A folder that is made again has the mode 0700, and may have the same inode.
      chmodSync(path, 0o755)
      owner.child.kill('SIGCONT')
      await beats(path, 2)
      assert.equal(statSync(path).mode & 0o777, 0o755)
      await owner.does({ op: 'save', count: 1 }, 'Done')
      assert.ok(!owner.messages.some(({ _tag }) => _tag === 'Lost'))
    })
})

describe('a process that ends with an open claim', () => {
  /** Claims a run in a process of its own, which then does this. */
  const ended = (root: string, then: string): void => {
    const text = `import Module from 'node:module'
      import { jsonFileStorage } from ${JSON.stringify(pathToFileURL(resolve('dist/adapters/json-file/index.js')))}
      const storage = jsonFileStorage(process.argv[1], { heartbeat: { updateMillis: 1000 } })
      await storage.claim('a', { host: 'h', pid: 1 })()
      ${then}`
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', text, root], {
      timeout: 20_000,
      encoding: 'utf8'
    })
    assert.deepEqual([status, stderr], [/exit\((\d)/.exec(then) === null ? 0 : 7, ''])
  }

  const loading = (name: string): string => `
    const load = Module._extensions['.js']
    Module._extensions['.js'] = (module, path) => path.includes('/node_modules/${name}/') ? process.exit(7) : load(module, path)
    setTimeout(() => process.exit(1), 10_000)`

  for (const [when, leaves, then] of [
    ['by itself before the first touch', 1, ''],
    ['by process.exit before the first touch', 1, 'process.exit(7)'],
    ['by process.exit while it begins to load proper-lockfile', 1, loading('proper-lockfile')],
    ['by process.exit while proper-lockfile loads its own packages', 1, loading('signal-exit')],
    ['by itself after the handover', 0, 'await new Promise((resolve) => setTimeout(resolve, 1_600))'],
    ['by process.exit after the handover', 0, 'setTimeout(() => process.exit(7), 1_600)']
  ] as const)
    test(`a process that ends ${when} leaves ${leaves === 0 ? 'no heartbeat' : 'its heartbeat'}, and the next process claims the run at once`, async () => {
      for (const next of [(root: string) => jsonFileStorage(root), ...(LINUX.skip ? [] : [blind])]) {
        const root = folder()
        ended(root, then)
        const before = heartbeatsOf(root)
        assert.equal(before.length, leaves)
        const storage = next(root)
        const beganMillis = performance.now()
        const { claim } = await right(storage.claim('a', OTHER))
        assert.ok(performance.now() - beganMillis < 2_000)
        const after = heartbeatsOf(root)
        assert.deepEqual([after.length, after.filter((path) => before.includes(path))], [1, []])
        await right(storage.release(claim))
        assert.deepEqual(heartbeatsOf(root), [])
      }
    })
})
