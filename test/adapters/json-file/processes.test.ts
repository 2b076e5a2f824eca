/** Real processes that compete for a claim, and are killed, stopped and woken. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { once } from 'node:events'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import { nodeProcesses } from '../../../src/adapters/json-file/claim/Processes.js'
import type { Stored } from '../../../src/ports/CheckpointStorage.js'
import { claimed, left, OTHER, revisions, right, some } from '../../../src/testing/conformance/fixtures.js'
import { folder, placesOf } from './kit.js'
import type { Owner } from './owners.js'
import { children, ended, script, started, wait } from './owners.js'

const SWEEP = process.env['DOGEAR_SWEEP'] === '1'
const LINUX = process.platform === 'linux'

const contentOf = ({ checkpoint, changes }: Stored): ReadonlyArray<string> => [
  (checkpoint as { newest: string }).newest,
  ...changes.map((change) => (change as { step: string }).step)
]

/** Every acknowledged save is stored under its revision, and no revision was acknowledged twice. */
const assertAllThere = async (
  root: string,
  runId: string,
  owners: ReadonlyArray<Owner>,
  from: ReadonlyArray<number>
) => {
  const storage = jsonFileStorage(root)
  const said = owners.flatMap(({ messages }, index) => messages.slice(from[index]))
  const acknowledged = said.flatMap((message) => (message._tag === 'Acknowledged' ? [message] : []))
  const byRevision = new Map(acknowledged.map(({ revision, payload }) => [revision, payload]))
  assert.equal(byRevision.size, acknowledged.length, 'a revision was acknowledged twice')
  const loaded = await right(storage.load(runId))
  if (acknowledged.length === 0) return
  const stored = some(loaded)
  assert.deepEqual(stored.found, { _tag: 'Exact' })
  const newest = Math.max(...byRevision.keys())
  assert.ok(stored.revision >= newest, `${stored.revision} is there, ${newest} was acknowledged`)
  for (const [revision, payload] of byRevision) {
    const at = revision === stored.revision ? stored : some(await right(storage.loadRevision(runId, revision)))
    assert.equal(contentOf(at).at(-1), payload, `revision ${revision}`)
  }
}

describe('many processes', () => {
  test('one of many processes that claim a run at once succeeds, and the others are refused with its holder', async () => {
    const root = folder()
    const owners = await Promise.all([1, 2, 3, 4].map(() => started(root)))
    for (let n = 0; n < (SWEEP ? 200 : 15); n++) {
      const runId = `run-${n}`
      const results = await Promise.all(owners.map((owner) => owner.does({ op: 'claim', runId }, 'Granted', 'Refused')))
      const winner = results.findIndex(({ _tag }) => _tag === 'Granted')
      assert.notEqual(winner, -1)
      for (const [index, result] of results.entries()) {
        if (index === winner) continue
        assert.ok(result._tag === 'Refused' && result.error._tag === 'HeldBy', JSON.stringify(result))
        assert.equal(result.error.holder.pid, owners[winner]?.pid)
        assert.ok(Date.parse(result.error.holder.since) > Date.now() - 60_000)
      }
      await owners[winner]?.does({ op: 'release' }, 'Released')
    }
  })
})

