/** Answers a unit that waits: leaves the answer for the owner of the run, or records it. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { fromUnknown } from '../../domain/data/Json.js'
import type { Check } from '../../domain/data/Options.js'
import { text } from '../../domain/data/Options.js'
import { encodeWithin } from '../../domain/data/Size.js'
import { plainJson } from '../../domain/data/Malformed.js'
import type { AnswerRequest } from '../../domain/request/Request.js'
import { isName, VALUE_BYTES } from '../../domain/request/Request.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { get, has } from '../../domain/checkpoint/Units.js'
import type { Holder } from '../../ports/CheckpointStorage.js'
import type { Environment } from '../../ports/Environment.js'
import type { Executor } from '../ExecutorCall.js'
import { argumentProblems, callProblems, unless } from '../arguments.js'
import { planRecorded, withDecision } from './confirm.js'
import type { Requested } from './deliverRequest.js'
import { deliverRequest } from './deliverRequest.js'
import { readRun, recorderFor, withdraw } from './inbox.js'
import { readAnswers, recordAnswers, acceptAnswer, withInboxAnswers } from './inboxAnswers.js'
import type { AnswerRefused } from '../errors/AnswerRefused.js'
import type { RunError } from '../errors/RunError.js'
import { timestamp } from '../RunScope.js'
import { withIntactClaim } from '../storage/stored.js'

/**
 * The options of an answer. `by`: who answers, for the history; default: this process.
 *
 * @category model
 */
export interface AnswerOptions {
  readonly by?: string
}

/**
 * How an answer was delivered. `Recorded`: the next resume of the run uses it. `Requested`: the owner of the run (`holder`) records it
 * before its next unit; if the owner dies before that, the next owner does.
 *
 * @category model
 */
export type AnswerResult =
  | { readonly _tag: 'Recorded'; readonly runId: string; readonly unit: Unit }
  | { readonly _tag: 'Requested'; readonly runId: string; readonly unit: Unit; readonly holder: Holder }

/**
 * Answers a unit that waits (`waitFor`), from any process. The program is not needed: the answer is kept as given, and checked when the run
 * resumes. An answer may come before its unit waits. A second answer is refused, and so is one after the time limit of the wait. While a
 * process owns the run, the environment needs `requests`.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { answer } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import { resume, runOutcome, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const storage = memoryStorage()
 * const release = workflow('release')
 *   .waitFor('approve', { question: 'Release 1.2.3?' })
 *   .step('publish', ({ outputs }) => `approved: ${String(outputs.approve)}`)
 * const pending = await runOutcome(release, { id: 'release-1', storage })
 * assert.ok(pending._tag === 'Pending')
 * const given = await answer('release-1', 'approve', 'yes', { by: 'ada' })(nodeEnvironment(storage))()
 * assert.ok(E.isRight(given))
 * assert.equal((await resume(release, { id: 'release-1', storage })).publish, 'approved: yes')
 *
 * @category running
 */
export const answer = (
  runId: string,
  unit: Unit,
  value: unknown,
  options: AnswerOptions = {}
): Executor<AnswerResult> =>
  unless([...argumentProblems('unit', unit, text), ...callProblems(options, ANSWER)], () =>
    answerNow(runId, unit, value, options)
  )

/** The checks of the options of `answer`. */
export const ANSWER: Readonly<Record<keyof AnswerOptions, Check>> = { by: text }

