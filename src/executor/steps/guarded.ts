/** Checks a unit before and after it runs: it completes only if its checks hold. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Evidence, ExpectedEvidence } from '../../domain/checkpoint/CompletedStep.js'
import { describeEvidence } from '../../domain/checkpoint/CompletedStep.js'
import { placeOf } from '../../domain/plan/changedEvidence.js'
import { unexplained } from '../../domain/plan/ownChanges.js'
import { listed } from '../../domain/data/listed.js'
import type { FoundEvidence } from '../../domain/plan/Plan.js'
import { visibleFrom } from '../../domain/plan/visibleUnits.js'
import * as StepError from '../../domain/data/StepError.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import * as Failure from '../../domain/data/StepFailure.js'
import type { CheckAnswer, FailedCheck } from '../../ports/Checks.js'
import type { TreeUnreadable, WorkingTree } from '../../ports/WorkingTree.js'
import { collectEvidence, askTree, collectExpected } from '../workspace/evidence.js'
import type { StepContext, UnitGuard } from '../program/Program.js'
import { evidenceProblem } from '../program/stepOptions.js'
import { onAbort } from '../onAbort.js'
import { describe } from '../errors/describe.js'
import type { RunScope } from '../RunScope.js'
import { report } from '../RunScope.js'
import type { Place } from '../Values.js'

/** The result of work between its checks: a value with its evidence, or a failure. `again`: the user asked for another attempt. */
type Guarded =
  | { readonly _tag: 'Value'; readonly value: unknown; readonly evidence: ReadonlyArray<Evidence> }
  | { readonly _tag: 'Error'; readonly error: unknown; readonly again: boolean }

export const CHECK_FAILED = 'CHECK_FAILED'

type Failures = ReadonlyArray<string>

type Context = StepContext<unknown, unknown>

/** Stops the clock of the timeout during a call. */
type OutsideTimeout = <A>(act: () => Promise<A>) => Promise<A>

/** Runs work between its checks. Prompts do not count toward its timeout. */
export const guarded = async (
  scope: RunScope,
  place: Place,
  guard: UnitGuard,
  context: Context,
  work: () => Promise<E.Either<unknown, unknown>>,
  outsideTimeout: OutsideTimeout
): Promise<Guarded> => {
  const { tree } = scope.environment
  const { signal } = context
  const before = await checkBefore(guard, context)
  const refusedStart = await refusalOf(scope, place, guard, 'before', before, signal, outsideTimeout)
  if (refusedStart !== undefined) return refusedStart
  const start = guard.expect.commits === undefined ? E.right(O.none) : await askTree(() => tree.head)
  if (E.isLeft(start)) return failedToRead(start.left, 'notApplied')
  if (signal.aborted) return { _tag: 'Error', error: NOT_STARTED, again: false }
  const done = await work()
  if (E.isLeft(done)) return { _tag: 'Error', error: done.left, again: false }
  const made = guard.expect.commits === undefined ? NO_COMMITS : await askTree(() => tree.commitsSince(start.right))
  if (E.isLeft(made)) return failedToRead(made.left)
  const after = await checkAfter(tree, guard, context, done.right, made.right)
  if (E.isLeft(after)) return failedToRead(after.left)
  const { wrong, evidence } = after.right
  const refused = await refusalOf(scope, place, guard, 'after', wrong, signal, outsideTimeout)
  return refused ?? { _tag: 'Value', value: done.right, evidence }
}

/** The stop arrived before the work was called. */
export const NOT_STARTED = Failure.permanent(StepError.make('NotStarted', 'stopped before it began'), 'notApplied')

const NO_COMMITS: E.Either<TreeUnreadable, ReadonlyArray<string>> = E.right([])

const NOTHING_WRONG: Failures = []

export const checkBefore = async ({ before }: UnitGuard, context: Context): Promise<Failures> =>
  before === undefined ? NOTHING_WRONG : await holds(before(context))

