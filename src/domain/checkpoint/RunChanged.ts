/** Decides for every store whether a removal finds the run that it names. */

/**
 * A removal named the revision `expected`, but the newest one is `found`; if both are equal, `found` is that of another run with the id.
 * Nothing was removed.
 *
 * @category errors
 */
export interface RunChanged {
  readonly _tag: 'RunChanged'
  readonly runId: string
  readonly expected: number
  readonly found: number
}

/** The newest stored revision. `at`: the time of its change, undefined if that is damaged. */
export interface Newest {
  readonly revision: number
  readonly at: string | undefined
}

/** Returns why a removal that names `newest` must not remove the run `found`. A run without a revision may always be removed. */
export const changedSince = (
  runId: string,
  { newest }: { readonly newest?: Newest },
  found: Newest | undefined
): RunChanged | undefined =>
  newest === undefined || found === undefined || (newest.revision === found.revision && newest.at === found.at)
    ? undefined
    : { _tag: 'RunChanged', runId, expected: newest.revision, found: found.revision }
