/** Sockets under paths that are too long, and without free file descriptors. */
import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { left, OTHER, right } from '../../../src/testing/conformance/fixtures.js'
import { folder } from './kit.js'
import { holding, started, wait } from './owners.js'
import { blind, LINUX, recordOf, socketsIn } from './sockets.js'

describe('a path longer than a socket address', LINUX, () => {
  const deep = () => join(folder(), 'd'.repeat(60), 'e'.repeat(60))
  const ID = 'r'.repeat(127)

  test('an owner with a long socket path is alive, then dead, and two runs have two sockets', async () => {
    const root = deep()
    const owner = await started(root)
    await owner.does({ op: 'claim', runId: `${ID}1` }, 'Granted')
    const other = await started(root)
    await other.does({ op: 'claim', runId: `${ID}2` }, 'Granted')
    const [first, second] = [recordOf(root, `${ID}1`), recordOf(root, `${ID}2`)]
    assert.ok(first.socket !== undefined && second.socket !== undefined)
    assert.notEqual(first.socket['inode'], second.socket['inode'])
    await other.kill()
    await right(blind(root).claim(`${ID}2`, OTHER))
    assert.equal((await left(blind(root).claim(`${ID}1`, OTHER), 'HeldBy')).holder.liveness, 'alive')
    await owner.kill()
    await right(blind(root).claim(`${ID}1`, OTHER))
  })

  test('a release under a long path deletes no file of a folder that has reused the descriptor', async () => {
    const root = deep()
    const owner = await started(root)
    await owner.does({ op: 'claim', runId: ID }, 'Granted')
    const { token } = recordOf(root, ID)
    const foreign = folder()
    const files = [`alive-${token}`, 'anything']
    for (const name of files) writeFileSync(join(foreign, name), '')
    // One of these now has the descriptor number that the folder had.
    for (let n = 0; n < 40; n++) await owner.does({ op: 'open', path: foreign }, 'Opened')
    await owner.does({ op: 'release' }, 'Released')
    assert.deepEqual(readdirSync(foreign).sort(), [...files].sort())
    assert.deepEqual(socketsIn(root, ID), [])
  })
})

describe('a shortage of file descriptors', LINUX, () => {
  const few = ['sh', '-c', 'ulimit -n 60; exec "$@"', 'sh']

  test('a claim of a process short of file descriptors is refused or granted; once granted, its owner is alive with a socket and undecided without one', async () => {
    const root = folder()
    const owner = await started(root, { around: few })
    let granted = 0
    for (let count = 2; count < 12; count++) {
      const runId = `run-${count}`
      await owner.does({ op: 'leave', count }, 'Told')
      const answer = await owner.does({ op: 'claim', runId }, 'Granted', 'Refused')
      if (answer._tag === 'Refused') {
        assert.ok(answer.error._tag === 'WriteFailed' || answer.error._tag === 'ReadFailed', JSON.stringify(answer))
        continue
      }
      granted++
      const has = recordOf(root, runId).socket !== undefined
      await owner.does({ op: 'leave', count: 0 }, 'Told')
      const { holder } = await left(blind(root).claim(runId, OTHER), 'HeldBy')
      assert.equal(holder.liveness, has ? 'alive' : 'undecided', runId)
    }
    assert.ok(granted > 0)
    // The owner gets an error for the connection and continues.
    await wait(100)
    assert.equal(owner.child.exitCode, null)
    await owner.does({ op: 'leave', count: 20 }, 'Told')
    await owner.does({ op: 'release' }, 'Released')
  })

  test('a reader short of file descriptors considers no owner dead', async () => {
    const root = folder()
    const owner = await holding(root)
    const other = await started(root, { around: few, options: { blind: true } })
    await other.does({ op: 'look', runId: 'a' }, 'Seen')
    const answers: Array<string> = []
    for (let count = 0; count < 8; count++) {
      await other.does({ op: 'leave', count }, 'Told')
      const answer = await other.does({ op: 'look', runId: 'a' }, 'Seen', 'Refused')
      answers.push(answer._tag === 'Seen' ? (answer.heldBy?.liveness ?? 'dead') : answer.error._tag)
    }
    assert.deepEqual([...new Set(answers)].sort(), ['ReadFailed', 'alive', 'undecided'], String(answers))
    await owner.does({ op: 'save', count: 1 }, 'Done')
  })
})
