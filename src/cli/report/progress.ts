/** Reports the progress of a run. */
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { progress } from '../../domain/checkpoint/Checkpoint.js'
import { grouped } from '../../view/text.js'

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
