/** Bounds the size of a checkpoint by the sizes of its changes, so that a store need not measure it at each save. */
import type { Change } from './Change.js'

/** The first save of a claim may exceed the limit by this, so that a run at its limit can still be resumed or cancelled. */
export const RESUME_BYTES = 65_536

/** The most that a record has around the facts of its change: a fingerprint, a position, times. */
const RECORD_BYTES = 256

/**
 * Returns an upper bound of the bytes that changes of this total size add to a checkpoint: it holds an error twice, and an output once more for
 * each variable that captures it. `Infinity` if old outputs may become variables, so that only the checkpoint can tell.
 */
export const growth = (changes: ReadonlyArray<Change>, bytes: number): number => {
  let copies = 2
  for (const change of changes) {
    if (change._tag === 'Rewound' || change._tag === 'WorkflowEdited') return Infinity
    if ('captured' in change) copies = Math.max(copies, 2 + change.captured.length)
  }
  return copies * bytes + changes.length * RECORD_BYTES
}
