/**
 * Files in memory that lose unsynced changes when the power is cut. For stores that make their file calls through `FileSystem`:
 * `jsonFileStorage('/store', { fs })` keeps its runs in them. The idea, and most of the random choices, follow ALICE (Pillai et
 * al., OSDI 2014).
 */
import type { FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'
import type { Handle } from './Calls.js'
import { callsOf } from './Calls.js'
import { chance } from './Chance.js'
import * as Content from './Content.js'
import type { BeforeCall, MadeCall } from './Intercept.js'
import { intercepting } from './Intercept.js'
import * as Survivors from './Survivors.js'
import type { FileNode, Operation, Volume } from './Volume.js'
import * as Volumes from './Volume.js'

/**
 * Files in memory. `fs`: the calls, with the results and error codes of Linux; no symbolic links, and nothing disturbs a
 * heartbeat. `operations`: the operations so far, as text; a power cut can come after any number of them. `asOf`: a copy of the
 * files after a number of operations, with nothing more durable than then: all processes were killed, and the power is still on.
 * `powerCuts`: the possible files after a power cut, each a copy in which all is durable; synced content is in all of them.
 * `bitFlips`: copies in which one bit of one file differs. `fingerprint`: a digest of all names and contents.
 */
export interface CrashFiles {
  readonly fs: FileSystem
  readonly operations: ReadonlyArray<string>
  /** A copy of the files after this many operations. */
  readonly asOf: (operations: number) => CrashFiles
  /** The possible files after a power cut. */
  readonly powerCuts: (options?: PowerCutOptions) => Iterable<Aftermath>
  /** Copies in which one bit differs. */
  readonly bitFlips: (options?: Pick<PowerCutOptions, 'limit' | 'seed'>) => Iterable<Aftermath>
  /** A digest of all names and contents. */
  readonly fingerprint: () => string
}

/** Files after an event, and how they differ from before, as text. */
export interface Aftermath {
  readonly files: CrashFiles
  /** How the files differ from before, as text. */
  readonly what: () => string
}

/**
 * When the power is cut, and how many of the possible states are returned. `after`: the number of operations, default all.
 * `limit`: if more different states are possible, this many are sampled, default 100. `seed`: of the sample, default 1.
 */
export interface PowerCutOptions {
  readonly after?: number
  readonly limit?: number
  readonly seed?: number
}

/**
 * The effect of `before` on calls: see {@link BeforeCall}. A failed sync leaves its content as the Linux kernel does: a later
 * successful sync does not make it durable.
 */
export interface CrashFilesOptions {
  readonly before?: BeforeCall
}

/** Files in memory, initially one empty folder `/`. */
export const crashFiles = (options: CrashFilesOptions = {}): CrashFiles => filesOn(Volumes.empty, options)

const DEFAULT_LIMIT = 100

/** `begin` creates the initial volume, a new one each time. */
const filesOn = (begin: () => Volume, { before }: CrashFilesOptions): CrashFiles => {
  const volume = begin()
  const log: Array<Operation> = []
  const operations: Array<string> = []
  const handles = new Map<number, Handle>()
  const perform = (operation: Operation): void => {
    log.push(operation)
    operations.push(operation.what)
    Volumes.apply(volume, operation)
  }
  const fail = ({ call, target }: MadeCall): void => {
    const node = call === 'fdatasync' ? handles.get(target as number)?.node : undefined
    if (node !== undefined)
      perform({ _tag: 'SyncFailed', ino: node.ino, until: volume.time, what: `fail to sync file ${target}` })
  }
  const calls = callsOf({ volume, perform, handles })
  return {
    fs: before === undefined ? calls : intercepting(before, fail)(calls),
    operations,
    asOf: (count) => filesOn(() => replay(begin(), log.slice(0, count)), {}),
    powerCuts: ({ after = log.length, limit = DEFAULT_LIMIT, seed = 1 } = {}) => ({
      [Symbol.iterator]: () => aftermaths(Survivors.survivors(replay(begin(), log.slice(0, after)), limit, seed))
    }),
    bitFlips: ({ limit = DEFAULT_LIMIT, seed = 1 } = {}) => ({
      [Symbol.iterator]: () => aftermaths(flips(volume, limit, seed))
    }),
    fingerprint: () => Survivors.fingerprint(volume)
  }
}

const replay = (volume: Volume, log: ReadonlyArray<Operation>): Volume => {
  for (const operation of log) Volumes.apply(volume, operation)
  return volume
}

function* aftermaths(survivors: Iterable<Survivors.Survivor>): Generator<Aftermath> {
  for (const { volume, what } of survivors) yield { files: filesOn(() => Survivors.durable(volume), {}), what }
}

function* flips(volume: Volume, limit: number, seed: number): Generator<Survivors.Survivor> {
  const pick = chance(seed)
  const named = Survivors.durable(volume)
  const files = [...named.nodes.values()].filter((node): node is FileNode => node.kind === 'file')
  const total = files.reduce((sum, { content }) => sum + Content.written(content).length, 0)
  for (let nth = 0; nth < limit && total > 0; nth++) {
    let at = total * 8 <= limit ? nth : pick(total * 8)
    if (total * 8 <= nth) return
    const flipped = Survivors.durable(named)
    for (const { ino, content } of files) {
      const bits = Content.written(content).length * 8
      if (at >= bits) {
        at -= bits
        continue
      }
      const byte = Math.floor(at / 8)
      const { bytes } = (flipped.nodes.get(ino) as FileNode).content
      bytes[byte] = (bytes[byte] as number) ^ (1 << (at % 8))
      yield { volume: flipped, what: () => `bit ${at % 8} of byte ${byte} of file ${ino} is another` }
      break
    }
  }
}
