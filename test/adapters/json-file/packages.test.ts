/** The store in a bundle that cannot load its two packages. */
import assert from 'node:assert/strict'
import { existsSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, test } from 'vitest'
import { lockPlainly } from '../../../src/adapters/json-file/files/Packages.js'
import { folder, until } from './kit.js'

const begin = async (path: string) => {
  const disturbed: Array<Error> = []
  const options = { stale: 5_000, update: 50, onCompromised: (error: Error) => void disturbed.push(error) }
  return { stop: await lockPlainly(path, options), disturbed }
}

describe('a heartbeat without proper-lockfile', () => {
  test('the fallback heartbeat touches its folder repeatedly until it is stopped and the folder deleted', async () => {
    const path = join(folder(), 'beat.lock')
    const { stop, disturbed } = await begin(path)
    for (let n = 0; n < 3; n++) {
      const before = statSync(path).mtimeMs
      await until(() => statSync(path).mtimeMs > before)
    }
    await stop()
    assert.ok(!existsSync(path))
    assert.deepEqual(disturbed, [])
  })

  test('if another process touches or deletes its folder, the fallback heartbeat ends and reports that once', async () => {
    const disturb = [(path: string) => rmSync(path, { recursive: true }), (path: string) => utimesSync(path, 1, 1)]
    for (const act of disturb) {
      const path = join(folder(), 'beat.lock')
      const { stop, disturbed } = await begin(path)
      act(path)
      await until(() => disturbed.length > 0)
      await sleep(200)
      assert.equal(disturbed.length, 1)
      await stop()
    }
  })

  test('the fallback heartbeat fails if its folder exists', async () => {
    const path = join(folder(), 'beat.lock')
    const { stop } = await begin(path)
    await assert.rejects(begin(path), { code: 'EEXIST' })
    await stop()
  })
})
