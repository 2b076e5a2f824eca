/** The changes that the executor records, and the events that report them once they are durable. */
import * as E from 'fp-ts/lib/Either.js'
import type { AttemptFailed, Change, Suspended, UnitCompleted, UnitFailed } from '../../domain/change/Change.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import type { InFlight } from '../../domain/checkpoint/CheckpointState.js'
import { failures, inFlight } from '../../domain/checkpoint/CheckpointState.js'
import type { Evidence } from '../../domain/checkpoint/CompletedStep.js'
import { keyFor } from '../../domain/checkpoint/Pending.js'
import type { Json } from '../../domain/data/Json.js'
import type { Items } from '../../domain/checkpoint/Items.js'
import type { Decision } from '../../domain/plan/Plan.js'
import * as StepError from '../../domain/data/StepError.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import type { SubStep } from '../../domain/checkpoint/SubStep.js'
import * as Failure from '../../domain/data/StepFailure.js'
import { find, taskAround } from '../../domain/checkpoint/Tree.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { ancestors, isWithin, nameOf, parent } from '../../domain/workflow/Unit.js'
import { get, within } from '../../domain/checkpoint/Units.js'
import type { Environment } from '../../ports/Environment.js'
import type { Event, EventUnit } from '../../ports/Events.js'
import type { Program, ProgramStep, ProgramTask } from '../program/Program.js'
import type { Interrupted } from '../RunOutcome.js'
import type { AttemptTimes, RunScope } from '../RunScope.js'
import { report, timestamp } from '../RunScope.js'
import type { Place } from '../Values.js'
import { add } from '../Values.js'
import type { RecordError, Recorder } from './Recorder.js'

/** The change before attempts start. It contains the idempotency keys of jobs, so that they are durable before the submission. */
export const attemptsStarted = (
  { environment, recorder }: RunScope,
  tasks: ReadonlyArray<InFlight & Pick<ProgramTask, 'job'>>
): Change => {
  const run = recorder.checkpoint()
  const submissions = tasks.flatMap(({ unit, job }) => (job === undefined ? [] : [{ unit, key: keyFor(run, unit) }]))
  return {
    _tag: 'AttemptStarted',
    at: timestamp(environment.clock.now()),
    attempts: tasks.map(({ unit, attempt }) => ({ unit, attempt })),
    ...(submissions.length === 0 ? {} : { submissions })
  }
}

export const jobSubmitted = (unit: Unit, job: Json | undefined, { attempt, endedAt }: AttemptTimes): Change => ({
  _tag: 'JobSubmitted',
  at: timestamp(endedAt),
  unit,
  attempt,
  ...(job === undefined ? {} : { job })
})

/** Names the open waits in the code of a task whose attempt failed: the next attempt starts them again. */
export const droppedWaits = ({ recorder }: RunScope, task: Unit): Pick<AttemptFailed, 'dropped'> => {
  const dropped = within(recorder.checkpoint().pending, task).flatMap(({ unit }) => (unit === task ? [] : [unit]))
  return dropped.length === 0 ? {} : { dropped }
}

export const attemptFailed = (
  unit: Unit,
  { error, outcome }: StepFailure,
  { attempt, startedAt, endedAt }: AttemptTimes,
  delayBeforeNextMillis: number
): AttemptFailed => ({
  _tag: 'AttemptFailed',
  at: timestamp(endedAt),
  unit,
  attempt,
  startedAt: timestamp(startedAt),
  error,
  outcome,
  delayBeforeNextMillis
})

/**
 * If another group stopped the wave, a stopped task has failed. If the run stops, the attempt stays in flight and is repeated under its number,
 * unless it is not idempotent and reports that it did nothing.
 */
export const taskStopped = (
  scope: RunScope,
  { unit }: Place,
  { idempotent }: ProgramTask,
  failure: StepFailure | undefined,
  times: AttemptTimes
): ReadonlyArray<Change> => {
  if (scope.stopping.aborted)
    return idempotent || failure?.outcome !== 'notApplied'
      ? []
      : [{ ...attemptFailed(unit, failure, times, 0), ...droppedWaits(scope, unit) }]
  return failure === undefined
    ? runningFailed(scope, unit, HALTED)
    : [...runningSubStepsFailed(scope, unit), { ...unitFailed(unit, failure, times), ...droppedWaits(scope, unit) }]
}

