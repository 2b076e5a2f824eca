/**
 * Encodes and decodes checkpoints. A newer format is refused. Format 1 is the first; a later version will migrate older formats here, in
 * memory, so that the next save writes the current one. Stores decode no checkpoints.
 *
 * @module
 */
import * as t from 'io-ts'
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint, Fields } from './Checkpoint.js'
import { FORMAT, make, variablesOf } from './Checkpoint.js'
import type { CheckpointState, Completed } from './CheckpointState.js'
import { completed, failures, inFlight } from './CheckpointState.js'
import type { Item } from './Items.js'
import type { Json, JsonObject } from '../data/Json.js'
import { equals } from '../data/Json.js'
import type { Malformed, NewerFormat } from '../data/Malformed.js'
import { decodeWith, fields, json, jsonObject, list, natural, nonEmpty, optional, time } from '../data/JsonCodec.js'
import * as Compact from './CompactCodec.js'
import type { BufferedAnswer, Submission } from './Pending.js'
import { checkpointState, item, move, origin, pending, submission, workspace } from './StateCodec.js'
import type { Unit } from '../workflow/Unit.js'
import type { Plain } from './Units.js'
import { from } from './Units.js'
import { from as fromMap } from './UnitMap.js'

// --- model

/** The stored form of an entry of `renewals`: how often the idempotency key of a unit changed. */
interface Renewal {
  readonly unit: Unit
  readonly times: number
}

/** The stored form of an entry of `items`. */
interface MapItems {
  readonly unit: Unit
  readonly items: ReadonlyArray<Item>
}

/** The stored form of a checkpoint, with plain arrays and objects. */
interface StoredForm extends Plain<
  Omit<Fields, 'format' | 'workflow' | 'state' | 'completedSteps' | 'items' | 'answers' | 'submissions' | 'renewals'>
> {
  readonly workflow: Compact.CompactWorkflow
  readonly completedSteps: ReadonlyArray<Compact.CompactRecord>
  readonly state: Plain<CheckpointState>
  readonly items?: ReadonlyArray<MapItems>
  readonly answers?: ReadonlyArray<BufferedAnswer>
  readonly submissions?: ReadonlyArray<Submission>
  readonly renewals?: ReadonlyArray<Renewal>
  readonly format: number
  readonly variables: JsonObject
}

const bufferedAnswer: t.Type<BufferedAnswer> = fields<BufferedAnswer>('an answer', {
  unit: t.string,
  value: json,
  by: t.string,
  at: time
})

const storedForm: t.Type<StoredForm> = fields<StoredForm>('a checkpoint', {
  format: t.literal(FORMAT) as unknown as t.Type<number>,
  runId: t.string,
  revision: natural,
  generation: natural,
  workflow: Compact.workflow,
  input: json,
  state: checkpointState,
  completedSteps: list(Compact.record),
  variables: jsonObject,
  items: optional(nonEmpty(fields<MapItems>('a map', { unit: t.string, items: list(item) }))),
  pending: list(pending),
  answers: optional(nonEmpty(bufferedAnswer)),
  submissions: optional(nonEmpty(submission)),
  renewals: optional(nonEmpty(fields<Renewal>('a renewal', { unit: t.string, times: natural }))),
  workspace: optional(workspace),
  forkedFrom: optional(origin),
  moved: optional(move),
  createdAt: time,
  updatedAt: time
})

// --- encoding

/**
 * Encodes a checkpoint as plain JSON, in time linear in its records.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { Checkpoint, CheckpointCodec, Workflow, WorkflowIdentity } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const checkpoint = Checkpoint.start({
 *   _tag: 'Started',
 *   at: '2026-01-02T03:04:05.000Z',
 *   runId: 'release-1',
 *   workflow: WorkflowIdentity.of({ name: 'release', steps: [Workflow.task('build')] }),
 *   input: {}
 * })
 * const text = JSON.stringify(CheckpointCodec.encode(checkpoint))
 * const back = CheckpointCodec.decode(JSON.parse(text))
 * assert.ok(E.isRight(back))
 * assert.deepEqual(CheckpointCodec.encode(back.right), CheckpointCodec.encode(checkpoint))
 *
 * @category encoding
 */
