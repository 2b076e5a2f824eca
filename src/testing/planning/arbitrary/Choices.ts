/** Makes random choices from an array of numbers, so that a run can be repeated and shrunk. */
import * as fc from 'fast-check'
import type { Json } from '../../../domain/data/Json.js'
import type { Answer } from '../../../domain/plan/Plan.js'
import type { Task } from '../../../domain/workflow/Workflow.js'
import type { Samples } from './Samples.js'
import { accepts, defaultSamples } from './Samples.js'

/** Once the numbers are used up, every choice is 0: the outcome without faults. */
export interface Choices {
  /** An integer from 0 to below `bound`. */
  readonly below: (bound: number) => number
  /** The possible outputs of units. */
  readonly samples: Samples
}

export const choicesOf = (numbers: ReadonlyArray<number>, samples: Samples = defaultSamples): Choices => {
  let next = 0
  return { below: (bound) => (numbers[next++] ?? 0) % bound, samples }
}

export const noFaults: Choices = choicesOf([])

export const pick = <A>(choices: Choices, all: ReadonlyArray<A>): A => all[choices.below(all.length)] as A

/** Chooses an output. `isRequired`: never chooses `undefined`. */
export const chooseOutput = (choices: Choices, task: Task, unit: string, isRequired = false): Json | undefined => {
  const outputs = choices.samples(task, unit).filter((output) => !(isRequired && output === undefined))
  return outputs[choices.below(Math.max(1, outputs.length))]
}

/** `Done` with an accepted output; `Again` if none is known and the task or its variables need one. */
export const doneAnswer = (choices: Choices, task: Task, unit: string): Answer => {
  const isRequired = task.captures.length > 0
  const output = chooseOutput(choices, task, unit, isRequired)
  if (output !== undefined) return { _tag: 'Done', output }
  return isRequired || !accepts(task, undefined) ? { _tag: 'Again' } : { _tag: 'Done' }
}

/** Arbitrary numbers, enough for most runs. They shrink towards a run without faults. */
export const numbers: fc.Arbitrary<ReadonlyArray<number>> = fc.noBias(
  // With the default size and bias, most arrays would have fewer than ten numbers, nearly all of them small.
  fc.array(fc.nat({ max: 0xffff }), { maxLength: 150, size: 'max' })
)
