/** The store that simulated processes share. */
import { memoryRequests } from '../../../adapters/memory.js'
import type { CheckpointStorage } from '../../../ports/CheckpointStorage.js'
import type { Requests } from '../../../ports/Requests.js'
import type { StorageSpec } from '../../conformance/Spec.js'

/**
 * The store of simulated runs. {@link StorageSpec} defines `create`, `reopen` and `destroy`.
 * `start` opens the store for one simulated process and may inject faults, such as a failing read or a flipped bit. The
 * default is `reopen`, which otherwise only inspects what is stored. With `start`, up to ten processes in a row may end
 * with a storage error; the next one continues the run. A process that ignores such an error breaks a law.
 *
 * @category model
 */
export interface CrashStorage<Data> extends Pick<StorageSpec<Data>, 'create' | 'reopen' | 'destroy'> {
  /** Opens the store for the simulated process with this number, from 1. */
  readonly start?: (data: Data, life: number) => Promise<CheckpointStorage>
  /** Opens the requests of the run, for its processes and for those that send requests. Default: in memory. */
  readonly requests?: (data: Data) => Requests
}

/** The id of the simulated run. */
export const RUN_ID = 'simulated'

export const requestsOn = <Data>({ requests }: CrashStorage<Data>, data: Data): (() => Requests) => {
  if (requests !== undefined) return () => requests(data)
  const inMemory = memoryRequests()
  return () => inMemory
}
