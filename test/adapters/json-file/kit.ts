/** Helpers for tests of the JSON store. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { JsonFileOptions } from '../../../src/adapters/json-file/index.js'
import type { FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'
import type { Processes } from '../../../src/adapters/json-file/claim/Processes.js'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.js'
import { nodeProcesses } from '../../../src/adapters/json-file/claim/Processes.js'
import type { Json } from '../../../src/domain/data/Json.js'
import type { CheckpointStorage, Claim, StorageError } from '../../../src/ports/CheckpointStorage.js'
import type { BeforeCall, FileCall as Call, MadeCall as Made } from '../../testing/files/Intercept.js'
import * as Intercept from '../../testing/files/Intercept.js'
import { claimed, revisions, right } from '../../../src/testing/conformance/fixtures.js'

// ---------------------------------------------------------------------------------------------------------------------
// folders
// ---------------------------------------------------------------------------------------------------------------------

const folders: Array<string> = []

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 20 })
})

/** A folder that is deleted after the tests of the file. */
export const folder = (above = tmpdir()): string => {
  const path = mkdtempSync(join(above, 'dogear-'))
  folders.push(path)
  return path
}

/** The places of run `a`. */
export const placesOf = (root: string, runId = 'a') => {
  const run = join(root, 'runs', runId)
  return { run, history: join(run, 'history'), copy: join(run, 'checkpoint.json') }
}

export const journalName = (number: number): string => `e${String(number).padStart(6, '0')}.jsonl`

export const journalOf = (root: string, number: number): string => join(placesOf(root).history, journalName(number))

/** The names of the journals of a run. */
export const journalsOf = (root: string, runId = 'a'): ReadonlyArray<string> =>
  readdirSync(placesOf(root, runId).history)
    .filter((name) => /^e\d+\.jsonl$/.test(name))
    .sort()

/** Waits until a condition holds, because background work takes time on a busy machine. */
export const until = async (isSo: () => boolean): Promise<void> => {
  for (let n = 0; n < 2000 && !isSo(); n++) await new Promise((resolve) => setTimeout(resolve, 10))
  assert.ok(isSo(), 'it did not come about within 20 s')
}

/** Waits until checkpoint.json has a revision. */
export const untilCopied = (root: string, revision: number): Promise<void> =>
  until(() => {
    const { copy } = placesOf(root)
    if (!existsSync(copy)) return false
    const { copyOf } = JSON.parse(readFileSync(copy, 'utf8')) as { readonly copyOf: { readonly revision: number } }
    return copyOf.revision >= revision
  })

/** A digest of all files below a folder: names, contents and kinds. */
export const digestOf = (path: string): string => {
  const digest = createHash('sha256')
  if (!existsSync(path)) return 'nothing'
  for (const name of readdirSync(path, { recursive: true, encoding: 'utf8' }).sort()) {
    const stats = statSync(join(path, name), { throwIfNoEntry: false })
    digest.update(`${name}\0${stats?.mode}\0`)
    if (stats?.isFile() === true) digest.update(readFileSync(join(path, name)))
  }
  return digest.digest('hex')
}

// ---------------------------------------------------------------------------------------------------------------------
// processes
// ---------------------------------------------------------------------------------------------------------------------

/** A simulated process of this machine, for which all processes with lower numbers are dead. */
export const processNumber = (number: number): Processes => ({
  self: () => ({ ...nodeProcesses.self(), start: String(number) }),
  isAlive: ({ start }) => Number(start) > number
})

let number = 0

/** The store of a newly started process: the owners of all earlier claims are dead. */
export const next = (root: string, options: JsonFileOptions = {}): CheckpointStorage =>
  jsonFileStorage(root, { processes: processNumber(++number), ...options })

/** Saves payloads one by one after the stored ones, without a release. */
export const work = async (
  storage: CheckpointStorage,
  payloads: ReadonlyArray<Json>,
  before: ReadonlyArray<Json> = []
): Promise<Claim> => {
  const claim = await claimed(storage, 'a')
  for (let n = 1; n <= payloads.length; n++) {
    await right(storage.save(claim, revisions([...before, ...payloads.slice(0, n)])))
  }
  return claim
}

// ---------------------------------------------------------------------------------------------------------------------
// file systems
// ---------------------------------------------------------------------------------------------------------------------

export type { FileCall as Call, MadeCall as Made } from '../../testing/files/Intercept.js'
export { systemError } from '../../testing/files/Intercept.js'

export const CALLS = Object.keys(nodeFileSystem) as ReadonlyArray<Call>

/** A file system that calls `before` ahead of each call, and fails the call if `before` throws. */
export const intercepted = (before: BeforeCall, base: FileSystem = nodeFileSystem): FileSystem =>
  Intercept.interceptedFiles(before)(base)

/** A file system that records its calls. */
export const recorded = (base?: FileSystem): { readonly fs: FileSystem; readonly calls: Array<Made> } => {
  const calls: Array<Made> = []
  return { fs: intercepted((made) => void calls.push(made), base), calls }
}

/** Asserts that a value is an error of the port with its documented fields. */
export const assertIsStorageError = (error: StorageError): void => {
  const tags: ReadonlyArray<StorageError['_tag']> = [
    'HeldBy',
    'Fenced',
    'RevisionConflict',
    'Corrupt',
    'UnsupportedFormat',
    'TooLarge',
    'InvalidRunId',
    'Insecure',
    'ReadFailed',
    'WriteFailed'
  ]
  assert.ok(tags.includes(error._tag), JSON.stringify(error))
  if (error._tag === 'ReadFailed' || error._tag === 'WriteFailed') {
    assert.ok(error.where.length > 0 && error.operation.length > 0 && error.code.length > 0)
    assert.notEqual(error.code, 'UNKNOWN', JSON.stringify(error))
  }
}
