/**
 * One execution of a run: what its parts share while it lasts.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { Variables } from '../domain/Checkpoint.js'
import type { InterruptReason } from '../domain/CheckpointState.js'
import type { Evidence } from '../domain/CompletedStep.js'
import type { Json } from '../domain/Json.js'
import { itemOf } from '../domain/Expansion.js'
import { find } from '../domain/PendingJob.js'
import * as IdempotencyKey from '../domain/IdempotencyKey.js'
import { isTop, nameOf, top } from '../domain/Unit.js'
import type { StepFailure } from '../domain/StepFailure.js'
import type { Claim } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'
import type { Event } from '../ports/Events.js'
import type { Interrupt } from '../ports/Interrupt.js'
import { artifactsFor, memoFor } from './artifacts.js'
import type { Attempt } from './Attempt.js'
import type { Program, StepContext } from './Program.js'
import { onAbort } from './onAbort.js'
import type { PauseWatch } from './PauseWatch.js'
import type { Recorder } from './Recorder.js'
import type { Secured } from './secrets.js'
import type { StepArtifacts } from './StepArtifacts.js'
import type { Place, Values } from './Values.js'
import { outputsFor, variablesFor } from './Values.js'

/**
 * Why work stops before its time: somebody asked for it, or the claim is lost.
 *
 * @category model
 * @since 0.1.0
 */
export type Stop = { readonly _tag: 'Interrupted'; readonly reason: InterruptReason } | { readonly _tag: 'Fenced' }

/**
 * What an attempt that ended tells.
 *
 * @category model
 * @since 0.1.0
 */
export interface Ended {
  readonly attempt: number
  readonly startedAt: number
  readonly endedAt: number
}

/**
 * How a task ended: with an output and the evidence of it, with a failure after its last attempt, or not at all because work
 * was to stop. Then `failed` is what its attempt made of that: none if it was cut short, or if the task waited for its next attempt.
 *
 * @category model
 * @since 0.1.0
 */
export type TaskResult =
  | (Ended & { readonly _tag: 'Done'; readonly output: Json | undefined; readonly evidence: ReadonlyArray<Evidence> })
  | (Ended & { readonly _tag: 'Failed'; readonly failure: StepFailure })
  | { readonly _tag: 'Stopped'; readonly failed?: Ended & { readonly failure: StepFailure } }

/**
 * How a step ended; the changes of an end other than `Failed` are staged, and saved together with what comes next. `Back`: the
 * wave or map at `stepIndex` runs again, and everything after it; it fails with `otherwise` if that takes an answer that nobody can give.
 */
export type StepEnd =
  | { readonly _tag: 'Done' | 'Failed' | 'Pending' | 'Stopped' }
  | { readonly _tag: 'Back'; readonly stepIndex: number; readonly otherwise?: StepFailure }

/**
 * What the parts of one execution share. `definition` is what the author has written; in `program`, maps whose items are known by
 * now are the waves of these. `values` is what completed units left; `stopping` fires when all work
 * is to stop, and `stop` then says why; `pauses` tells whether nothing more is to start.
 *
 * @category model
 * @since 0.1.0
 */
export interface RunScope {
  readonly environment: Secured
  readonly definition: Program<unknown, never>
  readonly program: Program<unknown, never>
  readonly recorder: Recorder
  readonly values: Values
  readonly stopping: AbortSignal
  readonly stop: () => Stop | undefined
  readonly pauses: PauseWatch
}

/**
 * Fires when the host asks for a stop or the claim is lost, with the reason that was given there. `dispose` takes the
 * listeners away again.
 *
 * @category constructors
 * @since 0.1.0
 */
export const stopOn = (
  { interrupt }: Environment,
  { lost }: Claim
): { readonly stopping: AbortSignal; readonly stop: RunScope['stop']; readonly dispose: () => void } => {
  const controller = new AbortController()
  const asked = interrupt.signal
  const ignore = [asked, lost].map((source) => onAbort(source, () => controller.abort(source.reason)))
  // Keeps the one listener on this signal in place while steps come and go.
  onAbort(controller.signal, () => undefined)
  return {
    stopping: controller.signal,
    stop: () =>
      lost.aborted
        ? { _tag: 'Fenced' }
        : asked.aborted
          ? { _tag: 'Interrupted', reason: reasonOf(interrupt) }
          : undefined,
    dispose: () => {
      for (const one of ignore) one()
    }
  }
}

