/**
 * The port of a storage backend: who may write a run, and what is stored of it. A store never decodes, migrates or judges a checkpoint; it
 * guarantees a single writer and durability.
 */
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Option } from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Change } from '../domain/change/Change.js'
import type { RevisionConflict } from '../domain/checkpoint/RevisionConflict.js'
import type { RunChanged } from '../domain/checkpoint/RunChanged.js'
import type { InvalidRunId } from '../domain/checkpoint/RunId.js'
import type { Summary } from '../domain/checkpoint/Summary.js'
import type { Json } from '../domain/data/Json.js'

/**
 * The process that claims a run, for the message to other claimants.
 *
 * @category model
 */
export interface Owner {
  readonly host: string
  readonly pid: number
}

/**
 * The owner of a run: since when (UTC, ISO 8601), and whether it is proven alive.
 *
 * @category model
 */
export interface Holder extends Owner {
  readonly since: string
  readonly liveness: Liveness
}

/**
 * The liveness of an owner that is not proven dead. `alive`: it lives. `undecided`: it may be dead. The store keeps checking, so a later
 * call may decide; `takeOver` of {@link ClaimOptions} does not wait for that.
 *
 * @category model
 */
export type Liveness = 'alive' | 'undecided'

/**
 * How to claim. `takeOver`: supersede an owner whose liveness the store cannot decide. An owner that is proven alive still
 * fails the claim with `HeldBy`. Fencing protects the record, not the world: a living owner continues its step until it learns
 * that it was superseded.
 *
 * @category model
 */
export interface ClaimOptions {
  readonly takeOver?: boolean
}

/**
 * The right to write one run. Claims of a run are numbered: the one with the highest `epoch` may write, all others are fenced.
 * `lost` fires when the store learns that this claim may write no more; its `reason` is then a {@link StorageError}.
 *
 * @category model
 */
export interface Claim {
  readonly runId: string
  readonly epoch: number
  readonly lost: AbortSignal
}

/**
 * A checkpoint as plain JSON, encoded by the codec, with its own format number.
 *
 * @category model
 */
export type Encoded = Json

/**
 * One revision of a run: the change that led to it, and the whole checkpoint, built on demand in time linear in the run. A simple store
 * writes `checkpoint()` of the last revision; an appending store writes the changes. A store that lists runs without reading them keeps
 * `summary()` of the last revision.
 *
 * @category model
 */
export interface Revision {
  readonly revision: number
  /** Plain JSON: store it as it is. TypeScript accepts it as `Json` only with a cast, because a `Change` has no index signature. */
  readonly change: Change
  /** Returns the whole checkpoint at this revision; builds it at each call. */
  readonly checkpoint: () => Encoded
  /** Returns the facts of this revision that a listing shows, in constant time unless the run is pending. */
  readonly summary: () => Summary
}

/**
 * How the stored state was found. `Exact`: the newest acknowledged revision. `Recovered`: newer content is damaged; `from`: what was used
 * instead, `lost`: what is missing, as text.
 *
 * @category model
 */
export type Found =
  { readonly _tag: 'Exact' } | { readonly _tag: 'Recovered'; readonly from: string; readonly lost: string }

/**
 * The stored state of a run: a whole checkpoint, and the changes after it, oldest first. `revision`: of the last change, or of the
 * checkpoint if there is none. `heldBy`: the owner, unless it is dead; absent in the result of a claim, because the claimant is then the
 * owner.
 *
 * @category model
 */
export interface Stored {
  readonly revision: number
  readonly checkpoint: Encoded
  readonly changes: ReadonlyArray<Json>
  readonly found: Found
  readonly heldBy: Option<Holder>
}

/**
 * A granted claim, with the stored state: plan from this, not from an earlier load.
 *
 * @category model
 */
export interface Claimed {
  readonly claim: Claim
  readonly stored: Option<Stored>
}

/**
 * One entry of a run's history: the kind of change (`UnitCompleted`) and its time (UTC, ISO 8601).
 *
 * @category model
 */
export interface HistoryEntry {
  readonly revision: number
  readonly change: string
  readonly at: string
}

/**
 * The runs to list: those whose ids follow `after` (any string), and at most `limit` of them. Default: all, as with `Infinity`.
 *
 * @category model
 */
export interface ListOptions {
  readonly after?: string
  readonly limit?: number
}

/**
 * What to remove. `newest`: the run only if this is its newest revision; `at`, the time of its change, distinguishes it from the same
 * revision of a later run with the same id. Default: the run in any state.
 *
 * @category model
 */
export interface RemoveOptions {
  readonly newest?: Pick<HistoryEntry, 'revision' | 'at'>
}

/**
 * A summary that a store keeps, and the owner of the run as in {@link Stored}.
 *
 * @category model
 */
export interface KeptSummary extends Summary {
  readonly heldBy: Option<Holder>
}

/**
 * One listed run. `summary`: that of its newest saved revision, unchanged. Absent if the store keeps none or cannot be certain that it
 * is the newest: the run is then loaded. `isAbandoned`: the run was claimed and never saved, has no owner, and is old
 * enough that no claim of it is in progress. `prune` removes it if `load` finds no checkpoint.
 *
 * @category model
 */
export interface Listed {
  readonly runId: string
  readonly summary?: KeptSummary
  readonly isAbandoned?: boolean
}

/**
 * Stores checkpoints.
 *
 * Laws: a save that resolved is in every later `load` and `claim` · two claims never both save the same revision · a save of a superseded
 * claim always fails with `Fenced` · `load` returns a state that was saved, never a mixture, and never older than what had resolved before
 * it began · only damage permits falling back to an older revision, and `found` then says so · a removal that names the newest revision
 * deletes no later one.
 *
 * @category model
 */
