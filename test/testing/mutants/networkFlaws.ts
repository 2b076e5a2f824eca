/** Flaws of stores behind a network. */

/**
 * Each flaw, and the case that detects it.
 *
 * @internal
 */
export const NETWORK_KILLED_BY = {
  'says that a save without a reply is not stored': 'CS-NET-01',
  'repeats a save without looking for it': 'CS-NET-01',
  'holds a run whose claim had no reply': 'CS-NET-02',
  'takes a broken connection for a missing run': 'CS-NET-03',
  'counts a removal without a reply as unfinished': 'CS-NET-04',
  'takes a broken connection for a commit': 'CS-NET-05',
  'waits for a reply for ever': 'CS-NET-06',
  'counts its revisions itself': 'CS-OVER-01',
  'fences by epoch alone': 'CS-OVER-02',
  'lets an owner that slept go on writing': 'CS-LEASE-01',
  'never renews a lease that ran out': 'CS-LEASE-02'
} as const
