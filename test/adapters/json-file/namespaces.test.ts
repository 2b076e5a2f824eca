/** Owners in other namespaces of this kernel, as containers have them, made with unshare. */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import { left, OTHER, right, some } from '../../../src/testing/conformance/fixtures.js'
import { folder } from './kit.js'
import type { Owner } from './owners.js'
import { CONTAINER, holding, mounted, needs, OTHER_TIME, started, wait } from './owners.js'

/** The liveness of run `a`'s owner as another process sees it. */
const seenBy = async (other: Owner): Promise<string> => {
  const { heldBy } = await other.does({ op: 'look', runId: 'a' }, 'Seen')
  return heldBy === null ? 'dead' : heldBy.liveness
}

describe('an owner in another pid namespace', () => {
  test('a killed owner in another pid namespace is dead at once, and every acknowledged save is stored', async ({
    skip
  }) => {
    needs(skip, CONTAINER)
    const root = folder()
    const owner = await holding(root, { around: CONTAINER }, 3)
    assert.equal((await left(jsonFileStorage(root).claim('a', OTHER), 'HeldBy')).holder.liveness, 'alive')
    await owner.kill()
    const begun = performance.now()
    const { stored } = await right(jsonFileStorage(root).claim('a', OTHER))
    assert.equal(some(stored).revision, 2)
    const took = performance.now() - begun
    assert.ok(took < 1_000, `took ${took} ms`)
  })

  test('an owner is alive and then dead for a third pid namespace too, also on a file system in memory', async ({
    skip
  }) => {
    needs(skip, CONTAINER)
    for (const root of [folder(), folder('/dev/shm')]) {
      const [owner, other] = await Promise.all([
        holding(root, { around: CONTAINER }),
        started(root, { around: CONTAINER })
      ])
      assert.equal(await seenBy(other), 'alive')
      await owner.kill()
      assert.equal(await seenBy(other), 'dead')
      await other.does({ op: 'claim', runId: 'a' }, 'Granted')
    }
  })

  test('two containers without /proc and with the same host name do not count each other as dead', async ({ skip }) => {
    const hidden = mounted('for n in $(seq 300); do true & done; wait; mount -t tmpfs none /proc')
    needs(skip, hidden)
    const root = folder()
    const owner = await holding(root, { around: [...hidden, 'sh', '-c', '"$@"; true', 'sh'] })
    const other = await started(root, { around: hidden })
    assert.equal(await seenBy(other), 'undecided')
    await owner.kill()
  })
})

describe('an owner in another time namespace', () => {
  test('a living owner in another time namespace holds its run despite its shifted start time, until its process dies', async ({
    skip
  }) => {
    needs(skip, OTHER_TIME)
    const root = folder()
    const owner = await holding(root, { around: OTHER_TIME })
    assert.equal((await left(jsonFileStorage(root).claim('a', OTHER), 'HeldBy')).holder.liveness, 'alive')
    await owner.does({ op: 'save', count: 1 }, 'Done')
    await owner.kill()
    await right(jsonFileStorage(root).claim('a', OTHER))
  })

  test('an owner in another time namespace than the observer is alive and then dead, whichever of the two is shifted', async ({
    skip
  }) => {
    needs(skip, OTHER_TIME)
    const root = folder()
    const [owner, other] = await Promise.all([holding(root), started(root, { around: OTHER_TIME })])
    assert.equal(await seenBy(other), 'alive')
    await owner.kill()
    assert.equal(await seenBy(other), 'dead')
  })
})

describe('a reader without a /proc', () => {
  test('a reader without /proc knows only the heartbeat of an owner', async ({ skip }) => {
    const hidden = mounted('mount -t tmpfs none /proc', ['unshare', '--fork', '--kill-child'])
    needs(skip, hidden)
    const root = folder()
    const owner = await holding(root)
    const other = await started(root, { around: hidden, options: { heartbeat: { staleMillis: 2_000 } } })
    assert.equal(await seenBy(other), 'undecided')
    await owner.kill()
    assert.equal(await seenBy(other), 'undecided')
    await wait(2_100)
    assert.equal(await seenBy(other), 'dead')
  })
})

describe('overlay mounts', () => {
  /** A root in an overlay of folders of `base`, mounted in its own namespace. */
  const overlay = (base: string, upper: string) => {
    const lower = join(base, 'lower')
    for (const name of ['lower', 'upper', 'work', 'merged', 'work2']) mkdirSync(join(base, name), { recursive: true })
    const options = `lowerdir=${lower},upperdir=${join(base, upper)},workdir=${join(base, upper === 'upper' ? 'work' : 'work2')}`
    return {
      root: join(base, 'merged'),
      around: mounted(`mount -t overlay overlay -o ${options} ${join(base, 'merged')}`)
    }
  }

  test('an owner is undecided for another overlay mount of the same folders', async ({ skip }) => {
    const base = folder()
    const { root, around } = overlay(base, 'upper')
    needs(skip, around)
    const owner = await holding(root, { around })
    // One after the other: two mounts that set up one work directory at the same moment can fail.
    const beside = await started(root, { around })
    const other = await started(root, { around: overlay(base, 'upper').around })
    assert.equal(await seenBy(beside), 'undecided')
    assert.equal(await seenBy(other), 'undecided')
    await owner.kill()
    assert.equal(await seenBy(other), 'undecided')
  })

  test('an owner seen through an overlay mount is undecided', async ({ skip }) => {
    const base = folder()
    const { root, around } = overlay(base, 'upper')
    needs(skip, around)
    const owner = await holding(join(base, 'lower'), { around: CONTAINER })
    const other = await started(root, { around })
    assert.equal(await seenBy(other), 'undecided')
    await owner.kill()
    assert.equal(await seenBy(other), 'undecided')
  })

  test('an owner on an overlay mount shared by two containers is alive, and dead at once after a kill', async ({
    skip
  }) => {
    const base = folder()
    const { root, around } = overlay(base, 'upper')
    needs(skip, around)
    const outer = await started(root, { around: [...around, ...CONTAINER], script: 'pair.js' })
    assert.equal(await seenBy(outer), 'alive')
    await outer.does({ op: 'kill' }, 'Told')
    assert.equal(await seenBy(outer), 'dead')
  })
})