const holds = async (check: TaskEither<unknown, unknown>): Promise<Failures> => {
  try {
    const result = await check()
    if (E.isLeft(result)) return [Failure.fromUnknown(result.left).error.message]
    return result.right === false ? ['the check returned false'] : NOTHING_WRONG
  } catch (error) {
    return [Failure.fromUnknown(error).error.message]
  }
}

interface CheckResult {
  readonly wrong: Failures
  readonly evidence: ReadonlyArray<Evidence>
}

/** Returns the evidence of work that succeeded, and its failed checks. */
export const checkAfter = async (
  tree: WorkingTree,
  { expect, after, evidence }: UnitGuard,
  context: Context,
  value: unknown,
  made: ReadonlyArray<string>
): Promise<E.Either<TreeUnreadable, CheckResult>> => {
  const expected = expectedBy(evidence, value, context)
  if (E.isLeft(expected)) return E.right({ wrong: [expected.left], evidence: [] })
  const files = (expect.files ?? []).map((path): ExpectedEvidence => ({ _tag: 'File', path }))
  const taken = await collectExpected(tree, [...expected.right, ...files], context.signal)
  if (E.isLeft(taken)) return taken
  const changed = expect.cleanTree === true ? await askTree(() => tree.changed) : E.right([])
  if (E.isLeft(changed)) return changed
  const own = after === undefined ? NOTHING_WRONG : await holds(after(context))
  const commits = made.map((hash): Evidence => ({ _tag: 'Commit', hash }))
  return E.right({
    evidence: [...taken.right.evidence, ...commits],
    wrong: [
      ...taken.right.missing.map((one) => `${describeEvidence(one) || 'an empty path'} is missing`),
      ...wrongCount(expect.commits, made.length),
      ...dirty(changed.right),
      ...own
    ]
  })
}

const expectedBy = (
  evidence: UnitGuard['evidence'],
  value: unknown,
  context: Context
): E.Either<string, ReadonlyArray<ExpectedEvidence>> =>
  E.chain((expected: ReadonlyArray<ExpectedEvidence>) => {
    const wrong = evidenceProblem(expected)
    return wrong === undefined ? E.right(expected) : E.left(`its \`evidence\` function must return ${wrong}`)
  })(
    E.tryCatch(
      () => evidence?.(value, context) ?? [],
      (error) => `its \`evidence\` function failed: ${StepError.fromUnknown(error).message}`
    )
  )

const wrongCount = (expected: number | true | undefined, found: number): Failures => {
  if (expected === true) return found > 0 ? [] : ['it made no commit']
  return expected === undefined || expected === found
    ? []
    : [`it made ${found} commit${found === 1 ? '' : 's'}, not ${expected}`]
}

const MOST_PATHS = 5

const dirty = (paths: ReadonlyArray<string>): Failures =>
  paths.length === 0 ? [] : [`the working tree is not clean: ${listed(paths, MOST_PATHS)}`]

/** Describes evidence of earlier steps that is missing or changed, except for changes made by the wave's own groups. */
export const wrongEvidence = async (
  { environment, recorder, values, stopping, program }: RunScope,
  { unit }: Place
): Promise<Failures> => {
  if (!values.hasEvidence) return NOTHING_WRONG
  const now = recorder.checkpoint()
  const sees = visibleFrom(program, now.items, unit)
  const records = [...now.completedSteps]
  const places = new Set(records.flatMap(({ unit, evidence }) => (sees(unit) ? evidence.map(placeOf) : [])))
  // Groups of the wave that completed before a resume may have replaced what an earlier step left.
  const completedSteps = records.filter(({ evidence }) => evidence.some((one) => places.has(placeOf(one))))
  const found = await collectEvidence({ runId: now.runId, completedSteps }, stopping)(environment)()
  if (E.isLeft(found)) return [describe(found.left)]
  const earlier = found.right.filter(({ unit }) => sees(unit))
  return unexplained(now, program, earlier).map(describeFound)
}

