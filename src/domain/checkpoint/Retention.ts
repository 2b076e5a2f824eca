/** What becomes of runs that are over: which of them may go. */
import type { Status } from './Checkpoint.js'

/**
 * What becomes of a run that has completed: its state is kept; its last checkpoint goes to the archive, and its state away; or
 * its state goes away.
 *
 * @category model
 */
export type OnSuccess = 'keep' | 'archive' | 'delete'

/** What a run may be for its state to go away: not in the hands of a process. */
export type PrunableStatus = Exclude<Status, 'running'>

/**
 * Which runs go. Of those that have one of `statuses` (default: {@link FINAL}):
 *
 * - `keep`: the newest so many of each workflow stay;
 * - `olderThanMillis`: those stay that ended, or last changed, no longer ago.
 *
 * With both, a run goes only if neither lets it stay; with none nothing goes.
 *
 * @category model
 */
export interface RetentionPolicy {
  readonly keep?: number
  readonly olderThanMillis?: number
  readonly statuses?: ReadonlyArray<PrunableStatus>
}

/**
 * What is to be known of a run: `isHeld`, whether a live process has it; `isDamaged`, whether it could only be recovered; `endedAtMillis`:
 * when it ended, or last changed, since 1970-01-01 UTC.
 */
export interface RetainedRun {
  readonly runId: string
  readonly workflow: string
  readonly status: Status
  readonly isHeld: boolean
  readonly isDamaged: boolean
  readonly endedAtMillis: number
}

/** The statuses of runs that are over: what a policy applies to by default. */
export const FINAL: ReadonlyArray<PrunableStatus> = ['completed', 'cancelled']

/**
 * The runs that go, oldest first; of those that ended in the same millisecond, in the order of their ids. Never one that a live process
 * has, nor a damaged one, which is evidence, nor one whose time can't be read. `nowMillis`: the time now, since 1970-01-01 UTC.
 */
export const expired = <Run extends RetainedRun>(
  runs: ReadonlyArray<Run>,
  { keep, olderThanMillis, statuses = FINAL }: RetentionPolicy,
  nowMillis: number
): ReadonlyArray<Run> => {
  if (keep === undefined && olderThanMillis === undefined) return []
  const seen = new Map<string, number>()
  return runs
    .filter((run) => statuses.some((one) => one === run.status) && !run.isHeld && !run.isDamaged)
    .filter(({ endedAtMillis }) => Number.isFinite(endedAtMillis))
    .sort((a, b) => b.endedAtMillis - a.endedAtMillis || (a.runId < b.runId ? 1 : -1))
    .filter(({ workflow, endedAtMillis }) => {
      const newer = seen.get(workflow) ?? 0
      seen.set(workflow, newer + 1)
      return newer >= (keep ?? 0) && (olderThanMillis === undefined || nowMillis - endedAtMillis > olderThanMillis)
    })
    .reverse()
}