export const HALTED = 'stopped because another group of the wave failed'

export const taskSuspended = (
  { environment }: RunScope,
  unit: Unit,
  { waits, dropped }: Pick<Suspended, 'waits' | 'dropped'>
): Change => ({
  _tag: 'Suspended',
  at: timestamp(environment.clock.now()),
  unit,
  waits,
  ...(dropped === undefined ? {} : { dropped })
})

/** Records, after the changes `before`, why a run stopped at or before a step. */
export const recordInterrupted = async (
  environment: Environment,
  recorder: Recorder,
  unit: string,
  reason: Interrupted['reason'],
  before: ReadonlyArray<Change> = []
): Promise<E.Either<RecordError, Interrupted>> => {
  recorder.stage([...before, { _tag: 'Interrupted', at: timestamp(environment.clock.now()), unit, reason }])
  const saved = await recorder.commit()
  if (E.isLeft(saved)) return saved
  const checkpoint = saved.right
  const { runId, state } = checkpoint
  const { stepIndex, step } = state
  report(environment, { _tag: 'RunInterrupted', runId, stepIndex, step })
  const inProgress = state._tag === 'Interrupted' && state.inProgress
  return E.right({ _tag: 'Interrupted', runId, checkpoint, stepIndex, step, inProgress, reason })
}

/** Returns the number of the attempt that starts now. A suspended attempt keeps its number. */
export const nextAttempt = ({ recorder }: RunScope, decision: Decision): number => {
  if (decision._tag === 'Retry') return decision.attempt
  if (decision._tag !== 'Poll') return 1
  return get(inFlight(recorder.checkpoint().state), decision.unit)?.attempt ?? 1
}

interface Completion {
  readonly output?: Json | undefined
  readonly captured?: ReadonlyArray<string>
  readonly evidence?: ReadonlyArray<Evidence>
  readonly subStep?: SubStep
}

export const unitCompleted = (
  unit: Unit,
  { attempt, startedAt, endedAt }: AttemptTimes,
  { output, captured = [], evidence = [], subStep }: Completion
): UnitCompleted => ({
  _tag: 'UnitCompleted',
  at: timestamp(endedAt),
  unit,
  ...(output === undefined ? {} : { output }),
  ...(output === undefined || captured.length === 0 ? {} : { captured }),
  attempts: attempt,
  startedAt: timestamp(startedAt),
  durationMillis: Math.max(0, endedAt - startedAt),
  ...(evidence.length === 0 ? {} : { evidence }),
  ...(subStep === undefined ? {} : { subStep })
})

/** Stages the completion of a unit. From then on, later steps see its output. */
export const stageCompleted = (scope: RunScope, place: Place, completed: UnitCompleted): void => {
  const { recorder, values } = scope
  reportUnusedAnswers(scope, place)
  add(values, recorder.checkpoint().items, place, completed.output, completed.captured ?? [])
  values.hasEvidence ||= completed.evidence !== undefined
  recorder.stage([completed])
}

export const unitFailed = (
  unit: Unit,
  { _tag, error, outcome }: StepFailure,
  { attempt, startedAt, endedAt }: AttemptTimes
): UnitFailed => ({
  _tag: 'UnitFailed',
  at: timestamp(endedAt),
  unit,
  retryable: _tag === 'Transient',
  last: { attempt, startedAt: timestamp(startedAt), error, outcome }
})

/** The `expected` of an `AnswerRejected` whose unit does not wait. */
export const EXPECTED_WAIT = 'a unit that waits for an answer'

/** Reports the answers to waits that a task never started: the record of its completion drops them. */
const reportUnusedAnswers = ({ recorder, environment }: RunScope, { unit: task, stepIndex }: Place): void => {
  const { answers, runId } = recorder.checkpoint()
  if (answers.size === 0) return
  for (const { unit, by } of within(answers, task))
    if (unit !== task)
      report(environment, { _tag: 'AnswerRejected', runId, unit, stepIndex, by, path: '$', expected: EXPECTED_WAIT })
}

/** A sub-step failed. Its task may still succeed. */
export const subStepFailed = (unit: Unit, subStep: SubStep, failure: StepFailure, times: AttemptTimes): UnitFailed => ({
  ...unitFailed(unit, failure, times),
  subStep: failure._tag === 'Transient' ? { ...subStep, transient: true } : subStep
})

