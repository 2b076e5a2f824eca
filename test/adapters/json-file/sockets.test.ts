/** The socket of each claim: what it says of its owner to a process that sees nothing else, and what it must not say. */
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
import { jsonFileStorage, nodeProcesses } from '../../../src/adapters/json-file/index.js'
import * as Line from '../../../src/adapters/json-file/Line.js'
import { claimed, left, OTHER, right, some } from '../../../src/testing/conformance/fixtures.js'
import { folder, journalOf, untilCopied, work } from './kit.js'
import { holding, needs, started } from './owners.js'
import { blind, LINUX, recordOf, seen, socketOf, socketsIn } from './sockets.js'

const closing: Array<() => unknown> = []

afterAll(() => {
  for (const close of closing) close()
})

/** Another socket at a path, and what makes it refuse. */
const listenAt = async (path: string): Promise<() => void> => {
  const server = createServer((socket) => socket.destroy()).listen(path)
  await once(server, 'listening')
  closing.push(() => server.close())
  // Its file stays only under another name.
  return () => {
    renameSync(path, `${path}.kept`)
    server.close()
    renameSync(`${path}.kept`, path)
  }
}

describe('a claim', LINUX, () => {
  test('has a socket in the folder of its run, for its user alone, and its record says which', async () => {
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

  test('has one of its own, and its release ends that one alone', async () => {
    const root = folder()
    const storage = jsonFileStorage(root)
    const claims = [await claimed(storage, 'a'), await claimed(storage, 'b')] as const
    await right(storage.release(claims[0]))
    assert.deepEqual(socketsIn(root), [])
    assert.equal(socketsIn(root, 'b').length, 1)
    assert.equal((await left(blind(root).claim('b', OTHER), 'HeldBy')).holder.liveness, 'alive')
  })

  test('is not kept alive by it: a process that has nothing else to do ends', async () => {
    const root = folder()
    const source = `
      const { jsonFileStorage } = await import(${JSON.stringify(new URL('../../../dist/adapters/json-file/index.js', import.meta.url).href)})
      await jsonFileStorage(${JSON.stringify(root)}).claim('a', { host: 'h', pid: 1 })()`
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', source], { timeout: 20_000 })
    assert.equal(status, 0, String(stderr))
    assert.equal(socketsIn(root).length, 1)
    await right(blind(root).claim('a', OTHER))
  })

  test('leaves nothing behind when its run is removed', async () => {
    const root = folder()
    const storage = jsonFileStorage(root)
    const claim = await claimed(storage, 'a')
    await right(storage.release(claim))
    await right(storage.remove('a'))
    assert.deepEqual([readdirSync(root), readdirSync(join(root, 'runs'))], [['runs'], []])
  })

  test('deletes the socket of the owner that it follows', async () => {
    const root = folder()
    await claimed(jsonFileStorage(root), 'a')
    const before = socketsIn(root)
    await claimed(jsonFileStorage(root, { processes: successor }), 'a')
    assert.equal(socketsIn(root).length, 1)
    assert.notDeepEqual(socketsIn(root), before)
  })

  const successor = { self: () => ({ ...nodeProcesses.self(), start: 'later' }), isAlive: () => false }

  test('whose record names a socket that is none is damaged', async () => {
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

describe('what is under the name of the socket', LINUX, () => {
  test('is not trusted when it is not what the record names: the owner is neither alive nor dead', async () => {
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
      'nothing: somebody deleted it': () => undefined,
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

  test('is not trusted when it is not of the user whose journal names it', async ({ skip }) => {
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

  test('says nothing to another user, who may read the run and not connect', async ({ skip }) => {
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

  test('is not what a copy of the store has: there its owner is undecided, and the original is as it was', async () => {
    const root = folder()
    const owner = await holding(root)
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
