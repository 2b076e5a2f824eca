/**
 * What may be asked of a plan.
 *
 * @since 0.1.0
 */
import type { Checkpoint } from '../../domain/Checkpoint.js'
import type { Json } from '../../domain/Json.js'
import type { Answer, MissingEvidence, PlanOptions } from '../../domain/Plan.js'
import type { Workflow } from '../../domain/Workflow.js'
import type { Dice } from './Dice.js'
import { pick } from './Dice.js'
import type { Samples } from './Samples.js'
import { defaultSamples, doneAnswer, taskUnits } from './Samples.js'
import type { Moment } from './Tape.js'

/**
 * What may be asked of a plan, as the dice say: mostly nothing.
 *
 * @category arbitraries
 * @since 0.1.0
 */
export const chooseOptions = (dice: Dice, moment: Moment, samples: Samples = defaultSamples): PlanOptions => ({
  ...(dice.roll(5) === 4 ? { fromStep: pick(dice, moment.workflow.steps).name } : {}),
  ...(dice.roll(5) === 4 ? restart(dice, moment.workflow) : {}),
  ...(dice.roll(4) === 3 ? { changes: pick(dice, ['ignore', 'ignore', 'strict', 'completed'] as const) } : {}),
  ...(dice.roll(4) === 3 ? { confirm: chooseAnswers(dice, moment, samples) } : {}),
  ...(dice.roll(3) === 2 ? { outputs: chooseOutputs(dice, moment, samples) } : {}),
  ...(dice.roll(4) === 3 ? { evidence: chooseMissing(dice, moment.checkpoint) } : {})
})

const restart = (dice: Dice, { steps }: Workflow): PlanOptions => {
  const waves = steps.filter((step) => step._tag !== 'Task')
  return waves.length === 0 ? {} : { restartWave: pick(dice, waves).name }
}

const chooseAnswers = (dice: Dice, { checkpoint, workflow }: Moment, samples: Samples): ReadonlyMap<string, Answer> => {
  const answers = new Map<string, Answer>()
  for (const [name, task] of taskUnits(workflow, checkpoint.workflow)) {
    const roll = dice.roll(6)
    if (roll === 4) answers.set(name, { _tag: 'Again' })
    if (roll === 5) answers.set(name, doneAnswer(samples, task, name, dice))
  }
  return answers
}

/**
 * An output for each unit of which one is known.
 *
 * @category arbitraries
 * @since 0.1.0
 */
export const chooseOutputs = (
  dice: Dice,
  { checkpoint, workflow }: Moment,
  samples: Samples
): ReadonlyMap<string, Json> => {
  const outputs = new Map<string, Json>()
  for (const [name, task] of taskUnits(workflow, checkpoint.workflow)) {
    const answer = doneAnswer(samples, task, name, dice)
    if (answer._tag === 'Done' && answer.output !== undefined) outputs.set(name, answer.output)
  }
  return outputs
}

/**
 * Evidence that is gone, of some of the units that are recorded.
 *
 * @category arbitraries
 * @since 0.1.0
 */
export const chooseMissing = (dice: Dice, { completedSteps }: Checkpoint): ReadonlyArray<MissingEvidence> =>
  [...completedSteps]
    .filter(() => dice.roll(3) === 2)
    .map(({ step, group }) => ({
      step,
      ...(group === undefined ? {} : { group }),
      missing: [{ _tag: 'File', path: `${step}.txt` }]
    }))
