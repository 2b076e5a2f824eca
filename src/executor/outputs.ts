/** Builds the outcome of a completed run, with the outputs of its steps. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../domain/Checkpoint.js'
import type { Json } from '../domain/Json.js'
import { join } from '../domain/Unit.js'
import type { Program, ProgramTask } from './Program.js'
import { expanded } from './Program.js'
import type { Completed } from './RunOutcome.js'

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

/** The planner has checked that all recorded outputs decode. */
const outputsOf = (program: Program<unknown, never>, checkpoint: Checkpoint): Readonly<Record<string, unknown>> => {
  const recorded = new Map<string, Json | undefined>()
  for (const record of checkpoint.completedSteps) recorded.set(record.unit, record.output)
  const valueOf = (task: ProgramTask, name: string): unknown => {
    const decoded = task.decode(recorded.get(name))
    return E.isRight(decoded) ? decoded.right : recorded.get(name)
  }
  const entries = expanded(program, checkpoint.workflow).steps.map((step) => [
    step.name,
    step._tag === 'Task'
      ? valueOf(step, step.name)
      : step._tag === 'Map'
        ? {}
        : Object.fromEntries(step.groups.map((group) => [group.name, valueOf(group, join(step.name, group.name))]))
  ])
  return Object.fromEntries(entries) as Readonly<Record<string, unknown>>
}
