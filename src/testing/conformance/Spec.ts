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
 * - `large`: a value of 10 MB can be stored. Who can't must say `TooLarge`; 100,000 characters have to fit everywhere.
 * - `watch`: `Claim.lost` fires by itself within two seconds of a takeover, without a save.
 * - `processes`: several live processes may use the store. Needs {@link StorageSpec.beside}.
 * - `damage`: content that was damaged is found to be so. Needs {@link StorageSpec.damage}.
 * - `formats`: content of a newer format of the store is refused. Needs {@link StorageSpec.newer}.
 * - `faults`: errors of what is below the store are reported as such. Needs {@link StorageSpec.faulty}.
 *
 * @category model
 * @since 0.1.0
 */
export type Capability = 'history' | 'large' | 'watch' | 'processes' | 'damage' | 'formats' | 'faults'

/**
 * A store that another live process uses.
 *
 * @category model
 * @since 0.1.0
 */
export interface OtherProcess {
  readonly storage: CheckpointStorage
  /** Ends that process as `kill -9` does: nothing is given back. Resolves when it is gone. */
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
  /** From now on every read, or every write, of what is below the store fails with this code (`EIO`, `ENOSPC`). */
  readonly fail: (operation: 'read' | 'write', code: string) => void
  /** From now on all goes well again. */
  readonly heal: () => void
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
  /** Makes what is stored of a run look as if a newer version of the store had written it. */
  readonly newer?: (data: Data, runId: string) => Promise<void>
  /** A text that changes when anything changes that is stored of a run: by it the kit sees that something was left alone. */
  readonly digest?: (data: Data, runId: string) => Promise<string>
  /** An instance, like one of `reopen`, whose calls to what is below it can be made to fail. */
  readonly faulty?: (data: Data) => Promise<Faulty>
}
