/** The environment of a run: one record of ports. */
import type { Archive } from './Archive.js'
import type { ArtifactStore } from './ArtifactStore.js'
import type { AsyncContext } from './AsyncContext.js'
import type { CheckpointStorage, Owner } from './CheckpointStorage.js'
import type { OnCheckFailed } from './Checks.js'
import type { Clock } from './Clock.js'
import type { Events, EventUnit } from './Events.js'
import type { Interrupt } from './Interrupt.js'
import type { Requests } from './Requests.js'
import type { Secrets } from './Secrets.js'
import type { WorkingTree } from './WorkingTree.js'
import type { Workspaces } from './Workspaces.js'

/**
 * Wraps an attempt of a task, or a sub-step, that runs; recorded ones that a resume skips are not wrapped. It must call `act` exactly once;
 * otherwise the attempt fails permanently (`AROUND_MISUSED`). `act` resolves when the code has succeeded. It rejects with the redacted error
 * of the code, and with an `AbortError` if the attempt is suspended or does not stop in time. After the attempt was stopped or has ended, `act`
 * runs no code, and rejects with an `AbortError`. What `around` itself returns or throws after `act` changes nothing. `attempt`: from 1.
 *
 * @category model
 */
export type Around = (unit: EventUnit, attempt: number, act: () => Promise<void>) => Promise<unknown>

/**
 * The ports that a run uses.
 *
 * - `tree`: the files and commits of the run. Only read for units with evidence.
 * - `owner`: the process that runs, for the message to other claimants.
 * - `graceMillis`: how long a stopped attempt may take to end before the run continues without it.
 * - `artifacts`: stores the artifacts of steps. Optional if no step stores any.
 * - `secrets`: reads the secrets that a program declares. Optional if it declares none.
 * - `archive`: stores completed runs of a program with `onSuccess: 'archive'`.
 * - `requests`: the inbox for requests of other processes: pause, cancel, answer. Without it pause and cancel are refused, and so is an
 *   answer while a process owns the run.
 * - `asyncContext`: detects a sub-step that is called inside another one. Without it such a call is not refused.
 * - `workspaces`: creates the workspaces of runs and steps. Optional if there are none.
 * - `around`: wraps each attempt and each sub-step that runs; see {@link Around}.
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
  /** Returns a number from 0 to below 1, for jitter. Anything else, or an exception, counts as 0.5. */
  readonly random: () => number
  readonly graceMillis: number
  /** Answers a failed check. Without it the unit fails. */
  readonly onCheckFailed?: OnCheckFailed
  readonly artifacts?: ArtifactStore
  readonly secrets?: Secrets
  readonly archive?: Archive
  readonly requests?: Requests
  readonly asyncContext?: AsyncContext
  readonly workspaces?: Workspaces
  readonly around?: Around
}
