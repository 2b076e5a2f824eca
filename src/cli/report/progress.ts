/**
 * How far a run has come, in a few words.
 *
 * @since 0.1.0
 */
import type { Checkpoint } from '../../domain/Checkpoint.js'
import type { StepIdentity } from '../../domain/WorkflowIdentity.js'

/**
 * Where a run stands: `Wave 2/3 (67%)` in one of several waves, else `Step 2/5 (40%)`.
 *
 * @category destructors
 * @since 0.1.0
 */
export const progressOf = ({ state, workflow }: Checkpoint): string => placeIn(workflow.steps, state.stepIndex)

/**
 * The same of the step with this index.
 *
 * @category destructors
 * @since 0.1.0
 */
export const placeIn = (steps: ReadonlyArray<Pick<StepIdentity, 'kind'>>, stepIndex: number): string => {
  const waves = steps.flatMap(({ kind }, index) => (kind === 'task' ? [] : [index]))
  const wave = waves.indexOf(stepIndex)
  return wave === -1 || waves.length === 1
    ? share('Step', stepIndex + 1, steps.length)
    : share('Wave', wave + 1, waves.length)
}

const share = (word: string, number: number, total: number): string =>
  `${word} ${number}/${total} (${Math.round((number / total) * 100)}%)`

/**
 * A number as people read it: `10,000`.
 *
 * @category destructors
 * @since 0.1.0
 */
export const grouped = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')
