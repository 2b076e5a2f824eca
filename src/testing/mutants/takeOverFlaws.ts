/**
 * What can be wrong with how a store takes over, and the case of the kit that names each flaw.
 *
 * @since 0.1.0
 */

/**
 * Each flaw, and the case that finds it.
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
