/**
 * Answering a unit that waits.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Answered } from '../domain/Change.js'
import type { Checkpoint } from '../domain/Checkpoint.js'
import { fromUnknown } from '../domain/Json.js'
import { apply } from '../domain/Transition.js'
import type { Unit } from '../domain/Unit.js'
import type { Stored } from '../ports/CheckpointStorage.js'
import type { Executor } from './Executor.js'
import { make as makeRecorder } from './Recorder.js'
import type { AnswerRefused, RunError } from './RunError.js'
import { timestamp } from './RunScope.js'
import { answering, holding, restoreStored } from './stored.js'

/**
 * How to answer. `by`: who answers, for the history; default: this process.
 *
 * @category model
 * @since 0.1.0
 */
export interface AnswerOptions {
  readonly by?: string
}

/**
 * What came of an answer: it is recorded, and the next resume of the run takes it.
 *
 * @category model
 * @since 0.1.0
 */
export interface AnswerRecorded {
  readonly _tag: 'Recorded'
  readonly runId: string
  readonly unit: Unit
}

/**
 * Answers a unit that waits (`waitFor`), from any process. The program is not needed: the answer is kept as given, and checked when the run
 * resumes. An answer may come before its unit waits. A second one is refused.
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
 * const resting = await runOutcome(release, { id: 'release-1', storage })
 * assert.ok(resting._tag === 'Pending')
 * const given = await answer('release-1', 'approve', 'yes', { by: 'ada' })(nodeEnvironment(storage))()
 * assert.ok(E.isRight(given))
 * assert.equal((await resume(release, { id: 'release-1', storage })).publish, 'approved: yes')
 *
 * @category running
 * @since 0.1.0
 */
export const answer =
  (runId: string, unit: Unit, value: unknown, options: AnswerOptions = {}): Executor<AnswerRecorded> =>
  (environment) =>
  async () => {
    const json = fromUnknown(value)
    if (E.isLeft(json)) {
      const expected = `plain JSON at ${json.left.path}, not ${json.left.found}`
      return E.left({ _tag: 'AnswerRefused', runId, unit, why: 'NotJson', expected, waiting: [] })
    }
    const { pid, host } = environment.owner
    const by = options.by ?? `process ${pid} on ${host}`
    const make = (): Answered => {
      const at = timestamp(environment.clock.now())
      return { _tag: 'Answered', at, unit, value: json.right, by }
    }
    const stored = await answering('load', () => environment.storage.load(runId))
    if (E.isLeft(stored)) return stored
    const before = taking(stored.right, runId, make())
    if (E.isLeft(before)) return before
    return await holding(environment, runId, async (claim, found) => {
      const change = make()
      const run = taking(found, runId, change)
      if (E.isLeft(run)) return run
      const recorder = makeRecorder(environment.storage, claim, run.right, [], () => undefined)
      recorder.stage([change])
      const saved = await recorder.commit()
      return E.isLeft(saved) ? saved : E.right({ _tag: 'Recorded', runId, unit })
    })
  }

/** The stored run, if it can take the answer. */
const taking = (stored: O.Option<Stored>, runId: string, change: Answered): E.Either<RunError, Checkpoint> => {
  if (O.isNone(stored)) return E.left({ _tag: 'NoSuchRun', runId })
  const { found } = stored.value
  if (found._tag === 'Recovered')
    return E.left({ _tag: 'RecoveryRefused', runId, from: found.from, lost: found.lost, cause: undefined })
  const restored = restoreStored(stored.value, runId)
  if (E.isLeft(restored)) return restored
  const next = apply(restored.right, change)
  return E.isRight(next) ? restored : E.left(refused(restored.right, change.unit, next.left.why))
}

const refused = ({ runId, pending, answers }: Checkpoint, unit: Unit, why: string): AnswerRefused => {
  const waiting = pending.flatMap((one) =>
    one._tag === 'Answer' && !answers.some((given) => given.unit === one.unit) ? [one.unit] : []
  )
  const known = REASONS.find((reason) => reason === why) ?? 'NotAWait'
  return { _tag: 'AnswerRefused', runId, unit, why: known, waiting }
}

const REASONS = ['UnknownUnit', 'AlreadyCompleted', 'NotAWait', 'AlreadyAnswered'] as const
