/** What an execution sees of the requests to pause or cancel it. `watch.ts` reads them; the steps and waves ask `mustStop` before each step and group. */
import type { CancelRequest } from '../../domain/request/Request.js'
import type { StorageError } from '../../ports/CheckpointStorage.js'

/** What the requests ask for: to `cancel`, or else to pause. `unreadable`: they cannot be read, so the execution pauses and commits nothing. */
export interface Asked {
  readonly commit: boolean
  readonly cancel?: CancelRequest
  readonly unreadable?: StorageError
}

/** `look` returns a promise only if there may be a request. A request that was seen counts until the execution ends. */
export interface RequestWatch {
  readonly look: () => false | Promise<boolean>
  readonly seen: () => boolean
  /** Returns what the newest requests ask for, once one was seen. A cancel outweighs a pause. */
  readonly asked: () => Promise<Asked>
}

export const mustStop = async ({ requests }: { readonly requests: RequestWatch }): Promise<boolean> => {
  const seen = requests.look()
  return seen !== false && (await seen)
}
