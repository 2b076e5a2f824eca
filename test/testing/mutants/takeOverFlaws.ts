/** Flaws in how a store takes over. */

/**
 * Each flaw, and the case that detects it.
 *
 * @internal
 */
export const TAKE_OVER_KILLED_BY = {
  'takes over from owners that live': 'CS-TAKE-01',
  'takes over only what somebody holds': 'CS-TAKE-02',
  'takes undecided owners for dead': 'CS-TAKE-03',
  'says that undecided owners live': 'CS-TAKE-03',
  'does not take over': 'CS-TAKE-04',
  'shares a run with the owner that it takes it from': 'CS-TAKE-05',
  'takes over from itself': 'CS-TAKE-06'
} as const