const REASONS: Readonly<Record<InterruptReason, boolean>> = {
  signal: true,
  aborted: true,
  paused: true,
  pending: false
}

/**
 * Only a reason that we know is written: a host in JavaScript may give any, and another could not be read again. That a run
 * waits for jobs nobody says from outside.
 */
const reasonOf = (interrupt: Interrupt): InterruptReason => {
  try {
    const reason = interrupt.reason()
    return Object.hasOwn(REASONS, reason) && REASONS[reason] ? reason : 'aborted'
  } catch {
    return 'aborted'
  }
}

/**
 * The time now, UTC, ISO 8601 with milliseconds.
 *
 * @category destructors
 * @since 0.1.0
 */
export const timestamp = (millis: number): string => {
  if (millis !== latest.millis) latest = { millis, text: new Date(millis).toISOString() }
  return latest.text
}

/** Several things happen in the same millisecond, and spelling it costs more than many of them. */
let latest = { millis: 0, text: new Date(0).toISOString() }

/**
 * Tells the observer. What it throws is its own affair.
 *
 * @category effects
 * @since 0.1.0
 */
export const report = ({ events }: Environment, event: Event): void => {
  try {
    const told: unknown = events.report(event)
    if (told instanceof Promise) told.catch(() => undefined)
  } catch {
    // An observer cannot fail a run.
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// what a step sees
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What one attempt of a task gets; `own`: the folder of its own, if it has one. Everything is made when it is first looked at, as fresh copies of what is stored:
 * nothing that a step does to it reaches another step, so a resumed run sees what an undisturbed one sees.
 *
 * @category constructors
 * @since 0.1.0
 */
export const contextFor = (
  scope: RunScope,
  place: Place,
  attempt: Attempt,
  own?: string
): StepContext<unknown, unknown> => {
  const { program, values } = scope
  const { runId, createdAt, renewals, workflow, input, submissions, pending, workspace } = scope.recorder.checkpoint()
  const folder = own ?? workspace?.path
  const group = isTop(place.unit) ? undefined : nameOf(place.unit)
  const made: Made = {}
  const context: StepContext<unknown, unknown> = {
    runId,
    step: top(place.unit),
    ...(group === undefined ? {} : { group }),
    attempt: attempt.number,
    ...(workspace === undefined ? {} : { workspace }),
    ...(folder === undefined ? {} : { folder }),
    get idempotencyKey() {
      const { unit } = place
      const submitted = find(submissions, unit) ?? find(pending, unit)
      return (made.key ??= submitted?.key ?? IdempotencyKey.of({ runId, createdAt, renewals }, unit))
    },
    get input() {
      return (made.input ??= { value: orStored(program.decodeInput(structuredClone(input)), input) }).value
    },
    get outputs() {
      return (made.outputs ??= outputsFor(program, values, place))
    },
    get variables() {
      return (made.variables ??= variablesFor(program, values, place, input))
    },
    get secrets() {
      return scope.environment.vault.values
    },
    get signal() {
      return attempt.signal()
    },
    get artifacts() {
      return (made.artifacts ??= artifactsFor({ scope, place, attempt }))
    },
    memo: (key, compute) => memoFor({ scope, place, attempt })(key, compute)
  }
  const item = itemOf(workflow.steps[place.stepIndex], group)
  return item === undefined ? context : withItem(scope, place, context, item.value)
}

/** What is done for an item of a map gets that as well. The wave has seen to it that it decodes. */
const withItem = <A extends StepContext<unknown, unknown>>(
  { definition }: RunScope,
  { stepIndex }: Place,
  context: A,
  stored: Json
): A => {
  let made: { readonly value: unknown } | undefined
  const map = definition.steps[stepIndex]
  const decode = (): unknown => (map?._tag === 'Map' ? orStored(map.items.decode(stored), stored) : stored)
  return Object.defineProperty(context, 'item', {
    enumerable: true,
    configurable: true,
    get: () => (made ??= { value: decode() }).value
  })
}

/** What was made of a context because it was looked at. */
interface Made {
  key?: string
  input?: { readonly value: unknown }
  outputs?: unknown
  variables?: Variables
  artifacts?: StepArtifacts
}

/** The planner has seen to it that what is recorded decodes. */
const orStored = (decoded: E.Either<unknown, unknown>, stored: Json): unknown =>
  E.isRight(decoded) ? decoded.right : stored
