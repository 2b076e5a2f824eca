/** What the kit needs to know of a store. */
import type { CheckpointStorage } from '../../ports/CheckpointStorage.js'

/**
 * What a store may be able to do beyond the core.
 *
 * - `history`: at least ten revisions before the newest can be loaded.
 * - `large`: the store accepts a value of 10 MB and a string of 13 million characters. Other stores may refuse these with
 *   `TooLarge`; every store accepts 100,000 characters.
 * - `watch`: `Claim.lost` fires by itself within two seconds of a takeover, without a save.
 * - `processes`: several live processes may use the store. Needs {@link StorageSpec.beside}.
 * - `damage`: the store detects damaged or exchanged content. Needs {@link StorageSpec.damage}, {@link
 *   StorageSpec.swap} and {@link StorageSpec.digest}.
 * - `formats`: the store refuses content of a newer format. Needs {@link StorageSpec.newer} and
 *   {@link StorageSpec.digest}.
 * - `faults`: the store reports errors of the layer below it. Needs {@link StorageSpec.faulty}.
 * - `stalls`: a call that waits below the store, for a lock, a slow disk or a lost packet, breaks no law while other
 *   calls proceed. Needs {@link StorageSpec.stall}.
 * - `takeOver`: an owner whose liveness is undecided can be superseded. Needs {@link StorageSpec.undecided}.
 * - `network`: replies may be lost, and connections break or freeze. Needs {@link StorageSpec.lossy} and {@link StorageSpec.cut}.
 * - `failover`: the storage may lose its newest commits. Needs {@link StorageSpec.rollback}.
 * - `leases`: a process that is silent for long counts as dead. Needs {@link StorageSpec.sleeper}.
 *
 * @category model
 */
export type Capability =
  | 'history'
  | 'large'
  | 'watch'
  | 'processes'
  | 'damage'
  | 'formats'
  | 'faults'
  | 'stalls'
  | 'takeOver'
  | 'network'
  | 'failover'
  | 'leases'

type Tool = Exclude<keyof StorageSpec<unknown>, 'name' | 'create' | 'reopen' | 'destroy' | 'capabilities'>

/** The tools of a spec that each capability needs. */
export type ToolTable = Readonly<Record<string, ReadonlyArray<string>>>

export const TOOLS = {
  history: [],
  large: [],
  watch: [],
  processes: ['beside'],
  damage: ['damage', 'swap', 'digest'],
  formats: ['newer', 'digest'],
  faults: ['faulty'],
  stalls: ['stall'],
  takeOver: ['undecided'],
  network: ['lossy', 'cut'],
  failover: ['rollback'],
  leases: ['sleeper']
} satisfies Readonly<Record<Capability, ReadonlyArray<Tool>>>

export const capabilities = Object.keys(TOOLS) as ReadonlyArray<Capability>

/**
 * A store that another live process uses.
 *
 * @category model
 */
export interface OtherProcess {
  readonly storage: CheckpointStorage
  /**
   * Ends that process like `kill -9`, without releasing anything. Resolves once the store can detect the death: if that needs a
   * broken connection or an expired lease, `kill` waits until then.
   */
  readonly kill: () => Promise<void>
}

/**
 * A store with fault injection below it.
 *
 * @category model
 */
