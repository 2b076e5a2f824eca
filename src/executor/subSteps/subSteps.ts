/** Sub-steps: work that a task discovers while it runs. Each is recorded under its own path, and a later attempt returns the recorded output. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as State from '../../domain/checkpoint/CheckpointState.js'
import { endOf } from '../../domain/checkpoint/Pending.js'
import * as Units from '../../domain/checkpoint/Units.js'
import { fingerprint } from '../../domain/data/Digest.js'
import * as IdempotencyKey from '../../domain/checkpoint/IdempotencyKey.js'
import type { Json } from '../../domain/data/Json.js'
import { ignoringErrors } from '../../domain/data/notTaskEither.js'
import type { OptionCheck } from '../../domain/data/Options.js'
import { anything, extraArgument, flag, millis, optionProblems, text } from '../../domain/data/Options.js'
import * as Redaction from '../../domain/data/Redaction.js'
import { policyOf, retryOption } from '../../domain/workflow/RetryPolicy.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import * as Failure from '../../domain/data/StepFailure.js'
import { atPath } from '../../domain/data/Malformed.js'
import type { SubStep } from '../../domain/checkpoint/SubStep.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { isWithin, withoutNumber } from '../../domain/workflow/Unit.js'
import type { OutputMismatch } from '../../domain/workflow/Workflow.js'
import type { Environment } from '../../ports/Environment.js'
import { artifactsFor, artifactsOf, inheritArtifacts } from '../workspace/artifacts.js'
import { wrapped } from '../steps/aroundHook.js'
import type { Attempt } from '../steps/Attempt.js'
import * as Attempts from '../steps/Attempt.js'
import type { AttemptResult, CodeEnd } from '../steps/AttemptResult.js'
import { judge, nextDelay, redacted } from '../steps/AttemptResult.js'
import { conversions, schema, toJson } from '../program/conversions.js'
import type { ProgramTask } from '../program/ProgramStep.js'
import { attemptFailed, subStepFailed, runningSubStepsFailed, unitCompleted } from '../storage/changes.js'
import type { RunScope, StepToRun } from '../RunScope.js'
import type { Calls, LazyCalls } from '../steps/context.js'
import { timestamp } from '../RunScope.js'
import { NOT_STARTED } from '../steps/unitChecks.js'
import { settle } from '../steps/callUserCode.js'
import { sleepUnless } from '../sleep.js'
import type { RunSubStep, SubStepContext, SubStepOptions } from '../program/StepSpec.js'
import type { OutputRecord } from './subStepFailures.js'
import { errorOf, noRun, notDecodable, notStorable, OF_SUB_STEP, wrongOption } from './subStepFailures.js'
import type { CallEnd, Level, Root } from './subStepLevel.js'
import { callOn, closeLevel, ENDED, levelOf, recordedEnd, recordsOf, save, stoppingOf } from './subStepLevel.js'
import { dropVersion, leaveInDoubt, failSubSteps } from './subStepVersions.js'
import { checkLater, waitsInside, waitsOf } from './subWaits.js'
import type { Place } from '../Values.js'

/** What an attempt's calls need; flags: see `Root`, `Level`. The rest is made at the first call: most tasks make none. */
export interface AttemptCalls extends LazyCalls<AttemptCalls> {
  readonly isRepeated: boolean
  readonly isCutShort: boolean
  readonly scope: RunScope
  readonly toRun: Pick<StepToRun<ProgramTask>, 'place' | 'step'>
  readonly attempt: Attempt
  readonly settle: (end: { readonly _tag: 'Suspended' }) => void
  isClosed: boolean
  /** The code did not return. */
  isCodeUnfinished: boolean
  level: Level | undefined
}

/**
 * What the calls of an attempt left when they were closed. `open`: sub-steps that were still running; `waits`: open waits of this code;
 * `staleWaits`: recorded waits that the repeated code did not call; `refused`: why the attempt fails, even if its code caught that; `isOverrun`: a
 * sub-step overran its grace.
 */
export interface Closed {
  readonly open: ReadonlyArray<Unit>
  readonly waits: ReadonlyArray<Unit>
  readonly staleWaits: ReadonlyArray<Unit>
  readonly refused: StepFailure | undefined
  readonly isOverrun: boolean
}

export const subStepsOfAttempt = (
  scope: RunScope,
  toRun: AttemptCalls['toRun'],
  attempt: Attempt,
  settle: AttemptCalls['settle']
): AttemptCalls => {
  const { unit } = toRun.place
  const wasSuspended = scope.interruptedUnits.get(unit)
  scope.interruptedUnits.delete(unit)
  return {
    isRepeated: wasSuspended !== undefined,
    isCutShort: wasSuspended === false,
    scope,
    toRun,
    attempt,
    settle,
    isClosed: false,
    isCodeUnfinished: false,
    level: undefined,
    callsOf
  }
}

