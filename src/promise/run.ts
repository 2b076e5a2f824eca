/** Runs workflows as promises that resolve with the outputs, or reject. */
import * as E from 'fp-ts/lib/Either.js'
import type { Answer } from '../domain/plan/Plan.js'
import type { AnswerOptions, AnswerResult } from '../executor/requests/answer.js'
import { defined } from '../domain/data/defined.js'
import { answer as giveAnswer } from '../executor/requests/answer.js'
import { confirm as answerQuestions } from '../executor/requests/confirm.js'
import type { CancelResult } from '../executor/requests/cancel.js'
import { cancel as askToCancel } from '../executor/requests/cancel.js'
import type { PollOutcome } from '../executor/poll.js'
import { poll as pollJobs } from '../executor/poll.js'
import type { PauseResult, PauseOptions } from '../executor/requests/pause.js'
import { pause as askToPause } from '../executor/requests/pause.js'
import type { Planned, PlanRunOptions } from '../executor/planRun.js'
import { planRun as planOf } from '../executor/planRun.js'
import type { Program } from '../executor/program/Program.js'
import * as X from '../executor/run.js'
import type { RunOutcome } from '../executor/RunOutcome.js'
import { callOrRefuse, orThrow, callToOutcome, rightOrThrow } from './call.js'
import type { Options, ResumeOptions, RunOrResumeOptions, StartOptions } from './options.js'
import { forPlan, forResume, forRun, inputOf } from './options.js'
import type { Refused, RunFailure } from './RunFailure.js'

/**
 * Starts a new run and resolves with the outputs of its steps. Rejects with a {@link RunFailure}, also if the id exists
 * already.
 *
 * @category running
 */
export const run = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  options: StartOptions<Input>
): Promise<Outputs> =>
  rightOrThrow(
    callToOutcome('run', options, (given) => X.run(program, given.id, inputOf(given), forRun(given)), program).then(
      outputsOf
    )
  )

/**
 * Resumes a run at the right step, and resolves with the outputs of all its steps.
 *
 * @category running
 */
export const resume = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  options: ResumeOptions<Input>
): Promise<Outputs> =>
  rightOrThrow(
    callToOutcome('resume', options, (given) => X.resume(program, given.id, forResume(given)), program).then(outputsOf)
  )

/**
 * Starts a run, or resumes it if it exists: for a process that may be killed, to call each time it starts.
 *
 * @category running
 */
export const runOrResume = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  options: RunOrResumeOptions<Input>
): Promise<Outputs> => rightOrThrow(runOutcome(program, options).then(outputsOf))

/**
 * Like {@link runOrResume}, but resolves with how the run ended, as data. Never rejects.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { runOutcome, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const broken = workflow('broken').step('build', async () => {
 *   throw new Error('no compiler')
 * })
 * const outcome = await runOutcome(broken, { id: 'broken-1', storage: memoryStorage() })
 * assert.equal(outcome._tag, 'Failed')
 *
 * @category running
 */
export const runOutcome = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  options: RunOrResumeOptions<Input>
): Promise<RunOutcome<Outputs> | Refused> =>
  callToOutcome(
    'runOrResume',
    options,
    ({ input, ...others }) => X.runOrResume(program, others.id, input, forResume(others)),
    program
  )

/**
 * Polls every pending job of a run, and records the results; see `poll` of `dogear`. Rejects with a {@link RunFailure} if
 * the run does not exist or cannot be polled.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { poll, resume, runOutcome, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const nightly = workflow('nightly').step('train', {
 *   job: {
 *     submit: async ({ idempotencyKey }) => `job-${idempotencyKey}`,
 *     poll: async () => ({ _tag: 'Finished' }),
 *     collect: async ({ job }) => ({ model: job })
 *   }
 * })
 * const options = { id: 'nightly-1', storage: memoryStorage() }
 * assert.equal((await runOutcome(nightly, options))._tag, 'Pending')
 * const polled = await poll(nightly, options)
 * assert.deepEqual(polled.jobs.map(({ end }) => end._tag), ['Collected'])
 * assert.ok('train' in (await resume(nightly, options)))
 *
 * @category running
 */
export const poll = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  options: Options
): Promise<Exclude<PollOutcome, { readonly _tag: 'Fenced' }>> =>
  rightOrThrow(
    callOrRefuse('oneRun', options, ({ id }) => pollJobs(program, id), program).then(
      E.chainW((outcome) => (outcome._tag === 'Fenced' ? E.left(outcome) : E.right(outcome)))
    )
  )

