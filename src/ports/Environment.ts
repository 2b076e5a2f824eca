/** What a run needs of the world: one record of ports. */
import type { Archive } from './Archive.js'
import type { ArtifactStore } from './ArtifactStore.js'
import type { AsyncContext } from './AsyncContext.js'
import type { CheckpointStorage, Owner } from './CheckpointStorage.js'
import type { OnCheckFailed } from './Checks.js'
import type { Clock } from './Clock.js'
import type { Events } from './Events.js'
import type { Interrupt } from './Interrupt.js'
import type { Requests } from './Requests.js'
import type { Secrets } from './Secrets.js'
import type { WorkingTree } from './WorkingTree.js'
import type { Workspaces } from './Workspaces.js'

/**
 * The ports that a run uses.
 *
 * - `tree`: where units leave their evidence. It is only looked at for those that are to leave some.
 * - `owner`: who runs, for the message that another claimant gets. `random`: from 0 to below 1, for jitter.
 * - `graceMillis`: how long an attempt that was told to stop may take to do so before the run goes on without it.
 * - `artifacts`: where steps keep what they put. A run whose steps put nothing needs none.
 * - `secrets`: who keeps the secrets that a program declares. A program that declares none needs none.
 * - `archive`: where completed runs go, of a program that says so (`onSuccess: 'archive'`).
 * - `requests`: where other processes leave requests: to pause, cancel or answer a run. Without it pause and cancel are refused,
 *   and so is an answer while a process owns the run.
 * - `asyncContext`: tells that a sub-step is called inside of another one. Without it such a call is not refused.
 * - `workspaces`: makes the workspaces that runs and steps have of their own. Without these it is not needed.
 *
 * @category model
 */
export interface Environment {
  readonly storage: CheckpointStorage
  readonly clock: Clock
  readonly tree: WorkingTree
  readonly owner: Owner
  readonly interrupt: Interrupt
  readonly events: Events
  /** A number from 0 to below 1. */
  readonly random: () => number
  readonly graceMillis: number
  /** Answers for a check that failed. Without it the unit has failed. */
  readonly onCheckFailed?: OnCheckFailed
  readonly artifacts?: ArtifactStore
  readonly secrets?: Secrets
  readonly archive?: Archive
  readonly requests?: Requests
  readonly asyncContext?: AsyncContext
  readonly workspaces?: Workspaces
}
