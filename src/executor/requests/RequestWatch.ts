/** What an execution knows of requests to pause or cancel it. */
import type { CancelRequest } from '../../domain/request/Request.js'
import type { StorageError } from '../../ports/CheckpointStorage.js'

/**
 * What was asked for: to `cancel`, or else to pause, and whether to `commit`. `unreadable`: why the requests or their addressee
 * cannot be read; then the execution pauses and commits nothing.
 */
export interface Asked {
  readonly commit: boolean
  readonly cancel?: CancelRequest
  readonly unreadable?: StorageError
}

/**
 * Looks for requests while a run is executed. `look` returns a promise only if there may be one; a request that was seen once
 * counts until the execution ends.
 */
export interface RequestWatch {
  /** Whether this execution is to stop. */
  readonly look: () => false | Promise<boolean>
  /** Whether a request was seen. */
  readonly seen: () => boolean
  /** What the newest requests ask for, once one was seen. A cancel outweighs a pause. */
  readonly asked: () => Promise<Asked>
}

/** Whether an execution is to stop because somebody asked for it. */
export const isToStop = async ({ requests }: { readonly requests: RequestWatch }): Promise<boolean> => {
  const asked = requests.look()
  return asked !== false && (await asked)
}
