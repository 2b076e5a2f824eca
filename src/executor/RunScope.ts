/** One execution of a run: what its parts share while it lasts. */
import * as E from 'fp-ts/lib/Either.js'
import type { Suspended } from '../domain/change/Change.js'
import type { Variables } from '../domain/checkpoint/Checkpoint.js'
import type { InterruptReason } from '../domain/checkpoint/CheckpointState.js'
import type { Evidence } from '../domain/checkpoint/CompletedStep.js'
import type { Json } from '../domain/data/Json.js'
import * as Items from '../domain/checkpoint/Items.js'
import * as IdempotencyKey from '../domain/checkpoint/IdempotencyKey.js'
import { find } from '../domain/checkpoint/Tree.js'
import type { Unit } from '../domain/workflow/Unit.js'
import { get } from '../domain/checkpoint/Units.js'
import type { DecisionTree, PlanOptions } from '../domain/plan/Plan.js'
import * as StepError from '../domain/data/StepError.js'
import type { StepFailure } from '../domain/data/StepFailure.js'
import type { Claim } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'
import type { Event } from '../ports/Events.js'
import type { Interrupt } from '../ports/Interrupt.js'
import { artifactsFor } from './workspace/artifacts.js'
import type { Attempt } from './steps/Attempt.js'
import type { Program, ProgramStep, StepArtifacts, StepContext } from './program/Program.js'
import { onAbort } from './onAbort.js'
import type { RequestWatch } from './requests/RequestWatch.js'
import type { RecordError, Recorder } from './storage/Recorder.js'
import type { Secured } from './secrets.js'
import type { Place, Values } from './Values.js'
import { outputsFor, variablesFor } from './Values.js'

/** Why work stops before its time: somebody asked for it, or the claim is lost. */
export type Stop = { readonly _tag: 'Interrupted'; readonly reason: InterruptReason } | { readonly _tag: 'Fenced' }

/** What an attempt that ended tells. */
export interface AttemptTimes {
  readonly attempt: number
  readonly startedAt: number
  readonly endedAt: number
}

/**
 * How a task ended: with an output and the evidence of it, with a failure after its last attempt, or not at all because work
 * was to stop (`Suspended`: because its code only waits). Then `failed` is what its attempt made of that: none if it was cut short, or if the task waited for its next attempt.
 */
export type TaskResult =
  | (AttemptTimes & {
      readonly _tag: 'Done'
      readonly output: Json | undefined
      readonly evidence: ReadonlyArray<Evidence>
    })
  | (AttemptTimes & { readonly _tag: 'Failed'; readonly failure: StepFailure })
  | { readonly _tag: 'Stopped'; readonly failed?: AttemptTimes & { readonly failure: StepFailure } }
  | ({ readonly _tag: 'Suspended' } & Pick<Suspended, 'waits' | 'dropped'>)

/**
 * How a step ended; the changes of an end other than `Failed` are staged, and saved together with what comes next. `retryable`: whether
 * all that failed looked transient. `Back`: the composite `unit` runs again, and everything after it; it fails with `otherwise` if that
 * takes an answer that nobody can give.
 */
export type StepEnd =
  | { readonly _tag: 'Done' | 'Pending' | 'Stopped' }
  | { readonly _tag: 'Failed'; readonly retryable: boolean }
  | { readonly _tag: 'Back'; readonly unit: Unit; readonly stepIndex: number; readonly otherwise?: StepFailure }

/** A step that is due: what was decided about it and its parts, and the signal on which it stops. */
export interface DueStep<S extends ProgramStep = ProgramStep> {
  readonly place: Place
  readonly step: S
  readonly node: DecisionTree
  readonly stopping: AbortSignal
}

/** Runs a step that is due. Composites run their parts with it. */
export type RunStep = (scope: RunScope, due: DueStep) => Promise<E.Either<RecordError, StepEnd>>

/**
 * What the parts of one execution share. `values` is what completed units left; `policy`, the options of every plan; `restarts`, how often each composite ran again; `toRepeat`: the
 * units of which an attempt was in flight when the execution began, until they start again; `awake`: the waits that were over when the
 * plan was made, and the units around them; `stopping`
 * fires when all work is to stop, and `stop` then says why; `requests` tells whether nothing more is to start.
 */
export interface RunScope {
  readonly environment: Secured
  readonly program: Program<unknown, never>
  readonly recorder: Recorder
  readonly values: Values
  readonly policy: Pick<PlanOptions, 'changes' | 'onChanged'>
  readonly restarts: Map<Unit, number>
  readonly toRepeat: Set<Unit>
  awake: ReadonlySet<Unit>
  readonly stopping: AbortSignal
  readonly stop: () => Stop | undefined
  readonly requests: RequestWatch
}

