/** The requests to pause or cancel a run, as its execution sees them. Sequences and waves call `mustStop` before each step and group. */
import type { CancelRequest } from '../../domain/request/Request.js'
import type { StorageError } from '../../ports/CheckpointStorage.js'

/** A request to `cancel`, or else to pause. `commit`: commit the worktree. `unreadable`: the inbox cannot be read, so the run pauses. */
export interface StopRequest {
  readonly commit: boolean
  readonly cancel?: CancelRequest
  readonly unreadable?: StorageError
}

/**
 * `look` reads the inbox, and returns whether the run must stop: a promise only if there may be a request. A request that was seen counts until the
 * execution ends.
 */
export interface StopRequests {
  readonly look: () => false | Promise<boolean>
  readonly isStopSeen: () => boolean
  /** Reads the inbox again, once a request was seen. A cancel outweighs a pause. */
  readonly newestStop: () => Promise<StopRequest>
}

export const mustStop = async ({ requests }: { readonly requests: StopRequests }): Promise<boolean> => {
  const looking = requests.look()
  return looking !== false && (await looking)
}
