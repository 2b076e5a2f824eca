/** The facts of a run that a listing shows: small, and kept by a store beside the checkpoint. */
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint, Status } from './Checkpoint.js'
import { progress, status } from './Checkpoint.js'
import type { PendingUnit } from './Pending.js'
import { wakeAt } from './Pending.js'
import { has } from './Units.js'
import type { Json } from '../data/Json.js'
import { isObject } from '../data/Json.js'

/**
 * The facts of a run at one revision, as plain JSON. `status`: while no live owner holds the run; `heldStatus`: while one does. `steps`:
 * how many top-level steps are completed, and how many there are. `waits`: of a pending run, the kinds of its waits, without
 * those whose answer is recorded, and the next time at which one of these ends by itself. Times are UTC, ISO 8601.
 *
 * @category model
 */
export interface Summary {
  readonly revision: number
  readonly workflow: { readonly name: string; readonly path?: string }
  readonly status: Status
  readonly heldStatus: Status
  readonly steps: { readonly completed: number; readonly total: number }
  readonly waits?: { readonly kinds: ReadonlyArray<PendingUnit['_tag']>; readonly wakeAt?: string }
  readonly createdAt: string
  readonly updatedAt: string
}

/**
 * Returns the summary of a checkpoint, in constant time unless it is pending.
 *
 * @category constructors
 */
export const of = (checkpoint: Checkpoint): Summary => {
  const { revision, workflow, createdAt, updatedAt } = checkpoint
  return {
    revision,
    workflow: { name: workflow.name, ...(workflow.path === undefined ? {} : { path: workflow.path }) },
    status: status(checkpoint, false),
    heldStatus: status(checkpoint, true),
    steps: progress(checkpoint),
    ...(status(checkpoint, false) === 'pending' ? { waits: waitsOf(checkpoint) } : {}),
    createdAt,
    updatedAt
  }
}

type Waits = NonNullable<Summary['waits']>

const waitsOf = ({ pending, answers }: Checkpoint): Waits => {
  const open = [...pending].filter(({ unit }) => !has(answers, unit))
  const due = wakeAt(open)
  return {
    kinds: KINDS.filter((kind) => open.some(({ _tag }) => _tag === kind)),
    ...(due === undefined ? {} : { wakeAt: due })
  }
}

const KINDS: ReadonlyArray<PendingUnit['_tag']> = ['Job', 'Timer', 'Answer']

const STATUSES: Readonly<Record<Status, true>> = {
  queued: true,
  running: true,
  completed: true,
  failed: true,
  interrupted: true,
  paused: true,
  pending: true,
  cancelled: true,
  moved: true
}

/**
 * The statuses of a run.
 *
 * @category model
 */
export const statuses = Object.keys(STATUSES) as ReadonlyArray<Status>

/**
 * Decodes a stored summary. Returns `None` for anything else: the caller then reads the facts from the checkpoint.
 *
 * @category decoding
 */
export const decode = (value: Json | undefined): O.Option<Summary> => {
  if (!isObject(value ?? null)) return O.none
  const { revision, workflow, status, heldStatus, steps, waits, createdAt, updatedAt } = value as Record<string, Json>
  if (!isObject(workflow ?? null) || !isObject(steps ?? null)) return O.none
  const { name, path } = workflow as Record<string, Json>
  const { completed, total } = steps as Record<string, Json>
  return [revision, completed, total].every(isCount) &&
    [name, createdAt, updatedAt].every((one) => typeof one === 'string') &&
    isTextOrAbsent(path) &&
    (waits === undefined || isWaits(waits)) &&
    [status, heldStatus].every((one) => typeof one === 'string' && Object.hasOwn(STATUSES, one))
    ? O.some(value as unknown as Summary)
    : O.none
}

const isWaits = (value: Json): value is Json & Waits =>
  isObject(value) &&
  Array.isArray(value['kinds']) &&
  value['kinds'].every((kind) => KINDS.some((one) => one === kind)) &&
  isTextOrAbsent(value['wakeAt'])

const isTextOrAbsent = (value: Json | undefined): boolean => value === undefined || typeof value === 'string'

const isCount = (value: Json | undefined): boolean => Number.isSafeInteger(value) && (value as number) >= 0
