/** The process cases with real processes: each dies of SIGKILL. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { StorageProcess } from 'dogear/node'
import { afterAll, describe, expect, test } from 'vitest'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import type { CheckpointStorage, Revision, StorageError } from '../../../src/ports/CheckpointStorage.js'
import type { StorageSpec } from '../../../src/testing/index.js'
import { checkpointStorageCases, conformanceTests } from '../../../src/testing/index.js'
import { bundled } from '../../bundled.js'
import { isAlive } from '../../cli/dogear.js'
import { sweep } from '../../sweep.js'

// The child processes run JavaScript, so both sides are the last build.
const dist = new URL('../../../dist/', import.meta.url)
const { storageProcess } = (await import(new URL('adapters/node/index.js', dist).href)) as {
  readonly storageProcess: (module: URL | string, exportName?: string, argument?: string) => Promise<StorageProcess>
}
const jsonFile = pathToFileURL(bundled(fileURLToPath(new URL('adapters/json-file/index.js', dist))))

/** A store that has not released its claims may still write there. */
const removed = (root: string): Promise<void> => rm(root, { recursive: true, force: true, maxRetries: 10 })

const folder = (): string => mkdtempSync(join(tmpdir(), 'dogear-processes-'))
const scratch = folder()
const others: Array<StorageProcess> = []
afterAll(async () => {
  await Promise.all(others.map(({ kill }) => kill()))
  await removed(scratch)
})

const jsonFileSpec: StorageSpec<string> = {
  name: 'the JSON file store, with real processes',
  create: () => Promise.resolve(folder()),
  reopen: (root) => Promise.resolve(jsonFileStorage(root)),
  destroy: removed,
  beside: (root) => storageProcess(jsonFile, 'jsonFileStorage', root),
  capabilities: ['history', 'large', 'processes']
}

conformanceTests({ describe, test }, jsonFileSpec, { only: ['CS-PROC'] })

/** Every instance is a process. Those that count as killed keep running, as the kit requires. */
const throughProcesses: StorageSpec<string> = {
  name: 'the JSON file store behind IPC',
  create: () => Promise.resolve(folder()),
  reopen: async (root) => {
    const other = await storageProcess(jsonFile, 'jsonFileStorage', root)
    others.push(other)
    return other.storage
  },
  destroy: async (root) => {
    await Promise.all(others.splice(0).map(({ kill }) => kill()))
    await removed(root)
  },
  capabilities: ['history', 'large']
}

// Sending large values takes seconds.
const LARGE = ['CS-TRIP-15', 'CS-TRIP-23', 'CS-TRIP-24']
const trips = checkpointStorageCases
  .map(({ id }) => id)
  .filter((id) => id.startsWith('CS-TRIP') && (sweep || !LARGE.includes(id)))

conformanceTests({ describe, test }, throughProcesses, {
  levels: ['core', 'capability'],
  only: [...trips, 'CS-ID-01', 'CS-REV-04', 'CS-CLAIM-08']
})

const storing = async (source: string): Promise<StorageProcess> => {
  const path = join(scratch, `store-${others.length}.mjs`)
  writeFileSync(path, source)
  const other = await storageProcess(path)
  others.push(other)
  return other
}

const NOTHING = `
  claim: (runId) => async () => ({ _tag: 'Right', right: { claim: { runId, epoch: 1, lost: lost.signal }, stored: { _tag: 'None' } } }),
  save: () => async () => ({ _tag: 'Right' }),
  release: () => async () => ({ _tag: 'Right' }),
  load: () => async () => { throw new TypeError('thrown there') },
  history: () => () => new Promise(() => {}),
  loadRevision: () => async () => process.exit(7),
  list: () => async () => ({ _tag: 'Left', left: { _tag: 'ReadFailed', where: 'x', operation: 'open', code: 'EIO',
    cause: Object.assign(new Error('disk'), { code: 'EIO' }) } }),
  remove: () => async () => { lost.abort({ _tag: 'Fenced', runId: 'a', epoch: 1, by: { _tag: 'None' } }); return { _tag: 'Right' } }`

const odd = (): Promise<StorageProcess> =>
  storing(`const lost = new AbortController()\nexport const storage = () => ({${NOTHING}})`)

const rejected = (storage: CheckpointStorage): Promise<unknown> =>
  storage
    .load('a')()
    .then(
      () => expect.fail('it resolved'),
      (error: unknown) => error
    )

