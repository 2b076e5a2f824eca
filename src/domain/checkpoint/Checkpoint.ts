/** The whole state of a run at one revision; Transition changes it. */
import type { CheckpointState } from './CheckpointState.js'
import * as State from './CheckpointState.js'
import type { CompletedStep } from './CompletedStep.js'
import type { Renewals } from './IdempotencyKey.js'
import { none as noRenewals } from './IdempotencyKey.js'
import type { Items } from './Items.js'
import { itemAround, none as noItems } from './Items.js'
import type { Json } from '../data/Json.js'
import { isObject } from '../data/Json.js'
import type { BufferedAnswer, PendingUnit, Submission } from './Pending.js'
import type { Units } from './Units.js'
import { none } from './Units.js'
import type { Unit } from '../workflow/Unit.js'
import type { WorkflowIdentity } from '../workflow/WorkflowIdentity.js'
import type { Workspace } from '../workflow/Workspace.js'

// --- model

/** The format that this version writes, and the newest that it reads. */
export const FORMAT = 1

/**
 * Variables by name: the fields of the run's input, and the captured outputs of completed steps.
 *
 * @category model
 */
export type Variables = ReadonlyMap<string, Json>

/**
 * The fields of a checkpoint without its variables, which are derived.
 *
 * - `revision`: 0, 1, 2 … within the run, incremented by each change.
 * - `generation`: the number of rewinds.
 * - `items`: the recorded items of maps.
 * - `pending`: the units that wait for a job, a timer or an answer; `answers`: the answers that no wait has taken yet; `submissions`: the
 *   keys of jobs that may have been submitted.
 * - `renewals`: how often the idempotency key of a unit changed.
 * - `forkedFrom`: where a fork has its first records from.
 * - `moved`: the run moves between stores, and this copy cannot be resumed.
 * - `createdAt`, `updatedAt`: UTC, ISO 8601.
 *
 * Empty `items`, `answers`, `submissions` and `renewals` are not stored.
 */
export interface Fields {
  readonly format: typeof FORMAT
  readonly runId: string
  readonly revision: number
  readonly generation: number
  readonly workflow: WorkflowIdentity
  readonly input: Json
  readonly state: CheckpointState
  readonly completedSteps: Units<CompletedStep>
  readonly items: Items
  readonly pending: Units<PendingUnit>
  readonly answers: Units<BufferedAnswer>
  readonly submissions: Units<Submission>
  readonly renewals: Renewals
  readonly workspace?: Workspace
  readonly forkedFrom?: Origin
  readonly moved?: Move
  readonly createdAt: string
  readonly updatedAt: string
}

/** The run started: the first change of a run. `at`: UTC, ISO 8601. */
export interface Started {
  readonly _tag: 'Started'
  readonly at: string
  readonly runId: string
  readonly workflow: WorkflowIdentity
  readonly input: Json
  readonly workspace?: Workspace
}

/** The run and revision that a fork was made of, and the unit that it starts from. */
export interface Origin {
  readonly runId: string
  readonly revision: number
  readonly unit: Unit
}

/** The store that a run moves `to` or comes `from`: its location, without a password. */
export interface Move {
  readonly way: 'to' | 'from'
  readonly store: string
}

/** The whole state of a run at one revision. `variables` is derived from `input` and `completedSteps` when first read. */
export interface Checkpoint extends Fields {
  readonly variables: Variables
}

/**
 * The status of a run, derived from its checkpoint and the liveness of its owner; never stored.
 *
 * @category model
 */
export type Status =
  'queued' | 'running' | 'completed' | 'failed' | 'interrupted' | 'paused' | 'pending' | 'cancelled' | 'moved'

// --- constructors

/** Makes a checkpoint. */
export const make = (fields: Fields): Checkpoint => withVariables(copyOf(fields))

/** Returns a copy of the fields of a checkpoint. */
export const copyOf = (fields: Fields): Fields => {
  const plain: Fields = {
    format: fields.format,
    runId: fields.runId,
    revision: fields.revision,
    generation: fields.generation,
    workflow: fields.workflow,
    input: fields.input,
    state: fields.state,
    completedSteps: fields.completedSteps,
    items: fields.items,
    pending: fields.pending,
    answers: fields.answers,
    submissions: fields.submissions,
    renewals: fields.renewals,
    createdAt: fields.createdAt,
    updatedAt: fields.updatedAt
  }
  const { workspace, forkedFrom, moved } = fields
  if (workspace === undefined && forkedFrom === undefined && moved === undefined) return plain
  return {
    ...plain,
    ...(workspace === undefined ? {} : { workspace }),
    ...(forkedFrom === undefined ? {} : { forkedFrom }),
    ...(moved === undefined ? {} : { moved })
  }
}