const describeFound = (found: FoundEvidence): string => {
  const what = 'missing' in found ? found.missing : found.changed.map(({ was }) => was)
  const how = 'missing' in found ? 'is missing' : 'changed'
  return `${listed(what.map(describeEvidence), MOST_PATHS)} of ${found.unit} ${how}`
}

/** A check that failed and was not waived. `asked`: a user gave the `answer`; else the policy did. */
export interface Refused {
  readonly _tag: 'Error'
  readonly error: StepFailure
  /** The answer is to run the unit again. */
  readonly again: boolean
  readonly asked: boolean
  readonly answer: CheckAnswer
}

export type Choice = Pick<FailedCheck, 'answers' | 'previousWave'>

const OF_UNITS: Choice = { answers: ['retry', 'continue', 'abort'] }

/** Returns undefined if no check failed or the answer waives it. Once `signal` fires it asks no user and waives nothing. */
export const refusalOf = async (
  scope: RunScope,
  place: Place,
  { onCheckFailure }: UnitGuard,
  when: FailedCheck['when'],
  wrong: Failures,
  signal: AbortSignal,
  outsideTimeout: OutsideTimeout = (act) => act(),
  choice: Choice = OF_UNITS
): Promise<Refused | undefined> => {
  const [first, ...more] = wrong
  if (first === undefined) return undefined
  const { runId } = scope.recorder.checkpoint()
  const failed: FailedCheck = { runId, ...place, when, wrong: [first, ...more], ...choice }
  const asked = onCheckFailure === 'ask'
  const given = asked ? possible(choice, await outsideTimeout(() => ask(scope, failed, signal))) : onCheckFailure
  const answer = signal.aborted ? 'abort' : given
  if (!signal.aborted) report(scope.environment, { _tag: 'CheckFailed', ...failed, answer })
  if (answer === 'continue') return undefined
  const message = `${when === 'before' ? 'not started, because a check failed' : 'it ran, but a check failed'}: ${wrong.join('; ')}`
  const error = StepError.make('CheckFailed', message, { code: CHECK_FAILED, data: [...wrong] })
  const outcome = when === 'before' ? 'notApplied' : 'unknown'
  const make = answer === 'retry' ? Failure.transient : Failure.permanent
  return { _tag: 'Error', error: make(error, outcome), again: answer === 'retry' && asked, asked, answer }
}

/** Before anything has run, a retry only repeats the check. Any other answer that is not offered counts as `abort`. */
const possible = ({ answers }: Choice, given: CheckAnswer): CheckAnswer => {
  if (answers.includes(given)) return given
  return given === 'retry' && answers.includes('lookAgain') ? 'lookAgain' : 'abort'
}

/** A stop ends the prompt. */
const ask = async ({ environment }: RunScope, failed: FailedCheck, signal: AbortSignal): Promise<CheckAnswer> => {
  if (signal.aborted) return 'abort'
  let ignore = (): void => undefined
  const ended = new Promise<CheckAnswer>((resolve) => (ignore = onAbort(signal, () => resolve('abort'))))
  try {
    return (await Promise.race([environment.onCheckFailed?.(failed), ended])) ?? 'abort'
  } catch {
    return 'abort'
  } finally {
    ignore()
  }
}

const failedToRead = (error: TreeUnreadable, outcome?: StepFailure['outcome']): Guarded => ({
  _tag: 'Error',
  error: unreadable(error, outcome),
  again: false
})

/** The files and commits are unreadable, so it is unknown whether the unit took effect. */
export const unreadable = ({ where, why, code }: TreeUnreadable, outcome?: StepFailure['outcome']): StepFailure =>
  Failure.permanent(StepError.make('TreeUnreadable', `${where} cannot be read: ${why}`, { code }), outcome)
