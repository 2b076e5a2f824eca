/**
 * The checks around a wave as a whole.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Evidence } from '../domain/CompletedStep.js'
import * as State from '../domain/CheckpointState.js'
import { delay, never } from '../domain/RetryPolicy.js'
import type { StepFailure } from '../domain/StepFailure.js'
import type { TransitionError } from '../domain/Transition.js'
import type { StorageError } from '../ports/CheckpointStorage.js'
import { outside } from './Attempt.js'
import { leftUndone, taskFailed, waveCompleted } from './changes.js'
import type { Choice, Refused } from './guarded.js'
import { checkAfter, checkBefore, otherBefore, unlessWaived, unreadable } from './guarded.js'
import type { ProgramWave, StepContext, UnitGuard } from './Program.js'
import { sleepUnless } from './sleep.js'
import type { RunScope, StepEnd } from './RunScope.js'
import { contextFor } from './RunScope.js'
import type { Place } from './Values.js'

type RecordError = StorageError | TransitionError

/** A wave without checks of its own. */
const UNGUARDED: UnitGuard = {
  before: undefined,
  expect: {},
  after: undefined,
  evidence: undefined,
  onCheckFailure: 'ask',
  retry: never
}

/** Why a wave does not start: a check failed, or an earlier wave must run again first. */
export type Objection =
  { readonly _tag: 'Wrong'; readonly failure: StepFailure } | { readonly _tag: 'Back'; readonly stepIndex: number }

/** Checks whether a wave may start: evidence of earlier steps is intact and its own check passes. */
export const objectionTo = async (
  scope: RunScope,
  place: Place,
  wave: ProgramWave
): Promise<E.Either<RecordError, Objection | undefined>> => {
  const { guard = UNGUARDED } = wave
  if (guard.before === undefined && !scope.values.evident) return E.right(undefined)
  const { stopping, recorder } = scope
  const previous = previousWave(scope, place)
  const startedAt = scope.environment.clock.now()
  // A check or a question may take long, and a crash meanwhile must not lose the step before it.
  const saved = guard.before === undefined ? E.right(undefined) : await recorder.commit()
  if (E.isLeft(saved)) return saved
  for (let look = 1; ; look++) {
    const wrong = [...(await otherBefore(scope, place)), ...(await checkBefore(guard, contextOf(scope, place)))]
    const kept = wrong.length === 0 ? E.right(undefined) : await recorder.commit()
    if (E.isLeft(kept)) return kept
    const refused = await unlessWaived(scope, place, guard, 'before', wrong, stopping, undefined, previous.choice)
    if (refused === undefined) return E.right(undefined)
    if (refused.answer === 'previousWave') return E.right({ _tag: 'Back', stepIndex: previous.stepIndex })
    if (!(await looksAgain(scope, guard, refused, look, startedAt)))
      return E.right({ _tag: 'Wrong', failure: refused.error })
  }
}

/** The wave or map before this one. A pending job blocks going back, which would abandon it. */
const previousWave = (
  { definition, recorder }: RunScope,
  { stepIndex }: Place
): { readonly choice: Choice; readonly stepIndex: number } => {
  const index = definition.steps.slice(0, stepIndex).findLastIndex(({ _tag }) => _tag !== 'Task')
  const previous = definition.steps[index]?.name
  return previous === undefined || recorder.checkpoint().pending.length > 0
    ? { choice: { answers: ['lookAgain', 'continue', 'abort'] }, stepIndex }
    : {
        choice: { answers: ['lookAgain', 'previousWave', 'continue', 'abort'], previousWave: previous },
        stepIndex: index
      }
}

/** Whether it is looked once more: at once if somebody said so, else as long as the policy is to. */
const looksAgain = async (
  scope: RunScope,
  guard: UnitGuard,
  { asked, answer }: Refused,
  attempt: number,
  startedAt: number
): Promise<boolean> => {
  if (asked || answer !== 'retry') return answer === 'lookAgain'
  return await waited(scope, guard, attempt, startedAt)
}

/** Waits for the policy's next attempt; returns false if there is none. */
const waited = async (
  { environment: { clock, random }, stopping }: RunScope,
  { retry }: UnitGuard,
  attempt: number,
  startedAt: number
): Promise<boolean> => {
  const wait = delay(retry, { attempt, elapsedMillis: clock.now() - startedAt, random: random() })
  if (O.isNone(wait)) return false
  await sleepUnless(clock, wait.value, stopping)
  return !stopping.aborted
}

