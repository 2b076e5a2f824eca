/** The units of a run, each with its status, as reports and pages show them. */
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import * as State from '../checkpoint/CheckpointState.js'
import type { CompletedStep } from '../checkpoint/CompletedStep.js'
import type { PendingUnit } from '../checkpoint/Pending.js'
import { attemptOf } from '../checkpoint/Pending.js'
import { partNamed, partNames } from '../checkpoint/Tree.js'
import * as Units from '../checkpoint/Units.js'
import type { Json } from '../data/Json.js'
import type { StepError } from '../data/StepError.js'
import { subStepsOf } from '../plan/subSteps.js'
import type { Unit } from '../workflow/Unit.js'
import { join } from '../workflow/Unit.js'
import type { StepIdentity } from '../workflow/WorkflowIdentity.js'

/**
 * A unit of a run and its status. `index`: of its top-level step, from 0; `attempts`: 0 before the first, not counting those of parts;
 * `parts`: the number of the direct parts of a composite; `assumed`: a user or host declared it done; `pending`: what it waits for;
 * `answered`: its answer is recorded, and the next resume uses it.
 *
 * @category model
 */
export interface UnitView {
  readonly index: number
  readonly unit: Unit
  readonly kind: Lowercase<StepIdentity['_tag']> | 'sub-step'
  readonly status: 'completed' | 'failed' | 'in flight' | 'pending' | 'not started'
  readonly parts?: { readonly completed: number; readonly total: number }
  readonly assumed: boolean
  readonly attempts: number
  readonly durationMillis?: number
  readonly output?: Json
  readonly pending?: PendingUnit
  readonly answered?: true
  readonly error?: StepError
}

/**
 * Returns the units of a run in the order of the workflow: each composite before its parts, each task before its sub-steps.
 *
 * @example
 * import { unitsOf } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { runOutcome, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const greet = workflow('greet').step('hello', () => 'hello').waitFor('reply')
 * const outcome = await runOutcome(greet, { id: 'greet-1', storage: memoryStorage() })
 * assert.ok(outcome._tag === 'Pending')
 * assert.deepEqual(unitsOf(outcome.checkpoint).map(({ unit, status }) => [unit, status]), [
 *   ['hello', 'completed'],
 *   ['reply', 'pending']
 * ])
 *
 * @category looking
 */
export const unitsOf = (checkpoint: Checkpoint): ReadonlyArray<UnitView> => {
  const { items, workflow } = checkpoint
  const subSteps = subStepsOf(checkpoint)
  const viewsOf = (step: StepIdentity, index: number, unit: Unit): ReadonlyArray<UnitView> => {
    const place: Place = { index, unit, kind: step._tag.toLowerCase() as Lowercase<StepIdentity['_tag']> }
    if (step._tag === 'Task') {
      const calls = subSteps.get(unit) ?? []
      return [
        unitOf(checkpoint, place),
        ...calls.map((one) => unitOf(checkpoint, { index, unit: one.unit, kind: 'sub-step' }))
      ]
    }
    const parts = (partNames(step, unit, items) ?? []).map((part) => {
      const definition = partNamed<StepIdentity>(step, unit, part, items)
      return definition === undefined ? [] : viewsOf(definition, index, join(unit, part))
    })
    const own = parts.flatMap(([part]) => (part === undefined ? [] : [part]))
    return [compositeOf(checkpoint, place, own), ...parts.flat()]
  }
  return workflow.steps.flatMap((step, index) => viewsOf(step, index, step.name))
}

type Place = Pick<UnitView, 'index' | 'unit' | 'kind'>

const unitOf = ({ state, completedSteps, pending: waiting, answers }: Checkpoint, place: Place): UnitView => {
  const { unit } = place
  const record = Units.get(completedSteps, unit)
  if (record !== undefined) return recorded(place, record)
  const base = { ...place, assumed: false, ...(Units.has(answers, unit) ? ({ answered: true } as const) : {}) }
  const pending = Units.get(waiting, unit)
  if (pending !== undefined) return { ...base, status: 'pending', attempts: attemptOf(pending), pending }
  const running = Units.get(State.inFlight(state), unit)
  const failure = Units.get(State.failures(state), unit)
  const error = failure === undefined ? {} : { error: failure.error }
  if (running !== undefined)
    return {
      ...base,
      status: running.suspended === true ? 'pending' : 'in flight',
      attempts: running.attempt,
      ...error
    }
  if (failure !== undefined) {
    return { ...base, status: 'failed', attempts: failure.attempts.at(-1)?.attempt ?? 1, ...error }
  }
  // A sub-step without a record or state is one in doubt that the record of its task, or of a sub-step around it, names.
  return place.kind === 'sub-step'
    ? { ...base, status: 'failed', attempts: 1 }
    : { ...base, status: 'not started', attempts: 0 }
}

const recorded = (place: Place, { attempts, durationMillis, output, assumed }: CompletedStep): UnitView => ({
  ...place,
  status: 'completed',
  assumed: assumed === true,
  attempts,
  durationMillis,
  ...(output === undefined ? {} : { output })
})

/** Derives the status of a composite from its parts. */
const compositeOf = (checkpoint: Checkpoint, place: Place, parts: ReadonlyArray<UnitView>): UnitView => {
  const { unit } = place
  const counted = { completed: parts.filter(({ status }) => status === 'completed').length, total: parts.length }
  const view = { ...unitOf(checkpoint, place), parts: counted }
  if (view.status === 'completed') return view
  const has = (status: UnitView['status']): boolean => parts.some((part) => part.status === status)
  // A composite that failed its own check has no failed part.
  const isFailed =
    checkpoint.state.step === unit
      ? checkpoint.state._tag === 'Failed'
      : (view.status === 'failed' || has('failed')) && !has('in flight')
  if (isFailed) return { ...view, status: 'failed' }
  if (has('pending') && !has('in flight')) return { ...view, status: 'pending' }
  return { ...view, status: parts.every(({ status }) => status === 'not started') ? 'not started' : 'in flight' }
}
