/** Bounds the size of a checkpoint by the sizes of its changes, so that a store need not measure it at each save. */
import type { Change } from './Change.js'

/** The most that {@link slack} allows. */
export const RESUME_BYTES = 65_536

/** `baseBytes`: 0 before the first save of the claim; `revision`: the newest one, -1 if the claim found nothing. */
interface Progress {
  readonly baseBytes: number
  readonly revision: number
}

/**
 * Returns by how many bytes a save may exceed the limit. The first save of a claim and each save of a move may, so that a run at its limit can still
 * be answered, cancelled or moved. A save that begins a run or starts an attempt may not, because the attempt's result could not be recorded.
 */
export const slack = ({ baseBytes, revision }: Progress, changes: ReadonlyArray<Pick<Change, '_tag'>>): number => {
  const isResume = (baseBytes === 0 && revision >= 0) || changes[0]?._tag === 'Moved'
  return isResume && changes.every(({ _tag }) => _tag !== 'AttemptStarted') ? RESUME_BYTES : 0
}

/** The most that a record has around the facts of its change: a fingerprint, a position, times. */
const RECORD_BYTES = 256

/**
 * Returns an upper bound of the bytes that changes of this total size add to a checkpoint: it holds an error twice, and an output once more for
 * each variable that captures it. `Infinity` if old outputs may become variables, so that the checkpoint itself must be measured.
 */
export const growth = (changes: ReadonlyArray<Change>, bytes: number): number => {
  let copies = 2
  for (const change of changes) {
    if (change._tag === 'Rewound' || change._tag === 'WorkflowEdited') return Infinity
    if ('captured' in change) copies = Math.max(copies, 2 + (change.captured?.length ?? 0))
  }
  return copies * bytes + changes.length * RECORD_BYTES
}