const contextOf = (scope: RunScope, place: Place): StepContext<unknown, unknown> =>
  contextFor(scope, place, outside(scope.stopping))

const AFTERWARDS: Choice = { answers: ['retry', 'lookAgain', 'continue', 'abort'] }

/**
 * Completes a wave whose groups are all done, if its artifacts exist and its check passes. `runs`: its runs in this execution,
 * including this one.
 */
export const close = async (
  scope: RunScope,
  place: Place,
  wave: ProgramWave,
  startedAt: number,
  runs: number
): Promise<E.Either<RecordError, StepEnd>> => {
  const { guard } = wave
  if (guard === undefined) return done(scope, place, startedAt, [])
  // A check may take long, and a crash meanwhile must not lose what the groups did.
  const saved = await scope.recorder.commit()
  if (E.isLeft(saved)) return saved
  const closingAt = scope.environment.clock.now()
  for (let look = 1; ; look++) {
    const { tree } = scope.environment
    const found = await checkAfter(tree, guard, contextOf(scope, place), undefined, commitsOf(scope, place))
    if (E.isLeft(found)) return await refuse(scope, place, unreadable(found.left), startedAt)
    const { wrong } = found.right
    const refused = await unlessWaived(scope, place, guard, 'after', wrong, scope.stopping, undefined, AFTERWARDS)
    if (refused !== undefined) {
      if (await runsAgain(scope, wave, guard, refused, runs, startedAt))
        return E.right({
          _tag: 'Back',
          stepIndex: place.stepIndex,
          ...(refused.asked ? {} : { otherwise: refused.error })
        })
      if (!mayRunAgain(wave, refused) && (await looksAgain(scope, guard, refused, look, closingAt))) continue
      return await refuse(scope, place, refused.error, startedAt)
    }
    // Its commits are evidence of the groups that made them: only those run again when one is gone.
    const evidence = found.right.evidence.filter(({ _tag }) => _tag !== 'Commit')
    return done(scope, place, startedAt, evidence)
  }
}

/** Stages the record of a wave that has completed. */
const done = (
  scope: RunScope,
  place: Place,
  startedAt: number,
  evidence: ReadonlyArray<Evidence>
): E.Either<never, StepEnd> => {
  scope.recorder.stage([waveCompleted(scope, place, startedAt, evidence)])
  return E.right({ _tag: 'Done' })
}

/** Whether the groups of a rejected wave may run again: a user agreed, or all are idempotent. */
const mayRunAgain = ({ groups }: ProgramWave, { asked, answer }: Refused): boolean =>
  answer === 'retry' && (asked || groups.every(({ idempotent }) => idempotent))

const runsAgain = async (
  scope: RunScope,
  wave: ProgramWave,
  guard: UnitGuard,
  refused: Refused,
  runs: number,
  startedAt: number
): Promise<boolean> => mayRunAgain(wave, refused) && (refused.asked || (await waited(scope, guard, runs, startedAt)))

/** The commits that its groups have recorded, each once: groups that commit at the same time see those of one another. */
const commitsOf = ({ recorder }: RunScope, { stepIndex }: Place): ReadonlyArray<string> => {
  const hashes = new Set<string>()
  for (const record of recorder.checkpoint().completedSteps) {
    if (record.stepIndex !== stepIndex) continue
    for (const one of record.evidence) if (one._tag === 'Commit') hashes.add(one.hash)
  }
  return [...hashes]
}

const NOT_RESUMED = 'in flight when the process ended, and not started again because a check of the wave failed'

/**
 * A wave fails as a whole, while none of its groups runs. Where all work was to stop meanwhile, it has only been stopped.
 *
 * @category effects
 * @since 0.1.0
 */
export const refuse = async (
  scope: RunScope,
  place: Place,
  failure: StepFailure,
  startedAt: number
): Promise<E.Either<RecordError, StepEnd>> => {
  if (scope.stopping.aborted) return E.right({ _tag: 'Stopped' })
  const { recorder } = scope
  const undone = State.inFlight(recorder.checkpoint().state).map(({ unit, attempt }) =>
    leftUndone(scope, unit, attempt, NOT_RESUMED)
  )
  const endedAt = scope.environment.clock.now()
  const failed = taskFailed(place.unit, { failure, attempt: 1, startedAt, endedAt })
  recorder.stage([...undone, failed])
  const saved = await recorder.commit()
  return E.isLeft(saved) ? saved : E.right({ _tag: 'Failed' })
}