export const encode = (checkpoint: Checkpoint): Json => {
  const { format, runId, revision, generation, workflow, input, state, completedSteps, variables, ...more } = checkpoint
  const { items, answers, submissions, renewals, ...rest } = more
  const head = { format, runId, revision, generation, workflow: Compact.toCompactWorkflow(workflow), input }
  return {
    ...head,
    state: toPlain(state),
    completedSteps: Array.from(completedSteps, Compact.toCompactRecord),
    variables: objectFrom(variables),
    ...(items.size === 0 ? {} : { items: Array.from(items, ([unit, items]) => ({ unit, items })) }),
    ...rest,
    pending: [...rest.pending],
    ...(answers.size === 0 ? {} : { answers: [...answers] }),
    ...(submissions.size === 0 ? {} : { submissions: [...submissions] }),
    ...(renewals.size === 0 ? {} : { renewals: Array.from(renewals, ([unit, times]) => ({ unit, times })) })
  } as unknown as Json
}

const toPlain = (state: CheckpointState): Plain<CheckpointState> =>
  state._tag === 'Completed' && state.inFlight === undefined
    ? (state as Omit<Completed, 'inFlight' | 'failures'>)
    : { ...state, inFlight: [...inFlight(state)], failures: [...failures(state)] }

/** `Object.fromEntries` defines properties, so a variable named `__proto__` is safe. */
const objectFrom = (variables: ReadonlyMap<string, Json>): JsonObject => Object.fromEntries(variables)

// --- decoding

const decodeForm = decodeWith(storedForm)

/**
 * Decodes a stored checkpoint of any format up to the current one.
 *
 * @category decoding
 */
export const decode = (content: unknown): E.Either<Malformed | NewerFormat, Checkpoint> => {
  const format = formatOf(content)
  if (format !== undefined && format > FORMAT) return E.left({ _tag: 'NewerFormat', found: format, supported: FORMAT })
  const decoded = decodeForm(content)
  if (E.isLeft(decoded)) return decoded
  const { variables, state, items = [], answers = [], submissions = [], renewals = [], ...plain } = decoded.right
  const times = new Map(renewals.map(({ unit, times }) => [unit, times]))
  if (times.size < renewals.length || renewals.some((one) => one.times === 0))
    return malformed('renewals', 'distinct units, each with `times` of at least 1')
  const itemsByMap = new Map(items.map(({ unit, items }) => [unit, items]))
  if (itemsByMap.size < items.length) return malformed('items', 'distinct maps')
  const completedSteps = from(plain.completedSteps.map(Compact.toRecord))
  if (!areEqual(variables, variablesOf(plain.input, completedSteps, itemsByMap)))
    return malformed('variables', 'the variables of input and completedSteps')
  return E.right(
    make({
      ...plain,
      format: FORMAT,
      workflow: Compact.toWorkflow(plain.workflow),
      state: fromPlain(state),
      completedSteps,
      items: fromMap(itemsByMap),
      pending: from(plain.pending),
      answers: from(answers),
      submissions: from(submissions),
      renewals: fromMap(times)
    })
  )
}

const malformed = (field: string, expected: string): E.Either<Malformed, never> =>
  E.left({ _tag: 'Malformed', path: `$.${field}`, expected })

const fromPlain = (state: Plain<CheckpointState>): CheckpointState => {
  const open = { inFlight: from(state.inFlight ?? []), failures: from(state.failures ?? []) }
  return state._tag === 'Completed' ? completed(state.stepIndex, state.step, open) : { ...state, ...open }
}

const areEqual = (variables: JsonObject, derived: ReadonlyMap<string, Json>): boolean => {
  if (Object.keys(variables).length !== derived.size) return false
  for (const [name, value] of derived) {
    if (!Object.hasOwn(variables, name) || !equals(variables[name] as Json, value)) return false
  }
  return true
}

const formatOf = (content: unknown): number | undefined => {
  const format = typeof content === 'object' && content !== null && 'format' in content ? content.format : undefined
  return typeof format === 'number' ? format : undefined
}
