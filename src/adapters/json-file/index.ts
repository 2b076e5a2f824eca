/**
 * Checkpoints in JSON files: durable on plain files, one writer at a time, no server.
 *
 * `docs/file-format.md` in the repository specifies the files and the order of the operations on them.
 *
 * The first touch of a heartbeat, 5 s after its claim, loads `proper-lockfile`, the first write of a `checkpoint.json` loads `write-file-atomic`.
 * Both add listeners for signals to the process (the signals still end it), and `graceful-fs`, which `proper-lockfile` depends on, patches
 * `fs.close`. Importing this module loads neither. In Jest the first claim loads both.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { resolve } from 'node:path'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import * as RunId from '../../domain/checkpoint/RunId.js'
import { ignoringErrors } from '../../domain/data/notTaskEither.js'
import type { Check } from '../../domain/data/Options.js'
import { amount, callback, interval, nested, wholeFrom } from '../../domain/data/Options.js'
import { STORE_METHODS } from '../../domain/data/portMethods.js'
import type { CheckpointStorage, Claim, Holder, StorageError, Stored } from '../../ports/CheckpointStorage.js'
import { deletions } from './claim/Deletion.js'
import * as Claiming from './claim/Claim.js'
import type { Context, LargeCheckpoint, Observation } from './Context.js'
import type { Exposure, FileSystem } from './files/FileSystem.js'
import { nodeFileSystem } from './files/nodeFileSystem.js'
import { checkRoot } from './files/Files.js'
import { refusalOf } from './files/Refusal.js'
import * as History from './journal/History.js'
import * as Listing from './journal/Listing.js'
import * as Layout from './files/Layout.js'
import { holderOf } from './claim/Liveness.js'
import type { Processes } from './claim/Processes.js'
import { nodeProcesses } from './claim/Processes.js'
import * as Read from './journal/Read.js'
import * as Release from './claim/Release.js'
import { longestJournal, save } from './journal/Save.js'
import type { Holding } from './claim/Holding.js'
import { describeExposure } from './files/Users.js'

export type { Exposure } from './files/FileSystem.js'
export { fileArchive } from './journal/Archive.js'
export type { FileArtifactsOptions } from './Artifacts.js'
export { fileArtifacts } from './Artifacts.js'
export { fileRequests } from './Requests.js'
export { describeExposure } from './files/Users.js'
export type { LargeCheckpoint } from './Context.js'

/**
 * The options of a JSON file store.
 *
 * - `keep`: how many journals with a whole checkpoint a run keeps. Default 10.
 * - `checkIntervalMillis`: how often an owner checks during a long step whether it was superseded. Default 3 s.
 * - `heartbeat`: how often an owner touches its heartbeat (`updateMillis`, default 5 s; less than 1 s counts as 1 s, more
 *   than half of `staleMillis` as that half), and when it counts as dead without a touch (`staleMillis`, default 30 s; less
 *   than 2 s counts as 2 s) for other hosts and containers. Dead processes of the same machine are detected at once.
 * - `limits`: the largest checkpoint to save (`checkpointBytes`, default 64 MiB, at most 250 MiB), the largest file to
 *   read (`readBytes`, default and minimum: the longest possible journal, about three times `checkpointBytes`), the size of
 *   changes up to which a journal is never compacted (`compactBytes`, default 1 MiB), and the checkpoint size above which
 *   `onLarge` is called (`warnBytes`, default 10 MiB).
 *
 * @category model
 */
export interface JsonFileOptions {
  readonly keep?: number
  readonly checkIntervalMillis?: number
  readonly heartbeat?: { readonly updateMillis?: number; readonly staleMillis?: number }
  readonly limits?: {
    readonly checkpointBytes?: number
    readonly readBytes?: number
    readonly compactBytes?: number
    readonly warnBytes?: number
  }
  /** Called at most once for each claim, with a large checkpoint. Exceptions and rejections are ignored. */
  readonly onLarge?: (large: LargeCheckpoint) => void
  /** Called if another user can write to the root or replace it. Exceptions and rejections are ignored. */
  readonly onExposed?: (exposure: Exposure) => void
  /** @internal */
  readonly fs?: FileSystem
  /** @internal */
  readonly processes?: Processes
}

