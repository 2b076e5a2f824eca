/** Builds the outcome of a completed run, with the outputs of its steps. */
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import type { Json } from '../domain/data/Json.js'
import type { Unit } from '../domain/workflow/Unit.js'
import type { Program } from './program/Program.js'
import type { Completed } from './RunOutcome.js'
import { outputOf } from './Values.js'

export const completed = (program: Program<unknown, never>, checkpoint: Checkpoint): Completed => {
  let made: { readonly outputs: unknown } | undefined
  return {
    _tag: 'Completed',
    runId: checkpoint.runId,
    checkpoint,
    get outputs() {
      return (made ??= { outputs: outputsOf(program, checkpoint) }).outputs
    }
  }
}

const outputsOf = (program: Program<unknown, never>, { completedSteps, items }: Checkpoint): unknown => {
  const outputs = new Map<Unit, Json | undefined>()
  for (const record of completedSteps) outputs.set(record.unit, record.output)
  return Object.fromEntries(program.steps.map((step) => [step.name, outputOf({ outputs, items }, step, step.name)]))
}