/** Returns changes that fail the attempts in flight of a unit and its parts, outcome unknown. A unit between two attempts has none. */
export const runningFailed = (scope: RunScope, unit: Unit, why: string): ReadonlyArray<UnitFailed> => {
  const now = scope.environment.clock.now()
  const failure = Failure.permanent(StepError.make('Halted', why))
  // A suspended attempt runs nothing, so its outcome is known.
  const running = within(inFlight(scope.recorder.checkpoint().state), unit).filter((one) => one.suspended !== true)
  const units = new Set(running.map((one) => one.unit))
  const isSubStep = (one: Unit): boolean => [...ancestors(one)].some((above) => units.has(above))
  // A sub-step must end before its task.
  return running
    .map(({ unit, attempt }): UnitFailed => {
      const change = unitFailed(unit, failure, { attempt, startedAt: now, endedAt: now })
      return isSubStep(unit)
        ? { ...change, subStep: { idempotent: false } }
        : { ...change, ...droppedWaits(scope, unit) }
    })
    .reverse()
}

/** Returns changes that fail the sub-steps in flight of an ended unit (`failed`: a sub-step of `task`, or `task` itself), outcome unknown. */
export const runningSubStepsFailed = (scope: RunScope, task: Unit, failed: Unit = task): ReadonlyArray<UnitFailed> =>
  runningFailed(scope, task, 'the code that called it ended first').filter(
    ({ unit }) => unit !== failed && isWithin(unit, failed)
  )

export const eventsOf = (
  program: Program<unknown, never>,
  { items, runId, state }: Checkpoint,
  change: Change
): ReadonlyArray<Event> => {
  const found = (unit: Unit) => find<ProgramStep>(program, items, unit, state.stepIndex)
  const stepIndexOf = (unit: Unit): number =>
    (found(unit) ?? taskAround<ProgramStep>(program, items, unit))?.stepIndex ?? -1
  const eventUnit = (unit: Unit): EventUnit => ({ runId, unit, stepIndex: stepIndexOf(unit) })
  switch (change._tag) {
    case 'Expanded':
      return [{ _tag: 'MapExpanded', ...eventUnit(change.unit), items: change.items.length }]
    case 'AttemptStarted':
      return change.attempts.map(({ unit, attempt }) => {
        const definition = found(unit)?.definition
        // A map's body without a summary of its own is shown by the key of the item.
        const hasSummary = definition !== undefined && (definition.summary !== definition.name || !isItem(items, unit))
        const summary = hasSummary ? definition.summary : nameOf(unit)
        return { _tag: 'StepStarted', ...eventUnit(unit), summary, attempt }
      })
    case 'UnitCompleted': {
      const { attempts, durationMillis } = change
      return [{ _tag: 'StepCompleted', ...eventUnit(change.unit), attempts, durationMillis }]
    }
    case 'UnitFailed': {
      const { last } = change
      return last === undefined
        ? []
        : [{ _tag: 'StepFailed', ...eventUnit(change.unit), error: last.error, attempt: last.attempt }]
    }
    case 'JobSubmitted': {
      const { job } = change
      return [{ _tag: 'JobSubmitted', ...eventUnit(change.unit), ...(job === undefined ? {} : { job }) }]
    }
    case 'WaitStarted':
      return [{ _tag: 'StepWaiting', ...eventUnit(change.unit), wait: change.wait }]
    case 'Suspended':
      return [{ _tag: 'StepSuspended', ...eventUnit(change.unit) }]
    case 'JobEnded': {
      const attempt = get(failures(state), change.unit)?.attempts.at(-1)?.attempt ?? 1
      return [{ _tag: 'StepFailed', ...eventUnit(change.unit), error: change.error, attempt }]
    }
    // Attempts report StepRetrying themselves; a stopped one has no retry to report.
    case 'AttemptFailed':
    case 'Started':
    case 'Forked':
    case 'Moved':
    case 'WorkflowEdited':
    case 'Recovered':
    case 'InputReplaced':
    case 'Interrupted':
    case 'Answered':
    case 'Rewound':
    case 'Assumed':
      return []
    case 'Confirmed':
      return change.evidence === undefined || change.replaced === true
        ? []
        : [{ _tag: 'EvidenceKept', ...eventUnit(change.unit), evidence: change.evidence }]
  }
}

const isItem = (items: Items, unit: Unit): boolean => {
  const map = parent(unit)
  return map !== undefined && items.has(map)
}