const callsOf = (self: AttemptCalls): Calls => {
  const { scope, toRun, isRepeated, isCutShort, attempt, settle } = self
  const { place, step: task } = toRun
  const suspend = (): void => settle({ _tag: 'Suspended' })
  const root: Root = {
    scope,
    place,
    isRepeated,
    isCutShort,
    reused: new Set(),
    own: new Set(),
    refused: undefined,
    isOverrun: false
  }
  const level = levelOf(root, place.unit, task.idempotent, attempt)
  level.isClosed = self.isClosed
  level.isCodeUnfinished = self.isCodeUnfinished
  self.level = level
  return { step: stepOf(level, () => checkLater(level, suspend)), ...waitsOf(level, suspend) }
}

/** Stops the open sub-steps, and waits for their ends, until the grace is over. Returns undefined if there was no call. */
export const closeCalls = (self: AttemptCalls, isCodeUnfinished: boolean): Promise<Closed> | undefined => {
  self.isClosed = true
  self.isCodeUnfinished = isCodeUnfinished
  if (self.level === undefined) return undefined
  self.level.isClosed = true
  self.level.isCodeUnfinished = isCodeUnfinished
  return self.level.calls === 0 ? undefined : closeRoot(self.level)
}

const closeRoot = async (level: Level): Promise<Closed> => {
  const { root } = level
  const waits = [...level.waits.keys()]
  const staleWaits = root.isRepeated ? staleIn(root, waits) : []
  const open = await closeLevel(level)
  return { open, waits, staleWaits, refused: root.refused, isOverrun: root.isOverrun }
}

/**
 * Returns the recorded waits to drop: those that the repeated code did not call and that do not end at a later time. If the code calls a dropped
 * one later, that wait starts over.
 */
const staleIn = ({ scope, place }: Root, open: ReadonlyArray<Unit>): ReadonlyArray<Unit> =>
  Units.within(scope.recorder.checkpoint().pending, place.unit).flatMap((wait) => {
    const end = endOf(wait)
    const isKept = end !== undefined && Date.parse(end) > scope.environment.clock.now()
    return wait.unit === place.unit || open.includes(wait.unit) || isKept ? [] : [wait.unit]
  })

interface SubStepCall {
  readonly unit: Unit
  readonly subStep: SubStep
  readonly options: SubStepOptions<unknown>
  readonly convert: ReturnType<typeof conversions>
  readonly run: (context: SubStepContext) => unknown
}

const stepOf = (level: Level, onCallEnded: () => void = () => undefined): RunSubStep =>
  ((name: string, ...more: ReadonlyArray<unknown>): Promise<unknown> => {
    const act = async (call: SubStepCall): Promise<CallEnd> => {
      const ending = runUnlessRecorded(level, call)
      level.open.set(call.unit, ending)
      const ended = await ending
      if (E.isLeft(ended)) inheritArtifacts(level.root.scope.artifacts, level.unit, call.unit)
      level.open.delete(call.unit)
      return ended
    }
    const parse = (unit: Unit, text: string): E.Either<StepFailure, SubStepCall> => callOf(level.root, unit, text, more)
    return callOn(level, name, { refusals: OF_SUB_STEP, parse, act, onEnd: onCallEnded })
  }) as RunSubStep

const callOf = (
  { scope }: Root,
  unit: Unit,
  name: string,
  more: ReadonlyArray<unknown>
): E.Either<StepFailure, SubStepCall> => {
  const [options = {}, run, ...extra] = more.length < 2 ? [{}, more[0]] : more
  if (typeof run !== 'function' || typeof options !== 'object' || options === null) return E.left(noRun(name))
  const given = options as SubStepOptions<unknown>
  const { redaction } = scope.environment.vault
  const wrong = extraArgument(extra, 'fourth') ?? optionProblems(given, SUB_STEP)[0]
  if (wrong !== undefined) return E.left(wrongOption(unit, wrong))
  if (given.version !== undefined && Redaction.isIn(redaction, given.version))
    return E.left(wrongOption(unit, { option: 'version', expected: 'text without the value of a secret' }))
  const input = toJson(given.input)
  if (E.isLeft(input))
    return E.left(wrongOption(unit, { option: `input${atPath(input.left.path)}`, expected: input.left.expected }))
  const subStep: SubStep = {
    ...(input.right === undefined ? {} : { input: fingerprint(input.right) }),
    ...(given.version === undefined ? {} : { version: given.version }),
    ...(given.idempotent === false ? { idempotent: false } : {})
  }
  return E.right({ unit, subStep, options: given, convert: conversions(given.output), run: run as SubStepCall['run'] })
}

