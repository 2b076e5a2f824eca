/** The dependencies and settings shared by all parts of the JSON store. */
import type { FileSystem } from './files/FileSystem.js'
import type { Undeleted } from './claim/Deletion.js'
import type { Processes } from './claim/Processes.js'

export interface Settings {
  /** How many journals with a verified base a run keeps. */
  readonly keep: number
  /** How often an owner checks between saves whether it was superseded. */
  readonly checkIntervalMillis: number
  /** How often an owner touches its heartbeat. */
  readonly heartbeatMillis: number
  /** The time without a touch after which an owner counts as dead for processes that cannot see its process. */
  readonly staleMillis: number
  /** The largest checkpoint to save. */
  readonly checkpointBytes: number
  /** The largest file to read. */
  readonly readBytes: number
  /** Changes below this size never cause a compaction. */
  readonly compactBytes: number
  /** The checkpoint size from which `onLarge` is called. */
  readonly warnBytes: number
  readonly onLarge: (large: LargeCheckpoint) => void
}

/**
 * A saved checkpoint that is unusually large. `bytes`: the length of its JSON (without escapes); `limitBytes`: the
 * size that would be refused; `biggest`: its largest values, largest first.
 *
 * @category model
 */
export interface LargeCheckpoint {
  readonly runId: string
  readonly bytes: number
  readonly limitBytes: number
  readonly biggest: ReadonlyArray<{ readonly path: string; readonly bytes: number }>
}

/** What one source shows about the owner of a claim; `undefined`: undecided. */
export type Verdict = 'alive' | 'dead' | undefined

/**
 * One observation of a heartbeat: `beat` changes with each touch, `sinceMillis` (monotonic) is when that beat was first seen, `hasChanged` if an
 * earlier observation saw another beat.
 */
export interface Observation {
  readonly beat: string
  readonly sinceMillis: number
  readonly hasChanged: boolean
}

export interface Context {
  readonly root: string
  readonly fs: FileSystem
  readonly processes: Processes
  readonly settings: Settings
  /** Tokens of claims of this thread that ended without a released line: a write or the release failed. */
  readonly givenUp: Set<string>
  /** This thread's last observation of each heartbeat, by path. */
  readonly observations: Map<string, Observation>
  readonly deleteRemoved: () => Promise<Undeleted>
}
