/**
 * Obeys a plan: runs what it schedules, in order, and records what comes of it.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as State from '../domain/CheckpointState.js'
import { none } from '../domain/PendingJob.js'
import type { Decision, ResumePlan } from '../domain/Plan.js'
import type { StepFailure } from '../domain/StepFailure.js'
import { isTop } from '../domain/Unit.js'
import { runAttempts } from './attempts.js'
import { attemptsStart, attemptStopped, jobSubmitted, taskCompleted, taskFailed } from './changes.js'
import { goBack } from './goBack.js'
import { runMap } from './map.js'
import { completed } from './outputs.js'
import { leavePointer } from './pause.js'
import type { ProgramTask } from './Program.js'
import type { RunError } from './RunError.js'
import type { RunOutcome } from './RunOutcome.js'
import type { RunScope, StepEnd, Stop } from './RunScope.js'
import { report, timestamp } from './RunScope.js'
import { runWave } from './wave.js'
import { refuse } from './waveChecks.js'

type Back = StepEnd & { readonly _tag: 'Back' }

/**
 * Executes a plan from its first scheduled step to the end, a failure or a stop. Staged changes are saved before the first
 * effect.
 *
 * @category effects
 * @since 0.1.0
 */
export const execute = async (scope: RunScope, plan: ResumePlan): Promise<E.Either<RunError, RunOutcome>> => {
  /** How often each wave started in this execution. */
  const runs = new Map<number, number>()
  let ended = await obey(scope, plan, runs)
  while (E.isRight(ended) && ended.right._tag === 'Back') {
    const { stepIndex, otherwise } = ended.right
    const next = await goBack(scope, ended.right)
    if (E.isLeft(next) && next.left._tag === 'Unconfirmed' && otherwise !== undefined)
      return await giveUp(scope, stepIndex, otherwise)
    ended = E.isLeft(next) ? next : await obey(scope, next.right, runs)
  }
  return ended as E.Either<RunError, RunOutcome>
}

/** Fails a wave that its policy would run again, because changed evidence needs an answer first. */
const giveUp = async (
  scope: RunScope,
  stepIndex: number,
  failure: StepFailure
): Promise<E.Either<RunError, RunOutcome>> => {
  const step = scope.definition.steps[stepIndex]?.name ?? ''
  const ended = await refuse(scope, { unit: step, stepIndex }, failure, scope.environment.clock.now())
  if (E.isLeft(ended)) return ended
  return ended.right._tag === 'Stopped' ? interrupt(scope, stepIndex, step) : E.right(failed(scope, stepIndex, step))
}

/** Executes a plan until the run ends or must go back to an earlier wave. */
const obey = async (
  scope: RunScope,
  plan: ResumePlan,
  runs: Map<number, number>
): Promise<E.Either<RunError, RunOutcome | Back>> => {
  let at = 0
  for (const [stepIndex, step] of scope.definition.steps.entries()) {
    const decision = plan.decisions[at] as Decision
    const groups = step._tag === 'Task' ? none : groupsAfter(plan.decisions, at)
    at += 1 + groups.length
    if (decision._tag === 'Skip') continue
    if (scope.stop() !== undefined) return await interrupt(scope, stepIndex, step.name)
    const asked = scope.pauses.look()
    if (asked !== false && (await asked)) return await interrupt(scope, stepIndex, step.name)
    if (decision._tag === 'Poll') return await rest(scope, stepIndex, step.name)
    const times = (runs.get(stepIndex) ?? 0) + 1
    runs.set(stepIndex, times)
    const ended =
      step._tag === 'Task'
        ? await runTask(scope, stepIndex, step, decision)
        : step._tag === 'Wave'
          ? await runWave(scope, { stepIndex, wave: step, decisions: groups, runs: times })
          : await runMap(scope, { stepIndex, map: step, decision, decisions: groups, runs: times })
    if (E.isLeft(ended)) return ended
    if (ended.right._tag === 'Back') return E.right(ended.right)
    if (ended.right._tag === 'Failed') return E.right(failed(scope, stepIndex, step.name))
    if (ended.right._tag === 'Pending') return rest(scope, stepIndex, step.name)
    if (ended.right._tag === 'Stopped') return interrupt(scope, stepIndex, step.name)
  }
  const saved = await scope.recorder.commit()
  if (E.isLeft(saved)) return saved
  const checkpoint = saved.right
  report(scope.environment, { _tag: 'RunCompleted', runId: checkpoint.runId })
  return E.right(completed(scope.definition, checkpoint))
}

