/** Decides for every store whether the revisions of a save follow what is stored. */

/**
 * The revisions of a save do not follow the stored one.
 *
 * @category errors
 */
export interface RevisionConflict {
  readonly _tag: 'RevisionConflict'
  readonly runId: string
  readonly expected: number
  readonly found: number
}

/** Returns the first revision that does not follow. `stored`: the newest stored revision, -1 if there is none. */
export const conflictOf = (
  runId: string,
  stored: number,
  revisions: ReadonlyArray<{ readonly revision: number }>
): RevisionConflict | undefined => {
  let expected = stored
  for (const { revision: found } of revisions)
    if (found !== ++expected) return { _tag: 'RevisionConflict', runId, expected, found }
  return undefined
}
