/** Runs workflows as promises that resolve with the outputs, or reject. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { interruptFrom, nodeEnvironment } from '../adapters/node/index.js'
import type { Json } from '../domain/data/Json.js'
import { nameOf, parent } from '../domain/workflow/Unit.js'
import type { Answer } from '../domain/plan/Plan.js'
import type { AnswerOptions, AnswerResult } from '../executor/requests/answer.js'
import { answer as giveAnswer } from '../executor/requests/answer.js'
import { confirm as answerQuestions } from '../executor/requests/confirm.js'
import type { CancelResult } from '../executor/requests/cancel.js'
import { cancel as askToCancel } from '../executor/requests/cancel.js'
import type { Executor } from '../executor/Executor.js'
import type { PollOutcome } from '../executor/poll.js'
import { poll as pollJobs } from '../executor/poll.js'
import type { PauseResult, PauseOptions } from '../executor/requests/pause.js'
import { pause as askToPause } from '../executor/requests/pause.js'
import type { Planned, PlanRunOptions } from '../executor/planRun.js'
import { planRun as planOf } from '../executor/planRun.js'
import type { Program } from '../executor/program/Program.js'
import type { Recovery, ResumeOptions as FpResumeOptions, RunOptions } from '../executor/RunOptions.js'
import * as X from '../executor/run.js'
import type { RunError } from '../executor/RunError.js'
import { describe, retryLater } from '../executor/RunError.js'
import { describeFenced } from '../executor/storage/portErrors.js'
import type { RunOutcome } from '../executor/RunOutcome.js'
import type { CheckpointStorage } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'
import type { Interrupt } from '../ports/Interrupt.js'

/**
 * The id of a run and its storage. `signal` stops the run and the step in flight; `environment` overrides ports of `nodeEnvironment`.
 *
 * @category model
 */
export interface Options {
  readonly id: string
  readonly storage: CheckpointStorage
  readonly signal?: AbortSignal
  readonly environment?: Partial<Omit<Environment, 'storage'>>
}

/**
 * The options of a run that may be new: its input, if the workflow takes one, and those of `RunOptions`.
 *
 * @category model
 */
export type StartOptions<Input> = Options &
  RunOptions &
  (Json extends Input ? { readonly input?: Input } : { readonly input: Input })

/**
 * The options of a run that may exist: those of `ResumeOptions` of `dogear`. `onRecovered` may return a promise.
 *
 * @category model
 */
export interface ResumeOptions<Input = Json> extends Options, Omit<FpResumeOptions<Input>, 'onRecovered'> {
  /** Returns the name of the user who agrees to continue from the recovered state, or `undefined` to refuse. */
  readonly onRecovered?: (recovery: Recovery) => Promise<string | undefined> | string | undefined
}

/**
 * The options of {@link runOrResume} and {@link runOutcome}: `input` is optional if the run exists or the workflow needs none.
 *
 * @category model
 */
export type RunOrResumeOptions<Input> = ResumeOptions<Input> & RunOptions

/**
 * A run without an outcome, and the reason: it was refused before anything ran, or its state could not be written.
 * `retryLater`: the same call may succeed later, because another process holds the run (`HeldBy`).
 *
 * @category model
 */
export interface Refused {
  readonly _tag: 'Refused'
  readonly runId: string
  readonly error: RunError
  readonly retryLater: boolean
}

const BRAND = Symbol.for('dogear.RunFailure')

/**
 * The error that a run rejects with when it does not complete, so that a host marks its job as failed. `outcome` is the data:
 * failed, interrupted, pending, fenced or refused. `retryable`: the step's error looks transient. Detect it with
 * {@link isRunFailure}: `instanceof` fails if a bundle holds two copies of Dogear.
 *
 * @category errors
 */
export class RunFailure extends Error {
  override readonly name = 'RunFailure'
  readonly outcome: Exclude<RunOutcome, { readonly _tag: 'Completed' }> | Refused
  readonly retryable: boolean

  constructor(outcome: RunFailure['outcome']) {
    super(messageOf(outcome))
    this.outcome = outcome
    this.retryable = outcome._tag === 'Failed' && outcome.retryable
    Object.defineProperty(this, BRAND, { value: true })
  }
}

/**
 * Detects a {@link RunFailure}, also one of another copy of Dogear.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { isRunFailure, resume, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const missing = await resume(workflow('tidy'), { id: 'tidy-1', storage: memoryStorage() }).catch((error) => error)
 * assert.ok(isRunFailure(missing) && missing.outcome._tag === 'Refused')
 *
 * @category errors
 */
export const isRunFailure = (error: unknown): error is RunFailure =>
  typeof error === 'object' && error !== null && BRAND in error

const NEXT = { Job: 'poll its job', Timer: 'wait for its time', Answer: 'answer it' } as const

const messageOf = (outcome: RunFailure['outcome']): string => {
  switch (outcome._tag) {
    case 'Failed': {
      // A task that failed with its sub-step repeats the error.
      const inner = new Set(outcome.failures.map(({ unit, error }) => `${parent(unit) ?? ''} ${error.message}`))
      const causes = outcome.failures.filter(({ unit, error }) => !inner.has(`${unit} ${error.message}`))
      const why = causes.map(({ unit, error }) => `${unit === outcome.step ? '' : `${nameOf(unit)}: `}${error.message}`)
      return `Run ${outcome.runId} failed in step ${outcome.stepIndex + 1} (${outcome.step}): ${why.join('; ')}`
    }
    case 'Interrupted':
      return `Run ${outcome.runId} was stopped at step ${outcome.stepIndex + 1} (${outcome.step}): ${outcome.reason}`
    case 'Pending': {
      const units = outcome.units.map(({ unit, _tag }) => `${unit} (${NEXT[_tag]})`).join(', ')
      return `Run ${outcome.runId} is pending: ${units}. Then resume it`
    }
    case 'Fenced':
      return describeFenced(outcome)
    case 'Refused':
      return describe(outcome.error)
  }
}

