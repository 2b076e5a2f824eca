/** Decides which finished runs a retention policy removes. */
import type { Status } from './Checkpoint.js'

/**
 * What happens to a completed run: its state stays; its last checkpoint is archived and its state removed; or its state is removed.
 *
 * @category model
 */
export type OnSuccess = 'keep' | 'archive' | 'delete'

/** The statuses of runs that can be removed: not owned by a live process, and not in the middle of a move. */
export const PRUNABLE = [
  'completed',
  'cancelled',
  'failed',
  'interrupted',
  'paused',
  'pending',
  'queued'
] as const satisfies ReadonlyArray<Status>

/** A status of runs that `prune` may remove. */
export type PrunableStatus = (typeof PRUNABLE)[number]

/**
 * Which runs to remove, among those with one of `statuses` (default: {@link FINISHED}):
 *
 * - `keep`: of each workflow, this many runs that changed last stay.
 * - `olderThanMillis`: runs that changed more recently stay.
 *
 * With both, a run is removed only if neither keeps it. `findExpired` and `prune` refuse a policy with none.
 *
 * @category model
 */
export interface RetentionPolicy {
  readonly keep?: number
  readonly olderThanMillis?: number
  readonly statuses?: ReadonlyArray<PrunableStatus>
}

/**
 * The facts of a run that a policy needs. `isHeld`: a live process owns it; `isDamaged`: its newest state cannot be read; `endedAtMillis`:
 * when it last changed, since 1970-01-01 UTC.
 */
export interface RetainedRun {
  readonly runId: string
  readonly workflow: string
  readonly status: Status
  readonly isHeld: boolean
  readonly isDamaged: boolean
  readonly endedAtMillis: number
}

/** The statuses of finished runs: the default of a policy. */
export const FINISHED: ReadonlyArray<PrunableStatus> = ['completed', 'cancelled']

/**
 * Returns the runs to remove, oldest first, then by id. Never includes held runs, or runs with an invalid time. Includes damaged runs, which
 * do not count for `keep`: the caller keeps and reports them. `nowMillis`: the current time, since 1970-01-01 UTC.
 */
export const expired = <Run extends RetainedRun>(
  runs: ReadonlyArray<Run>,
  { keep, olderThanMillis, statuses = FINISHED }: RetentionPolicy,
  nowMillis: number
): ReadonlyArray<Run> => {
  if (keep === undefined && olderThanMillis === undefined) return []
  const seen = new Map<string, number>()
  return runs
    .filter((run) => statuses.some((one) => one === run.status) && !run.isHeld)
    .filter(({ endedAtMillis }) => Number.isFinite(endedAtMillis))
    .sort((a, b) => b.endedAtMillis - a.endedAtMillis || (a.runId < b.runId ? 1 : -1))
    .filter(({ workflow, isDamaged, endedAtMillis }) => {
      const newer = seen.get(workflow) ?? 0
      if (!isDamaged) seen.set(workflow, newer + 1)
      return newer >= (keep ?? 0) && (olderThanMillis === undefined || nowMillis - endedAtMillis > olderThanMillis)
    })
    .reverse()
}
