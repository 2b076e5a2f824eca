/** The state that the parts of one execution share. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import type { Json } from '../domain/data/Json.js'
import type { Span } from '../domain/data/Span.js'
import * as Items from '../domain/checkpoint/Items.js'
import * as IdempotencyKey from '../domain/checkpoint/IdempotencyKey.js'
import { find } from '../domain/checkpoint/Tree.js'
import type { Unit } from '../domain/workflow/Unit.js'
import type { OutputMismatch } from '../domain/workflow/Workflow.js'
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
import { signalOf } from './steps/Attempt.js'
import type { Program, ProgramStep, StepContext } from './program/Program.js'
import { onAbort } from './onAbort.js'
import type { RequestWatch } from './requests/RequestWatch.js'
import type { RecordError, Recorder } from './storage/Recorder.js'
import type { SecuredEnvironment } from './secrets.js'
import type { Interrupted } from './RunOutcome.js'
import type { Place, Values } from './Values.js'
import { outputsFor, variablesFor } from './Values.js'

type StopReason = Interrupted['reason']

export interface AttemptTimes {
  readonly attempt: number
  readonly startedAt: number
  readonly endedAt: number
}

/** Except for `Failed`, the changes of an end are staged, and saved with the next commit. `Restart`: the composite `unit` runs again; if that needs an answer, it fails with `failureIfUnanswered`. */
export type StepEnd =
  | { readonly _tag: 'Done' | 'Pending' | 'Stopped' }
  | { readonly _tag: 'Failed'; readonly retryable: boolean }
  | {
      readonly _tag: 'Restart'
      readonly unit: Unit
      readonly stepIndex: number
      readonly failureIfUnanswered?: StepFailure
    }

/** A step to run: its decisions, and the signal that stops it. */
export interface StepToRun<S extends ProgramStep = ProgramStep> {
  readonly place: Place
  readonly step: S
  readonly node: DecisionTree
  readonly stopping: AbortSignal
}

/** How a step ended, or why that could not be recorded. */
export type Ending = E.Either<RecordError, StepEnd>

export type RunStep = (scope: RunScope, toRun: StepToRun) => Promise<Ending>

/** `interruptedUnits`: units that were in flight when the execution began, until they start again. `awake`: waits that were over when the plan was made, and their ancestors. `rejected`: why answers to waits were rejected. `notRetried`: units whose error was permanent before their retries were spent. `stretches`: when the parts of a composite that has ended ran or waited, until the composite around it reads that. */
export interface RunScope {
  readonly environment: SecuredEnvironment
  readonly program: Program<unknown, never>
  readonly recorder: Recorder
  values: Values
  readonly policy: Pick<PlanOptions, 'changes' | 'onChanged'>
  readonly restarts: Map<Unit, number>
  readonly interruptedUnits: Set<Unit>
  readonly rejected: Map<Unit, OutputMismatch>
  readonly notRetried: Set<Unit>
  readonly stretches: Map<Unit, ReadonlyArray<Span>>
  awake: ReadonlySet<Unit>
  readonly stopping: AbortSignal
  /** Why the process must stop. */
  readonly stopReason: () => StopReason | 'fenced' | undefined
  readonly requests: RequestWatch
}

/** `stopping` fires on an interrupt or a lost claim, with its reason. `dispose` removes the listeners. */
export const stopOn = (
  { interrupt }: Environment,
  { lost }: Claim
): Pick<RunScope, 'stopping' | 'stopReason'> & { readonly dispose: () => void } => {
  const controller = new AbortController()
  const { signal } = interrupt
  const removers = [signal, lost].map((source) => onAbort(source, () => controller.abort(source.reason)))
  // Keeps the one listener on this signal in place while steps come and go.
  onAbort(controller.signal, () => undefined)
  return {
    stopping: controller.signal,
    stopReason: () => (lost.aborted ? 'fenced' : signal.aborted ? reasonOf(interrupt) : undefined),
    dispose: () => {
      for (const remove of removers) remove()
    }
  }
}

const REASONS: ReadonlyArray<StopReason> = ['signal', 'aborted', 'paused']

/** Untyped hosts may return any string, and an unknown one could not be decoded. */
const reasonOf = (interrupt: Interrupt): StopReason => {
  try {
    const reason = interrupt.reason()
    return REASONS.includes(reason) ? reason : 'aborted'
  } catch {
    return 'aborted'
  }
}

export const timestamp = (millis: number): string => {
  if (millis !== latest.millis) latest = { millis, text: new Date(millis).toISOString() }
  return latest.text
}

/** Caches the newest timestamp: formatting is expensive. */
let latest = { millis: 0, text: new Date(0).toISOString() }

