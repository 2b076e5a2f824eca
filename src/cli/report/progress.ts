/** How far a run has come, in a few words. */
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { progress } from '../../domain/checkpoint/Checkpoint.js'
import type { StepIdentity } from '../../domain/workflow/WorkflowIdentity.js'

/** The share of a run that is done. Its position does not count: a failed step is not done. */
export const progressOf = (checkpoint: Checkpoint): string =>
  progressText(checkpoint.workflow.steps, progress(checkpoint).completed)

/** The count as text: `2/3 waves done (67%)` if there are several steps and all are waves, else `2/5 steps done (40%)`. */
export const progressText = (steps: ReadonlyArray<Pick<StepIdentity, '_tag'>>, done: number): string => {
  const areWaves = steps.length > 1 && steps.every(({ _tag }) => _tag === 'Wave' || _tag === 'Map')
  return `${grouped(done)}/${grouped(steps.length)} ${areWaves ? 'waves' : 'steps'} done (${share(done, steps.length)}%)`
}

/** Rounded, and 100 only if nothing is left. */
const share = (done: number, total: number): number =>
  done >= total ? 100 : Math.min(99, Math.round((done / total) * 100))

/** A number as people read it: `10,000`. */
export const grouped = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')
