/** The SQLite store with real processes and threads: each dies of SIGKILL, or is terminated. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { StorageProcess } from 'dogear/node'
import { describe, test } from 'vitest'
import type { SqliteStores } from '../../../src/adapters/sqlite/index.js'
import { connect } from '../../../src/adapters/sqlite/index.js'
import { claimed, left, OTHER, OWNER, revisions, right, some } from '../../../src/testing/conformance/fixtures.js'
import { conformanceTests } from '../../../src/testing/index.js'
import { sweep } from '../../sweep.js'
import type { Driver } from './kit.js'
import { drivers, folder } from './kit.js'

const child = (name: string): string => fileURLToPath(new URL(`children/${name}`, import.meta.url))

// The child processes run the last build.
const { storageProcess } = (await import(new URL('../../../dist/adapters/node/index.js', import.meta.url).href)) as {
  readonly storageProcess: (module: string, exportName: string, argument: object) => Promise<StorageProcess>
}

const otherProcess = (file: string, { name }: Driver): Promise<StorageProcess> =>
  storageProcess(child('open.mjs'), 'storage', { file, driver: name })

const ownersOf = (file: string): ReadonlyArray<string> =>
  existsSync(`${file}-owners`) ? readdirSync(`${file}-owners`) : []

interface Place {
  readonly file: string
  readonly stores: Array<SqliteStores>
}

describe.each(drivers.map((driver) => [driver.name, driver] as const))('with %s', (_, driver) => {
  const database = (): string => join(folder(), 'state.db')

  conformanceTests(
    { describe, test },
    {
      name: 'the SQLite store with real processes',
      create: () => Promise.resolve<Place>({ file: database(), stores: [] }),
      reopen: ({ file, stores }) => {
        const opened = connect(file, driver.open)
        stores.push(opened)
        return Promise.resolve(opened.storage)
      },
      beside: ({ file }) => otherProcess(file, driver),
      destroy: ({ stores }) => Promise.resolve(stores.forEach(({ close }) => close())),
      capabilities: ['history', 'large', 'watch', 'processes']
    },
    { only: ['CS-PROC'], levels: sweep ? ['capability', 'stress'] : ['capability'] }
  )

  test('a run whose process is killed in a step resumes in another process at that step, with its artifacts', async () => {
    const file = database()
    const log = `${file}.log`
    const args = (hangs: string) => [child('worker.mjs'), file, driver.name, log, hangs]
    const first = spawn(process.execPath, args('hangs'), { stdio: 'inherit' })
    while (!existsSync(log) || !readFileSync(log, 'utf8').includes('second')) {
      assert.equal(first.exitCode, null, 'the first process ended by itself')
      await wait(20)
    }
    first.kill('SIGKILL')
    await once(first, 'exit')

    const { storage, artifacts, close } = connect(file, driver.open)
    const loaded = some(await right(storage.load('r')), 'the killed run')
    assert.deepEqual(loaded.heldBy, O.none)
    const { stdout } = await promisify(execFile)(process.execPath, args('no'))
    assert.equal(stdout, '{"first":1,"second":2,"third":3}\n')
    assert.equal(readFileSync(log, 'utf8'), 'first\nsecond\nsecond\nthird\n')
    const kept = await artifacts.get('r', 'first.txt')()
    assert.ok(E.isRight(kept) && O.isSome(kept.right))
    assert.equal(Buffer.from(kept.right.value).toString(), 'of the first step')
    const [listed] = await right(storage.list())
    assert.equal(listed?.summary?.status, 'completed')
    assert.deepEqual(ownersOf(file), [], 'lock files of owners that are dead or have released')
    close()
  })

  test('if processes race to claim a run, one claim is granted in each round, with a rising epoch', async () => {
    const file = database()
    const others = await Promise.all([1, 2].map(() => otherProcess(file, driver)))
    const { storage, close } = connect(file, driver.open)
    let epoch = 0
    for (let round = 0; round < (sweep ? 300 : 40); round++) {
      const stores = [storage, ...others.map((one) => one.storage)]
      const results = await Promise.all(stores.map((one, n) => one.claim('a', { host: 'h', pid: n })()))
      const winner = results.findIndex(E.isRight)
      assert.deepEqual(
        results.map((result) => (E.isRight(result) ? 'granted' : result.left._tag)),
        results.map((_, n) => (n === winner ? 'granted' : 'HeldBy')),
        `round ${round}`
      )
      const granted = results[winner]
      assert.ok(granted !== undefined && E.isRight(granted))
      assert.ok(granted.right.claim.epoch > epoch)
      epoch = granted.right.claim.epoch
      await right((stores[winner] ?? storage).release(granted.right.claim))
    }
    await Promise.all(others.map(({ kill }) => kill()))
    close()
  })

  test('five processes that use a new database at once migrate it once', async () => {
    for (let round = 0; round < (sweep ? 10 : 2); round++) {
      const file = database()
      const processes = await Promise.all([1, 2, 3, 4, 5].map(() => otherProcess(file, driver)))
      const claims = await Promise.all(
        processes.map(async ({ storage }, n) => {
          const claim = await claimed(storage, `run-${n}`)
          await right(storage.save(claim, revisions([n])))
          return claim
        })
      )
      assert.equal(claims.length, 5)
      await Promise.all(processes.map(({ kill }) => kill()))
      const connection = new driver.open(file)
      const rows = connection.prepare('SELECT number FROM dogear_schema').all()
      assert.deepEqual(
        rows.map((row) => (row as { readonly number: number }).number),
        [1]
      )
      connection.close()
    }
  })

  test('the lock files of killed owners are deleted once their runs have new owners', async () => {
    const file = database()
    const other = await otherProcess(file, driver)
    for (const runId of ['a', 'b']) await claimed(other.storage, runId)
    assert.equal(ownersOf(file).length, 1)
    await other.kill()
    const { storage, close } = connect(file, driver.open)
    const first = await claimed(storage, 'a', OTHER)
    assert.equal(ownersOf(file).length, 2, 'run b still names the dead owner')
    const second = await claimed(storage, 'b', OTHER)
    assert.equal(ownersOf(file).length, 1)
    for (const claim of [first, second]) await right(storage.release(claim))
    assert.deepEqual(ownersOf(file), [])
    close()
  })

  test('a process suspended with SIGSTOP still holds its run', async () => {
    const file = database()
    const log = `${file}.log`
    const stopped = spawn(process.execPath, [child('worker.mjs'), file, driver.name, log, 'hangs'], {
      stdio: 'inherit'
    })
    while (!existsSync(log) || !readFileSync(log, 'utf8').includes('second')) await wait(20)
    stopped.kill('SIGSTOP')
    const { storage, close } = connect(file, driver.open)
    const { holder } = await left(storage.claim('r', OWNER, { takeOver: true }), 'HeldBy')
    assert.deepEqual([holder.pid, holder.liveness], [stopped.pid, 'alive'])
    await left(storage.remove('r'), 'HeldBy')
    stopped.kill('SIGKILL')
    await once(stopped, 'exit')
    const claim = await claimed(storage, 'r')
    await right(storage.release(claim))
    close()
  })

  test('a worker thread holds its run until it is terminated, and its process lives on', async () => {
    const file = database()
    const source = `const { parentPort } = require('node:worker_threads')
import(${JSON.stringify(child('open.mjs'))}).then(async ({ storage }) => {
  const store = await storage(${JSON.stringify({ file, driver: driver.name })})
  const { right } = await store.claim('a', { host: 'h', pid: 7 })()
  parentPort.postMessage(right.claim.epoch)
  setInterval(() => {}, 1_000)
})`
    const worker = new Worker(source, { eval: true })
    assert.deepEqual(await once(worker, 'message'), [1])
    const { storage, close } = connect(file, driver.open)
    const mine = await claimed(storage, 'b')
    const { holder } = await left(storage.claim('a', OWNER), 'HeldBy')
    assert.deepEqual([holder.pid, holder.liveness], [7, 'alive'])
    await worker.terminate()
    assert.equal((await claimed(storage, 'a')).epoch, 2)
    await right(storage.save(mine, revisions(['of b'])))
    close()
  })

  test('a process that only reads leaves no lock file and writes nothing', async () => {
    const file = database()
    const { storage, close } = connect(file, driver.open)
    await right(storage.release(await claimed(storage, 'a')))
    const before = statSync(file).mtimeMs
    const { stdout } = await promisify(execFile)(process.execPath, [
      '-e',
      `import(${JSON.stringify(child('open.mjs'))}).then(async ({ storage }) => {
        const store = await storage(${JSON.stringify({ file, driver: driver.name })})
        console.log((await store.list()())._tag, (await store.load('a')())._tag)
      })`
    ])
    assert.equal(stdout, 'Right Right\n')
    assert.deepEqual(ownersOf(file), [])
    assert.equal(statSync(file).mtimeMs, before)
    close()
  })
})
