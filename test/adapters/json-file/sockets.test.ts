/** What a claim's socket proves to a process that sees nothing else. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { once } from 'node:events'
import { afterAll, describe, test } from 'vitest'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import { nodeProcesses } from '../../../src/adapters/json-file/claim/Processes.js'
import * as Line from '../../../src/adapters/json-file/journal/Line.js'
import { claimed, left, OTHER, right, some } from '../../../src/testing/conformance/fixtures.js'
import { folder, journalOf, untilCopied, work } from './kit.js'
import { holding, needs, started } from './owners.js'
import { blind, LINUX, recordOf, seen, socketOf, socketsIn } from './sockets.js'

const closing: Array<() => unknown> = []

afterAll(() => {
  for (const close of closing) close()
})

/** Another socket at a path, and a function that makes it refuse. */
const listenAt = async (path: string): Promise<() => void> => {
  const server = createServer((socket) => socket.destroy()).listen(path)
  await once(server, 'listening')
  closing.push(() => server.close())
  // `close` deletes the file at its path, so it is renamed before.
  return () => {
    renameSync(path, `${path}.kept`)
    server.close()
    renameSync(`${path}.kept`, path)
  }
}

describe('a claim', LINUX, () => {
  test('a claim has a socket in its run’s folder, private to its user and named in its record', async () => {
    const root = folder()
    await claimed(jsonFileStorage(root), 'a')
    const { token, socket } = recordOf(root)
    assert.deepEqual(socketsIn(root), [`alive-${token}`])
    const stats = lstatSync(socketOf(root), { bigint: true })
    assert.ok(stats.isSocket())
    assert.equal(Number(stats.mode) & 0o777, 0o600)
    const { bootId } = nodeProcesses.self()
    assert.deepEqual(socket, { inode: String(stats.ino), device: String(stats.dev), bootId })
  })

  test('each claim has its own socket, and a release closes only that one', async () => {
    const root = folder()
    const storage = jsonFileStorage(root)
    const claims = [await claimed(storage, 'a'), await claimed(storage, 'b')] as const
    await right(storage.release(claims[0]))
    assert.deepEqual(socketsIn(root), [])
    assert.equal(socketsIn(root, 'b').length, 1)
    assert.equal((await left(blind(root).claim('b', OTHER), 'HeldBy')).holder.liveness, 'alive')
  })

  test('the socket does not keep its process alive', async () => {
    const root = folder()
    const source = `
      const { jsonFileStorage } = await import(${JSON.stringify(new URL('../../../dist/adapters/json-file/index.js', import.meta.url).href)})
      await jsonFileStorage(${JSON.stringify(root)}).claim('a', { host: 'h', pid: 1 })()`
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', source], { timeout: 20_000 })
    assert.equal(status, 0, String(stderr))
    assert.equal(socketsIn(root).length, 1)
    await right(blind(root).claim('a', OTHER))
  })

  test('removing a run deletes its socket', async () => {
    const root = folder()
    const storage = jsonFileStorage(root)
    const claim = await claimed(storage, 'a')
    await right(storage.release(claim))
    await right(storage.remove('a'))
    assert.deepEqual([readdirSync(root), readdirSync(join(root, 'runs'))], [['runs'], []])
  })

  test('a claim deletes the socket of the previous owner', async () => {
    const root = folder()
    await claimed(jsonFileStorage(root), 'a')
    const before = socketsIn(root)
    await claimed(jsonFileStorage(root, { processes: successor }), 'a')
    assert.equal(socketsIn(root).length, 1)
    assert.notDeepEqual(socketsIn(root), before)
  })

  const successor = { self: () => ({ ...nodeProcesses.self(), start: 'later' }), isAlive: () => false }

  test('a claim record with an invalid socket is damaged', async () => {
    const root = folder()
    await work(jsonFileStorage(root), [1])
    const path = journalOf(root, 1)
    const [first = '', ...rest] = readFileSync(path, 'utf8').split('\n')
    const { sum: _, ...claim } = JSON.parse(first) as Record<string, unknown>
    for (const socket of ['alive', null, { inode: 7, device: '1', bootId: 'b' }, { inode: '7' }]) {
      const line = Line.encode(JSON.stringify({ ...claim, socket })).toString('utf8')
      writeFileSync(path, line + rest.join('\n'))
      assert.equal(some(await right(blind(root).load('a'))).found._tag, 'Recovered', JSON.stringify(socket))
    }
  })
})

describe('a file in place of the socket', LINUX, () => {
  test('an owner is undecided if the file at the socket path is not the recorded socket', async () => {
    const root = folder()
    await work(jsonFileStorage(root), [1])
    const path = socketOf(root)
    const live = join(folder(), 'live')
    await listenAt(live)
    const dead = join(folder(), 'dead')
    ;(await listenAt(dead))()
    const aside = `${path}.aside`
    renameSync(path, aside)
    const cases: Record<string, () => void> = {
      'nothing: it was deleted': () => undefined,
      'a file': () => writeFileSync(path, ''),
      'a folder': () => mkdirSync(path),
      'a link to it': () => symlinkSync(aside, path),
      'a link to another one that listens': () => symlinkSync(live, path),
      'another one that listens': () => linkSync(live, path),
      'another one that refuses': () => linkSync(dead, path)
    }
    for (const [what, put] of Object.entries(cases)) {
      put()
      assert.equal(await seen(root), 'undecided', what)
      rmSync(path, { recursive: true, force: true })
    }
    renameSync(aside, path)
    assert.equal(await seen(root), 'alive')
    linkSync(path, `${path}.too`)
    assert.equal(await seen(root), 'alive')
    unlinkSync(path)
    assert.equal(await seen(root), 'undecided')
  })

  test('an owner is undecided if its socket and its journal belong to different users', async ({ skip }) => {
    if (process.getuid?.() !== 0) skip('skipped: only root can give files away')
    const root = folder()
    const owner = await holding(root)
    chownSync(socketOf(root), 65_534, 65_534)
    assert.equal(await seen(root), 'undecided')
    await owner.kill()
    assert.equal(await seen(root), 'undecided')
    chownSync(socketOf(root), 0, 0)
    assert.equal(await seen(root), 'dead')
  })

  test('an owner is undecided for another user who may read the run but not connect', async ({ skip }) => {
    const around = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
    needs(skip, around)
    const root = folder()
    const owner = await holding(root)
    await untilCopied(root, 0)
    for (const one of [
      root,
      ...readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => join(root, name))
    ])
      if (!lstatSync(one).isSocket()) chmodSync(one, 0o755)
    const other = await started(root, { around, options: { blind: true } })
    const look = async () => (await other.does({ op: 'look', runId: 'a' }, 'Seen')).heldBy?.liveness
    assert.equal(await look(), 'undecided')
    await owner.kill()
    assert.equal(await look(), 'undecided')
  })

  test('an owner is undecided in a copy of the store, and the original is unchanged', async () => {
    const root = folder()
    const owner = await holding(root)
    // The owner renames a temporary file, which `cp` would miss.
    await untilCopied(root, 0)
    const copy = folder()
    execFileSync('cp', ['-a', `${root}/.`, copy])
    assert.equal(socketsIn(copy).length, 1)
    assert.equal(await seen(copy), 'undecided')
    assert.equal(await seen(root), 'alive')
    await owner.kill()
    assert.equal(await seen(copy), 'undecided')
    assert.equal(await seen(root), 'dead')
  })
})
