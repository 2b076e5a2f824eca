/** Answers the questions of a resume beforehand, without the program. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { get } from '../../domain/checkpoint/Units.js'
import { defined } from '../../domain/data/defined.js'
import { findOrTask } from '../../domain/checkpoint/Tree.js'
import { overrides } from '../../domain/plan/Overrides.js'
import { overOf } from '../../domain/plan/nextUnits.js'
import { pollReason } from '../../domain/plan/decideTask.js'
import type { Answer, Decision, PlanOptions } from '../../domain/plan/Plan.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { ancestors, parent } from '../../domain/workflow/Unit.js'
import { toWorkflow } from '../../domain/workflow/WorkflowIdentity.js'
import type { Environment } from '../../ports/Environment.js'
import type { Executor } from '../ExecutorCall.js'
import { argumentProblems, unless } from '../arguments.js'
import { answerMap, notAnswer } from '../../domain/plan/planOptions.js'
import type { Planned } from '../planRun.js'
import { requireNoQuestions, planStored } from '../planRun.js'
import type { AnswerRefused } from '../errors/AnswerRefused.js'
import type { RunError } from '../errors/RunError.js'
import { timestamp } from '../RunScope.js'
import { secure } from '../secrets.js'
import type { RunView } from '../storage/runs.js'
import { EXACT, storedRun } from '../storage/runs.js'
import { withIntactClaim } from '../storage/stored.js'
import { recorderFor } from './inbox.js'
import { handleLateRequests, stillPaused } from './recordRequests.js'

/**
 * Answers all questions that a resume would ask, from any process and without the program: about units that are not idempotent and may have
 * taken effect, and about changed evidence. Records what a resume with the same `confirm` would record before it runs anything; the next
 * resume does not ask, and a paused run stays paused. Plans the recorded definition: if the workflow was edited since, answer at the resume.
 * The program checks an output when it resumes. An output is recorded without the run's secrets, which the environment must have.
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
 * const recorded = await confirm('order-1', new Map([['charge', { _tag: 'Done' }]]))(nodeEnvironment(storage))()
 * assert.ok(E.isRight(recorded))
 * assert.equal((await resume(order, { id: 'order-1', storage })).ship, 'shipped')
 *
 * @category running
 */
export const confirm = (runId: string, answers: ReadonlyMap<Unit, Answer>): Executor<void> =>
  unless(argumentProblems('answers', answers, answerMap), () => confirmAll(runId, answers))

const confirmAll =
  (runId: string, answers: ReadonlyMap<Unit, Answer>): Executor<void> =>
  (environment) =>
  async () => {
    for (const [unit, answer] of answers) {
      const expected = notAnswer(answer)
      if (expected !== undefined)
        return E.left({ _tag: 'AnswerRefused', runId, unit, why: 'NotAnAnswer', expected, waiting: [] })
    }
    // Planned before the claim, so that a refusal writes nothing.
    const stored = await storedRun(runId)(environment)()
    if (E.isRight(stored) && O.isSome(stored.right) && isUnheldAndIntact(stored.right.value)) {
      const planned = await planAnswered(environment, stored.right.value.checkpoint, answers)
      if (E.isLeft(planned)) return planned
    }
    const recorded = await withIntactClaim(
      environment,
      runId,
      async (claim, checkpoint): Promise<E.Either<RunError, void>> => {
        const planned = await planAnswered(environment, checkpoint, answers)
        if (E.isLeft(planned)) return planned
        const hasOutput = [...answers.values()].some((answer) => answer._tag === 'Done' && answer.output !== undefined)
        const secured = await secure(environment, hasOutput ? checkpoint.workflow : {})
        if (E.isLeft(secured)) return secured
        const recorder = recorderFor(secured.right, claim, checkpoint)
        const { plan, options } = planned.right
        const at = timestamp(environment.clock.now())
        recorder.stage(overrides(checkpoint, toWorkflow(checkpoint.workflow), plan, options, at))
        recorder.stage(stillPaused(checkpoint, recorder.checkpoint(), at))
        return E.map(() => undefined)(await recorder.commit())
      }
    )
    await handleLateRequests(environment, runId)
    return recorded
  }

/** The claim refuses any other run. */
const isUnheldAndIntact = ({ heldBy, found }: RunView): boolean => O.isNone(heldBy) && found._tag === 'Exact'

/** Plans the recorded definition of a run. `verb`: what the plan is for. */
export const planRecorded =
  (checkpoint: Checkpoint, options: PlanOptions, verb: 'fork' | 'answer'): Executor<Planned> =>
  (environment) =>
  async () => {
    const program = { ...toWorkflow(checkpoint.workflow), decodeInput: E.right }
    const planned = await planStored(program, { checkpoint, found: EXACT }, options)(environment)()
    return E.isLeft(planned) && planned.left._tag === 'PlanError' ? E.left({ ...planned.left, verb }) : planned
  }

/** Adds what a resume would do with the unit. */
export const withDecision = ({ plan, checkpoint }: Planned, refused: AnswerRefused): AnswerRefused => {
  const { unit } = refused
  const decisionOf = (one: Unit): Decision | undefined => plan.decisions.find((decision) => decision.unit === one)
  const pending = get(checkpoint.pending, unit)
  const task = parent(unit)
  const around = pending === undefined || task === undefined ? undefined : decisionOf(task)
  // A wait in the code of a task has no decision of its own.
  const inCode: Decision | undefined =
    pending !== undefined && around?._tag === 'Poll'
      ? { ...around, unit, reason: pollReason({ checkpoint }, pending) }
      : undefined
  return { ...refused, ...defined({ decision: decisionOf(unit) ?? inCode }) }
}

/** Plans with the answers. Each must answer a question that is open or that another answer raises, and none may stay open. */
const planAnswered = async (
  environment: Environment,
  checkpoint: Checkpoint,
  answers: ReadonlyMap<Unit, Answer>
): Promise<E.Either<RunError, Planned>> => {
  const planWith = (confirm: ReadonlyMap<Unit, Answer>, known?: Planned): Promise<E.Either<RunError, Planned>> =>
    planRecorded(checkpoint, { ...known?.options, confirm }, 'answer')(environment)()
  const before = await planWith(new Map())
  if (E.isLeft(before)) return before
  const open = before.right.questions.map(({ unit }) => unit)
  for (const unit of answers.keys()) {
    // The plan with all answers says whether an answer about a part of an answered map fits.
    const isPart = [...ancestors(unit)].some((one) => open.includes(one) && answers.has(one))
    if (open.includes(unit) || isPart) continue
    // An answer may raise a question about another unit.
    const others = new Map([...answers].filter(([one]) => one !== unit))
    const planned = others.size === 0 ? before : await planWith(others, before.right)
    if (E.isLeft(planned)) return planned
    const asked = planned.right.questions.map((question) => question.unit)
    if (asked.includes(unit)) continue
    const { runId, workflow, items } = checkpoint
    const why = findOrTask(workflow, items, unit) !== undefined ? 'NotAsked' : 'UnknownUnit'
    const waiting = [...new Set([...open, ...asked])]
    const refusal = withDecision(before.right, { _tag: 'AnswerRefused', runId, unit, why, waiting })
    const isOver = refusal.decision && overOf(refusal.decision, timestamp(environment.clock.now())) === 'TimedOut'
    return E.left(isOver === true ? { ...refusal, why: 'WaitOver' } : refusal)
  }
  const planned = await planWith(answers, before.right)
  return E.isLeft(planned) ? planned : requireNoQuestions(planned.right)
}
