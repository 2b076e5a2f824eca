/** Reads the inbox of a run that this process owns: pauses, cancels and answers. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { AnswerRequest, PauseRequest } from '../../domain/request/Request.js'
import { isFor, isSameRequest } from '../../domain/request/Request.js'
import type { Environment } from '../../ports/Environment.js'
import { load } from '../callPort.js'
import { mayHaveRequests, requestsFor, withdraw } from './inbox.js'
import type { StopRequest, StopRequests } from './StopRequests.js'

export type RecordAnswers = (answers: ReadonlyArray<AnswerRequest>) => Promise<unknown>

/** Watches the inbox of a run that this process owns. Answers are recorded; a pause request for an earlier owner is withdrawn. */
export const watchInbox = (environment: Environment, runId: string, record: RecordAnswers): StopRequests => {
  let seen: FoundStop | undefined
  let reading: Promise<boolean> | undefined
  const read = async (): Promise<boolean> => {
    seen = (await readInbox(environment, runId, seen?.pause, record)) ?? seen
    reading = undefined
    return seen !== undefined
  }
  // Groups look at the same time, but each answer must be recorded once.
  const readOnce = (): Promise<boolean> => (reading ??= read())
  return {
    look: () => (seen !== undefined ? YES : mayHaveRequests(environment, runId) ? readOnce() : false),
    isStopSeen: () => seen !== undefined,
    // A newer request may have arrived while the current steps ended.
    newestStop: async () => {
      await reading
      await readOnce()
      return seen ?? PAUSE_WITHOUT_COMMIT
    }
  }
}

const YES = Promise.resolve(true)

const PAUSE_WITHOUT_COMMIT: StopRequest = { commit: false }

/** `pause`: the pause request, if it is addressed to this owner. */
interface FoundStop extends StopRequest {
  readonly pause?: PauseRequest
}

const readInbox = async (
  environment: Environment,
  runId: string,
  known: PauseRequest | undefined,
  record: RecordAnswers
): Promise<FoundStop | undefined> => {
  const all = await requestsFor(environment, runId)
  if (E.isLeft(all)) return { ...PAUSE_WITHOUT_COMMIT, unreadable: all.left }
  const answers = all.right.filter((one) => one._tag === 'Answer')
  if (answers.length > 0) await record(answers)
  const cancel = all.right.find((one) => one._tag === 'Cancel')
  if (cancel !== undefined) return { ...PAUSE_WITHOUT_COMMIT, cancel }
  const pause = all.right.find((one) => one._tag === 'Pause')
  if (pause === undefined) return undefined
  const { commit } = pause
  return known !== undefined && isSameRequest(pause, known) ? { commit, pause } : await verifyPause(environment, pause)
}

/** Returns a pause request, or withdraws one that is addressed to an earlier owner. */
const verifyPause = async (environment: Environment, pause: PauseRequest): Promise<FoundStop | undefined> => {
  const { commit } = pause
  const stored = await load(environment, pause.runId)
  if (E.isLeft(stored)) return { ...PAUSE_WITHOUT_COMMIT, unreadable: stored.left }
  const holder = O.isSome(stored.right) ? stored.right.value.heldBy : O.none
  if (O.isNone(holder)) return { commit }
  if (isFor(pause, holder.value)) return { commit, pause }
  await withdraw(environment, pause)
  return undefined
}
