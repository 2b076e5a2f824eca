/** Checks a composite before its first part starts, and after its last part has ended. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Evidence } from '../../domain/checkpoint/CompletedStep.js'
import { delay, never } from '../../domain/workflow/RetryPolicy.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import * as Units from '../../domain/checkpoint/Units.js'
import type { DecisionTree } from '../../domain/plan/Plan.js'
import { find } from '../../domain/checkpoint/Tree.js'
import { ancestors, top } from '../../domain/workflow/Unit.js'
import { isIdempotent, waveBefore } from '../../domain/workflow/Node.js'
import { indexOfStep } from '../../domain/data/indexed.js'
import { noAttempt } from './Attempt.js'
import { runningFailed, stageCompleted, unitFailed, unitCompleted } from '../storage/changes.js'
import type { Choice, CheckRefusal } from './unitChecks.js'
import { checkAfter, checkBefore, evidenceFailures, judgeChecks, unreadable } from './unitChecks.js'
import type { ProgramStep, ProgramTask, StepContext, UnitChecks } from '../program/Program.js'
import type { RecordError } from '../storage/Recorder.js'
import { endFailed } from './endFailed.js'
import { randomOf, sleepUnless } from '../sleep.js'
import type { Ending, StepToRun, RunScope, StepEnd } from '../RunScope.js'
import { contextFor } from './context.js'
import type { Place } from '../Values.js'
import { timesOf } from './compositeTimes.js'

type Composite = Exclude<ProgramStep, ProgramTask>

const NO_CHECKS: UnitChecks = {
  before: undefined,
  expect: {},
  after: undefined,
  evidence: undefined,
  onCheckFailure: 'ask',
  retry: never
}

/** Checks whether a composite may start. Returns its end if evidence of earlier steps is missing or changed, or its `before` check failed. */
export const openComposite = async (
  runScope: RunScope,
  { place, step: { checks = NO_CHECKS }, stopping }: StepToRun<Composite>
): Promise<E.Either<RecordError, StepEnd | undefined>> => {
  // A part of a wave does not check the evidence of earlier steps: the wave did when it began, and a check for each part would take quadratic time.
  const checksEvidence = runScope.values.hasEvidence && isAlone(runScope, place)
  if (checks.before === undefined && !checksEvidence) return E.right(undefined)
  const scope = stoppedBy(runScope, stopping)
  const { recorder } = scope
  const previous = previousWave(scope, place)
  const startedAt = scope.environment.clock.now()
  // A check or a prompt may take long, and a crash meanwhile must not lose the previous step.
  const saved = checks.before === undefined ? E.right(undefined) : await recorder.commit()
  if (E.isLeft(saved)) return saved
  for (let attempt = 1; ; attempt++) {
    const others = checksEvidence ? await evidenceFailures(scope, place) : []
    const wrong = [...others, ...(await checkBefore(checks, contextOf(scope, place)))]
    const committed = wrong.length === 0 ? E.right(undefined) : await recorder.commit()
    if (E.isLeft(committed)) return committed
    const { choice } = previous
    const refused = await judgeChecks(scope, place, checks, { when: 'before', wrong, signal: stopping, choice })
    if (refused === undefined) return E.right(undefined)
    if (refused.answer === 'previousWave') return E.right({ _tag: 'Restart', ...previous.place })
    if (!(await repeatsCheck(scope, checks, refused, attempt, startedAt)))
      return await failComposite(scope, place, refused.error, startedAt)
  }
}

/** The halt of a wave stops the checks of a composite in it, too. */
const stoppedBy = (scope: RunScope, stopping: AbortSignal): RunScope =>
  stopping === scope.stopping ? scope : { ...scope, stopping }

/** Finds the wave or map before a composite in its sequence, to which a user may go back. Nothing may be pending: going back would abandon it. */
const previousWave = (scope: RunScope, place: Place): { readonly choice: Choice; readonly place: Place } => {
  const { program, recorder } = scope
  const unit = waveBefore(program, place.unit)
  if (unit === undefined || recorder.checkpoint().pending.size > 0 || !isAlone(scope, place))
    return { choice: WITHOUT_RETRY, place }
  return {
    choice: { answers: ['lookAgain', 'previousWave', 'continue', 'abort'], previousWave: unit },
    place: { unit, stepIndex: indexOfStep(program.steps, top(unit)) ?? place.stepIndex }
  }
}

/** Returns whether nothing can run beside a unit: it is in no wave or map. Going back would abandon such work. */
const isAlone = ({ program, recorder }: RunScope, { unit }: Place): boolean => {
  const { items } = recorder.checkpoint()
  return [...ancestors(unit)].every((one) => find<ProgramStep>(program, items, one)?.definition._tag === 'Sequence')
}

/** Returns whether to repeat the check: at once if the user asked, else by the retry policy. */
const repeatsCheck = async (
  scope: RunScope,
  checks: UnitChecks,
  { asked, answer }: CheckRefusal,
  attempt: number,
  startedAt: number
): Promise<boolean> => {
  if (asked || answer !== 'retry') return answer === 'lookAgain'
  return await waitedToRetry(scope, checks, attempt, startedAt)
}

