/**
 * The steps of a run, and the groups of its waves: how far each has come.
 *
 * @since 0.1.0
 */
import type { Checkpoint } from '../../domain/Checkpoint.js'
import * as State from '../../domain/CheckpointState.js'
import type { CompletedStep } from '../../domain/CompletedStep.js'
import type { Json } from '../../domain/Json.js'
import type { PendingJob } from '../../domain/PendingJob.js'
import { unitName } from '../../domain/Plan.js'
import type { StepError } from '../../domain/StepError.js'

/**
 * A step, or a group of a wave. `index` counts steps from 0; `attempts` is 0 for what was never started.
 *
 * @category model
 * @since 0.1.0
 */
export interface UnitView {
  readonly index: number
  readonly name: string
  readonly group?: string
  readonly status: 'completed' | 'failed' | 'in flight' | 'pending' | 'not started'
  readonly assumed: boolean
  readonly attempts: number
  readonly durationMillis?: number
  readonly output?: Json
  readonly job?: PendingJob
  readonly error?: StepError
}

/**
 * All units of a run in the order of its workflow, each wave followed by its groups.
 *
 * @category destructors
 * @since 0.1.0
 */
export const unitsOf = (checkpoint: Checkpoint): ReadonlyArray<UnitView> => {
  const records = new Map<string, CompletedStep>()
  for (const record of checkpoint.completedSteps) records.set(unitName(record), record)
  return checkpoint.workflow.steps.flatMap((step, index) => {
    const ofStep = (group?: string): UnitView => unitOf(checkpoint, records, index, step.name, group)
    return step.kind === 'task' ? [ofStep()] : [ofStep(), ...step.groups.map(({ name }) => ofStep(name))]
  })
}

const unitOf = (
  { state, pending }: Checkpoint,
  records: ReadonlyMap<string, CompletedStep>,
  index: number,
  name: string,
  group: string | undefined
): UnitView => {
  const unit = { index, name, ...(group === undefined ? {} : { group }) }
  const record = records.get(unitName({ step: name, ...(group === undefined ? {} : { group }) }))
  if (record !== undefined) {
    const { attempts, durationMillis, output, assumed } = record
    return {
      ...unit,
      status: 'completed',
      assumed: assumed === true,
      attempts,
      durationMillis,
      ...(output === undefined ? {} : { output })
    }
  }
  const base = { ...unit, assumed: false }
  const job = pending.find((one) => one.step === name && one.group === group)
  if (job !== undefined) return { ...base, status: 'pending', attempts: job.attempt ?? 1, job }
  if (state.step !== name) return { ...base, status: 'not started', attempts: 0 }
  const running = State.inFlight(state).find((one) => one.group === group)
  const failure = State.failures(state).find((one) => one.group === group)
  const error = failure === undefined ? {} : { error: failure.error }
  if (running !== undefined) return { ...base, status: 'in flight', attempts: running.attempt, ...error }
  if (failure !== undefined) {
    return { ...base, status: 'failed', attempts: failure.attempts.at(-1)?.attempt ?? 1, ...error }
  }
  const waveAtWork = group === undefined && State.inFlight(state).length > 0
  const waveFailed = group === undefined && state._tag === 'Failed'
  return { ...base, status: waveFailed ? 'failed' : waveAtWork ? 'in flight' : 'not started', attempts: 0 }
}
