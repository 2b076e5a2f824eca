/**
 * The steps of a run, and the groups of its waves: how far each has come.
 *
 * @since 0.1.0
 */
import type { Checkpoint } from '../../domain/Checkpoint.js'
import * as State from '../../domain/CheckpointState.js'
import type { CompletedStep, CompletedSteps } from '../../domain/CompletedStep.js'
import * as Steps from '../../domain/CompletedStep.js'
import type { Json } from '../../domain/Json.js'
import type { PendingJob } from '../../domain/PendingJob.js'
import { join } from '../../domain/Unit.js'
import type { StepError } from '../../domain/StepError.js'
import { groupsOf } from '../../domain/WorkflowIdentity.js'

/**
 * A step, or a group of a wave. `index` counts steps from 0; `attempts` is 0 for what was never started; `groups`: of a
 * wave, how many of its groups are done.
 *
 * @category model
 * @since 0.1.0
 */
export interface UnitView {
  readonly index: number
  readonly name: string
  readonly group?: string
  readonly status: 'completed' | 'failed' | 'in flight' | 'pending' | 'not started'
  readonly groups?: { readonly completed: number; readonly total: number }
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
  const known = factsOf(checkpoint)
  return checkpoint.workflow.steps.flatMap((step, index) => {
    if (step.kind === 'task') return [unitOf(known, { index, name: step.name })]
    const groups = groupsOf(step).map(({ name }) => unitOf(known, { index, name: step.name, group: name }))
    return [waveOf(known, { index, name: step.name }, groups), ...groups]
  })
}

/** What a checkpoint says, to be looked up by unit. */
interface Facts {
  readonly state: State.CheckpointState
  readonly records: CompletedSteps
  readonly inFlight: ReadonlyMap<string, State.InFlight>
  readonly failures: ReadonlyMap<string, State.Failure>
  readonly jobs: ReadonlyMap<string, PendingJob>
}

const factsOf = ({ state, completedSteps: records, pending }: Checkpoint): Facts => ({
  state,
  records,
  inFlight: new Map(State.inFlight(state).map((one) => [one.unit, one])),
  failures: new Map(State.failures(state).map((one) => [one.unit, one])),
  jobs: new Map(pending.map((one) => [one.unit, one]))
})

type Place = Pick<UnitView, 'index' | 'name' | 'group'>

const unitOf = ({ state, records, inFlight, failures, jobs }: Facts, place: Place): UnitView => {
  const { name, group } = place
  const unit = group === undefined ? name : join(name, group)
  const record = Steps.get(records, unit)
  if (record !== undefined) return recorded(place, record)
  const base = { ...place, assumed: false }
  const job = jobs.get(unit)
  if (job !== undefined) return { ...base, status: 'pending', attempts: job.attempt ?? 1, job }
  if (state.step !== name) return { ...base, status: 'not started', attempts: 0 }
  const running = inFlight.get(unit)
  const failure = failures.get(unit)
  const error = failure === undefined ? {} : { error: failure.error }
  if (running !== undefined) return { ...base, status: 'in flight', attempts: running.attempt, ...error }
  if (failure !== undefined) {
    return { ...base, status: 'failed', attempts: failure.attempts.at(-1)?.attempt ?? 1, ...error }
  }
  return { ...base, status: 'not started', attempts: 0 }
}

const recorded = (place: Place, { attempts, durationMillis, output, assumed }: CompletedStep): UnitView => ({
  ...place,
  status: 'completed',
  assumed: assumed === true,
  attempts,
  durationMillis,
  ...(output === undefined ? {} : { output })
})

/** A wave has no attempts of its own: it has begun when one of its groups has. */
const waveOf = (known: Facts, place: Place, of: ReadonlyArray<UnitView>): UnitView => {
  const groups = { completed: of.filter(({ status }) => status === 'completed').length, total: of.length }
  const wave = { ...unitOf(known, place), groups }
  if (wave.status === 'completed') return wave
  if (known.state._tag === 'Failed' && known.state.step === place.name) return { ...wave, status: 'failed' }
  const has = (status: UnitView['status']): boolean => of.some((group) => group.status === status)
  if (has('pending') && !has('in flight')) return { ...wave, status: 'pending' }
  return { ...wave, status: of.every(({ status }) => status === 'not started') ? 'not started' : 'in flight' }
}