const SUB_STEP: Readonly<Record<keyof SubStepOptions<unknown>, OptionCheck>> = {
  input: anything,
  version: text,
  idempotent: flag,
  output: schema,
  retry: retryOption,
  timeoutMillis: millis
}

/** Returns the recorded result, or runs the sub-step and records its result. */
const runUnlessRecorded = async (level: Level, call: SubStepCall): Promise<CallEnd> => {
  const { root } = level
  const { unit, subStep } = call
  const { known } = recordsOf(root.scope, unit)
  if (known !== undefined && known.version !== subStep.version) {
    const dropped = await dropVersion(root, unit, subStep)
    return E.isLeft(dropped) ? dropped : await runSubStep(level, call)
  }
  const ended = recordedEnd(root, unit, subStep, (record) => outputOf(call, record))
  if (ended !== undefined) return ended
  if (subStep.idempotent === false && mayHaveActed(level, call))
    return await leaveInDoubt(root, [{ unit, call: subStep }], unit)
  return await runSubStep(level, call)
}

const outputOf = ({ convert }: SubStepCall, record: OutputRecord): CallEnd => {
  const decoded = convert.decode(record.output)
  return E.isRight(decoded) ? decoded : E.left(errorOf(notDecodable(record, decoded.left)))
}

/**
 * Returns whether an earlier attempt may have done the work of this call when it was idempotent: it completed and its record was dropped, it failed
 * with an unknown outcome, or it ran unrecorded. Two signs of that: its task was edited since, or the first call of its name is recorded as
 * idempotent. Returns false if an answer or option lets this call run again.
 */
const mayHaveActed = ({ root }: Level, { unit }: SubStepCall): boolean => {
  const { recorder, consented, before } = root.scope
  const { completedSteps, state } = recorder.checkpoint()
  const { edited, confirmed = [] } = Units.get(State.inFlight(state), root.place.unit) ?? {}
  if ([...confirmed, ...consented].some((one) => isWithin(unit, one))) return false
  const [recorded, failed] = [before.completedSteps, State.failures(before.state)]
  const [record, failure] = [Units.get(recorded, unit), Units.get(failed, unit)]
  // The record or failure decides.
  if (record !== undefined || failure !== undefined) return isIdempotentStep(record) || endedUnknown(failure)
  if (!root.isRepeated) return false
  const first = withoutNumber(unit)
  // Only this attempt ran the first call of the name, so no earlier one can have reached a later call.
  if (root.own.has(first) && !Units.has(recorded, first) && !Units.has(failed, first)) return false
  if (edited === true) return true
  if (!root.isCutShort) return false
  // The plan dropped the attempt that the edit marked.
  if (Units.get(State.inFlight(before.state), root.place.unit)?.edited === true) return true
  return unit !== first && isIdempotentStep(Units.get(completedSteps, first))
}

const endedUnknown = (failure: State.Failure | undefined): boolean =>
  failure?.outcome === 'unknown' && isIdempotentStep(failure)

const isIdempotentStep = (ended: { readonly subStep?: SubStep } | undefined): boolean =>
  ended?.subStep !== undefined && ended.subStep.wait === undefined && ended.subStep.idempotent !== false

/**
 * Runs a sub-step and records its end, unless it is stopped: then the repeated attempt of its task runs it again. If it is not idempotent and may
 * have taken effect, the resume asks first.
 */
const runSubStep = async (level: Level, call: SubStepCall): Promise<CallEnd> => {
  const { scope, own } = level.root
  const { clock } = scope.environment
  const { unit, subStep, options } = call
  own.add(unit)
  const firstStartedAt = clock.now()
  if (subStep.idempotent === false) {
    const started = await save(scope, [
      { _tag: 'AttemptStarted', at: timestamp(firstStartedAt), attempts: [{ unit, attempt: 1 }] }
    ])
    if (E.isLeft(started)) return started
  }
  for (let number = 1; ; number++) {
    const startedAt = clock.now()
    // The sub-step may have been stopped during a save: of its start, or of the drop of another version.
    const ended = stoppingOf(level).aborted ? UNSTARTED : await attemptOnce(level, call, number)
    const times = { attempt: number, startedAt, endedAt: clock.now() }
    if (ended._tag === 'Done') {
      scope.values.hasEvidence ||= ended.evidence.length > 0
      const saved = await save(scope, [unitCompleted(unit, times, { ...ended, subStep })])
      return E.isLeft(saved) ? saved : outputOf(call, { unit, output: ended.output })
    }
    if (ended._tag === 'Failed') {
      const { failure } = ended
      const idempotent = subStep.idempotent !== false
      const wait = nextDelay(scope, unit, ended, times, { retry: policyOf(options.retry), idempotent, firstStartedAt })
      if (O.isNone(wait)) {
        const saved = await save(scope, [subStepFailed(unit, subStep, failure, times)])
        return E.isLeft(saved) ? saved : E.left(errorOf(failure))
      }
      await sleepUnless(clock, wait.value, stoppingOf(level))
      if (!stoppingOf(level).aborted) continue
    }
    const failure = ended._tag === 'Suspended' ? undefined : ended.failure
    const hasDoneNothing = subStep.idempotent === false && failure?.outcome === 'notApplied'
    const saved = hasDoneNothing ? await save(scope, [attemptFailed(unit, failure, times, 0)]) : E.right(undefined)
    return E.isLeft(saved) ? saved : E.left(stoppingOf(level).reason ?? ENDED)
  }
}

