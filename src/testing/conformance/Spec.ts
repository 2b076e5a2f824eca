/** What the kit has to know of a store: how to make one, how to open its data again, and what it claims to be able to do. */
import type { CheckpointStorage } from '../../ports/CheckpointStorage.js'

/**
 * What a store may or may not be able to do. Everything else is asked of every store.
 *
 * - `history`: revisions before the newest can be loaded, at least ten of them.
 * - `large`: the store accepts a value of 10 MB and a string of 13 million characters. Without it, the store must fail with
 *   `TooLarge`; every store accepts 100,000 characters.
 * - `watch`: `Claim.lost` fires by itself within two seconds of a takeover, without a save.
 * - `processes`: several live processes may use the store. Needs {@link StorageSpec.beside}.
 * - `damage`: the store detects damaged or exchanged content. Needs {@link StorageSpec.damage}, {@link StorageSpec.swap} and
 *   {@link StorageSpec.digest}.
 * - `formats`: content of a newer format of the store is refused. Needs {@link StorageSpec.newer}.
 * - `faults`: errors of what is below the store are reported as such. Needs {@link StorageSpec.faulty}.
 * - `stalls`: a call that waits below the store, for a lock, a slow disk or a lost packet, breaks no law while other calls
 *   proceed. Needs {@link StorageSpec.stall}.
 * - `takeOver`: an owner whose liveness is undecided can be superseded. Needs {@link StorageSpec.undecided}.
 *
 * @category model
 */
export type Capability =
  'history' | 'large' | 'watch' | 'processes' | 'damage' | 'formats' | 'faults' | 'stalls' | 'takeOver'

/**
 * A store that another live process uses.
 *
 * @category model
 */
export interface OtherProcess {
  readonly storage: CheckpointStorage
  /**
   * Ends that process like `kill -9`, without releasing anything. Resolves once the store can detect the death; if that needs a
   * broken connection or an expired lease, it waits for it.
   */
  readonly kill: () => Promise<void>
}

/**
 * A store below which calls can be made to fail.
 *
 * @category model
 */
export interface Faulty {
  readonly storage: CheckpointStorage
  /**
   * From now on every read, or every write, below the store fails with this code (`EIO`, `ENOSPC`). A call that does both
   * (`UPDATE … WHERE … RETURNING`) fails as a read and as a write. Commits and syncs are writes. `after`: the number of calls
   * that still succeed, default none; it makes a save fail midway, at its commit or sync. A tool that cannot count may ignore
   * it.
   */
  readonly fail: (operation: 'read' | 'write', code: string, after?: number) => void
  /** From now on all goes well again. */
  readonly heal: () => void
}

/**
 * A store whose calls to the storage below it wait until the test releases them. {@link stallGate} creates the functions.
 *
 * They only affect this instance's calls: statements, requests, file operations. Other instances proceed.
 *
 * @category model
 */
export interface Stalling {
  readonly storage: CheckpointStorage
  /** Holds each later call before it takes effect. */
  readonly hold: () => void | Promise<void>
  /** The number of held calls. */
  readonly held: () => number | Promise<number>
  /** Releases the call held longest. All others, including later ones, stay held. */
  readonly step: () => void | Promise<void>
  /** Releases all held calls, and holds no later ones. */
  readonly letGo: () => void | Promise<void>
}

/**
 * A revision of a run.
 *
 * @category model
 */
export interface RevisionOfRun {
  readonly runId: string
  readonly revision: number
}

/**
 * A store as the kit needs it. `Data` is the place where its runs are: a folder, a connection, a `Map`.
 *
 * @example
 * import type { StorageSpec } from 'dogear/testing'
 * import type { MemoryData } from 'dogear/memory'
 * import { memoryData, memoryStorage } from 'dogear/memory'
 * import { runConformance } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const spec: StorageSpec<MemoryData> = {
 *   name: 'the memory store',
 *   create: async () => memoryData(),
 *   reopen: async (data) => memoryStorage(data),
 *   capabilities: ['history', 'large', 'watch']
 * }
 * const report = await runConformance(spec, { levels: ['core'] })
 * assert.deepEqual(report.results.filter(({ outcome }) => outcome._tag === 'Failed'), [])
 *
 * @category model
 */
export interface StorageSpec<Data> {
  readonly name: string
  /** Makes an empty place for runs. */
  readonly create: () => Promise<Data>
  /**
   * A **new instance on that data**: the first one, and each later one. It shares nothing in memory with earlier instances,
   * and finds what a process finds that was started after the processes of all earlier ones were killed: their owners are
   * dead. The earlier instances still work, as a process does that was taken for dead; that is how the kit has a superseded
   * owner save. A store that tells death by time waits here until that time is over.
   */
  readonly reopen: (data: Data) => Promise<CheckpointStorage>
  /** Does away with the place. */
  readonly destroy?: (data: Data) => Promise<void>
  readonly capabilities: ReadonlyArray<Capability>
  /** An instance in another live process, or one that counts as such. */
  readonly beside?: (data: Data) => Promise<OtherProcess>
  /** Changes stored bytes of a run so that its newest revision can't be read; of that alone, where that is possible. */
  readonly damage?: (data: Data, runId: string) => Promise<void>
  /**
   * Exchanges the stored content of two revisions, checksums included, like a wrong key or a misdirected write: two rows, or
   * two files. Does nothing if one record holds both.
   */
  readonly swap?: (data: Data, one: RevisionOfRun, other: RevisionOfRun) => Promise<void>
  /** Makes what is stored of a run look as if a newer version of the store had written it. */
  readonly newer?: (data: Data, runId: string) => Promise<void>
  /** A text that changes when anything changes that is stored of a run: by it the kit sees that something was left alone. */
  readonly digest?: (data: Data, runId: string) => Promise<string>
  /** An instance, like one of `reopen`, whose calls to what is below it can be made to fail. */
  readonly faulty?: (data: Data) => Promise<Faulty>
  /** Like `reopen`, but the instance's calls to the storage below it can be held. */
  readonly stall?: (data: Data) => Promise<Stalling>
  /** Like `reopen`, but the instance cannot tell whether other owners live, like one on an isolated host. The other owners keep working. */
  readonly undecided?: (data: Data) => Promise<CheckpointStorage>
}
