/** What every part of the JSON store needs: the outside world, and the settings. */
import type { FileSystem } from './files/FileSystem.js'
import type { Processes } from './claim/Processes.js'

/**
 * - `keep`: how many journals with a verified base are kept.
 * - `checkIntervalMillis`: how often an owner looks, between saves, whether it was superseded.
 * - `heartbeatMillis`, `staleMillis`: how often an owner touches its heartbeat, and after what time without a touch it
 *   counts as dead for those who can't see its process.
 * - `checkpointBytes`, `readBytes`: the limits of a whole checkpoint and of a file that is read.
 * - `compactBytes`: changes below this size never cause a compaction.
 * - `warnBytes`, `onLarge`: from which size on a checkpoint is told of, and whom.
 */
export interface Settings {
  readonly keep: number
  readonly checkIntervalMillis: number
  readonly heartbeatMillis: number
  readonly staleMillis: number
  readonly checkpointBytes: number
  readonly readBytes: number
  readonly compactBytes: number
  readonly warnBytes: number
  readonly onLarge: (large: LargeCheckpoint) => void
}

/**
 * A checkpoint that is saved, and larger than most: how many bytes its JSON text has (escapes aside), how many would be refused, and
 * its largest values, largest first.
 *
 * @category model
 */
export interface LargeCheckpoint {
  readonly runId: string
  readonly bytes: number
  readonly limitBytes: number
  readonly biggest: ReadonlyArray<{ readonly path: string; readonly bytes: number }>
}

/** One source's answer about the owner of a claim; `undefined`: it cannot tell. */
export type Answer = 'alive' | 'dead' | undefined

/**
 * One observation of a heartbeat. `beat` changes with each touch; `sinceMillis`: when this beat was first seen, by the
 * monotonic clock; `moved`: it changed between two looks.
 */
export interface Look {
  readonly beat: string
  readonly sinceMillis: number
  readonly moved: boolean
}

/**
 * `givenUp` holds the tokens of claims of this thread that ended without a released line: poisoned ones, and those whose
 * release failed. `looks` holds this thread's last look at each heartbeat, by path.
 */
export interface Context {
  readonly root: string
  readonly fs: FileSystem
  readonly processes: Processes
  readonly settings: Settings
  readonly givenUp: Set<string>
  readonly looks: Map<string, Look>
}
