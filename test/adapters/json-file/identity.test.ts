/** The identity and liveness of processes on a system that is short of resources or shows another /proc. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import type * as Fs from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, test, vi } from 'vitest'
import type { ProcessIdentity, Processes } from '../../../src/adapters/json-file/claim/Processes.js'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import { nodeProcesses } from '../../../src/adapters/json-file/claim/Processes.js'
import { claimed, left, OTHER, right } from '../../../src/testing/conformance/fixtures.js'
import { folder, next, systemError } from './kit.js'

const LINUX = process.platform === 'linux'

/** The injected error for reads below /proc. */
let trouble: { readonly code: string; readonly at: RegExp } | undefined

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof Fs>()
  const failing =
    <Args extends ReadonlyArray<unknown>, Result>(call: (...args: Args) => Result) =>
    (...args: Args): Result => {
      if (trouble?.at.test(String(args[0])) === true) throw systemError(trouble.code)
      return call(...args)
    }
  return { ...fs, readFileSync: failing(fs.readFileSync), readlinkSync: failing(fs.readlinkSync) }
})

afterEach(() => {
  trouble = undefined
})

/** The module as a newly started process loads it. */
const fresh = async (): Promise<Processes> => {
  vi.resetModules()
  return (await import('../../../src/adapters/json-file/claim/Processes.js')).nodeProcesses
}

const SHORT = ['EMFILE', 'ENFILE', 'ENOMEM']

describe.runIf(LINUX)('process identity without file descriptors', () => {
  const another: ProcessIdentity = { ...nodeProcesses.self(), thread: nodeProcesses.self().pid, start: 'unknown' }

  test('a process without free file descriptors considers no owner dead', () => {
    assert.equal(nodeProcesses.isAlive(another), false)
    for (const code of [...SHORT, 'EIO', 'EACCES']) {
      trouble = { code, at: /^\/proc\/\d+\/task/ }
      assert.equal(nodeProcesses.isAlive(another), undefined, code)
    }
    for (const code of ['ENOENT', 'ESRCH']) {
      trouble = { code, at: /^\/proc\/\d+\/task/ }
      assert.equal(nodeProcesses.isAlive(another), false, code)
    }
  })

  test('a process never gets its own identity wrong, during a shortage of file descriptors or after it', async () => {
    for (const code of SHORT) {
      const processes = await fresh()
      trouble = { code, at: /^\/proc/ }
      assert.throws(() => processes.self(), { code })
      assert.equal(processes.isAlive(another), undefined)
      trouble = undefined
      assert.deepEqual(processes.self(), nodeProcesses.self())
    }
  })

  test('a claim without free file descriptors fails with the reason, and a load needs no identity', async () => {
    const root = folder()
    const owner = jsonFileStorage(root)
    const claim = await claimed(owner, 'a')
    const processes: Processes = {
      self: () => {
        throw systemError('EMFILE')
      },
      isAlive: () => undefined
    }
    assert.equal((await left(jsonFileStorage(root, { processes }).claim('a', OTHER), 'ReadFailed')).code, 'EMFILE')
    await right(jsonFileStorage(root, { processes }).load('a'))
    await right(owner.release(claim))
  })

  test('a process without a readable /proc identifies itself by the pid from Node, and can claim', async () => {
    for (const code of ['ENOENT', 'EACCES']) {
      trouble = { code, at: /^\/proc\/(?!self\/fd)/ }
      const processes = await fresh()
      assert.deepEqual([processes.self().pid, processes.self().bootId], [process.pid, null])
      await claimed(next(folder(), { processes }), 'a')
    }
  })
})

const script = fileURLToPath(new URL('children/namespace.js', import.meta.url))
const canUnshare = LINUX && spawnSync('unshare', ['-pf', 'true'], { stdio: 'ignore' }).status === 0

describe.runIf(canUnshare)('a pid namespace that shows the outer /proc', () => {
  test('a living owner is alive and a dead one dead in a pid namespace that shows the outer /proc', () => {
    const { stdout, stderr } = spawnSync('unshare', ['-pf', process.execPath, script, folder()], { encoding: 'utf8' })
    assert.deepEqual(stdout.trim().split('\n'), ['own Right', 'other HeldBy', 'ended Right'], stderr)
  })
})