const waitedToRetry = async (
  { environment, stopping }: RunScope,
  { retry }: UnitChecks,
  attempt: number,
  startedAt: number
): Promise<boolean> => {
  const { clock } = environment
  const elapsedMillis = clock.now() - startedAt
  const wait = delay(retry, { attempt, elapsedMillis, random: randomOf(environment) })
  if (O.isNone(wait)) return false
  await sleepUnless(clock, wait.value, stopping)
  return !stopping.aborted
}

const contextOf = (scope: RunScope, place: Place): StepContext<unknown, unknown> =>
  contextFor(scope, place, noAttempt(scope.stopping))

/** Running a composite again would abandon what runs beside it. */
const choiceAfter = (scope: RunScope, place: Place): Choice =>
  isAlone(scope, place) ? { answers: ['retry', 'lookAgain', 'continue', 'abort'] } : WITHOUT_RETRY

const WITHOUT_RETRY: Choice = { answers: ['lookAgain', 'continue', 'abort'] }

/** Completes a composite whose parts are all done, if its checks pass. */
export const closeComposite = async (
  runScope: RunScope,
  toRun: StepToRun<Composite>,
  startedAt: number
): Promise<Ending> => {
  const { place, step: composite, stopping } = toRun
  const { checks } = composite
  if (checks === undefined) return complete(runScope, toRun, startedAt, [])
  const scope = stoppedBy(runScope, stopping)
  // A check may take long, and a crash meanwhile must not lose the ends of the parts.
  const saved = await scope.recorder.commit()
  if (E.isLeft(saved)) return saved
  const closingAt = scope.environment.clock.now()
  for (let attempt = 1; ; attempt++) {
    const { tree } = scope.environment
    const found = await checkAfter(tree, checks, contextOf(scope, place), undefined, commitsOf(scope, place, checks))
    if (E.isLeft(found)) return await failComposite(scope, place, unreadable(found.left), startedAt)
    const { wrong } = found.right
    const choice = choiceAfter(scope, place)
    const refused = await judgeChecks(scope, place, checks, { when: 'after', wrong, signal: scope.stopping, choice })
    if (refused === undefined) {
      // Commits are evidence of the groups that made them: only those groups run again when one is missing.
      const evidence = found.right.evidence.filter(({ _tag }) => _tag !== 'Commit')
      return complete(scope, toRun, startedAt, evidence)
    }
    const { asked, answer, error } = refused
    // The parts run again if a user asked for it, or if all of them are idempotent.
    const mayRestart = answer === 'retry' && (asked || isIdempotent(composite)) && isAlone(scope, place)
    const restarts = scope.restarts.get(place.unit) ?? 0
    if (mayRestart && (asked || (await waitedToRetry(scope, checks, restarts + 1, startedAt))))
      return E.right({ _tag: 'Restart', ...place, ...(asked ? {} : { failureIfUnanswered: error }) })
    if (!mayRestart && (await repeatsCheck(scope, checks, refused, attempt, closingAt))) continue
    return await failComposite(scope, place, error, startedAt)
  }
}

const complete = (
  scope: RunScope,
  { place, node }: Pick<StepToRun, 'place' | 'node'>,
  startedAt: number,
  evidence: ReadonlyArray<Evidence>
): E.Either<never, StepEnd> => {
  const own = { attempt: 1, startedAt, endedAt: scope.environment.clock.now() }
  const completed = unitCompleted(place.unit, own, { evidence })
  const times = isNew(node) ? {} : timesOf(scope, place.unit, completed)
  stageCompleted(scope, place, { ...completed, ...times })
  return E.right({ _tag: 'Done' })
}

/** Returns whether no earlier process started the unit or a part of it. */
const isNew = ({ decision, parts }: DecisionTree): boolean => decision._tag === 'Run' && parts.every(isNew)

/** Returns the commits that the parts have recorded. Each counts once: groups that run at the same time record the commits of one another. */
const commitsOf = ({ recorder }: RunScope, { unit }: Place, { expect }: UnitChecks): ReadonlyArray<string> => {
  if (expect.commits === undefined) return []
  const hashes = new Set<string>()
  for (const { evidence } of Units.within(recorder.checkpoint().completedSteps, unit))
    for (const one of evidence) if (one._tag === 'Commit') hashes.add(one.hash)
  return [...hashes]
}

const NOT_RESUMED = 'in flight when the process ended, and not started again because a check failed'

/** Fails a composite because of its own checks or items, and with it all parts in flight. During a stop it ends as stopped. */
export const failComposite = async (
  scope: RunScope,
  place: Place,
  failure: StepFailure,
  startedAt: number
): Promise<Ending> => {
  if (scope.stopping.aborted) return E.right({ _tag: 'Stopped' })
  const parts = runningFailed(scope, place.unit, NOT_RESUMED)
  const endedAt = scope.environment.clock.now()
  const failed = unitFailed(place.unit, failure, { attempt: 1, startedAt, endedAt })
  return await endFailed(scope, [...parts, failed], failed.retryable)
}
