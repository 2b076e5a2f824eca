/** The heartbeat's folder: the store touches it first, then hands it to proper-lockfile, unless a bundle cannot load that. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, test } from 'vitest'
import { keep } from '../../../src/adapters/json-file/files/HeartbeatTimer.js'
import type { Lock } from '../../../src/adapters/json-file/files/lazyPackages.js'
import { lockFunction } from '../../../src/adapters/json-file/files/lazyPackages.js'
import { folder, until } from './kit.js'
import { failCalls, failNth, forget, made } from './systemCalls.js'

type Load = () => Promise<Lock | undefined>

const begin = async (path: string, load: Load, staleMillis = 5_000) => {
  let disturbed = 0
  const stop = await keep(path, { updateMillis: 50, staleMillis }, () => void disturbed++, load)
  return { stop, disturbed: () => disturbed }
}

const gate = () => {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open: () => open() }
}

const place = (): string => join(folder(), 'beat.lock')

const beatOf = (path: string): string => `${statSync(path).mtimeMs}`

const unhandled: Array<unknown> = []
process.on('unhandledRejection', (error) => void unhandled.push(error))

afterEach(() => assert.deepEqual(unhandled, []))

/** Loads proper-lockfile, reports how far the handover is, and may hold it up. */
const watched = (waits: { readonly load?: Promise<void>; readonly lock?: Promise<void> } = {}) => {
  const seen = { loads: 0, locks: 0, handedOver: 0 }
  const load: Load = async () => {
    seen.loads++
    await waits.load
    const lock = (await lockFunction()) ?? assert.fail('it cannot be loaded')
    return async (path, options) => {
      seen.locks++
      const release = await lock(path, options)
      await waits.lock
      seen.handedOver++
      return release
    }
  }
  return { seen, load }
}

const MISSING: Load = () => Promise.resolve(undefined)

const REFUSING: Load = () => Promise.resolve(() => Promise.reject(new Error('refused')))

for (const [what, load] of [
  ['cannot be loaded', MISSING],
  ['refuses', REFUSING]
] as const) {
  describe(`a heartbeat whose proper-lockfile ${what}`, () => {
    test('the heartbeat touches its folder repeatedly until it is stopped and the folder deleted', async () => {
      const path = place()
      const { stop, disturbed } = await begin(path, load)
      for (let n = 0; n < 3; n++) {
        const before = beatOf(path)
        await until(() => beatOf(path) !== before)
      }
      await stop()
      assert.ok(!existsSync(path))
      assert.equal(disturbed(), 0)
    })

    test('the heartbeat ends and reports once that another process touched or deleted its folder', async () => {
      for (const act of [remove, age, replace]) {
        const path = place()
        const { stop, disturbed } = await begin(path, load)
        act(path)
        await until(() => disturbed() > 0)
        await sleep(200)
        assert.equal(disturbed(), 1)
        await stop()
      }
    })
  })
}

const remove = (path: string): void => rmSync(path, { recursive: true })

const age = (path: string): void => utimesSync(path, 1, 1)

/** Replaces the folder, as another owner does. */
const replace = (path: string): void => {
  remove(path)
  mkdirSync(path)
  age(path)
}

