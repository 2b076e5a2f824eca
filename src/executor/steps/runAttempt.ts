/** Runs the code of one attempt of a task, and judges how it ended. */
import * as E from 'fp-ts/lib/Either.js'
import type { Evidence } from '../../domain/checkpoint/CompletedStep.js'
import type { Json } from '../../domain/data/Json.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import type { OutputMismatch } from '../../domain/workflow/Workflow.js'
import type { Wrapped } from './aroundHook.js'
import { wrapped } from './aroundHook.js'
import type { Attempt } from './Attempt.js'
import { begin, end, outsideTimeout, suspend } from './Attempt.js'
import type { AttemptResult, CodeEnd } from './AttemptResult.js'
import { judge } from './AttemptResult.js'
import { runningSubStepsFailed } from '../storage/changes.js'
import { toJson } from '../program/conversions.js'
import { runWithChecks, NOT_STARTED } from './unitChecks.js'
import type { ProgramTask } from '../program/Program.js'
import type { StepToRun, RunScope } from '../RunScope.js'
import { contextFor } from './context.js'
import type { Place } from '../Values.js'
import type { AttemptCalls, Closed } from '../subSteps/subSteps.js'
import { notStorable } from '../subSteps/subStepFailures.js'
import { failSubSteps } from '../subSteps/subStepVersions.js'
import { closeCalls, subStepsOfAttempt } from '../subSteps/subSteps.js'
import { artifactsOf, readOnly } from '../workspace/artifacts.js'
import type { StepFolder } from '../workspace/workspace.js'
import { stepFolder, withFolder } from '../workspace/workspace.js'

/** The code of one attempt. Thousands may run at once, so each is one object, without a promise of its own. */
export interface Running<Self> {
  readonly scope: RunScope
  readonly toRun: TaskToRun
  readonly number: number
  /** Called once, when the code has ended, or the attempt stops waiting for it. */
  readonly onEnd: (running: Self, end: RawEnd) => void
  /** Undefined until the code is called. */
  calls: AttemptCalls | undefined
  /** Set if the environment has an `around`. */
  rejectAct?: Wrapped<RawEnd>['rejectAct']
}

export type TaskToRun = Pick<StepToRun<ProgramTask>, 'place' | 'step' | 'stopping'>

type OneAttempt = Running<OneAttempt>

/** Runs a task's code once, and stops waiting when the grace after a stop or timeout is over. */
export const runAttempt = async (scope: RunScope, toRun: TaskToRun, number: number): Promise<AttemptResult> =>
  await new Promise((resolve) => {
    const onEnd: OneAttempt['onEnd'] = (running, end) => resolve(conclude(running, end))
    start<OneAttempt>({ scope, toRun, number, onEnd, calls: undefined })
  })

/** Calls a task's code; at once, unless it needs a folder of its own first. */
export const start = <R extends Running<R>>(running: R): void => {
  const { scope, toRun } = running
  const { place, step: task, stopping } = toRun
  if (stopping.aborted) return running.onEnd(running, NEVER_STARTED)
  if (task.workspace === undefined) return callCode(running, undefined)
  void stepFolder(scope, place, task.workspace).then((own) => {
    if (stopping.aborted) return running.onEnd(running, NEVER_STARTED)
    if (E.isRight(own)) return callCode(running, own.right)
    const result = { _tag: 'Failed', failure: own.left, settled: true } as const
    running.onEnd(running, { _tag: 'NotStarted', result })
  })
}

const NEVER_STARTED: RawEnd = { _tag: 'NotStarted', result: { _tag: 'Stopped', failure: NOT_STARTED } }

const callCode = <R extends Running<R>>(running: R, own: StepFolder | undefined): void => {
  const { scope, toRun, number } = running
  const { environment } = scope
  const { place, step: task, stopping } = toRun
  const settle = (end: RawEnd): void => {
    // Only the first end counts: `conclude` closes the calls at once.
    if (running.calls?.isClosed !== false) return
    running.rejectAct?.(end)
    running.onEnd(running, end)
  }
  const attempt = begin(number, { environment, stopping, timeoutMillis: task.timeoutMillis, giveUp: settle })
  const calls = subStepsOfAttempt(scope, toRun, attempt, settle)
  running.calls = calls
  const full = contextFor(scope, place, attempt, { own: own?.folder, lazy: calls })
  const context = task.job === undefined ? full : readOnly(full)
  const code =
    environment.around === undefined
      ? callTask(own?.scope ?? scope, place, task, context, attempt)
      : callAround(running, own, context, attempt)
  code.then(settle, (error: unknown) => settle({ _tag: 'Error', error }))
}

