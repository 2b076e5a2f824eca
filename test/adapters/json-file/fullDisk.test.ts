/** A disk that is really full, on a separate file system; needs the right to mount one. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { afterAll, describe, test } from 'vitest'
import { assertLoads, claimed, left, OTHER, revisions, right } from '../../../src/testing/conformance/fixtures.js'
import { assertIsStorageError, folder, next } from './kit.js'

const mount = (): string | undefined => {
  const path = folder()
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'dogear-test', path], { stdio: 'ignore' })
  if (status !== 0) return undefined
  mounted.push(path)
  return path
}

const mounted: Array<string> = []
const root = process.platform === 'linux' && process.getuid?.() === 0 ? mount() : undefined

afterAll(() => {
  for (const path of mounted) spawnSync('umount', ['-l', path])
})

describe.runIf(root !== undefined)('a full disk', () => {
  const disk = root ?? ''
  const ballast = join(disk, 'ballast')
  const fill = (): void => {
    const { bavail, bsize } = statfsSync(disk)
    writeFileSync(ballast, Buffer.alloc(bavail * bsize))
  }

  test('a full disk refuses saves with ENOSPC; after twenty claims and with space again, the newest checkpoint loads', async () => {
    const first = next(disk)
    const claim = await claimed(first, 'a')
    let n = 0
    await right(first.save(claim, revisions([0])))
    fill()
    const payloads = (): ReadonlyArray<string | number> => [0, ...Array.from({ length: n }, () => 'x'.repeat(500))]
    for (; n < 1000;) {
      const result = await first.save(claim, revisions([...payloads(), 'x'.repeat(500)]))()
      if (E.isLeft(result)) {
        assert.ok(result.left._tag === 'WriteFailed' && result.left.code === 'ENOSPC', JSON.stringify(result.left))
        break
      }
      n++
    }
    assert.ok(n < 1000)
    const acknowledged = payloads()
    for (let again = 0; again < 20; again++) {
      const storage = next(disk)
      const result = await storage.claim('a', OTHER)()
      if (E.isLeft(result)) {
        assertIsStorageError(result.left)
        continue
      }
      const stored = O.isSome(result.right.stored) ? result.right.stored.value : assert.fail('nothing there')
      assert.ok(stored.revision >= acknowledged.length - 1 && stored.found._tag === 'Exact')
      await storage.save(result.right.claim, revisions([...acknowledged, 'y'.repeat(100_000)]))()
      await storage.release(result.right.claim)()
    }
    rmSync(ballast)
    const storage = next(disk)
    const { claim: last, stored } = await right(storage.claim('a', OTHER))
    const revision = O.isSome(stored) ? stored.value.revision : -1
    assert.ok(revision >= acknowledged.length - 1)
    const whole = [
      ...acknowledged,
      ...Array.from({ length: revision + 1 - acknowledged.length }, () => 'x'.repeat(500)),
      'z'
    ]
    await right(storage.save(last, revisions(whole)))
    assert.equal((await right(storage.load('a')))._tag, 'Some')
    await right(storage.release(last))
    await right(storage.remove('a'))
  })

  test('a new run on a full disk is refused with ENOSPC and succeeds when there is space', async () => {
    fill()
    await left(next(disk).claim('b', OTHER), 'WriteFailed')
    rmSync(ballast)
    const storage = next(disk)
    const claim = await claimed(storage, 'b')
    await right(storage.save(claim, revisions([1])))
    await assertLoads(storage, 'b', [1])
  })
})
