/** Answers a question of a resume beforehand, without the program. */
import * as E from 'fp-ts/lib/Either.js'
import { fromUnknown } from '../../domain/data/Json.js'
import { answerQuestion } from '../../domain/plan/answerQuestion.js'
import type { Answer } from '../../domain/plan/Plan.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { toWorkflow } from '../../domain/workflow/WorkflowIdentity.js'
import type { Executor } from '../Executor.js'
import { EXACT, survey } from '../planRun.js'
import type { AnswerRefused, RunError } from '../RunError.js'
import { timestamp } from '../RunScope.js'
import { withIntactClaim } from '../storage/stored.js'
import type { AnswerResult } from './answer.js'
import { recorderFor } from './inbox.js'

type Recorded = AnswerResult & { readonly _tag: 'Recorded' }

/**
 * Answers a question that a resume would ask, from any process and without the program: a unit that is not idempotent and may have taken
 * effect, or one whose evidence was changed. The answer is recorded as if the resume had been given it. Its output is checked when the
 * program resumes; until then a unit that was answered as done can be answered again, with another output.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { confirm } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import { resume, runOutcome, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const storage = memoryStorage()
 * const order = workflow('order')
 *   .step('charge', { idempotent: false, run: () => Promise.reject(new Error('no reply')) })
 *   .step('ship', () => 'shipped')
 * assert.equal((await runOutcome(order, { id: 'order-1', storage }))._tag, 'Failed')
 * await assert.rejects(resume(order, { id: 'order-1', storage }), /charge/)
 *
 * const recorded = await confirm('order-1', 'charge', { _tag: 'Done' })(nodeEnvironment(storage))()
 * assert.ok(E.isRight(recorded))
 * assert.equal((await resume(order, { id: 'order-1', storage })).ship, 'shipped')
 *
 * @category running
 */
export const confirm =
  (runId: string, unit: Unit, answer: Answer): Executor<Recorded> =>
  (environment) =>
  () =>
    withIntactClaim(environment, runId, async (claim, checkpoint): Promise<E.Either<RunError, Recorded>> => {
      const refused = (why: Pick<AnswerRefused, 'why' | 'expected' | 'waiting'>): E.Either<RunError, never> =>
        E.left({ _tag: 'AnswerRefused', runId, unit, ...why })
      // Untyped hosts may pass anything.
      if (!ANSWERS.has((answer as Answer | undefined)?._tag))
        return refused({
          why: 'NotAnAnswer',
          expected: "{ _tag: 'Again' }, { _tag: 'Keep' } or { _tag: 'Done' }",
          waiting: []
        })
      const output = answer._tag === 'Done' && answer.output !== undefined ? fromUnknown(answer.output) : E.right(null)
      if (E.isLeft(output)) {
        const { path, found } = output.left
        return refused({ why: 'NotJson', expected: `plain JSON at ${path}, not ${found}`, waiting: [] })
      }
      const recorded = { ...toWorkflow(checkpoint.workflow), decodeInput: E.right }
      const surveyed = await survey(recorded, { checkpoint, found: EXACT }, {})(environment)()
      if (E.isLeft(surveyed)) return surveyed
      const { evidence = [] } = surveyed.right.options
      const at = timestamp(environment.clock.now())
      const changes = answerQuestion(checkpoint, evidence, { unit, answer, at })
      if (E.isLeft(changes))
        return changes.left._tag === 'PlanError'
          ? E.left(changes.left)
          : refused({ why: changes.left._tag, waiting: changes.left.asked })
      const recorder = recorderFor(environment, claim, checkpoint)
      recorder.stage(changes.right)
      const saved = await recorder.commit()
      return E.isLeft(saved) ? saved : E.right({ _tag: 'Recorded', runId, unit })
    })

const ANSWERS: ReadonlySet<Answer['_tag'] | undefined> = new Set(['Again', 'Keep', 'Done'] as const)