const UNSTARTED: AttemptResult = { _tag: 'Stopped', failure: NOT_STARTED }

const attemptOnce = async (level: Level, call: SubStepCall, number: number): Promise<AttemptResult> => {
  const { scope, place } = level.root
  const { unit, options, convert, subStep } = call
  const { environment } = scope
  let giveUp: Attempts.Limits['giveUp'] = () => undefined
  const givenUp = new Promise<CodeEnd>((resolve) => (giveUp = resolve))
  const { timeoutMillis } = options
  const attempt = Attempts.begin(number, { environment, stopping: stoppingOf(level), timeoutMillis, giveUp })
  const inner = levelOf(level.root, unit, subStep.idempotent !== false, attempt)
  const context = contextOf(scope, { unit, stepIndex: place.stepIndex }, inner)
  const work = async (): Promise<CodeEnd> => {
    const result = await settle(() => call.run(context))
    return E.isRight(result)
      ? { _tag: 'Value', value: result.right, evidence: [] }
      : { _tag: 'Error', error: result.left }
  }
  const hooked = wrapped(scope, { ...place, unit }, attempt, () => inContext(environment, inner, work))
  const end: CodeEnd = await Promise.race([hooked.run(), givenUp])
  hooked.rejectAct(end)
  inner.isCodeUnfinished = end._tag !== 'Value'
  level.root.isOverrun ||= end._tag === 'GraceExpired'
  const open = await closeLevel(inner)
  Attempts.end(attempt)
  const encode = (value: unknown): E.Either<StepFailure, Json | undefined> =>
    E.mapLeft((mismatch: OutputMismatch) => notStorable(`the output of "${unit}"`, mismatch))(convert.encode(value))
  const judged = judge(end, attempt, {
    timeoutMillis,
    refused: inner.refused,
    open,
    encode,
    put: artifactsOf(scope.artifacts, unit)
  })
  // The code may have caught the stop of a nested sub-step.
  if (judged._tag === 'Done') scope.recorder.stage(runningSubStepsFailed(scope, place.unit, unit))
  const result = judged._tag === 'Failed' ? failSubSteps(scope, place, unit, judged, level.root.isOverrun) : judged
  return redacted(scope.environment, { job: undefined, accepts: convert.accepts }, result)
}

/** Calls the code of a level in its async context. If the port does not call it, it fails with nothing applied, and does not run later. */
const inContext = ({ asyncContext }: Environment, level: Level, work: () => Promise<CodeEnd>): Promise<CodeEnd> => {
  if (asyncContext === undefined) return work()
  const called: { end?: Promise<CodeEnd> } = {}
  const failed = (error: unknown): Promise<CodeEnd> =>
    Promise.resolve({ _tag: 'Error', error: { ...Failure.fromUnknown(error), outcome: 'notApplied' } })
  try {
    const returned: unknown = asyncContext.run(level, () => (called.end ??= work()))
    // It may be another promise, whose rejection would end the process.
    ignoringErrors(() => returned)
  } catch (error) {
    called.end ??= failed(error)
  }
  return (called.end ??= failed(new Error(NOT_CALLED)))
}

const NOT_CALLED = '`asyncContext.run` of the environment did not call its function; call it before you return'

const contextOf = (scope: RunScope, place: Place, level: Level): SubStepContext => {
  const { unit } = place
  const { attempt } = level
  const { runId, createdAt, renewals } = scope.recorder.checkpoint()
  return {
    unit,
    attempt: attempt.number,
    get idempotencyKey() {
      return IdempotencyKey.of({ runId, createdAt, renewals }, unit)
    },
    get signal() {
      return Attempts.signalOf(attempt)
    },
    get artifacts() {
      return artifactsFor({ scope, place, attempt })
    },
    step: stepOf(level),
    ...waitsInside(unit)
  }
}