export interface CheckpointStorage {
  /**
   * Claims a run: the caller becomes its only writer. Fails with `HeldBy` if the owner lives or is undecided; supersedes a dead owner at
   * once, and with `takeOver` an undecided one too. Writes no checkpoint.
   */
  readonly claim: (runId: string, owner: Owner, options?: ClaimOptions) => TaskEither<StorageError, Claimed>
  /** Saves consecutive revisions that follow the stored one: all or nothing, durable when it resolves. */
  readonly save: (claim: Claim, revisions: ReadonlyNonEmptyArray<Revision>) => TaskEither<StorageError, void>
  /** Releases the claim, so that the next claim need not wait. A failed release may be repeated. */
  readonly release: (claim: Claim) => TaskEither<StorageError, void>
  /** Loads the newest revision, without claiming. */
  readonly load: (runId: string) => TaskEither<StorageError, Option<Stored>>
  /** Lists the revisions that can still be loaded, newest first. */
  readonly history: (runId: string) => TaskEither<StorageError, ReadonlyArray<HistoryEntry>>
  /** Loads one revision of the history. */
  readonly loadRevision: (runId: string, revision: number) => TaskEither<StorageError, Option<Stored>>
  /** Lists runs in the bytewise order of their ids, damaged ones included. A run that was claimed and never saved may be listed. */
  readonly list: (options?: ListOptions) => TaskEither<StorageError, ReadonlyArray<Listed>>
  /**
   * Deletes a run. Fails with `HeldBy` while the run has an owner that is not dead, and with `RunChanged` if its newest revision is not the one
   * that the options name; the store checks that where it deletes, so that nothing is saved in between. A reused id starts a new run.
   */
  readonly remove: (runId: string, options?: RemoveOptions) => TaskEither<StorageError, void>
}

/**
 * Another process holds the run and lives, or its liveness is undecided (`holder.liveness`).
 *
 * @category errors
 */
export interface HeldBy {
  readonly _tag: 'HeldBy'
  readonly runId: string
  readonly holder: Holder
}

/**
 * What happened to a run's files during a claim, and `where`: `Removed` through a store, `Deleted` or moved by something else,
 * or `Replaced` by other files.
 *
 * @category errors
 */
export interface LostFiles {
  readonly what: 'Removed' | 'Deleted' | 'Replaced'
  readonly where: string
}

/**
 * A later claim exists, the claim was released, or the run's files are missing or replaced: this claim must write nothing more. `by`: the
 * later epoch, if known; `files`: what happened to the run's files, if a store keeps files and no later claim is the cause.
 *
 * @category errors
 */
export interface Fenced {
  readonly _tag: 'Fenced'
  readonly runId: string
  readonly epoch: number
  readonly by: Option<number>
  readonly files?: LostFiles
}

/**
 * Stored content cannot be read, and nothing older can replace it. It stays unchanged.
 *
 * @category errors
 */
export interface Corrupt {
  readonly _tag: 'Corrupt'
  readonly runId: string
  readonly where: string
  readonly why: string
  readonly cause?: unknown
}

/**
 * The content has a format that this version does not know. Nothing older replaces it.
 *
 * @category errors
 */
export interface UnsupportedFormat {
  readonly _tag: 'UnsupportedFormat'
  readonly runId: string
  readonly where: string
  readonly found: number
  readonly supported: number
}

/**
 * A checkpoint, a file or an artifact exceeds the limit. `biggest`: the largest values of a checkpoint, largest first; else empty.
 *
 * @category errors
 */
export interface TooLarge {
  readonly _tag: 'TooLarge'
  readonly runId: string
  readonly where: string
  readonly bytes: number
  readonly limitBytes: number
  readonly biggest: ReadonlyArray<{ readonly path: string; readonly bytes: number }>
}

/**
 * The stored file is not one that this library creates: a symbolic link, a FIFO, a file of another user. `remedy`: what to do, unless it is to
 * move the file away.
 *
 * @category errors
 */
export interface Insecure {
  readonly _tag: 'Insecure'
  readonly where: string
  readonly why: string
  readonly remedy?: string
}

/**
 * Reading failed. `code`: of the system (`EIO`); `operation`: the call (`open`). `option`: an option of the store that avoids the failure, as
 * code (`liveness: 'lease'`).
 *
 * @category errors
 */
export interface ReadFailed {
  readonly _tag: 'ReadFailed'
  readonly where: string
  readonly operation: string
  readonly code: string
  readonly cause: unknown
  readonly option?: string
}

/**
 * Writing failed. Acknowledged saves are intact. `committed`: `no`: this write has no effect; `unknown`: it may take effect until the next
 * claim, which finds the save or makes it impossible. In both cases the claim that tried to write cannot be used any more. `option`: as in {@link
 * ReadFailed}.
 *
 * @category errors
 */
export interface WriteFailed {
  readonly _tag: 'WriteFailed'
  readonly committed: 'no' | 'unknown'
  readonly where: string
  readonly operation: string
  readonly code: string
  readonly cause: unknown
  readonly option?: string
}

/**
 * Errors of a store. `_tag` is the stable code.
 *
 * @category errors
 */
export type StorageError =
  | HeldBy
  | Fenced
  | RevisionConflict
  | RunChanged
  | Corrupt
  | UnsupportedFormat
  | TooLarge
  | InvalidRunId
  | Insecure
  | ReadFailed
  | WriteFailed
