/** Slow checks: each Node version, a minute of blocking work, many kills. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import { left, OTHER, right, some } from '../../../src/testing/conformance/fixtures.js'
import { nodes } from '../../matrix/nodes.js'
import { folder } from './kit.js'
import { CONTAINER, holding, needs, OTHER_TIME, started, wait } from './owners.js'
import { blind, LINUX, recordOf, seen } from './sockets.js'

describe('liveness on every Node version', LINUX, () => {
  const all = [...(process.platform === 'linux' ? nodes() : new Map<string, string>())]

  test.each(all)(
    '%s has one socket per run under long paths and distinguishes dead owners from living ones',
    async (_, node) => {
      const root = join(folder(), 'd'.repeat(60), 'e'.repeat(60))
      const ids = ['1', '2'].map((end) => `${'r'.repeat(127)}${end}`) as [string, string]
      const owners = await Promise.all(ids.map(() => started(root, { node })))
      const other = await started(root, { node, options: { blind: true } })
      for (const [index, owner] of owners.entries()) {
        await owner.does({ op: 'claim', runId: ids[index] }, 'Granted')
        await owner.does({ op: 'save', count: 1 }, 'Done')
      }
      const inodes = ids.map((id) => recordOf(root, id).socket?.['inode'])
      assert.ok(inodes[0] !== undefined && inodes[1] !== undefined && inodes[0] !== inodes[1], String(inodes))
      await owners[1]?.kill()
      const look = async (runId: string) => (await other.does({ op: 'look', runId }, 'Seen')).heldBy?.liveness
      assert.deepEqual([await look(ids[0]), await look(ids[1])], ['alive', undefined])
      await owners[0]?.does({ op: 'release' }, 'Released')
      assert.equal(await look(ids[0]), undefined)
      assert.ok(!existsSync(join(root, 'runs', ids[0], `alive-${recordOf(root, ids[0]).token}`)))
    }
  )
})

test('an owner that computes for a minute stays alive for a process that sees only its socket', async () => {
  const root = folder()
  const owner = await holding(root)
  await owner.does({ op: 'block', millis: 60_000 }, 'Blocking')
  const end = performance.now() + 58_000
  for (let n = 0; performance.now() < end; n++) {
    assert.equal(await seen(root), 'alive', `look ${n}`)
    await wait(200)
  }
  await owner.does({ op: 'save', count: 1 }, 'Done')
})

test('the run of a container killed at any moment is claimed at once after the kill, and never before', async ({
  skip
}) => {
  needs(skip, CONTAINER)
  const root = folder()
  for (let round = 0; round < 60; round++) {
    const runId = `run-${round % 4}`
    const owner = await started(root, { around: CONTAINER })
    await owner.does({ op: 'claim', runId }, 'Granted')
    owner.tell({ op: 'save', count: 100_000 })
    await owner.said(0, 'Acknowledged')
    await left(jsonFileStorage(root).claim(runId, OTHER), 'HeldBy')
    await wait(Math.random() * 40)
    await owner.kill()
    const next = jsonFileStorage(root)
    const { claim, stored } = await right(next.claim(runId, OTHER))
    const acknowledged = owner.messages.flatMap((one) => (one._tag === 'Acknowledged' ? [one.revision] : []))
    assert.ok(some(stored).revision >= Math.max(...acknowledged), `round ${round}`)
    await right(next.release(claim))
  }
})

test('an owner in another time namespace keeps its run: others try to claim it for 20 s while it saves', async ({
  skip
}) => {
  needs(skip, OTHER_TIME)
  const root = folder()
  const owner = await holding(root, { around: OTHER_TIME })
  owner.tell({ op: 'save', count: 1_000_000 })
  const end = performance.now() + 20_000
  while (performance.now() < end) {
    for (const store of [jsonFileStorage(root), blind(root)])
      assert.equal((await left(store.claim('a', OTHER), 'HeldBy')).holder.liveness, 'alive')
  }
  assert.ok(owner.messages.every(({ _tag }) => _tag !== 'Lost' && _tag !== 'Refused'))
})