describe('the handover of a heartbeat to proper-lockfile', () => {
  test('a heartbeat cannot begin if its folder exists or its parent folder is missing, and changes neither', async () => {
    const path = place()
    const { stop } = await begin(path, MISSING)
    await assert.rejects(begin(path, MISSING), { code: 'EEXIST' })
    assert.ok(existsSync(path))
    await stop()
    await assert.rejects(begin(join(path, 'beat.lock'), MISSING), { code: 'ENOENT' })
  })

  test('the first touch hands the same folder over, and proper-lockfile continues to touch it', async () => {
    const path = place()
    const { seen, load } = watched()
    const { stop, disturbed } = await begin(path, load)
    const { ino } = statSync(path)
    const first = beatOf(path)
    assert.equal(seen.loads, 0)
    await until(() => seen.handedOver === 1)
    const second = beatOf(path)
    assert.notEqual(second, first)
    await until(() => beatOf(path) !== second)
    const third = beatOf(path)
    await until(() => beatOf(path) !== third)
    assert.deepEqual([seen, statSync(path).ino], [{ loads: 1, locks: 1, handedOver: 1 }, ino])
    await stop()
    assert.deepEqual([readdirSync(dirname(path)), disturbed()], [[], 0])
  })

  test('the folder exists at each moment of a handover', async () => {
    const path = place()
    const loaded = gate()
    const { seen, load } = watched({ load: loaded.opened })
    const { stop } = await begin(path, load)
    await until(() => seen.loads === 1)
    const facts = statSync(path)
    await sleep(200)
    assert.deepEqual(statSync(path).mtimeMs, facts.mtimeMs)
    loaded.open()
    while (seen.handedOver === 0) {
      assert.equal(statSync(path).ino, facts.ino)
      await new Promise(setImmediate)
    }
    await stop()
  })

  for (const state of [
    'before the handover',
    'while proper-lockfile loads',
    'while proper-lockfile takes its lock',
    'after the handover'
  ] as const) {
    test(`a heartbeat that is stopped ${state} leaves no folder and does not touch the next heartbeat at its path`, async () => {
      const path = place()
      const waits = { load: gate(), lock: gate() }
      const { seen, load } = watched({
        ...(state === 'while proper-lockfile loads' ? { load: waits.load.opened } : {}),
        ...(state === 'while proper-lockfile takes its lock' ? { lock: waits.lock.opened } : {})
      })
      const { stop, disturbed } = await begin(path, load)
      if (state === 'while proper-lockfile loads') await until(() => seen.loads === 1)
      if (state === 'while proper-lockfile takes its lock') await until(() => seen.locks === 1)
      if (state === 'after the handover') await until(() => seen.handedOver === 1)
      const stopped = stop()
      await sleep(50)
      waits.load.open()
      waits.lock.open()
      await stopped
      assert.deepEqual(readdirSync(dirname(path)), [])
      assert.equal(seen.locks, state === 'before the handover' || state === 'while proper-lockfile loads' ? 0 : 1)
      const next = await begin(path, MISSING)
      await sleep(1_300)
      assert.deepEqual([existsSync(path), disturbed(), next.disturbed()], [true, 0, 0])
      await next.stop()
    })
  }

  test('a heartbeat reports once that another process touched or deleted its folder, before, during or after the handover', async () => {
    for (const act of [remove, age, replace])
      for (const state of ['before', 'loading', 'locked'] as const) {
        const path = place()
        const loaded = gate()
        const { seen, load } = watched({ load: loaded.opened })
        const { stop, disturbed } = await begin(path, load)
        if (state === 'loading') await until(() => seen.loads === 1)
        if (state !== 'loading') loaded.open()
        if (state === 'locked') await until(() => seen.handedOver === 1)
        act(path)
        loaded.open()
        await until(() => disturbed() > 0)
        // The package is loaded only for a folder that is still ours.
        assert.equal(seen.handedOver, state === 'before' ? 0 : 1)
        const again = await begin(join(dirname(path), 'again.lock'), load)
        await sleep(200)
        assert.equal(disturbed(), 1)
        await stop().catch(() => undefined)
        await again.stop()
      }
  })

  test('a thread that was blocked beyond the stale time at the first touch keeps its heartbeat', async () => {
    const path = place()
    const { seen, load } = watched()
    let disturbed = 0
    const stop = await keep(path, { updateMillis: 50, staleMillis: 200 }, () => void disturbed++, load)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
    await until(() => seen.handedOver === 1)
    await stop()
    assert.deepEqual([disturbed, existsSync(path)], [0, false])
  })
})

const CODES = ['EIO', 'ENOSPC', 'EACCES']

/** The time between a failed call, the nth of its name, and the next call of any name. */
const pauseAfter = (path: string, call: string, nth: number): number => {
  const calls = made(path)
  const failed = calls.filter((one) => one.call === call)[nth] ?? assert.fail('it was not made')
  return (calls[calls.indexOf(failed) + 1]?.atMillis ?? Infinity) - failed.atMillis
}