/** The decisions for the groups of a wave, which follow that for the wave. */
const groupsAfter = (decisions: ReadonlyArray<Decision>, at: number): ReadonlyArray<Decision> => {
  let end = at + 1
  while (!isTop(decisions[end]?.unit ?? '')) end += 1
  return decisions.slice(at + 1, end)
}

// ---------------------------------------------------------------------------------------------------------------------
// a task
// ---------------------------------------------------------------------------------------------------------------------

const runTask = async (
  scope: RunScope,
  stepIndex: number,
  task: ProgramTask,
  decision: Decision
): Promise<E.Either<RunError, StepEnd>> => {
  const unit = task.name
  const place = { unit, stepIndex }
  const attempt = decision._tag === 'Retry' ? decision.attempt : 1
  const { recorder } = scope
  recorder.stage([attemptsStart(scope, [{ unit, attempt }], task.job === undefined ? none : [unit])])
  const started = await recorder.commit()
  if (E.isLeft(started)) return started
  const result = await runAttempts(scope, place, task, attempt, scope.stopping)
  if (E.isLeft(result)) return result
  switch (result.right._tag) {
    case 'Stopped':
      recorder.stage(attemptStopped(place, task, result.right))
      return E.right({ _tag: 'Stopped' })
    case 'Done':
      recorder.stage([
        task.job === undefined ? taskCompleted(scope, place, task, result.right) : jobSubmitted(place, result.right)
      ])
      return E.right({ _tag: task.job === undefined ? 'Done' : 'Pending' })
    case 'Failed': {
      recorder.stage([taskFailed(unit, result.right)])
      const saved = await recorder.commit()
      return E.isLeft(saved) ? saved : E.right({ _tag: 'Failed' })
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// ends
// ---------------------------------------------------------------------------------------------------------------------

const failed = (scope: RunScope, stepIndex: number, step: string): RunOutcome => {
  const checkpoint = scope.recorder.checkpoint()
  const { runId, state } = checkpoint
  report(scope.environment, { _tag: 'RunFailed', runId, stepIndex, step })
  return {
    _tag: 'Failed',
    runId,
    checkpoint,
    stepIndex,
    step,
    failures: State.failures(state),
    retryable: state._tag === 'Failed' && state.retryable
  }
}

/** Nothing is left to do but to wait for jobs. A run that rests so already is not written to. */
const rest = async (scope: RunScope, stepIndex: number, step: string): Promise<E.Either<RunError, RunOutcome>> => {
  const { recorder } = scope
  const { state } = recorder.checkpoint()
  const rests = state._tag === 'Interrupted' && state.reason === 'pending' && state.stepIndex === stepIndex
  const at = timestamp(scope.environment.clock.now())
  if (!rests) recorder.stage([{ _tag: 'Interrupted', at, unit: step, reason: 'pending' }])
  const saved = await recorder.commit()
  if (E.isLeft(saved)) return saved
  const checkpoint = saved.right
  const { runId, pending: jobs } = checkpoint
  report(scope.environment, { _tag: 'RunInterrupted', runId, stepIndex, step })
  return E.right({ _tag: 'Pending', runId, checkpoint, stepIndex, step, jobs })
}

const PAUSED: Stop = { _tag: 'Interrupted', reason: 'paused' }

/** Records the interruption. A run that was taken over records nothing; that it was is reported once, where it is seen. */
const interrupt = async (scope: RunScope, stepIndex: number, step: string): Promise<E.Either<RunError, RunOutcome>> => {
  const stop = scope.stop() ?? (scope.pauses.seen() ? PAUSED : undefined)
  const { runId } = scope.recorder.checkpoint()
  if (stop === undefined || stop._tag === 'Fenced') return E.right({ _tag: 'Fenced', runId })
  const at = timestamp(scope.environment.clock.now())
  scope.recorder.stage([{ _tag: 'Interrupted', at, unit: step, reason: stop.reason }])
  const saved = await scope.recorder.commit()
  if (E.isLeft(saved)) return saved
  const checkpoint = saved.right
  const inProgress = checkpoint.state._tag === 'Interrupted' && checkpoint.state.inProgress
  report(scope.environment, { _tag: 'RunInterrupted', runId, stepIndex, step })
  // Whoever has taken the run over may be at work where we would commit.
  if (stop === PAUSED && scope.stop()?._tag !== 'Fenced')
    await leavePointer(scope.environment, checkpoint, await scope.pauses.asked())
  return E.right({ _tag: 'Interrupted', runId, checkpoint, stepIndex, step, inProgress, reason: stop.reason })
}
