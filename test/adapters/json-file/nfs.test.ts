/** A heartbeat on NFS without a server: `mountinfo` is faked to report NFS. */
import assert from 'node:assert/strict'
import type * as Fs from 'node:fs'
import * as O from 'fp-ts/lib/Option.js'
import { afterEach, describe, test, vi } from 'vitest'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import { nodeProcesses } from '../../../src/adapters/json-file/claim/Processes.js'
import { right, some } from '../../../src/testing/conformance/fixtures.js'
import { folder, work } from './kit.js'
import { recordOf } from './sockets.js'

/** The reported type of all file systems. */
let type: string | undefined

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof Fs>()
  const readFileSync = (path: string, encoding: 'latin1'): string => {
    const text = fs.readFileSync(path, encoding)
    return path === '/proc/self/mountinfo' && type !== undefined ? text.replace(/ - \S+ /g, ` - ${type} `) : text
  }
  return { ...fs, readFileSync }
})

afterEach(() => {
  type = undefined
  vi.useRealTimers()
})

describe('on NFS', { skip: process.platform !== 'linux' }, () => {
  test.each(['nfs', 'nfs4'])(
    'an owner on NFS is dead after 65 s at the earliest, whatever the settings: %s',
    async (name) => {
      type = name
      vi.useFakeTimers({ toFake: ['performance'] })
      const root = folder()
      await work(jsonFileStorage(root), [1])
      assert.equal(recordOf(root).socket, undefined, 'it made a socket there')
      const processes = { self: () => ({ ...nodeProcesses.self(), host: 'far' }), isAlive: () => undefined }
      const other = jsonFileStorage(root, { processes, heartbeat: { staleMillis: 2_000 } })
      const look = async () => O.isSome(some(await right(other.load('a'))).heldBy)
      assert.equal(await look(), true)
      vi.advanceTimersByTime(64_900)
      assert.equal(await look(), true)
      vi.advanceTimersByTime(200)
      assert.equal(await look(), false)
    }
  )

  test.each(['9p', 'fuse.sshfs', 'virtiofs', 'ceph', 'ext', 'ext4x'])('a claim on %s has no socket', async (name) => {
    type = name
    const root = folder()
    await work(jsonFileStorage(root), [1])
    assert.equal(recordOf(root).socket, undefined)
  })

  test.each(['ext4', 'xfs', 'btrfs', 'zfs', 'f2fs', 'tmpfs', 'overlay'])('a claim on %s has a socket', async (name) => {
    type = name
    const root = folder()
    await work(jsonFileStorage(root), [1])
    assert.notEqual(recordOf(root).socket, undefined)
  })
})