/** Adds the variables to the fields themselves, which must not change any more. */
export const withVariables = (fields: Fields): Checkpoint =>
  Object.defineProperty(fields, 'variables', VARIABLES) as Checkpoint

const DERIVED = new WeakMap<Fields, Variables>()

/** One shared getter keeps all checkpoints in one hidden class. */
const VARIABLES = {
  enumerable: true,
  get(this: Fields): Variables {
    const known = DERIVED.get(this)
    if (known !== undefined) return known
    const derived = variablesOf(this.input, this.completedSteps, this.items)
    DERIVED.set(this, derived)
    return derived
  }
}

/**
 * Returns revision 0 of a run: before its first step, nothing in flight.
 *
 * @example
 * import { Checkpoint, Workflow, WorkflowIdentity } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const checkpoint = Checkpoint.start({
 *   _tag: 'Started',
 *   at: '2026-01-02T03:04:05.000Z',
 *   runId: 'release-1',
 *   workflow: WorkflowIdentity.of({ name: 'release', steps: [Workflow.task('build')] }),
 *   input: { channel: 'beta' }
 * })
 * assert.equal(checkpoint.state._tag, 'BeforeStep')
 * assert.equal(checkpoint.variables.get('channel'), 'beta')
 *
 * @category constructors
 */
export const start = (started: Started): Checkpoint =>
  make({
    format: FORMAT,
    runId: started.runId,
    revision: 0,
    generation: 0,
    workflow: started.workflow,
    input: started.input,
    state: State.beforeStep(0, started.workflow.steps[0]?.name ?? ''),
    completedSteps: none,
    items: noItems,
    pending: none,
    answers: none,
    submissions: none,
    renewals: noRenewals,
    ...(started.workspace === undefined ? {} : { workspace: started.workspace }),
    createdAt: started.at,
    updatedAt: started.at
  })

// --- destructors

/**
 * Returns the variables of a run: the fields of its input if that is an object, then captured outputs. The variables of a map's item stay
 * in the item.
 *
 * @category destructors
 */
export const variablesOf = (input: Json, completedSteps: Iterable<CompletedStep>, items: Items): Variables => {
  const variables = new Map<string, Json>(isObject(input) ? Object.entries(input) : [])
  for (const record of completedSteps) {
    if (record.output === undefined || record.captured.length === 0) continue
    if (itemAround(items, record.unit) !== undefined) continue
    for (const name of record.captured) variables.set(name, record.output)
  }
  return variables
}

/**
 * Returns the status of a run. `ownerIsLive`: whether the owner of the run is alive.
 *
 * @example
 * import { Checkpoint, Workflow, WorkflowIdentity } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const workflow = WorkflowIdentity.of({ name: 'release', steps: [Workflow.task('build')] })
 * const queued = Checkpoint.start({ _tag: 'Started', at: '2026-01-02T03:04:05.000Z', runId: 'r', workflow, input: {} })
 * assert.equal(Checkpoint.status(queued, false), 'queued')
 *
 * @category destructors
 */
export const status = (self: Checkpoint, ownerIsLive: boolean): Status => {
  const { state } = self
  if (self.moved !== undefined) return 'moved'
  switch (state._tag) {
    case 'BeforeStep':
      if (ownerIsLive) return self.revision === 0 ? 'queued' : 'running'
      return state.stepIndex === 0 && tracesOf(self).every(({ size }) => size === 0) ? 'queued' : 'interrupted'
    case 'Completed':
      if (self.completedSteps.steps === self.workflow.steps.length) return 'completed'
      return ownerIsLive ? 'running' : 'interrupted'
    case 'Failed':
      return 'failed'
    case 'Interrupted':
      return state.reason === 'signal' || state.reason === 'aborted' ? 'interrupted' : state.reason
  }
}

/** Returns lists that are all empty until a unit of the run starts. */
const tracesOf = ({ state, completedSteps, pending, items }: Checkpoint): ReadonlyArray<{ readonly size: number }> => [
  State.inFlight(state),
  State.failures(state),
  completedSteps,
  pending,
  items
]

/**
 * Returns whether a status is final: completed, cancelled, or moved to another store.
 *
 * @category destructors
 */
export const isFinal = (status: Status): boolean =>
  status === 'completed' || status === 'cancelled' || status === 'moved'

/**
 * Returns how many top-level steps are completed, and their total number.
 *
 * @category destructors
 */
export const progress = (self: Checkpoint): { readonly completed: number; readonly total: number } => ({
  completed: self.completedSteps.steps,
  total: self.workflow.steps.length
})