const MEBIBYTE = 1_048_576

const REGISTRY = Symbol.for('dogear.1')

interface Registry {
  givenUp?: Set<string>
}

/** All stores of this thread share the set, even those of other copies of this module, because hosts may bundle several. */
const givenUp = (): Set<string> => {
  const shared = globalThis as { [REGISTRY]?: Registry }
  const registry = (shared[REGISTRY] ??= {})
  return (registry.givenUp ??= new Set())
}

const observations = new Map<string, Observation>()

/** As proper-lockfile does: an owner touches its heartbeat once a second at most, and twice before it is stale. */
const LEAST_UPDATE_MILLIS = 1_000
const LEAST_STALE_MILLIS = 2 * LEAST_UPDATE_MILLIS

/** A line has a checkpoint and a change, each up to the limit, and is one string, which Node.js limits to 512 MiB. */
const MOST_CHECKPOINT_BYTES = 250 * MEBIBYTE

const contextOf = (root: string, options: JsonFileOptions): Context => {
  const { heartbeat, limits } = options
  const checkpointBytes = Math.min(limits?.checkpointBytes ?? 64 * MEBIBYTE, MOST_CHECKPOINT_BYTES)
  const compactBytes = limits?.compactBytes ?? MEBIBYTE
  const fs = options.fs ?? nodeFileSystem
  const staleMillis = Math.max(LEAST_STALE_MILLIS, heartbeat?.staleMillis ?? 30_000)
  return {
    root,
    fs,
    deleteRemoved: deletions(fs, resolve(root)),
    processes: options.processes ?? nodeProcesses,
    settings: {
      keep: Math.max(1, options.keep ?? 10),
      checkIntervalMillis: options.checkIntervalMillis ?? 3_000,
      heartbeatMillis: Math.max(LEAST_UPDATE_MILLIS, Math.min(heartbeat?.updateMillis ?? 5_000, staleMillis / 2)),
      staleMillis,
      checkpointBytes,
      readBytes: Math.max(limits?.readBytes ?? 0, longestJournal(checkpointBytes, compactBytes)),
      compactBytes,
      warnBytes: limits?.warnBytes ?? 10 * MEBIBYTE,
      onLarge: options.onLarge ?? (() => undefined)
    },
    givenUp: givenUp(),
    observations
  }
}

/**
 * Creates a store below a folder, which is created on demand. A save is one append and one `fdatasync`, however long
 * the run is. The run of a dead owner on this machine can be claimed at once. On a network file system: one host only.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import * as O from 'fp-ts/lib/Option.js'
 * import { jsonFileStorage } from 'dogear/json-file'
 * import assert from 'node:assert/strict'
 * import { mkdtemp, rm } from 'node:fs/promises'
 * import { hostname, tmpdir } from 'node:os'
 * import { join } from 'node:path'
 *
 * const root = await mkdtemp(join(tmpdir(), 'dogear-'))
 * const storage = jsonFileStorage(root)
 * const claimed = await storage.claim('release-42', { host: hostname(), pid: process.pid })()
 * assert.ok(E.isRight(claimed) && O.isNone(claimed.right.stored))
 *
 * const refused = await storage.claim('release-42', { host: hostname(), pid: process.pid })()
 * assert.equal(E.isLeft(refused) && refused.left._tag, 'HeldBy')
 *
 * await storage.release(claimed.right.claim)()
 * await rm(root, { recursive: true })
 *
 * @category constructors
 */
export const jsonFileStorage = (root: string, options: JsonFileOptions = {}): CheckpointStorage => {
  const refused = refusalOf('jsonFileStorage', root, options, OPTIONS)
  return refused === undefined ? storageIn(root, options) : refused.calls(...STORE_METHODS)
}

