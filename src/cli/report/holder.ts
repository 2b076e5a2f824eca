/** Describes the owner of a run. */
import type { Holder } from '../../ports/CheckpointStorage.js'

/** The owner, with its liveness if that is undecided. */
export const holderText = ({ host, pid, since, liveness }: Holder): string =>
  `process ${pid} on ${host} since ${since}${liveness === 'undecided' ? ', which may be dead' : ''}`