const answerNow =
  (runId: string, unit: Unit, value: unknown, options: AnswerOptions): Executor<AnswerResult> =>
  (environment) =>
  async () => {
    const json = fromUnknown(value)
    if (E.isLeft(json)) {
      const expected = value === undefined ? 'plain JSON; it is missing' : plainJson(json.left)
      return E.left({ _tag: 'AnswerRefused', runId, unit, why: 'NotJson', expected, waiting: [] })
    }
    const encoded = encodeWithin(json.right, VALUE_BYTES)
    if (E.isLeft(encoded) && encoded.left._tag === 'TooLarge') {
      const expected = `at most ${VALUE_BYTES} bytes of JSON, not ${encoded.left.bytes}; answer with the path of a file`
      return E.left({ _tag: 'AnswerRefused', runId, unit, why: 'NotAnAnswer', expected, waiting: [] })
    }
    const { pid, host } = environment.owner
    const by = options.by ?? `process ${pid} on ${host}`
    if (!isName(by)) return E.left({ _tag: 'AnswerRefused', runId, unit, why: 'InvalidName', waiting: [] })
    const request = (): AnswerRequest => {
      const requestedAt = timestamp(environment.clock.now())
      return { _tag: 'Answer', runId, unit, value: json.right, by, requestedAt }
    }
    const answered = await deliverAnswer(environment, request(), (leftRequest) =>
      recordAnswer(environment, request(), leftRequest)
    )
    return E.isLeft(answered) && answered.left._tag === 'AnswerRefused' && EXPLAINED.has(answered.left.why)
      ? E.left(await explain(environment, answered.left))
      : answered
  }

const EXPLAINED: ReadonlySet<AnswerRefused['why']> = new Set(['AlreadyCompleted', 'NotAWait'])

/** Adds what a resume would do with the unit of a run at rest. */
const explain = async (environment: Environment, refused: AnswerRefused): Promise<AnswerRefused> => {
  const seen = await readRun(environment, refused.runId)
  if (E.isLeft(seen) || O.isSome(seen.right.holder)) return refused
  const planned = await planRecorded(seen.right.checkpoint, {}, 'answer')(environment)()
  return E.isLeft(planned) ? refused : withDecision(planned.right, refused)
}

/** Leaves the answer for the owner of the run, or records it. */
const deliverAnswer = async (
  environment: Environment,
  request: AnswerRequest,
  act: (leftRequest: O.Option<AnswerRequest>) => Promise<E.Either<RunError, AnswerResult>>
): Promise<E.Either<RunError, AnswerResult>> => {
  const { runId, unit } = request
  const delivered = await deliverRequest(environment, runId, {
    requestTo: () => request,
    isTooLate: (checkpoint) => E.isLeft(acceptAnswer(checkpoint, request)),
    unclaimed: async ({ checkpoint }, leftRequest): Promise<E.Either<RunError, O.Option<AnswerResult>>> => {
      if (O.isSome(leftRequest)) await withdraw(environment, request)
      const own = acceptAnswer(await withInboxAnswers(environment, checkpoint), request)
      if (E.isRight(own)) return E.right(O.none)
      return isRecorded(checkpoint, leftRequest) ? E.right(O.some({ _tag: 'Recorded', runId, unit })) : own
    },
    act
  })
  return E.map((result: AnswerResult | Requested): AnswerResult => ({ ...result, unit }))(delivered)
}

/** Returns whether a requested answer is recorded. True once its unit has completed: the record does not say whose answer the unit used. */
const isRecorded = ({ answers, completedSteps }: Checkpoint, leftRequest: O.Option<AnswerRequest>): boolean => {
  if (O.isNone(leftRequest)) return false
  const { unit, requestedAt } = leftRequest.value
  return get(answers, unit)?.at === requestedAt || has(completedSteps, unit)
}

/** Claims a run without an owner, and records the answer. */
const recordAnswer = (
  environment: Environment,
  request: AnswerRequest,
  leftRequest: O.Option<AnswerRequest>
): Promise<E.Either<RunError, AnswerResult>> =>
  withIntactClaim(environment, request.runId, async (claim, checkpoint): Promise<E.Either<RunError, AnswerResult>> => {
    const { runId, unit } = request
    const recorder = recorderFor(environment, claim, checkpoint)
    // Answers that were left for an earlier owner come first.
    const earlier = await recordAnswers(environment, recorder, await readAnswers(environment, runId))
    if (E.isLeft(earlier)) return earlier
    const own = acceptAnswer(recorder.checkpoint(), request)
    if (E.isLeft(own))
      return isRecorded(recorder.checkpoint(), leftRequest) ? E.right({ _tag: 'Recorded', runId, unit }) : own
    recorder.stage([own.right.change])
    const saved = await recorder.commit()
    return E.isLeft(saved) ? saved : E.right({ _tag: 'Recorded', runId, unit })
  })
