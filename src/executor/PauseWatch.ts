/**
 * What an execution knows of requests to pause it.
 *
 * @since 0.1.0
 */
import type { StorageError } from '../ports/CheckpointStorage.js'

/**
 * What was asked for: a pause, and whether to `commit`. `unreadable`: why it can't be told who asked, and for what; then it is the least.
 *
 * @category model
 * @since 0.1.0
 */
export interface Asked {
  readonly commit: boolean
  readonly unreadable?: StorageError
}

/**
 * Looks out for requests while a run is executed. `look`: whether one is there, and a promise only if one may be; what was seen
 * once is seen for ever. `seen`: whether one was. `asked`: what the last of them asks for.
 *
 * @category model
 * @since 0.1.0
 */
export interface PauseWatch {
  /** Whether this execution is to pause. */
  readonly look: () => false | Promise<boolean>
  /** Whether a request was seen. */
  readonly seen: () => boolean
  /** What the newest request asks for, once one was seen. */
  readonly asked: () => Promise<Asked>
}
