/** Formats times, owners, progress and lists of names for people. */
import { systemClock } from '../../adapters/node/clock.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { progress } from '../../domain/checkpoint/Checkpoint.js'
import type { RunSummary } from '../../executor/storage/runs.js'
import { folded } from '../terminal/Style.js'
import { grouped } from '../../view/text.js'
import type { Holder } from '../../ports/CheckpointStorage.js'

/** The current time as checkpoints have it: `2026-01-02T03:04:05.678Z`. */
export const nowText = (): string => new Date(systemClock.now()).toISOString()

/** A time for people: `2026-01-02 03:04 UTC`. */
export const minute = (at: string): string => `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`

export const processText = ({ host, pid }: Pick<Holder, 'host' | 'pid'>): string => `process ${pid} on ${host}`

/** The owner of a run, with its liveness if that is undecided. */
export const holderText = ({ since, liveness, ...owner }: Holder): string =>
  `${processText(owner)} since ${since}${liveness === 'undecided' ? ', which may be dead' : ''}`

/** Folds a row of a plan below the name of its unit. */
export const rowFolded = (line: string, width: number): ReadonlyArray<string> =>
  folded(line, width, /^ +(?:\d+\/\d+ +)?\S+ +/.exec(line)?.[0].length ?? 2)

/** Cuts fingerprints to 12 digits; JSON has them whole. */
export const shortened = (text: string): string => text.replace(/\bv\d+:([0-9a-f]{12})[0-9a-f]{52}\b/g, '$1')

/** The status, progress and start of a run. */
export const positionOf = ({ status, steps, createdAt }: RunSummary): string =>
  `${status}, ${steps.completed}/${steps.total} steps completed, started ${minute(createdAt)}`

/** Counts completed steps, not the position: a failed step is not done. */
export const progressOf = (checkpoint: Checkpoint): string =>
  progressText(checkpoint.workflow.steps, progress(checkpoint).completed)

/** For example `2/3 waves done (67%)`, or `2/5 steps done (40%)` unless all steps are waves. */
export const progressText = (steps: ReadonlyArray<{ readonly _tag: string }>, done: number): string => {
  const areWaves = steps.length > 1 && steps.every(({ _tag }) => _tag === 'Wave' || _tag === 'Map')
  return `${grouped(done)}/${grouped(steps.length)} ${areWaves ? 'waves' : 'steps'} done (${share(done, steps.length)}%)`
}

/** 100 only if nothing is left. */
const share = (done: number, total: number): number =>
  done >= total ? 100 : Math.min(99, Math.round((done / total) * 100))

/** For example `one, two and 1,000 more`. */
export const firstNames = (names: ReadonlyArray<string>, most: number): string => {
  const more = names.length > most ? ` and ${grouped(names.length - most)} more` : ''
  return `${names.slice(0, most).join(', ')}${more}`
}
