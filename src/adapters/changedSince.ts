/** Decides for every store whether a removal finds the run that it names. */
import type { HistoryEntry, RemoveOptions, RunChanged } from '../ports/CheckpointStorage.js'

export type Newest = Pick<HistoryEntry, 'revision'> & { readonly at: string | undefined }

/** `found`: the newest stored revision, without a time if that is damaged; a run without a revision has nothing to lose. */
export const changedSince = (
  runId: string,
  { newest }: RemoveOptions,
  found: Newest | undefined
): RunChanged | undefined =>
  newest === undefined || found === undefined || (newest.revision === found.revision && newest.at === found.at)
    ? undefined
    : { _tag: 'RunChanged', runId, expected: newest.revision, found: found.revision }
