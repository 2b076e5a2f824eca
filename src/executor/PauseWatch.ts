/**
 * What an execution knows of requests to pause it.
 *
 * @since 0.1.0
 */
import type { PauseRequest } from '../domain/Pause.js'

/**
 * Looks out for requests while a run is executed. `look`: whether one is there, and a promise only if one may be; what was seen
 * once is seen for ever. `seen`: the request that was seen.
 *
 * @category model
 * @since 0.1.0
 */
export interface PauseWatch {
  /** Whether this execution is to pause. */
  readonly look: () => false | Promise<boolean>
  /** The request that was seen. */
  readonly seen: () => Pick<PauseRequest, 'commit'> | undefined
}
