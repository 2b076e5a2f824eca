/** The spec of the JSON file store for the kit, with simulated processes. */
import { readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'
import type { Processes } from '../../../src/adapters/json-file/claim/Processes.js'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.js'
import { nodeProcesses } from '../../../src/adapters/json-file/claim/Processes.js'
import * as Line from '../../../src/adapters/json-file/journal/Line.js'
import type { CheckpointStorage } from '../../../src/ports/CheckpointStorage.js'
import type { RevisionOfRun } from '../../../src/testing/conformance/Spec.js'
import type { OtherProcess, StorageSpec } from '../../../src/testing/index.js'
import { stallGate } from '../../../src/testing/index.js'
import type { Call } from '../../adapters/json-file/kit.js'
import { digestOf, folder, intercepted, journalsOf, placesOf, systemError } from '../../adapters/json-file/kit.js'

/** A root, and the processes that ever used it. */
export interface Place {
  readonly root: string
  readonly all: Set<string>
  readonly dead: Set<string>
}

const newProcess = ({ all, dead }: Place): { readonly name: string; readonly processes: Processes } => {
  const name = String(all.size)
  all.add(name)
  const self = () => ({ ...nodeProcesses.self(), start: name })
  return { name, processes: { self, isAlive: ({ start }) => !dead.has(start) } }
}

/** A process that starts after all others were killed. */
const open = (place: Place, fs?: FileSystem, limits?: { readonly checkpointBytes: number }): CheckpointStorage => {
  for (const name of place.all) place.dead.add(name)
  const { processes } = newProcess(place)
  return jsonFileStorage(place.root, {
    processes,
    checkIntervalMillis: 50,
    ...(fs && { fs }),
    ...(limits && { limits })
  })
}

const beside = (place: Place): OtherProcess => {
  const { name, processes } = newProcess(place)
  const storage = jsonFileStorage(place.root, { processes, checkIntervalMillis: 50 })
  const kill = (): Promise<void> => {
    place.dead.add(name)
    return Promise.resolve()
  }
  return { storage, kill }
}

/** A process that sees neither the other processes nor, without a boot id, their sockets. */
const unsure = (place: Place): CheckpointStorage => {
  const { processes } = newProcess(place)
  const self = () => ({ ...processes.self(), bootId: null })
  return jsonFileStorage(place.root, { processes: { self, isAlive: () => undefined }, checkIntervalMillis: 50 })
}

const newestJournal = ({ root }: Place, runId: string): string =>
  join(placesOf(root, runId).history, journalsOf(root, runId).at(-1) ?? 'none')

/** Changes one character of the last save. */
const damage = (place: Place, runId: string): void => {
  const path = newestJournal(place, runId)
  const text = readFileSync(path, 'utf8')
  const at = text.lastIndexOf('"output":"third"')
  writeFileSync(path, `${text.slice(0, at)}"output":"thirt"${text.slice(at + '"output":"third"'.length)}`)
}

const makeNewer = (place: Place, runId: string): void => {
  const path = newestJournal(place, runId)
  const [first, ...rest] = readFileSync(path, 'utf8').split('\n')
  const { sum: _, ...claim } = JSON.parse(first ?? '') as { readonly sum: string }
  const line = Line.encode(JSON.stringify({ ...claim, format: 2 })).toString('utf8')
  writeFileSync(path, line + rest.join('\n'))
}

const READS: ReadonlyArray<Call> = ['readdir', 'read', 'fstat']
const WRITES: ReadonlyArray<Call> = ['write', 'writeSync', 'fdatasync', 'mkdir', 'link', 'renameSync', 'replace']

const faulty = (place: Place) => {
  let failing: { readonly calls: ReadonlyArray<Call>; readonly code: string; after: number } | undefined
  const fs = intercepted(({ call }) => {
    if (failing?.calls.includes(call) === true && failing.after-- <= 0) throw systemError(failing.code)
  })
  return {
    storage: open(place, fs),
    fail: (operation: 'read' | 'write', code: string, after = 0) => {
      failing = { calls: operation === 'read' ? READS : WRITES, code, after }
    },
    heal: () => {
      failing = undefined
    }
  }
}

/** The calls that can wait. All others are synchronous, so no other process runs in between. */
const WAITING: ReadonlyArray<Call> = [
  'mkdir',
  'readdir',
  'fsyncFolder',
  'open',
  'fstat',
  'read',
  'write',
  'fdatasync',
  'link',
  'replace',
  'removeTree'
]

const stall = (place: Place) => {
  const gate = stallGate()
  const base = nodeFileSystem as unknown as Record<Call, (...args: ReadonlyArray<unknown>) => unknown>
  const late =
    (call: Call) =>
    (...args: ReadonlyArray<unknown>): unknown => {
      const made = gate.pass().then(() => base[call](...args))
      return call === 'fdatasync' ? undefined : made
    }
  const fs = { ...nodeFileSystem, ...Object.fromEntries(WAITING.map((call) => [call, late(call)])) }
  return { ...gate, storage: open(place, fs) }
}

/** The journal that contains a revision. */
const journalWith = ({ root }: Place, { runId, revision }: RevisionOfRun): string => {
  const { history } = placesOf(root, runId)
  const paths = journalsOf(root, runId).map((name) => join(history, name))
  return paths.find((path) => readFileSync(path, 'utf8').includes(`"revision":${revision},"ch`)) ?? 'none'
}

const swap = (place: Place, one: RevisionOfRun, other: RevisionOfRun): void => {
  const paths = [journalWith(place, one), journalWith(place, other)] as const
  const texts = paths.map((path) => readFileSync(path))
  for (const [n, path] of paths.entries()) writeFileSync(path, texts[1 - n] ?? '')
}

export const jsonFileSpec: StorageSpec<Place> = {
  name: 'the JSON file store',
  create: () => Promise.resolve({ root: folder(), all: new Set(), dead: new Set() }),
  reopen: (place) => Promise.resolve(open(place)),
  beside: (place) => Promise.resolve(beside(place)),
  damage: (place, runId) => Promise.resolve(damage(place, runId)),
  swap: (place, one, other) => Promise.resolve(swap(place, one, other)),
  newer: (place, runId) => Promise.resolve(makeNewer(place, runId)),
  digest: ({ root }, runId) => Promise.resolve(digestOf(placesOf(root, runId).run)),
  faulty: (place) => Promise.resolve(faulty(place)),
  undecided: (place) => Promise.resolve(unsure(place)),
  stall: (place) => Promise.resolve(stall(place)),
  // An instance that still watches a claim in this folder stops once it sees that the claim is missing.
  destroy: ({ root }) => rm(root, { recursive: true, force: true, maxRetries: 20 }),
  capabilities: ['history', 'large', 'watch', 'processes', 'damage', 'formats', 'faults', 'stalls', 'takeOver']
}

/** The store with a limit that a few small saves reach. */
export const limitedSpec: StorageSpec<Place> = {
  ...jsonFileSpec,
  name: 'the JSON file store with a limit of 100,000 bytes',
  reopen: (place) => Promise.resolve(open(place, undefined, { checkpointBytes: 100_000 }))
}
