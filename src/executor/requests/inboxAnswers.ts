/** The answers in the inbox of a run: which of them the run accepts, and their record. */
import * as E from 'fp-ts/lib/Either.js'
import type { Answered } from '../../domain/change/Change.js'
import { apply } from '../../domain/change/Transition.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { copyOf, withVariables } from '../../domain/checkpoint/Checkpoint.js'
import { findOrTask } from '../../domain/checkpoint/Tree.js'
import { has } from '../../domain/checkpoint/Units.js'
import type { AnswerRequest } from '../../domain/request/Request.js'
import type { Environment } from '../../ports/Environment.js'
import type { AlreadyAnswered } from '../../ports/Requests.js'
import type { AnswerRefused } from '../errors/AnswerRefused.js'
import type { RunError } from '../errors/RunError.js'
import { report } from '../RunScope.js'
import { EXPECTED_WAIT } from '../storage/changes.js'
import type { Recorder } from '../storage/Recorder.js'
import { requestsFor, withdraw } from './inbox.js'

/** Returns the answers in an inbox; none if it cannot be read. */
export const readAnswers = async (environment: Environment, runId: string): Promise<ReadonlyArray<AnswerRequest>> => {
  const all = await requestsFor(environment, runId)
  return E.isLeft(all) ? [] : all.right.filter((one) => one._tag === 'Answer')
}

/** The change that records an answer, and the checkpoint after it. */
interface AcceptedAnswer {
  readonly change: Answered
  readonly next: Checkpoint
}

export const acceptAnswer = (
  checkpoint: Checkpoint,
  { requestedAt: at, unit, value, by }: AnswerRequest
): E.Either<AnswerRefused | AlreadyAnswered, AcceptedAnswer> => {
  const change: Answered = { _tag: 'Answered', at, unit, value, by }
  const next = apply(checkpoint, change)
  if (E.isRight(next)) return E.right({ change, next: next.right })
  const { runId, pending, answers } = checkpoint
  if (next.left.why === 'AlreadyAnswered') return E.left({ _tag: 'AlreadyAnswered', runId, unit })
  const waiting = [...pending].flatMap(({ _tag, unit }) => (_tag === 'Answer' && !has(answers, unit) ? [unit] : []))
  const why = REASONS.find((reason) => reason === next.left.why) ?? 'NotAWait'
  return E.left({ _tag: 'AnswerRefused', runId, unit, why, waiting })
}

const REASONS = ['UnknownUnit', 'AlreadyCompleted', 'NotAWait', 'WaitOver'] as const

/** Returns the checkpoint with the answers that its next owner will record from the inbox. Writes nothing, so the revision stays. */
export const withInboxAnswers = async (environment: Environment, checkpoint: Checkpoint): Promise<Checkpoint> => {
  const requests = await readAnswers(environment, checkpoint.runId)
  if (requests.length === 0) return checkpoint
  const { answers } = requests.reduce((before, request) => {
    const after = acceptAnswer(before, request)
    return E.isLeft(after) ? before : after.right.next
  }, checkpoint)
  return withVariables({ ...copyOf(checkpoint), answers })
}

/** Records and withdraws answers. Reports each that the run does not accept as `AnswerRejected`. */
export const recordAnswers = async (
  environment: Environment,
  recorder: Recorder,
  answers: ReadonlyArray<AnswerRequest>
): Promise<E.Either<RunError, void>> => {
  for (const request of answers) {
    const checkpoint = recorder.checkpoint()
    const accepted = acceptAnswer(checkpoint, request)
    if (E.isRight(accepted)) recorder.stage([accepted.right.change])
    else reportRejected(environment, checkpoint, request, accepted.left)
  }
  const saved = await recorder.commit()
  if (E.isLeft(saved)) return saved
  for (const request of answers) await withdraw(environment, request)
  return E.right(undefined)
}

const reportRejected = (
  environment: Environment,
  { runId, workflow, items }: Checkpoint,
  { unit, by }: AnswerRequest,
  refused: AnswerRefused | AlreadyAnswered
): void => {
  const stepIndex = findOrTask(workflow, items, unit)?.stepIndex ?? -1
  const expected = refused._tag === 'AlreadyAnswered' ? 'no second answer' : (EXPECTED[refused.why] ?? EXPECTED_WAIT)
  report(environment, { _tag: 'AnswerRejected', runId, unit, stepIndex, by, path: '$', expected })
}

const EXPECTED: Readonly<Partial<Record<AnswerRefused['why'], string>>> = {
  UnknownUnit: 'a unit of the run',
  AlreadyCompleted: 'a unit that has not completed',
  WaitOver: 'a wait whose time limit is not over'
}