describe('a failed heartbeat', () => {
  for (const call of ['utimes', 'stat'] as const)
    test(`a heartbeat whose first ${call} fails deletes its folder, touches nothing later, and can begin again`, async () => {
      for (const code of CODES) {
        const path = place()
        failNth(path, call, 0, code)
        await assert.rejects(begin(path, MISSING), { code })
        assert.ok(!existsSync(path))
        forget(path)
        await sleep(150)
        assert.deepEqual(made(path), [])
        const { stop } = await begin(path, MISSING)
        await stop()
      }
    })

  for (const [when, call, nth] of [
    ['before the touch', 'stat', 0],
    ['at the touch', 'utimes', 0],
    ['after the touch', 'stat', 1]
  ] as const)
    test(`a heartbeat whose ${call} fails ${when} retries the touch after a second, before and after the handover`, async () => {
      const failing = async (code: string): Promise<void> => {
        const path = place()
        const { seen, load } = watched()
        const { stop, disturbed } = await begin(path, load)
        const { ino } = statSync(path)
        failNth(path, call, nth, code)
        await until(() => seen.handedOver === 1 || disturbed() > 0)
        assert.deepEqual([seen.handedOver, disturbed()], [1, 0], code)
        const before = pauseAfter(path, call, nth)
        assert.ok(before > 950 && before < 5_000, `${before} ms`)
        failNth(path, call, 0, code)
        const beat = beatOf(path)
        await until(() => beatOf(path) !== beat || disturbed() > 0)
        assert.deepEqual([statSync(path).ino, disturbed()], [ino, 0], code)
        const after = pauseAfter(path, call, 0)
        assert.ok(after > 950 && after < 5_000, `${after} ms`)
        await stop()
        assert.ok(!existsSync(path))
      }
      await Promise.all(CODES.map(failing))
    })

  test('a heartbeat notices a change between a touch that it could not confirm and the retry', async () => {
    const changed = async (act: (path: string) => void): Promise<void> => {
      const path = place()
      const { seen, load } = watched()
      const { stop, disturbed } = await begin(path, load)
      failNth(path, 'stat', 1, 'EIO')
      await until(() => made(path).length === 3)
      act(path)
      await until(() => disturbed() > 0)
      assert.deepEqual([seen.loads, disturbed()], [0, 1])
      await stop()
    }
    await Promise.all([remove, age, replace].map(changed))
  })

  test('a heartbeat whose folder vanishes between the check and the touch reports the loss at once', async () => {
    const path = place()
    const { stop, disturbed } = await begin(path, MISSING)
    failNth(path, 'utimes', 0, 'ENOENT')
    await until(() => made(path).length === 2)
    await sleep(50)
    assert.equal(disturbed(), 1)
    await sleep(1_100)
    assert.deepEqual([disturbed(), made(path).length], [1, 2])
    await stop()
  })

  test('a heartbeat whose touches fail until it is stale reports that once, not earlier, and leaves its folder', async () => {
    const failing = async (call: 'stat' | 'utimes'): Promise<void> => {
      const path = place()
      const { seen, load } = watched()
      const { stop, disturbed } = await begin(path, load, 1_500)
      const touchedMillis = performance.now()
      failCalls(path, (one) => (one === call ? 'EIO' : undefined))
      await until(() => disturbed() > 0)
      assert.ok(performance.now() - touchedMillis > 1_450)
      await sleep(1_100)
      assert.deepEqual([disturbed(), seen.loads], [1, 0])
      await stop()
      assert.ok(existsSync(path))
    }
    await Promise.all([failing('stat'), failing('utimes')])
  })

  test('a heartbeat that is stopped while proper-lockfile refuses the lock touches nothing later', async () => {
    const path = place()
    const refused = gate()
    let locks = 0
    const load: Load = () =>
      Promise.resolve(async () => {
        locks++
        await refused.opened
        throw new Error('refused')
      })
    const { stop, disturbed } = await begin(path, load)
    await until(() => locks === 1)
    const stopped = stop()
    refused.open()
    await stopped
    forget(path)
    await sleep(150)
    assert.deepEqual([made(path), disturbed(), existsSync(path)], [[], 0, false])
  })
})
