/** Flaws in how a store takes over. */

/**
 * Each flaw, and the case that detects it.
 *
 * @internal
 */
export const TAKE_OVER_KILLED_BY = {
  'takes over from owners that live': 'CS-TAKE-01',
  'takes over only held runs': 'CS-TAKE-02',
  'treats undecided owners as dead': 'CS-TAKE-03',
  'reports undecided owners as alive': 'CS-TAKE-03',
  'does not take over': 'CS-TAKE-04',
  'lets the superseded owner go on writing': 'CS-TAKE-05',
  'takes over from itself': 'CS-TAKE-06'
} as const
