/**
 * What the kit has to know of a store: how to make one, how to open its data again, and what it claims to be able to do.
 *
 * @since 0.1.0
 */
import type { CheckpointStorage } from '../../ports/CheckpointStorage.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What a store may or may not be able to do. Everything else is asked of every store.
 *
 * - `history`: revisions before the newest can be loaded, at least ten of them.
 * - `large`: a value of 10 MB can be stored, and one text of 13 million characters. Who can't must say `TooLarge`; 100,000
 *   characters have to fit everywhere.
 * - `watch`: `Claim.lost` fires by itself within two seconds of a takeover, without a save.
 * - `processes`: several live processes may use the store. Needs {@link StorageSpec.beside}.
 * - `damage`: content that was damaged, or exchanged for other content, is found to be so. Needs {@link StorageSpec.damage},
 *   {@link StorageSpec.swap} and {@link StorageSpec.digest}.
 * - `formats`: content of a newer format of the store is refused. Needs {@link StorageSpec.newer}.
 * - `faults`: errors of what is below the store are reported as such. Needs {@link StorageSpec.faulty}.
 * - `stalls`: a call that waits below the store, for a lock, a slow disk or a lost packet, breaks no law while others go on.
 *   Needs {@link StorageSpec.stall}.
 * - `takeOver`: an owner whose liveness can't be decided can be superseded. Needs {@link StorageSpec.undecided}.
 *
 * @category model
 * @since 0.1.0
 */
export type Capability =
  'history' | 'large' | 'watch' | 'processes' | 'damage' | 'formats' | 'faults' | 'stalls' | 'takeOver'

/**
 * A store that another live process uses.
 *
 * @category model
 * @since 0.1.0
 */
export interface OtherProcess {
  readonly storage: CheckpointStorage
  /**
   * Ends that process as `kill -9` does: nothing is given back. Resolves once the store can know that it is dead. A store that
   * learns of a death from a broken connection, or when a lease runs out, waits here for that.
   */
  readonly kill: () => Promise<void>
}

/**
 * A store below which calls can be made to fail.
 *
 * @category model
 * @since 0.1.0
 */
export interface Faulty {
  readonly storage: CheckpointStorage
  /**
   * From now on every read, or every write, of what is below the store fails with this code (`EIO`, `ENOSPC`). A call that reads
   * and writes (`UPDATE … WHERE … RETURNING`) is both: it fails as a read and as a write. A commit and a sync are writes.
   * `after`: so many of them still go well before, and none if it is missing, as it often is. So a save fails in its middle: at
   * its commit, or at its sync. A tool that can't count may ignore it.
   */
  readonly fail: (operation: 'read' | 'write', code: string, after?: number) => void
  /** From now on all goes well again. */
  readonly heal: () => void
}

/**
 * A store whose calls to what is below it wait until the test lets them go on. {@link stallGate} makes the functions.
 *
 * They are about the calls of this instance alone: statements, requests, calls to files. What other instances do goes on.
 *
 * @category model
 * @since 0.1.0
 */
export interface Stalling {
  readonly storage: CheckpointStorage
  /** From now on each call waits before it takes effect. */
  readonly hold: () => void | Promise<void>
  /** How many calls wait. */
  readonly held: () => number | Promise<number>
  /** Lets the call go on that has waited longest. Those behind it and those that come later wait. */
  readonly step: () => void | Promise<void>
  /** Lets all calls go on: those that wait, and those that come later. */
  readonly letGo: () => void | Promise<void>
}

/**
 * A revision of a run.
 *
 * @category model
 * @since 0.1.0
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
 * @since 0.1.0
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
   * Exchanges the stored content of two revisions, checksums included, as a wrong key or a misdirected write does: the rows of
   * two revisions, or the files that hold them. Changes nothing if both are in one record.
   */
  readonly swap?: (data: Data, one: RevisionOfRun, other: RevisionOfRun) => Promise<void>
  /** Makes what is stored of a run look as if a newer version of the store had written it. */
  readonly newer?: (data: Data, runId: string) => Promise<void>
  /** A text that changes when anything changes that is stored of a run: by it the kit sees that something was left alone. */
  readonly digest?: (data: Data, runId: string) => Promise<string>
  /** An instance, like one of `reopen`, whose calls to what is below it can be made to fail. */
  readonly faulty?: (data: Data) => Promise<Faulty>
  /** An instance, like one of `reopen`, whose calls to what is below it can be held. */
  readonly stall?: (data: Data) => Promise<Stalling>
  /**
   * A new instance on that data, like one of `reopen`, but one that can't tell whether the owners of other instances live, as
   * on a host that sees nothing of theirs. They work on.
   */
  readonly undecided?: (data: Data) => Promise<CheckpointStorage>
}