/**
 * Starts a new run and resolves with the outputs of its steps. Rejects with a {@link RunFailure}, also if the id exists
 * already.
 *
 * @category running
 */
export const run = async <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  options: StartOptions<Input>
): Promise<Outputs> =>
  outputsOrThrow(await perform(options, X.run(program, options.id, inputOf(options), forRun(options))))

/**
 * Resumes a run at the right step, and resolves with the outputs of all its steps.
 *
 * @category running
 */
export const resume = async <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  options: ResumeOptions<Input>
): Promise<Outputs> => outputsOrThrow(await perform(options, X.resume(program, options.id, forResume(options))))

/**
 * Starts a run, or resumes it if it exists: for a process that may be killed, to call each time it starts.
 *
 * @category running
 */
export const runOrResume = async <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  options: RunOrResumeOptions<Input>
): Promise<Outputs> => outputsOrThrow(await runOutcome(program, options))

/**
 * Starts a run, or resumes it if it exists, and resolves with how it ended, as data. Never rejects.
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
): Promise<RunOutcome<Outputs> | Refused> => {
  const { input, ...others } = options
  const given = { ...forRun(options), ...forResume(others) }
  return perform(options, X.runOrResume(program, options.id, input, given))
}

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
export const poll = async <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  options: Options
): Promise<Exclude<PollOutcome, { readonly _tag: 'Fenced' }>> => {
  const outcome = await orThrow(options, pollJobs(program, options.id))
  if (outcome._tag === 'Fenced') throw new RunFailure(outcome)
  return outcome
}

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
): Promise<AnswerResult> => orThrow(options, giveAnswer(options.id, options.unit, options.value, options))

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
  orThrow(options, answerQuestions(options.id, options.confirm))

/**
 * Pauses a run; see `pause` of `dogear`. The environment needs `requests`. Rejects with a
 * {@link RunFailure} if the run does not exist, or leaving the request fails.
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
  orThrow(options, askToPause(options.id, options))

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
export const cancel = (options: Options): Promise<CancelResult> => orThrow(options, askToCancel(options.id))

/**
 * Returns what a resume would do, and why; see `planRun` of `dogear`. Runs and writes nothing. Rejects with a {@link RunFailure} if the
 * run does not exist, or the resume would be refused.
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
 * assert.match(explain(plan), /failed after 1 attempt: no compiler/)
 *
 * @category running
 */
export const planRun = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  options: Options & PlanRunOptions<Input>
): Promise<Planned> => {
  const { id, storage: _storage, signal: _signal, environment: _environment, ...own } = options
  return orThrow(options, planOf(program, id, own))
}

const inputOf = <Input>(options: StartOptions<Input>): Input => ('input' in options ? options.input : {}) as Input

const forRun = ({ workspace, wait }: RunOptions): RunOptions => ({
  ...(workspace === undefined ? {} : { workspace }),
  ...(wait === undefined ? {} : { wait })
})

const forResume = <Input>({ onRecovered, ...options }: ResumeOptions<Input>): FpResumeOptions<Input> => ({
  ...options,
  ...(onRecovered === undefined
    ? {}
    : { onRecovered: async (recovery: Recovery) => O.fromNullable(await onRecovered(recovery)) })
})

const environmentOf = ({ storage, signal, environment = {} }: Options): Environment => {
  if (signal === undefined) return nodeEnvironment(storage, environment)
  const { interrupt } = environment
  return nodeEnvironment(storage, {
    ...environment,
    interrupt: interrupt === undefined ? interruptFrom(signal) : eitherOf(interrupt, signal)
  })
}

const eitherOf = (interrupt: Interrupt, other: AbortSignal): Interrupt => {
  const own = interrupt.signal
  return {
    signal: AbortSignal.any([own, other]),
    reason: () => (own.aborted ? interrupt.reason() : 'aborted')
  }
}

const refusedWith = (runId: string, error: RunError): Refused => ({
  _tag: 'Refused',
  runId,
  error,
  retryLater: retryLater(error)
})

const perform = async <Outputs>(
  options: Options,
  executor: Executor<RunOutcome<Outputs>>
): Promise<RunOutcome<Outputs> | Refused> => {
  const ended = await executor(environmentOf(options))()
  if (E.isLeft(ended)) return refusedWith(options.id, ended.left)
  // A copy has `outputs` as data in place of the getter, so that they are printed with it.
  return ended.right._tag === 'Completed' ? { ...ended.right } : ended.right
}

const orThrow = async <A>(options: Options, executor: Executor<A>): Promise<A> => {
  const ended = await executor(environmentOf(options))()
  if (E.isLeft(ended)) throw new RunFailure(refusedWith(options.id, ended.left))
  return ended.right
}

const outputsOrThrow = <Outputs>(outcome: RunOutcome<Outputs> | Refused): Outputs => {
  if (outcome._tag !== 'Completed') throw new RunFailure(outcome)
  return outcome.outputs
}
