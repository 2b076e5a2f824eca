/** The state that the parts of one execution share. */
import type * as E from 'fp-ts/lib/Either.js'
import { ignoringErrors } from '../domain/data/notTaskEither.js'
import type { Span } from '../domain/data/Span.js'
import type { Unit } from '../domain/workflow/Unit.js'
import type { OutputMismatch } from '../domain/workflow/Workflow.js'
import type { DecisionTree, PlanOptions } from '../domain/plan/Plan.js'
import type { StepFailure } from '../domain/data/StepFailure.js'
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import type { Claim } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'
import type { Event } from '../ports/Events.js'
import type { Interrupt } from '../ports/Interrupt.js'
import type { Program, ProgramStep } from './program/Program.js'
import { onAbort } from './onAbort.js'
import type { StopRequests } from './requests/StopRequests.js'
import type { RecordError, Recorder } from './storage/Recorder.js'
import type { SecuredEnvironment } from './secrets.js'
import type { Interrupted } from './RunOutcome.js'
import type { Place, Values } from './Values.js'
import type { PutArtifacts } from './workspace/artifacts.js'

type StopReason = Interrupted['reason']

export interface AttemptTimes {
  readonly attempt: number
  readonly startedAt: number
  readonly endedAt: number
}

/**
 * How a step ended. Its changes are staged, and saved by the next commit; those of `Failed` are saved already, unless a task in a wave failed.
 * `Restart`: the composite `unit` runs again; if that needs an answer, it fails with `failureIfUnanswered`.
 */
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

export interface RunScope {
  readonly environment: SecuredEnvironment
  readonly program: Program<unknown, never>
  readonly recorder: Recorder
  values: Values
  readonly policy: Pick<PlanOptions, 'changes' | 'onChanged'>
  readonly restarts: Map<Unit, number>
  /** Units that were in flight when the execution began or were suspended since, until they start again. Value: whether suspended. */
  readonly interruptedUnits: Map<Unit, boolean>
  /** What the execution began with: the edited workflow is adopted, but the plan has not dropped anything yet. */
  readonly before: Pick<Checkpoint, 'completedSteps' | 'state'>
  /** Units that an option of the call lets run again, with all that they contain. */
  readonly consented: ReadonlyArray<Unit>
  /** Why answers to waits were rejected. */
  readonly rejectedAnswers: Map<Unit, OutputMismatch>
  /** Units whose error was permanent before their retries were spent. */
  readonly notRetried: Set<Unit>
  /** For each composite that has ended: when its parts ran or waited. Removed once the composite around it has ended. */
  readonly partSpans: Map<Unit, ReadonlyArray<Span>>
  /** Waits that were over when the plan was made, and their ancestors. */
  awake: ReadonlySet<Unit>
  readonly artifacts: PutArtifacts
  readonly stopping: AbortSignal
  /** Why the process must stop. */
  readonly stopReason: () => StopReason | 'fenced' | undefined
  readonly requests: StopRequests
}

/** `stopping` fires on an interrupt or a lost claim, with its reason. `dispose` removes the listeners. */
export const stopOn = (
  { interrupt }: Environment,
  { lost }: Claim
): Pick<RunScope, 'stopping' | 'stopReason'> & { readonly dispose: () => void } => {
  const controller = new AbortController()
  const { signal } = interrupt
  const removers = [signal, lost].map((source) => onAbort(source, () => controller.abort(source.reason)))
  // Without this, the shared listener would be removed and added again between steps.
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

/** Untyped hosts may return any value, and a checkpoint with an unknown reason could not be decoded. */
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

export const report = ({ events }: Environment, event: Event): void => ignoringErrors(() => events.report(event))
