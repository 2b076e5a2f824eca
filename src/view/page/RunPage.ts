/** The input of a run's page. */
import { fromNullable, type Option } from 'fp-ts/lib/Option.js'
import type { Change } from '../../domain/change/Change.js'
import type { Checkpoint, Status } from '../../domain/checkpoint/Checkpoint.js'
import type { ResumePlan } from '../../domain/plan/Plan.js'
import type { ArtifactInfo } from '../../ports/ArtifactStore.js'
import type { Found, Holder } from '../../ports/CheckpointStorage.js'

/**
 * What a page shows: the fields of a `RunView`, and optionally more.
 *
 * - `changes`: the recorded changes by revision, as `runChanges` returns them. Without them, a completed unit has one bar: its last attempt.
 * - `artifacts`: the stored artifacts of the run.
 * - `plan`: what a resume would do; `problems`: why there is no plan.
 * - `next`: what to do next, as sentences with commands to copy.
 * - `now`: the present time (UTC, ISO 8601). The bars of running attempts end there, and waits that ended before it are shown as over.
 *
 * @category looking
 */
export interface RunPage {
  readonly runId: string
  readonly checkpoint: Checkpoint
  readonly status: Status
  /** `RunView` of `dogear` has an `Option` here; `RunView` of `dogear/promise` has the holder itself, or undefined. */
  readonly heldBy?: Option<Holder> | Holder
  readonly found: Found
  readonly changes?: ReadonlyMap<number, Change>
  readonly artifacts?: ReadonlyArray<ArtifactInfo>
  readonly plan?: ResumePlan
  readonly problems?: ReadonlyArray<string>
  readonly next?: ReadonlyArray<{ readonly text: string; readonly command?: string }>
  readonly now?: string
}

/** A page whose `heldBy` is always an `Option`. */
export interface Page extends Omit<RunPage, 'heldBy'> {
  readonly heldBy: Option<Holder>
}

export const pageOf = ({ heldBy, ...rest }: RunPage): Page => ({
  ...rest,
  heldBy: heldBy !== undefined && '_tag' in heldBy ? heldBy : fromNullable(heldBy)
})
