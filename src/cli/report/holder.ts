/**
 * Who holds a run, for people.
 *
 * @since 0.1.0
 */
import type { Holder } from '../../ports/CheckpointStorage.js'

/**
 * The owner of a run, and whether it may be dead.
 *
 * @category destructors
 * @since 0.1.0
 */
export const holderText = ({ host, pid, since, liveness }: Holder): string =>
  `process ${pid} on ${host} since ${since}${liveness === 'undecided' ? ', which may be dead' : ''}`