/** Fires when the host asks for a stop or the claim is lost, with the reason that was given there. `dispose` takes the listeners away again. */
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
  pending: false,
  cancelled: false
}

/**
 * Only a reason that we know is written: a host in JavaScript may give any, and another could not be read again. That a run
 * waits for jobs, or is cancelled, no host says.
 */
const reasonOf = (interrupt: Interrupt): InterruptReason => {
  try {
    const reason = interrupt.reason()
    return Object.hasOwn(REASONS, reason) && REASONS[reason] ? reason : 'aborted'
  } catch {
    return 'aborted'
  }
}

/** The time now, UTC, ISO 8601 with milliseconds. */
export const timestamp = (millis: number): string => {
  if (millis !== latest.millis) latest = { millis, text: new Date(millis).toISOString() }
  return latest.text
}

/** Several things happen in the same millisecond, and spelling it costs more than many of them. */
let latest = { millis: 0, text: new Date(0).toISOString() }

/** Tells the observer. What it throws is its own affair. */
export const report = ({ events }: Environment, event: Event): void => {
  try {
    const told: unknown = events.report(event)
    if (told instanceof Promise) told.catch(() => undefined)
  } catch {
    // An observer cannot fail a run.
  }
}

/**
 * What one attempt of a task gets; `own`: the folder of its own, if it has one; `calls`: what runs its sub-steps and waits, if it may have some. Everything is made when it is first looked at, as fresh copies of what is stored:
 * nothing that a step does to it reaches another step, so a resumed run sees what an undisturbed one sees.
 */
export const contextFor = (
  scope: RunScope,
  place: Place,
  attempt: Attempt,
  { own, calls = NO_CALLS }: { readonly own?: string | undefined; readonly calls?: Calls } = {}
): StepContext<unknown, unknown> => {
  const { program, values } = scope
  const { unit } = place
  const { runId, createdAt, renewals, items, input, submissions, pending, workspace } = scope.recorder.checkpoint()
  const folder = own ?? workspace?.path
  const made: Made = {}
  const context: StepContext<unknown, unknown> = {
    runId,
    unit,
    attempt: attempt.number,
    ...(workspace === undefined ? {} : { workspace }),
    ...(folder === undefined ? {} : { folder }),
    get idempotencyKey() {
      const submitted = get(submissions, unit) ?? get(pending, unit)
      const key = submitted !== undefined && 'key' in submitted ? submitted.key : undefined
      return (made.key ??= key ?? IdempotencyKey.of({ runId, createdAt, renewals }, unit))
    },
    get input() {
      return (made.input ??= { value: orStored(program.decodeInput(structuredClone(input)), input) }).value
    },
    get outputs() {
      return (made.outputs ??= outputsFor(program, { values, items }, place))
    },
    get variables() {
      return (made.variables ??= variablesFor(program, { values, items }, place, input))
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
    ...calls
  }
  const around = Items.around(items, unit)
  return around === undefined ? context : withItem(scope, place, context, around)
}

/** What the code of a task calls to record work and waits. */
export type Calls = Pick<StepContext<unknown>, 'step' | 'sleep' | 'waitFor'>

const onlyInRun = (): Promise<never> => Promise.reject(Object.assign(new Error(ONLY_IN_RUN.message), ONLY_IN_RUN))

/** Only attempts of tasks have sub-steps: checks of composites, `poll` and `collect` do not. */
export const NO_CALLS: Calls = { step: onlyInRun, sleep: onlyInRun, waitFor: onlyInRun }

const ONLY_IN_RUN = StepError.make(
  'SubStepNotAllowed',
  'sub-steps run only in an attempt of a task: not in the checks of a sequence, wave or map, and not in poll and collect',
  {
    code: 'SUB_STEP_NOT_ALLOWED'
  }
)

/** What is done for an item of a map gets that as well. The map has seen to it that it decodes. */
const withItem = <A extends StepContext<unknown, unknown>>(
  { program, recorder }: RunScope,
  { stepIndex }: Place,
  context: A,
  { map: unit, item: { key, value: stored } }: NonNullable<ReturnType<typeof Items.around>>
): A => {
  let made: { readonly value: unknown } | undefined
  const map = find<ProgramStep>(program, recorder.checkpoint().items, unit, stepIndex)?.definition
  const decode = (): unknown => (map?._tag === 'Map' ? orStored(map.items.decode(stored), stored) : stored)
  return Object.defineProperties(context, {
    item: { enumerable: true, configurable: true, get: () => (made ??= { value: decode() }).value },
    itemKey: { enumerable: true, configurable: true, value: key }
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