/** A separate function, so that its closures retain nothing else of an attempt in flight. */
const callAround = <R extends Running<R>>(
  running: R,
  own: StepFolder | undefined,
  context: ReturnType<typeof contextFor>,
  attempt: Attempt
): Promise<RawEnd> => {
  const { scope, toRun } = running
  const around = wrapped<RawEnd>(scope, toRun.place, attempt, () =>
    callTask(own?.scope ?? scope, toRun.place, toRun.step, context, attempt)
  )
  running.rejectAct = around.rejectAct
  return around.run()
}

/** Judges how a task's code ended. */
export const conclude = async (
  { scope, toRun: { place, step: task }, ...running }: Pick<Running<never>, 'scope' | 'toRun' | 'calls'>,
  ended: RawEnd
): Promise<AttemptResult> => {
  if (ended._tag === 'NotStarted') return ended.result
  const calls = running.calls as AttemptCalls
  const { attempt } = calls
  const hasReturned = ended._tag === 'Right'
  const closing = closeCalls(calls, !hasReturned)
  const { open, waits, staleWaits, refused, isOverrun } = closing === undefined ? NOTHING_OPEN : await closing
  if (ended._tag === 'Suspended' && refused === undefined) {
    suspend(attempt)
    scope.interruptedUnits.set(place.unit, true)
    return { _tag: 'Suspended', waits, ...(staleWaits.length === 0 ? {} : { dropped: staleWaits }) }
  }
  end(attempt)
  const encode = (value: unknown): E.Either<StepFailure, Json | undefined> =>
    E.mapLeft((mismatch: OutputMismatch) => notStorable('the output', mismatch))(encodeOf(task)(value))
  const judged = judge(codeEnd(ended), attempt, {
    timeoutMillis: task.timeoutMillis,
    refused,
    open,
    encode,
    put: artifactsOf(scope.artifacts, place.unit)
  })
  // The code may have caught the stop of a sub-step.
  if (judged._tag === 'Done' && closing !== undefined) scope.recorder.stage(runningSubStepsFailed(scope, place.unit))
  return judged._tag === 'Failed' ? failSubSteps(scope, place, place.unit, judged, isOverrun) : judged
}

const codeEnd = (settled: Exclude<RawEnd, { readonly _tag: 'NotStarted' }>): CodeEnd => {
  if (settled._tag === 'Right') return { _tag: 'Value', value: settled.right, evidence: NO_EVIDENCE }
  if (settled._tag === 'Left') return { _tag: 'Error', error: settled.left }
  // The code still waits, but a call that it made was refused, so the attempt fails.
  return settled._tag === 'Suspended' ? { _tag: 'Error', error: undefined } : settled
}

const NOTHING_OPEN: Closed = { open: [], waits: [], staleWaits: [], refused: undefined, isOverrun: false }

/** A submission returns a job, which is recorded unchanged. */
const encodeOf = ({ job, encode }: ProgramTask): ProgramTask['encode'] => (job === undefined ? encode : toJson)

/** How an attempt ended, before `conclude` judges it: with what its code returned, or otherwise. */
export type RawEnd =
  | CodeEnd
  | E.Either<unknown, unknown>
  | { readonly _tag: 'Suspended' }
  | { readonly _tag: 'NotStarted'; readonly result: AttemptResult }

const callTask = (
  scope: RunScope,
  place: Place,
  task: ProgramTask,
  context: Parameters<ProgramTask['run']>[0],
  attempt: Attempt
): Promise<RawEnd> => {
  try {
    return task.checks === undefined
      ? task.run(context)()
      : callWithChecks(scope, place, task, task.checks, context, attempt)
  } catch (error) {
    return Promise.resolve(E.left(error))
  }
}

const callWithChecks = async (
  scope: RunScope,
  place: Place,
  task: ProgramTask,
  checks: NonNullable<ProgramTask['checks']>,
  context: Parameters<ProgramTask['run']>[0],
  attempt: Attempt
): Promise<CodeEnd> => {
  const ended = await runWithChecks(
    scope,
    place,
    checks,
    context,
    () => task.run(context)(),
    (act) => outsideTimeout(attempt, act)
  )
  const { folder } = context
  const hasOwnFolder = task.workspace !== undefined && folder !== undefined && ended._tag === 'Value'
  return hasOwnFolder ? { ...ended, evidence: withFolder(folder, ended.evidence) } : ended
}

const NO_EVIDENCE: ReadonlyArray<Evidence> = []
