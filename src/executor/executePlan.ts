/** Executes a plan: runs its scheduled steps in order and records the results. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import * as State from '../domain/checkpoint/CheckpointState.js'
import type { ResumePlan } from '../domain/plan/Plan.js'
import { wakeAt } from '../domain/checkpoint/Pending.js'
import { decisionTrees } from '../domain/plan/Plan.js'
import type { StepFailure } from '../domain/data/StepFailure.js'
import { top } from '../domain/workflow/Unit.js'
import { failComposite } from './steps/compositeChecks.js'
import { planRestart, replan, recordOverrides } from './replan.js'
import { withdraw } from './requests/inbox.js'
import { leavePointer } from './requests/recordRequests.js'
import type { StopRequest } from './requests/StopRequests.js'
import { mustStop } from './requests/StopRequests.js'
import type { RunError } from './errors/RunError.js'
import type { Interrupted, RunOutcome } from './RunOutcome.js'
import type { RunScope, StepEnd } from './RunScope.js'
import { report, timestamp } from './RunScope.js'
import { recordInterrupted } from './storage/changes.js'
import { runParts } from './steps/steps.js'
import type { Place } from './Values.js'
import { outputOf } from './Values.js'
import { awakeIn } from './steps/waits.js'

type Restart = StepEnd & { readonly _tag: 'Restart' }

type Woken = { readonly _tag: 'Woken'; readonly index: number; readonly step: string }

/** Executes a plan from its first scheduled step to the end, a failure or a stop. Staged changes are saved before the first effect. */
export const executePlan = async (scope: RunScope, plan: ResumePlan): Promise<E.Either<RunError, RunOutcome>> => {
  let ended = await executeUntilReplan(scope, plan)
  while (E.isRight(ended) && (ended.right._tag === 'Restart' || ended.right._tag === 'Woken')) {
    if (ended.right._tag === 'Woken') {
      ended = await continueAfterWait(scope, ended.right)
      continue
    }
    const { unit, stepIndex, failureIfUnanswered } = ended.right
    const next = await planRestart(scope, ended.right)
    if (E.isLeft(next) && next.left._tag === 'Unconfirmed' && failureIfUnanswered !== undefined)
      return await failUnanswered(scope, { unit, stepIndex }, failureIfUnanswered)
    ended = E.isLeft(next) ? next : await executeUntilReplan(scope, next.right)
  }
  return ended as E.Either<RunError, RunOutcome>
}

/** If planning fails or needs an answer, the run stays pending, and the next resume reports why. */
const continueAfterWait = async (
  scope: RunScope,
  { index, step }: Woken
): Promise<E.Either<RunError, RunOutcome | Restart | Woken>> => {
  const planned = await replan(scope)
  if (E.isLeft(planned)) return await endPending(scope, index, step)
  const recorded = await recordOverrides(scope, planned.right)
  return E.isLeft(recorded) ? recorded : await executeUntilReplan(scope, planned.right.plan)
}

/** Fails a composite that cannot run again without an answer, because evidence changed. */
const failUnanswered = async (
  scope: RunScope,
  place: Place,
  failure: StepFailure
): Promise<E.Either<RunError, RunOutcome>> => {
  const step = top(place.unit)
  const { stepIndex } = place
  const ended = await failComposite(scope, place, failure, scope.environment.clock.now())
  if (E.isLeft(ended)) return ended
  return ended.right._tag === 'Stopped' ? interrupt(scope, step) : E.right(failed(scope, stepIndex, step))
}

/** Executes a plan until the run ends, a composite must run again, or a wait has ended. */
const executeUntilReplan = async (
  scope: RunScope,
  plan: ResumePlan
): Promise<E.Either<RunError, RunOutcome | Restart | Woken>> => {
  const { recorder, environment } = scope
  const { revision } = recorder.checkpoint()
  scope.awake = awakeIn(recorder.checkpoint(), environment.clock.now())
  const { steps } = scope.program
  const ended = await runParts(scope, { unit: undefined }, steps, decisionTrees(plan), scope.stopping)
  if (E.isLeft(ended)) return ended
  const { end, index } = ended.right
  const step = steps[index]?.name ?? ''
  switch (end._tag) {
    case 'Restart':
      return E.right(end)
    case 'Failed':
      return E.right(failed(scope, index, step))
    case 'Pending': {
      if (await mustStop(scope)) return await interrupt(scope, step)
      const reached = recorder.checkpoint()
      // If nothing was recorded since this plan, the next plan would end the same way.
      const isWoken = reached.revision > revision && awakeIn(reached, environment.clock.now()).size > 0
      return isWoken ? E.right({ _tag: 'Woken', index, step }) : await endPending(scope, index, step)
    }
    case 'Stopped':
      return await interrupt(scope, step)
    case 'Done': {
      const saved = await recorder.commit()
      if (E.isLeft(saved)) return saved
      const checkpoint = saved.right
      report(environment, { _tag: 'RunCompleted', runId: checkpoint.runId })
      return E.right(completed(scope.program, checkpoint))
    }
  }
}

