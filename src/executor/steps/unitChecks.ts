/** Checks a unit before and after it runs. A unit completes only if its checks pass. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Evidence, ExpectedEvidence } from '../../domain/checkpoint/CompletedStep.js'
import { describeEvidence } from '../../domain/checkpoint/CompletedStep.js'
import { placeOf } from '../../domain/plan/changedEvidence.js'
import { unexplained } from '../../domain/plan/ownChanges.js'
import { listed } from '../../domain/data/listed.js'
import { ignoringErrors } from '../../domain/data/notTaskEither.js'
import type { FoundEvidence } from '../../domain/plan/Plan.js'
import { visibleFrom } from '../../domain/plan/visibleUnits.js'
import * as StepError from '../../domain/data/StepError.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import * as Failure from '../../domain/data/StepFailure.js'
import type { CheckAnswer, FailedCheck } from '../../ports/Checks.js'
import type { TreeUnreadable, WorkingTree } from '../../ports/WorkingTree.js'
import { collectEvidence, callTree, collectExpected } from '../workspace/evidence.js'
import type { StepContext, UnitChecks } from '../program/Program.js'
import { evidenceProblem } from '../program/stepOptions.js'
import { onAbort } from '../onAbort.js'
import { describe } from '../errors/describe.js'
import type { RunScope } from '../RunScope.js'
import { report } from '../RunScope.js'
import type { Place } from '../Values.js'

/** The result of work between its checks: a value with its evidence, or a failure. `again`: the user asked for another attempt. */
type CheckedResult =
  | { readonly _tag: 'Value'; readonly value: unknown; readonly evidence: ReadonlyArray<Evidence> }
  | { readonly _tag: 'Error'; readonly error: unknown; readonly again: boolean }

export const CHECK_FAILED = 'CHECK_FAILED'

type CheckFailures = ReadonlyArray<string>

type Context = StepContext<unknown, unknown>

/** Stops the clock of an attempt's timeout during a call. */
type OutsideTimeout = <A>(act: () => Promise<A>) => Promise<A>

/** Runs work between its checks. Prompts do not count toward its timeout. */
export const runWithChecks = async (
  scope: RunScope,
  place: Place,
  checks: UnitChecks,
  context: Context,
  work: () => Promise<E.Either<unknown, unknown>>,
  outsideTimeout: OutsideTimeout
): Promise<CheckedResult> => {
  const { tree } = scope.environment
  const { signal } = context
  const before = await checkBefore(checks, context)
  const refusedStart = await judgeChecks(scope, place, checks, {
    when: 'before',
    wrong: before,
    signal,
    outsideTimeout
  })
  if (refusedStart !== undefined) return refusedStart
  const start = checks.expect.commits === undefined ? E.right(O.none) : await callTree(() => tree.head)
  if (E.isLeft(start)) return failedToRead(start.left, 'notApplied')
  if (signal.aborted) return { _tag: 'Error', error: NOT_STARTED, again: false }
  const done = await work()
  if (E.isLeft(done)) return { _tag: 'Error', error: done.left, again: false }
  const hashes = checks.expect.commits === undefined ? NO_COMMITS : await callTree(() => tree.commitsSince(start.right))
  if (E.isLeft(hashes)) return failedToRead(hashes.left)
  const after = await checkAfter(tree, checks, context, done.right, hashes.right)
  if (E.isLeft(after)) return failedToRead(after.left)
  const { wrong, evidence } = after.right
  const refused = await judgeChecks(scope, place, checks, { when: 'after', wrong, signal, outsideTimeout })
  return refused ?? { _tag: 'Value', value: done.right, evidence }
}

/** The stop arrived before the work was called. */
export const NOT_STARTED = Failure.permanent(StepError.make('NotStarted', 'stopped before it began'), 'notApplied')

const NO_COMMITS: E.Either<TreeUnreadable, ReadonlyArray<string>> = E.right([])

const NOTHING_WRONG: CheckFailures = []

export const checkBefore = async ({ before }: UnitChecks, context: Context): Promise<CheckFailures> =>
  before === undefined ? NOTHING_WRONG : await failuresOf(before(context))

const failuresOf = async (check: TaskEither<unknown, unknown>): Promise<CheckFailures> => {
  try {
    const result = await check()
    if (E.isLeft(result)) return [Failure.fromUnknown(result.left).error.message]
    return result.right === false ? ['the check returned false'] : NOTHING_WRONG
  } catch (error) {
    return [Failure.fromUnknown(error).error.message]
  }
}

interface CheckResult {
  readonly wrong: CheckFailures
  readonly evidence: ReadonlyArray<Evidence>
}

/** Returns the evidence of work that succeeded, and its failed checks. `hashes`: those of the commits that the work made. */
export const checkAfter = async (
  tree: WorkingTree,
  { expect, after, evidence }: UnitChecks,
  context: Context,
  value: unknown,
  hashes: ReadonlyArray<string>
): Promise<E.Either<TreeUnreadable, CheckResult>> => {
  const expected = expectedBy(evidence, value, context)
  if (E.isLeft(expected)) return E.right({ wrong: [expected.left], evidence: [] })
  const files = (expect.files ?? []).map((path): ExpectedEvidence => ({ _tag: 'File', path }))
  const collected = await collectExpected(tree, [...expected.right, ...files], context.signal)
  if (E.isLeft(collected)) return collected
  const changed = expect.cleanTree === true ? await callTree(() => tree.changed) : E.right([])
  if (E.isLeft(changed)) return changed
  const own = after === undefined ? NOTHING_WRONG : await failuresOf(after(context))
  const commits = hashes.map((hash): Evidence => ({ _tag: 'Commit', hash }))
  return E.right({
    evidence: [...collected.right.evidence, ...commits],
    wrong: [
      ...collected.right.missing.map((one) => `${describeEvidence(one) || 'an empty path'} is missing`),
      ...wrongCount(expect.commits, hashes.length),
      ...uncommitted(changed.right),
      ...own
    ]
  })
}