export const report = ({ events }: Environment, event: Event): void => {
  try {
    const returned: unknown = events.report(event)
    if (typeof returned === 'object' && returned !== null && 'then' in returned)
      Promise.resolve(returned).catch(() => undefined)
  } catch {
    // Errors of the observer are ignored: it cannot fail a run.
  }
}

/** Makes the context of an attempt's code. `own`: its own folder; `lazy`: makes the calls that run its sub-steps and waits. */
export const contextFor = <Lazy extends LazyCalls<Lazy> = never>(
  scope: RunScope,
  place: Place,
  attempt: Attempt,
  { own, lazy }: { readonly own?: string | undefined; readonly lazy?: Lazy } = {}
): StepContext<unknown, unknown> => {
  const checkpoint = scope.recorder.checkpoint()
  const { runId, items, workspace } = checkpoint
  const folder = own ?? workspace?.path
  const { unit } = place
  const secrets = scope.environment.vault.values
  // Spreads of optional fields would take most of the time.
  const context: { [key: string]: unknown } = { runId, unit, attempt: attempt.number, secrets }
  if (workspace !== undefined) context['workspace'] = workspace
  if (folder !== undefined) context['folder'] = folder
  const around = Items.around(items, unit)
  const source: Source = { scope, place, attempt, checkpoint, around, lazy: lazy as Source['lazy'], cached: undefined }
  Object.defineProperty(context, SOURCE, { value: source })
  Object.defineProperties(context, DERIVED)
  if (around !== undefined) Object.defineProperties(context, ITEM)
  return context as unknown as StepContext<unknown, unknown>
}

/** `around`: the item of a map that the unit belongs to. */
interface Source {
  readonly scope: RunScope
  readonly place: Place
  readonly attempt: Attempt
  readonly checkpoint: Checkpoint
  readonly around: ReturnType<typeof Items.around>
  readonly lazy: LazyCalls<unknown> | undefined
  cached: Record<string, unknown> | undefined
}

const SOURCE = Symbol('source')

const cached = <A>(source: Source, name: string, make: (source: Source) => A): A => {
  const all = (source.cached ??= {})
  if (!(name in all)) all[name] = make(source)
  return all[name] as A
}

/**
 * Fields that are made when they are first read, as copies of what is stored, so that a resumed run reads the same. All contexts share
 * these getters: closures for each attempt would cost more than the rest of it.
 */
const derived = (fields: Readonly<Record<string, (source: Source) => unknown>>): PropertyDescriptorMap =>
  Object.fromEntries(
    Object.entries(fields).map(([name, make]) => {
      const get = function (this: { readonly [SOURCE]: Source }): unknown {
        return cached(this[SOURCE], name, make)
      }
      return [name, { enumerable: true, configurable: true, get }]
    })
  )

const callsOf = (source: Source): Calls => cached(source, 'calls', ({ lazy }) => lazy?.callsOf(lazy) ?? NO_CALLS)

const DERIVED = derived({
  step: (source) => callsOf(source).step,
  sleep: (source) => callsOf(source).sleep,
  waitFor: (source) => callsOf(source).waitFor,
  idempotencyKey: ({ checkpoint, place: { unit } }) => {
    const submitted = get(checkpoint.submissions, unit) ?? get(checkpoint.pending, unit)
    const key = submitted !== undefined && 'key' in submitted ? submitted.key : undefined
    return key ?? IdempotencyKey.of(checkpoint, unit)
  },
  input: ({ scope, checkpoint: { input } }) => orStored(scope.program.decodeInput(structuredClone(input)), input),
  outputs: ({ scope: { program, values }, checkpoint: { items }, place }) =>
    outputsFor(program, { values, items }, place),
  variables: ({ scope: { program, values }, checkpoint: { items, input }, place }) =>
    variablesFor(program, { values, items }, place, input),
  signal: ({ attempt }) => signalOf(attempt),
  artifacts: ({ scope, place, attempt }) => artifactsFor({ scope, place, attempt })
})

/** The map has checked that its items decode. */
const ITEM = derived({
  item: ({ scope: { program }, checkpoint: { items }, place: { stepIndex }, around }) => {
    if (around === undefined) return undefined
    const { value } = around.item
    const map = find<ProgramStep>(program, items, around.map, stepIndex)?.definition
    return map?._tag === 'Map' ? orStored(map.items.decode(value), value) : value
  },
  itemKey: ({ around }) => around?.item.key
})

export type Calls = Pick<StepContext<unknown>, 'step' | 'sleep' | 'waitFor'>

/** Makes the calls of an attempt when its code first reads one. */
export interface LazyCalls<Self> {
  readonly callsOf: (self: Self) => Calls
}

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

/** The planner has checked that recorded values decode. */
const orStored = (decoded: E.Either<unknown, unknown>, stored: Json): unknown =>
  E.isRight(decoded) ? decoded.right : stored
