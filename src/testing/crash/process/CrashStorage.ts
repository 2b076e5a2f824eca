/** The store that simulated processes share. */
import { memoryRequests } from '../../../adapters/memory.js'
import type { CheckpointStorage } from '../../../ports/CheckpointStorage.js'
import type { Requests } from '../../../ports/Requests.js'
import type { StorageSpec } from '../../conformance/Spec.js'

/**
 * The store of simulated runs. {@link StorageSpec} says what `create`, `reopen` and `destroy` must do.
 *
 * `start` opens the store as a simulated process has it, default `reopen`, which is otherwise only used to look at what is
 * stored. Below that store something may go wrong: a read that fails, a bit that is flipped. So where there is a `start`, a process
 * may end with an error of its store or because what it found is damaged, and the next one follows, up to ten in a row;
 * what it must not do is to go on as if nothing had happened.
 *
 * @category model
 */
export interface CrashStorage<Data> extends Pick<StorageSpec<Data>, 'create' | 'reopen' | 'destroy'> {
  /** Opens the store as the simulated process with this number has it, from 1. */
  readonly start?: (data: Data, life: number) => Promise<CheckpointStorage>
  /** Opens where requests to runs are left, for a process and for whoever asks one; default in memory. */
  readonly requests?: (data: Data) => Requests
}

/** Where requests to runs are left: by the store's own, opened each time, or else in memory, once for the run. */
export const requestsOn = <Data>({ requests }: CrashStorage<Data>, data: Data): (() => Requests) => {
  if (requests !== undefined) return () => requests(data)
  const inMemory = memoryRequests()
  return () => inMemory
}