const expectedBy = (
  evidence: UnitChecks['evidence'],
  value: unknown,
  context: Context
): E.Either<string, ReadonlyArray<ExpectedEvidence>> =>
  E.chain((expected: ReadonlyArray<ExpectedEvidence>) => {
    const wrong = evidenceProblem(expected)
    if (wrong === undefined) return E.right(expected)
    // It may be a promise, whose rejection would end the process.
    ignoringErrors(() => expected)
    return E.left(`its \`evidence\` function must return ${wrong}`)
  })(
    E.tryCatch(
      () => evidence?.(value, context) ?? [],
      (error) => `its \`evidence\` function failed: ${StepError.fromUnknown(error).message}`
    )
  )

const wrongCount = (expected: number | true | undefined, found: number): CheckFailures => {
  if (expected === true) return found > 0 ? [] : ['it made no commit']
  return expected === undefined || expected === found
    ? []
    : [`it made ${found} commit${found === 1 ? '' : 's'}, not ${expected}`]
}

const MAX_PATHS = 5

const uncommitted = (paths: ReadonlyArray<string>): CheckFailures =>
  paths.length === 0 ? [] : [`the working tree is not clean: ${listed(paths, MAX_PATHS)}`]

/** Describes evidence of earlier steps that is missing or changed, except for changes made by the wave's own groups. */
export const evidenceFailures = async (
  { environment, recorder, values, stopping, program }: RunScope,
  { unit }: Place
): Promise<CheckFailures> => {
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
  return `${listed(what.map(describeEvidence), MAX_PATHS)} of ${found.unit} ${how}`
}

/** Failed checks that were not waived. `asked`: `answer` is that of a user; else that of `onCheckFailure`. */
export interface CheckRefusal {
  readonly _tag: 'Error'
  readonly error: StepFailure
  /** The answer is to run the unit again. */
  readonly again: boolean
  readonly asked: boolean
  readonly answer: CheckAnswer
}

export type Choice = Pick<FailedCheck, 'answers' | 'previousWave'>

const OF_UNITS: Choice = { answers: ['retry', 'continue', 'abort'] }

interface Checked {
  readonly when: FailedCheck['when']
  readonly wrong: CheckFailures
  readonly signal: AbortSignal
  readonly outsideTimeout?: OutsideTimeout
  readonly choice?: Choice
}

/**
 * Decides what failed checks mean, by `onCheckFailure` or by asking a user. Returns undefined if none failed or the answer waives them. Once
 * `signal` has fired, it asks no user and waives nothing.
 */
export const judgeChecks = async (
  scope: RunScope,
  place: Place,
  { onCheckFailure }: UnitChecks,
  { when, wrong, signal, outsideTimeout = (act) => act(), choice = OF_UNITS }: Checked
): Promise<CheckRefusal | undefined> => {
  const [first, ...more] = wrong
  if (first === undefined) return undefined
  const { runId } = scope.recorder.checkpoint()
  const failed: FailedCheck = { runId, ...place, when, wrong: [first, ...more], ...choice }
  const asked = onCheckFailure === 'ask'
  const given = asked ? offeredAnswer(choice, await outsideTimeout(() => ask(scope, failed, signal))) : onCheckFailure
  const answer = signal.aborted ? 'abort' : given
  if (!signal.aborted) report(scope.environment, { _tag: 'CheckFailed', ...failed, answer })
  if (answer === 'continue') return undefined
  const message = `${when === 'before' ? 'not started, because a check failed' : 'it ran, but a check failed'}: ${wrong.join('; ')}`
  const error = StepError.make('CheckFailed', message, { code: CHECK_FAILED, data: [...wrong] })
  const outcome = when === 'before' ? 'notApplied' : 'unknown'
  const make = answer === 'retry' ? Failure.transient : Failure.permanent
  return { _tag: 'Error', error: make(error, outcome), again: answer === 'retry' && asked, asked, answer }
}

/** Returns an answer that was offered. Where only the check can be repeated, `retry` means `lookAgain`; anything else counts as `abort`. */
const offeredAnswer = ({ answers }: Choice, given: CheckAnswer): CheckAnswer => {
  if (answers.includes(given)) return given
  return given === 'retry' && answers.includes('lookAgain') ? 'lookAgain' : 'abort'
}

/** Asks the user, through `onCheckFailed`. A stop ends the prompt. */
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

const failedToRead = (error: TreeUnreadable, outcome?: StepFailure['outcome']): CheckedResult => ({
  _tag: 'Error',
  error: unreadable(error, outcome),
  again: false
})

/** The failure of a unit whose files or commits cannot be read. */
export const unreadable = ({ where, why, code }: TreeUnreadable, outcome?: StepFailure['outcome']): StepFailure =>
  Failure.permanent(StepError.make('TreeUnreadable', `${where} cannot be read: ${why}`, { code }), outcome)