describe('killed owners', () => {
  test('an owner killed anywhere loses no acknowledged save, and its run can be claimed within a second', async () => {
    const root = folder()
    for (let n = 0; n < (SWEEP ? 300 : 10); n++) {
      const runId = `run-${n % 3}`
      const owner = await started(root)
      await owner.does({ op: 'claim', runId }, 'Granted')
      owner.tell({ op: 'save', count: 100_000 })
      await owner.said(0, 'Acknowledged')
      await wait(Math.random() * 40)
      owner.child.kill('SIGKILL')
      await ended(owner.child)
      const claiming = async (): Promise<number> => {
        const storage = jsonFileStorage(root)
        const begun = performance.now()
        const { claim } = await right(storage.claim(runId, OTHER))
        const took = performance.now() - begun
        await right(storage.release(claim))
        return took
      }
      const took = await claiming()
      // What the claim of a free run takes here and now: other programs may be at work.
      const free = await claiming()
      assert.ok(took < 1000 + free, `took ${took} ms, and ${free} ms without an owner`)
      await assertAllThere(root, runId, [owner], [0])
    }
  })

  test('a killed owner is dead at once, even if its heartbeat is a day ahead', async () => {
    const root = folder()
    const owner = await started(root)
    await owner.does({ op: 'claim', runId: 'a' }, 'Granted')
    await owner.does({ op: 'save', count: 3 }, 'Done')
    owner.child.kill('SIGKILL')
    await ended(owner.child)
    const { run } = placesOf(root)
    const heartbeat = readdirSync(run).find((name) => name.startsWith('heartbeat-')) ?? assert.fail('no heartbeat')
    const tomorrow = Date.now() / 1000 + 86_400
    utimesSync(join(run, heartbeat), tomorrow, tomorrow)
    const { stored } = await right(jsonFileStorage(root).claim('a', OTHER))
    assert.equal(some(stored).revision, 2)
    assert.ok(!existsSync(join(run, heartbeat)))
  })

  test('a killed owner is dead before its parent has reaped it', { skip: !LINUX }, async () => {
    // The shell becomes a process that never reaps the child of the shell.
    const parent = spawn('sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] })
    children.push(parent)
    const [output] = (await once(parent.stdout, 'data')) as [Buffer]
    const pid = Number(output.toString())
    const start = (readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1] ?? '').split(' ')[19] ?? ''
    const identity = { ...nodeProcesses.self(), pid, thread: pid, start }
    assert.equal(nodeProcesses.isAlive(identity), true)
    assert.equal(nodeProcesses.isAlive({ ...identity, start: `${start}0` }), false)
    assert.equal(nodeProcesses.isAlive({ ...identity, bootId: 'another' }), undefined)
    assert.equal(nodeProcesses.isAlive({ ...identity, pidNamespace: 'another' }), undefined)
    assert.equal(nodeProcesses.isAlive({ ...identity, timeNamespace: 'another' }), undefined)
    while (!readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ')) await wait(20)
    assert.equal(nodeProcesses.isAlive(identity), false)
  })
})

describe('owners suspended with SIGSTOP', { skip: !LINUX }, () => {
  test('a suspended owner counts as alive for processes of its machine', async () => {
    const root = folder()
    const owner = await started(root)
    await owner.does({ op: 'claim', runId: 'a' }, 'Granted')
    owner.child.kill('SIGSTOP')
    await left(jsonFileStorage(root).claim('a', OTHER), 'HeldBy')
  })

  test('an owner that is suspended and woken while two others claim loses no acknowledged save of any of them', async () => {
    const root = folder()
    const owners = await Promise.all([1, 2, 3].map(() => started(root)))
    for (let n = 0; n < (SWEEP ? 500 : 12); n++) {
      const [first, ...others] = [...owners.slice(n % 3), ...owners.slice(0, n % 3)] as [Owner, Owner, Owner]
      const from = owners.map(({ messages }) => messages.length)
      const runId = `run-${n}`
      await first.does({ op: 'claim', runId }, 'Granted')
      const begun = first.messages.length
      first.tell({ op: 'save', count: 1_000_000 })
      await first.said(begun, 'Acknowledged')
      await wait(Math.random() * 5)
      first.child.kill('SIGSTOP')
      const claims = others.map((other) => {
        other.tell({ op: 'dead', pid: first.pid })
        return other.does({ op: 'claim', runId }, 'Granted', 'Refused')
      })
      await wait(Math.random() * 20)
      first.child.kill('SIGCONT')
      const results = await Promise.all(claims)
      assert.equal(results.filter(({ _tag }) => _tag === 'Granted').length, 1, JSON.stringify(results))
      const winner = others[results.findIndex(({ _tag }) => _tag === 'Granted')] as Owner
      await winner.does({ op: 'save', count: 5 }, 'Done')
      const refusal = await first.said(begun, 'Refused')
      assert.ok(refusal._tag === 'Refused' && refusal.error._tag === 'Fenced', JSON.stringify(refusal))
      await first.said(begun, 'Lost')
      await winner.does({ op: 'release' }, 'Released')
      await assertAllThere(root, runId, owners, from)
    }
  })

  test('an owner woken after its run was removed and the id reused is refused, and the new run is unchanged', async () => {
    const root = folder()
    const owner = await started(root)
    await owner.does({ op: 'claim', runId: 'a' }, 'Granted')
    await owner.does({ op: 'save', count: 3 }, 'Done')
    owner.child.kill('SIGSTOP')
    const processes = { ...nodeProcesses, isAlive: () => false }
    const storage = jsonFileStorage(root, { processes })
    await right(storage.remove('a'))
    const { claim, stored } = await right(storage.claim('a', OTHER))
    assert.deepEqual(stored, O.none)
    await right(storage.save(claim, revisions(['new'])))
    owner.child.kill('SIGCONT')
    const refusal = await owner.does({ op: 'save', count: 1 }, 'Refused')
    assert.ok(refusal._tag === 'Refused' && refusal.error._tag === 'Fenced')
    await right(storage.save(claim, revisions(['new', 'newer'])))
    await right(storage.release(claim))
    const loaded = some(await right(storage.load('a')))
    assert.deepEqual([loaded.revision, loaded.found], [1, { _tag: 'Exact' }])
    assert.deepEqual(readdirSync(root), ['runs'])
  })

  test('a superseded owner learns during a long step that its claim is lost', async () => {
    const root = folder()
    const owner = await started(root)
    await owner.does({ op: 'claim', runId: 'a' }, 'Granted')
    await right(jsonFileStorage(root, { processes: { ...nodeProcesses, isAlive: () => false } }).claim('a', OTHER))
    const lost = await owner.said(0, 'Lost')
    assert.ok(lost._tag === 'Lost' && lost.reason._tag === 'Fenced')
  })
})

describe('worker threads', () => {
  const worker = async (root: string, releases = false) => {
    const thread = new Worker(script('worker.js'), { workerData: { root, releases } })
    const [outcome] = (await once(thread, 'message')) as [string]
    return { thread, outcome }
  }

  test('a worker thread is refused while another thread of its process holds the run', async () => {
    const root = folder()
    const storage = jsonFileStorage(root)
    const claim = await claimed(storage, 'a')
    const first = await worker(root)
    assert.equal(first.outcome, 'HeldBy')
    await first.thread.terminate()
    await right(storage.release(claim))
    const second = await worker(root)
    assert.equal(second.outcome, 'Granted')
    await left(storage.claim('a', OTHER), 'HeldBy')
    await second.thread.terminate()
  })

  test('a worker thread that ended is dead, although its process lives', { skip: !LINUX }, async () => {
    const root = folder()
    const { thread, outcome } = await worker(root)
    assert.equal(outcome, 'Granted')
    await left(jsonFileStorage(root).claim('a', OTHER), 'HeldBy')
    await thread.terminate()
    await right(jsonFileStorage(root).claim('a', OTHER))
  })

  test('a worker thread that released its claim holds nothing', async () => {
    const root = folder()
    const { thread, outcome } = await worker(root, true)
    assert.equal(outcome, 'Granted')
    await right(jsonFileStorage(root).claim('a', OTHER))
    await thread.terminate()
  })
})

const imports = (...args: ReadonlyArray<string>) => {
  const output = execFileSync(process.execPath, [script('imports.js'), folder(), ...args], { encoding: 'utf8' })
  return JSON.parse(output) as Record<'atFirst' | 'before' | 'claimed' | 'beaten' | 'after', Loaded>
}

test('importing the store, loading a run and claiming it load no package and add no listener; a short run loads only the package that writes its copy', () => {
  const { atFirst, before, claimed, after } = imports()
  assert.deepEqual([atFirst.packages, before, claimed], [[], atFirst, atFirst])
  assert.ok(after.packages.includes('write-file-atomic') && !after.packages.includes('proper-lockfile'))
  assert.ok(after.ignoresFullFiles)
})

test('the first claim loads proper-lockfile when its first heartbeat is due, and ignores SIGXFSZ before that', () => {
  const { claimed, beaten, after } = imports('long')
  assert.deepEqual(claimed.packages, [])
  assert.ok(beaten.packages.includes('proper-lockfile') && !beaten.packages.includes('write-file-atomic'))
  assert.ok(beaten.ignoresFullFiles)
  for (const name of ['proper-lockfile', 'write-file-atomic']) assert.ok(after.packages.includes(name), name)
  assert.ok(after.listeners > claimed.listeners)
})

test('a claim that is not released does not keep its process alive: before and after its first heartbeat', () => {
  for (const millis of [0, 1500]) {
    const held = `import { jsonFileStorage } from ${JSON.stringify(pathToFileURL(resolve('dist/adapters/json-file/index.js')))}
      const storage = jsonFileStorage(process.argv[1], { heartbeat: { updateMillis: 1000 } })
      await storage.claim('a', { host: 'h', pid: 1 })()
      await new Promise((resolve) => setTimeout(resolve, ${millis}))`
    const args = ['--input-type=module', '--eval', held, folder()]
    execFileSync(process.execPath, args, { timeout: 20_000, stdio: 'pipe' })
  }
})

interface Loaded {
  readonly packages: ReadonlyArray<string>
  readonly listeners: ReadonlyArray<number>
  readonly ignoresFullFiles: boolean
}