export interface Faulty {
  readonly storage: CheckpointStorage
  /**
   * Makes every later read, or every later write, below the store fail with this code (`EIO`, `ENOSPC`). A call that does both (`UPDATE …
   * RETURNING`) fails as either; commits and syncs are writes. `after`: the number of calls that still succeed, default 0. A tool that cannot count
   * may ignore it.
   */
  readonly fail: (operation: 'read' | 'write', code: string, after?: number) => void
  /** Ends the injected faults. */
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
 * A store whose calls below it may take effect without a reply.
 *
 * @category model
 */
export interface Lossy {
  readonly storage: CheckpointStorage
  /**
   * Makes the next read, or the next write, below the store fail with this code, after it took effect (`taken`) or before it could (`none`). Later
   * calls succeed.
   */
  readonly lose: (operation: 'read' | 'write', code: string, effect: 'taken' | 'none') => void | Promise<void>
  /** Removes a fault of `lose` that no call has triggered. */
  readonly heal: () => void | Promise<void>
}

/**
 * A store whose connection can be cut, as by a TCP proxy.
 *
 * @category model
 */
export interface Cutting {
  readonly storage: CheckpointStorage
  /** Breaks a connection, or freezes it in both directions, at the `nth` message from now in one direction: 1 is the next. It happens once. */
  readonly cut: (direction: 'request' | 'reply', nth: number, how: 'break' | 'freeze') => void | Promise<void>
  /** The number of connections that were cut. */
  readonly cuts: () => number | Promise<number>
  /** Cuts nothing from now on. */
  readonly heal: () => void | Promise<void>
}

/**
 * A store on a storage that can lose its newest commits, as a standby does that was behind when it became the primary.
 *
 * @category model
 */
export interface Failover {
  readonly storage: CheckpointStorage
  /** Remembers what is stored. */
  readonly mark: () => Promise<void>
  /** Restores what was stored at `mark`. Instances stay open. */
  readonly rollBack: () => Promise<void>
}

/**
 * A store in a process that can sleep, as a suspended machine does.
 *
 * @category model
 */
export interface Sleeper {
  readonly storage: CheckpointStorage
  /** Stops the process. Resolves once others find it dead. */
  readonly sleep: () => Promise<void>
  /** Lets the process continue. */
  readonly wake: () => void | Promise<void>
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
 * A store for the kit. `Data` identifies where its runs are: a folder, a connection, a `Map`.
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
  /** Creates an empty place for runs. */
  readonly create: () => Promise<Data>
  /**
   * Opens a **new instance on that data**. It shares no memory with earlier instances and finds all their owners dead, as after a kill of their
   * processes; a store that detects death by time waits here. Earlier instances keep working, like processes that were wrongly declared dead, so
   * that the kit can save with a superseded owner.
   */
  readonly reopen: (data: Data) => Promise<CheckpointStorage>
  /** Deletes the place. */
  readonly destroy?: (data: Data) => Promise<void>
  readonly capabilities: ReadonlyArray<Capability>
  /** Opens an instance in another live process, or one that counts as such. */
  readonly beside?: (data: Data) => Promise<OtherProcess>
  /** Damages stored bytes so that the newest revision of this run cannot be read; if possible, only that revision. */
  readonly damage?: (data: Data, runId: string) => Promise<void>
  /**
   * Exchanges the stored content of two revisions, checksums included, like a wrong key or a misdirected write: two rows, or
   * two files. Does nothing if one record holds both.
   */
  readonly swap?: (data: Data, one: RevisionOfRun, other: RevisionOfRun) => Promise<void>
  /** Makes the stored content of a run look as if a newer version of the store had written it. */
  readonly newer?: (data: Data, runId: string) => Promise<void>
  /** Returns a string that changes with any stored content of a run. */
  readonly digest?: (data: Data, runId: string) => Promise<string>
  /** Like `reopen`, but calls below the instance can be made to fail. */
  readonly faulty?: (data: Data) => Promise<Faulty>
  /** Like `reopen`, but the instance's calls to the storage below it can be held. */
  readonly stall?: (data: Data) => Promise<Stalling>
  /** Like `reopen`, but the instance cannot detect whether other owners live, like one on an isolated host. The other owners keep working. */
  readonly undecided?: (data: Data) => Promise<CheckpointStorage>
  /** Like `reopen`, but replies to the instance's calls can be lost. */
  readonly lossy?: (data: Data) => Promise<Lossy>
  /** Like `reopen`, but the instance's connections can be cut. */
  readonly cut?: (data: Data) => Promise<Cutting>
  /** Like `reopen`, on a storage that can lose commits. */
  readonly rollback?: (data: Data) => Promise<Failover>
  /** Like `reopen`, in a process that can sleep. Others find it alive or undecided until then. */
  readonly sleeper?: (data: Data) => Promise<Sleeper>
}