describe('a store in its own process', () => {
  test('a module, function or store that is missing is reported with the reason', async () => {
    await expect(storageProcess(join(scratch, 'none.mjs'))).rejects.toThrow(/none\.mjs/)
    await expect(storing('export const other = 1')).rejects.toThrow(/no function `storage`. It exports other/)
    await expect(storing('export const storage = async () => ({})')).rejects.toThrow(
      /`storage` of .* must return a CheckpointStorage, not an object; it needs the functions claim, .*loadRevision/
    )
    await expect(storageProcess(undefined as unknown as string)).rejects.toThrow(
      "storageProcess needs the URL or path of a module, not undefined; pass one, such as './store.mjs'"
    )
    await expect(storing('process.exit(3)')).rejects.toThrow(/^The process of the store has ended: exit code 3$/)
  })

  test('an error keeps its cause and the code of the cause', async () => {
    const { storage } = await odd()
    const listed = await storage.list()()
    assert.ok(E.isLeft(listed) && listed.left._tag === 'ReadFailed')
    const { cause, ...facts } = listed.left
    expect(facts).toEqual({ _tag: 'ReadFailed', where: 'x', operation: 'open', code: 'EIO' })
    assert.ok(cause instanceof Error)
    expect({ message: cause.message, code: (cause as NodeJS.ErrnoException).code }).toEqual({
      message: 'disk',
      code: 'EIO'
    })
  })

  test('an exception in the process of the store rejects the call in the calling process', async () => {
    const error = await rejected((await odd()).storage)
    assert.ok(error instanceof Error)
    expect([error.name, error.message]).toEqual(['TypeError', 'thrown there'])
  })

  test('a claim that is lost when it is granted is lost for the caller, too', async () => {
    const { storage } = await storing(
      `const lost = new AbortController()\nexport const storage = () => ({${NOTHING},
  claim: (runId) => async () => ({ _tag: 'Right', right: { claim: { runId, epoch: 1, lost: AbortSignal.abort('late') }, stored: { _tag: 'None' } } }) })`
    )
    const ids = Array.from({ length: 50 }, (_, index) => `r-${index}`)
    const granted = await Promise.all(ids.map((id) => storage.claim(id, { host: 'here', pid: 1 })()))
    await storage.list()()
    expect(granted.map((one) => E.isRight(one) && one.right.claim.lost.aborted)).toEqual(ids.map(() => true))
  })

  test('when the process of the store loses a claim, the caller sees that before the next answer arrives', async () => {
    const { storage } = await odd()
    const granted = await storage.claim('a', { host: 'here', pid: 1 })()
    assert.ok(E.isRight(granted))
    const { lost } = granted.right.claim
    expect(lost.aborted).toBe(false)
    await storage.remove('a')()
    expect(lost.aborted).toBe(true)
    expect(lost.reason).toEqual({ _tag: 'Fenced', runId: 'a', epoch: 1, by: O.none } satisfies StorageError)
  })

  test('minus zero stays minus zero between the two processes', async () => {
    const { storage } = await storing(`let saved
const lost = new AbortController()
export const storage = () => ({${NOTHING},
  save: (claim, revisions) => async () => { saved = revisions[0].checkpoint(); return { _tag: 'Right' } },
  load: () => async () => ({ _tag: 'Right', right: { _tag: 'Some', value: { checkpoint: saved } } }) })`)
    const claim = { runId: 'a', epoch: 1, lost: new AbortController().signal }
    const revision = {
      revision: 0,
      change: {},
      checkpoint: () => [-0, '\ud800'],
      summary: () => ({})
    } as unknown as Revision
    await storage.save(claim, [revision])()
    const loaded = await storage.load('a')()
    assert.ok(E.isRight(loaded) && O.isSome(loaded.right))
    assert.deepEqual(loaded.right.value.checkpoint, [-0, '\ud800'])
  })

  test('calls in flight when the process ends reject, and so do later ones', async () => {
    const exits = await odd()
    await expect(exits.storage.loadRevision('a', 0)()).rejects.toThrow(
      'The process of the store has ended: exit code 7'
    )
    const { storage, kill } = await odd()
    const waiting = storage.history('a')()
    void waiting.catch(() => undefined)
    await kill()
    await kill()
    await expect(waiting).rejects.toThrow('The process of the store has ended: SIGKILL')
    await expect(storage.list()()).rejects.toThrow('The process of the store has ended')
  })

  test('the process of a store ends with the process that started it, and does not keep that process alive', async () => {
    const script = join(scratch, 'starter.mjs')
    writeFileSync(
      script,
      `import { storageProcess } from ${JSON.stringify(new URL('adapters/node/index.js', dist).href)}
const other = await storageProcess(new URL('./pid.mjs', import.meta.url))
const { left } = await other.storage.list()()
console.log(left)`
    )
    writeFileSync(
      join(scratch, 'pid.mjs'),
      `setInterval(() => {}, 1000)
const lost = new AbortController()
export const storage = () => ({${NOTHING}, list: () => async () => ({ _tag: 'Left', left: process.pid }) })`
    )
    const said = await new Promise<string>((resolve) =>
      execFile(process.execPath, [script], { timeout: 20_000 }, (_, stdout) => resolve(stdout))
    )
    const pid = Number(said)
    expect(pid).toBeGreaterThan(0)
    await expect.poll(() => isAlive(pid), { timeout: 5_000 }).toBe(false)
  })
})