const OPTIONS: Readonly<Record<Exclude<keyof JsonFileOptions, 'fs' | 'processes'>, Check>> = {
  keep: wholeFrom(1),
  checkIntervalMillis: interval,
  heartbeat: nested({ updateMillis: interval, staleMillis: amount }),
  limits: nested({ checkpointBytes: amount, readBytes: amount, compactBytes: amount, warnBytes: amount }),
  onLarge: callback,
  onExposed: callback
}

const storageIn = (root: string, options: JsonFileOptions): CheckpointStorage => {
  const context = contextOf(root, options)
  const holdings = new WeakMap<AbortSignal, Holding>()
  const warnOnce = warningOf(context, options.onExposed)

  const on = <A>(
    runId: string,
    act: (layout: Layout.Layout) => Promise<E.Either<StorageError, A>>
  ): TaskEither<StorageError, A> =>
    Layout.call<StorageError, A>(root, runId, (layout) => {
      const checked = checkRoot(context.fs, layout.root)
      return E.isLeft(checked) ? Promise.resolve(checked) : act(layout)
    })

  const within =
    <A>(claim: Claim, act: (holding: Holding) => Promise<E.Either<StorageError, A>>): TaskEither<StorageError, A> =>
    () => {
      const holding = holdings.get(claim.lost)
      if (holding !== undefined) return act(holding)
      const valid = RunId.parse(claim.runId)
      return Promise.resolve(E.left(E.isLeft(valid) ? valid.left : unknownClaim(claim)))
    }

  return {
    claim: (runId, owner, options) =>
      on(runId, async (layout) => {
        const granted = await Claiming.claim(context, layout, owner, options)
        if (E.isRight(granted)) warnOnce()
        return E.map(({ holding, content }: Claiming.Granted) => {
          holdings.set(holding.claim.lost, holding)
          return { claim: holding.claim, stored: storedOf(content, undefined) }
        })(granted)
      }),
    save: (claim, revisions) => within(claim, (holding) => save(holding, revisions)),
    release: (claim) => within(claim, Release.release),
    load: (runId) => on(runId, (layout) => load(context, layout)),
    history: (runId) => on(runId, (layout) => History.history(context, layout)),
    loadRevision: (runId, revision) => on(runId, (layout) => History.loadRevision(context, layout, revision)),
    list:
      (options = {}) =>
      () =>
        Listing.list(context, options),
    remove: (runId, options) => on(runId, (layout) => Release.remove(context, layout, options))
  }
}

/** Roots that already caused a warning in this process. */
const warned = new Set<string>()

const warnProcess = (root: string) => (exposure: Exposure) => {
  if (warned.has(root)) return
  warned.add(root)
  process.emitWarning(describeExposure(exposure), { type: 'DogearWarning', code: 'DOGEAR_EXPOSED' })
}

/** Returns a function that checks the root at its first call only. */
const warningOf = ({ root, fs }: Context, onExposed: JsonFileOptions['onExposed']): (() => void) => {
  let hasLooked = false
  const warn = onExposed ?? warnProcess(resolve(root))
  return () => {
    if (hasLooked) return
    hasLooked = true
    try {
      const exposure = fs.exposureSync(root)
      if (exposure !== undefined) ignoringErrors(() => warn(exposure))
    } catch {
      // A failing warning must not fail a granted claim.
    }
  }
}

/** The error for the claim of another store, or one that was never granted. */
const unknownClaim = ({ runId, epoch }: Claim): StorageError => ({ _tag: 'Fenced', runId, epoch, by: O.none })

const load = async (context: Context, layout: Layout.Layout): Promise<E.Either<StorageError, O.Option<Stored>>> => {
  const reading = await Read.read(context, layout)
  if (E.isLeft(reading)) return reading
  if (reading.right === undefined) return E.right(O.none)
  const { journals, content } = reading.right
  if (E.isLeft(content)) return content
  return E.right(storedOf(content.right, await holderOf(context, layout, journals.highest)))
}

const storedOf = (content: Read.Content | undefined, holder: Holder | undefined): O.Option<Stored> =>
  content === undefined ? O.none : O.some({ ...content, heldBy: O.fromNullable(holder) })
