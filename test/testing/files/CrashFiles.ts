/**
 * Files in memory that forget, when the power is cut, what nobody made durable.
 *
 * They are for stores that make their calls to files through `FileSystem`: `jsonFileStorage('/store', { fs })` keeps its runs
 * in them. The idea, and much of what is left to chance, is that of ALICE (Pillai et al., OSDI 2014).
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
 * Files in memory.
 *
 * - `fs`: the calls to them. They give what Linux gives, and its error codes. No symbolic links; nobody disturbs a
 *   heartbeat.
 * - `operations`: what was done to them so far, in words. It grows: a power cut can come after any number of them.
 * - `asOf`: the files as they were after so many operations, as files of their own, with nothing more durable than it was:
 *   all processes were killed then, and the power is still on.
 * - `powerCuts`: what may be there after the power was cut, each time as files of its own, in which all is durable. What
 *   was synced is in all of them.
 * - `bitFlips`: files that have all that is there now, but for one bit of one of them: a disk that gives something else than
 *   it was given.
 * - `fingerprint`: a digest of all names and contents, the same for the same files.
 */
export interface CrashFiles {
  readonly fs: FileSystem
  readonly operations: ReadonlyArray<string>
  /** The files as they were after so many operations. */
  readonly asOf: (operations: number) => CrashFiles
  /** What may be there after the power was cut. */
  readonly powerCuts: (options?: PowerCutOptions) => Iterable<Aftermath>
  /** All that is there now, but for one bit. */
  readonly bitFlips: (options?: Pick<PowerCutOptions, 'limit' | 'seed'>) => Iterable<Aftermath>
  /** A digest of all names and contents. */
  readonly fingerprint: () => string
}

/** Files after something happened, and what of them is not as it was before, in words. */
export interface Aftermath {
  readonly files: CrashFiles
  /** What is not as it was before, in words. */
  readonly what: () => string
}

/**
 * When the power is cut, and how much is looked at of what it may leave.
 *
 * - `after`: so many operations. Default: all there were.
 * - `limit`: if it may leave more than so many different files, so many are chosen. Default 100.
 * - `seed`: the same seed chooses the same ones. Default 1.
 */
export interface PowerCutOptions {
  readonly after?: number
  readonly limit?: number
  readonly seed?: number
}

/**
 * What may be done with the calls: see {@link BeforeCall}. A sync that `before` lets fail leaves what it was to make durable
 * as the Linux kernel does: a later one that goes well makes it no more durable.
 */
export interface CrashFilesOptions {
  readonly before?: BeforeCall
}

/** Files in memory; at first there is an empty folder `/`. */
export const crashFiles = (options: CrashFilesOptions = {}): CrashFiles => filesOn(Volumes.empty, options)

const DEFAULT_LIMIT = 100

/** `begin` makes the volume that the operations begin with, each time a new one. */
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