/** Decodes the outputs when they are first read. The outcome does not keep the scope in memory. */
const completed = (program: RunScope['program'], checkpoint: Checkpoint): RunOutcome => {
  let decoded: { readonly outputs: unknown } | undefined
  const { runId, completedSteps, items } = checkpoint
  const outputsOf = (): unknown => {
    const outputs = new Map(Array.from(completedSteps, ({ unit, output }) => [unit, output]))
    return Object.fromEntries(program.steps.map((step) => [step.name, outputOf({ outputs, items }, step, step.name)]))
  }
  return {
    _tag: 'Completed',
    runId,
    checkpoint,
    get outputs() {
      return (decoded ??= { outputs: outputsOf() }).outputs
    }
  }
}

const failed = (scope: RunScope, stepIndex: number, step: string): RunOutcome => {
  const checkpoint = scope.recorder.checkpoint()
  const { runId, state } = checkpoint
  const failures = State.failuresHere(state)
  const notRetried = failures.flatMap(({ unit }) => (scope.notRetried.has(unit) ? [unit] : []))
  report(scope.environment, { _tag: 'RunFailed', runId, stepIndex, step })
  return {
    _tag: 'Failed',
    runId,
    checkpoint,
    stepIndex,
    step,
    failures,
    retryable: state._tag === 'Failed' && state.retryable,
    ...(notRetried.length === 0 ? {} : { notRetried })
  }
}

/** Ends the execution of a run that only waits. Writes nothing if the run is already pending. */
const endPending = async (
  scope: RunScope,
  stepIndex: number,
  step: string
): Promise<E.Either<RunError, RunOutcome>> => {
  const { recorder } = scope
  const { state } = recorder.checkpoint()
  const isPending = state._tag === 'Interrupted' && state.reason === 'pending' && state.stepIndex === stepIndex
  const at = timestamp(scope.environment.clock.now())
  if (!isPending) recorder.stage([{ _tag: 'Interrupted', at, unit: step, reason: 'pending' }])
  const saved = await recorder.commit()
  if (E.isLeft(saved)) return saved
  const checkpoint = saved.right
  const { runId } = checkpoint
  const units = [...checkpoint.pending]
  const next = wakeAt(units)
  const rejected = units.flatMap(({ unit }) => {
    const why = scope.rejectedAnswers.get(unit)
    return why === undefined ? [] : [{ unit, ...why }]
  })
  report(scope.environment, { _tag: 'RunInterrupted', runId, stepIndex, step })
  return E.right({
    _tag: 'Pending',
    runId,
    checkpoint,
    stepIndex,
    step,
    units,
    ...(next === undefined ? {} : { wakeAt: next }),
    ...(rejected.length === 0 ? {} : { rejected })
  })
}

const requestedReason = (request: StopRequest | undefined): Interrupted['reason'] => {
  if (request === undefined) return 'aborted'
  return request.cancel === undefined ? 'paused' : 'cancelled'
}

/** Records why the run stopped; a fenced run records nothing. */
const interrupt = async (scope: RunScope, step: string): Promise<E.Either<RunError, RunOutcome>> => {
  const { environment, recorder, requests } = scope
  const newest = requests.isStopSeen() ? await requests.newestStop() : undefined
  const stop = scope.stopReason()
  if (stop === 'fenced') return E.right({ _tag: 'Fenced', runId: recorder.checkpoint().runId })
  const request = stop === undefined ? newest : undefined
  const reason = stop ?? requestedReason(request)
  const recorded = await recordInterrupted(environment, recorder, step, reason)
  if (E.isLeft(recorded) || request === undefined) return recorded
  if (request.cancel !== undefined) await withdraw(environment, request.cancel)
  // The pause pointer may need a git commit in the workspace, where a new owner may work by now.
  else if (scope.stopReason() !== 'fenced')
    await leavePointer(environment, recorded.right.checkpoint, await requests.newestStop())
  return recorded
}