/**
 * Answers a unit that waits; see `answer` of `dogear`. Rejects with a {@link RunFailure} if the run does not exist, or the unit cannot take
 * an answer.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { answer, resume, runOutcome, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const release = workflow('release')
 *   .waitFor('approve', { question: 'Release 1.2.3?' })
 *   .step('publish', ({ outputs }) => `approved: ${String(outputs.approve)}`)
 * const options = { id: 'release-1', storage: memoryStorage() }
 * assert.equal((await runOutcome(release, options))._tag, 'Pending')
 * await answer({ ...options, unit: 'approve', value: 'yes', by: 'ada' })
 * assert.equal((await resume(release, options)).publish, 'approved: yes')
 *
 * @category running
 */
export const answer = (
  options: Options & AnswerOptions & { readonly unit: string; readonly value: unknown }
): Promise<AnswerResult> =>
  orThrow('answer', options, ({ id, unit, value, by }) => giveAnswer(id, unit, value, defined({ by })))

/**
 * Answers all questions that a resume would ask; see `confirm` of `dogear`. Rejects with a {@link RunFailure} if the run does not exist, has
 * an owner, or an answer is invalid or missing.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { confirm, resume, runOutcome, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const order = workflow('order')
 *   .step('charge', { idempotent: false, run: () => Promise.reject(new Error('no reply')) })
 *   .step('ship', () => 'shipped')
 * const options = { id: 'order-1', storage: memoryStorage() }
 * assert.equal((await runOutcome(order, options))._tag, 'Failed')
 * await confirm({ ...options, confirm: new Map([['charge', { _tag: 'Done' }]]) })
 * assert.equal((await resume(order, options)).ship, 'shipped')
 *
 * @category running
 */
export const confirm = (options: Options & { readonly confirm: ReadonlyMap<string, Answer> }): Promise<void> =>
  orThrow('confirm', options, (given) => answerQuestions(given.id, given.confirm))

/**
 * Pauses a run; see `pause` of `dogear`. The environment needs the same `requests` as that of the owner. Rejects
 * with a {@link RunFailure} if the run does not exist, or leaving the request fails.
 *
 * @example
 * import { memoryRequests, memoryStorage } from 'dogear/memory'
 * import { pause, run, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const options = { id: 'tidy-1', storage: memoryStorage(), environment: { requests: memoryRequests() } }
 * await run(workflow('tidy').step('sweep', () => 'swept'), options)
 * assert.deepEqual(await pause(options), { _tag: 'AtRest', runId: 'tidy-1', status: 'completed' })
 *
 * @category running
 */
export const pause = (options: Options & PauseOptions): Promise<PauseResult> =>
  orThrow('pause', options, ({ id, commit }) => askToPause(id, defined({ commit })))

/**
 * Cancels a run; see `cancel` of `dogear`. The environment needs `requests`. Rejects with a {@link RunFailure} if the run does not
 * exist, or leaving the request fails.
 *
 * @example
 * import { memoryRequests, memoryStorage } from 'dogear/memory'
 * import { cancel, run, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const options = { id: 'tidy-1', storage: memoryStorage(), environment: { requests: memoryRequests() } }
 * await run(workflow('tidy').step('sweep', () => 'swept'), options)
 * assert.deepEqual(await cancel(options), { _tag: 'AtRest', runId: 'tidy-1', status: 'completed' })
 *
 * @category running
 */
export const cancel = (options: Options): Promise<CancelResult> =>
  orThrow('oneRun', options, ({ id }) => askToCancel(id))

/**
 * Returns what a resume would do, and why; see `planRun` of `dogear`. Runs and writes nothing. Rejects with a {@link RunFailure} if the
 * run is missing, cancelled or moved, if its workspace is missing, or if there is no plan. Of the requests it counts only answers: if a cancel was
 * requested, a resume records it and runs nothing.
 *
 * @example
 * import { explain } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { planRun, runOutcome, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const storage = memoryStorage()
 * const broken = workflow('broken').step('build', async () => {
 *   throw new Error('no compiler')
 * })
 * await runOutcome(broken, { id: 'broken-1', storage })
 * const { plan } = await planRun(broken, { id: 'broken-1', storage })
 * assert.match(explain(plan), /failed: no compiler/)
 *
 * @category running
 */
export const planRun = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  options: Options & PlanRunOptions<Input>
): Promise<Planned> => orThrow('runOrResume', options, (given) => planOf(program, given.id, forPlan(given)), program)

const outputsOf = <Outputs>(outcome: RunOutcome<Outputs> | Refused): E.Either<RunFailure['outcome'], Outputs> =>
  outcome._tag === 'Completed' ? E.right(outcome.outputs) : E.left(outcome)
