/** Runs a task with a job: commands submit it, poll it and collect its output. */
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as StepError from '../../domain/data/StepError.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import * as Failure from '../../domain/data/StepFailure.js'
import type { ForJob, Job, JobStatus, StepContext } from '../../executor/program/Program.js'
import type { Ended } from '../../adapters/node/subprocess.js'
import type { Runner } from '../workflow/toProgram.js'
import type { CommandAction, JobEntry, TaskEntry } from '../workflow/WorkflowFile.js'
import type { CommandSettings } from './commandStep.js'
import { commandStep, runCommand, unsuccessful } from './commandStep.js'

/**
 * The exit codes of `poll`. `collect` has the same.
 *
 * | code | means |
 * |---|---|
 * | 0 | finished |
 * | 75 | not ended yet; the last line of standard output may say `3/10` |
 * | 1 | it failed |
 * | 3 | the job does not exist |
 *
 * With any other code the poll itself failed, and the job is unchanged.
 */
export const PollCode = { finished: 0, unfinished: 75, failed: 1, missing: 3 } as const

export const runnerIn = (surroundings: CommandSettings): Runner => ({
  run: (entry, action) => commandStep(surroundings, entry, action),
  job: (entry, job) => jobStep(surroundings, entry, job)
})

const JOB = 'DOGEAR_JOB'

const jobStep = (
  surroundings: CommandSettings,
  entry: TaskEntry,
  job: JobEntry
): Job<StepContext<unknown, unknown>, unknown> => ({
  submit: (context) => submit(surroundings, { ...entry, capture: JOB }, job.submit, context),
  poll: (context) => poll(surroundings, { ...entry, action: job.poll, capture: JOB }, job.poll, context),
  collect: (context) =>
    job.collect === undefined ? nothing : collect(surroundings, { ...entry, action: job.collect }, job.collect, context)
})

/** Without output, the idempotency key identifies the job. */
const submit = (
  surroundings: CommandSettings,
  task: TaskEntry,
  action: CommandAction,
  context: StepContext<unknown, unknown>
): TaskEither<StepFailure, string | undefined> =>
  TE.map((printed: string | undefined) => (printed === '' ? undefined : printed))(
    commandStep(surroundings, task, action)(context)
  )

const nothing: TaskEither<StepFailure, undefined> = () => Promise.resolve(E.right(undefined))

const poll =
  (
    surroundings: CommandSettings,
    task: TaskEntry,
    action: CommandAction,
    context: StepContext<unknown, unknown> & ForJob
  ): TaskEither<StepFailure, JobStatus> =>
  async () => {
    const ended = await runCommand(surroundings, task, action, context)()
    return E.isLeft(ended) ? ended : statusOf(ended.right, task)
  }

const statusOf = (ended: Ended, task: TaskEntry): E.Either<StepFailure, JobStatus> => {
  const { exit, stdout } = ended
  const failure = unsuccessful(ended, task)
  if (exit._tag === 'Signal') return E.left(failure)
  switch (exit.code) {
    case PollCode.finished:
      return E.right({ _tag: 'Finished' })
    case PollCode.unfinished:
      return E.right({ _tag: 'Unfinished', ...countsIn(stdout) })
    case PollCode.missing:
      return E.right({ _tag: 'Missing' })
    case PollCode.failed:
      return E.right({ _tag: 'Failed', error: failure })
    default:
      return E.left(failure)
  }
}

/** `3/10` on the last line. */
const countsIn = (stdout: string): { readonly done?: number; readonly total?: number } => {
  const found = /(?:^|\n)[^\S\n]*(\d{1,15})\s*\/\s*(\d{1,15})\s*$/.exec(stdout)
  return found === null ? {} : { done: Number(found[1]), total: Number(found[2]) }
}

/** Exit codes mean the same as those of `poll`; a temporary failure is repeated by the next poll. */
const collect =
  (
    surroundings: CommandSettings,
    task: TaskEntry,
    action: CommandAction,
    context: StepContext<unknown, unknown> & ForJob
  ): TaskEither<StepFailure, string | undefined> =>
  async () => {
    const collected = await commandStep(surroundings, task, action)(context)()
    if (E.isRight(collected)) return collected
    const { error, outcome } = collected.left
    const isEnd = error.name === 'ExitError' ? ENDS.has(error.code) : outcome !== 'notApplied'
    if (isEnd) return E.left(Failure.permanent(error, outcome))
    const why = error.code === String(PollCode.unfinished) ? 'yet' : `now: ${error.message}`
    return E.left(Failure.transient(StepError.make('NotYet', `its result cannot be collected ${why}`)))
  }

const ENDS: ReadonlySet<unknown> = new Set([PollCode.failed, PollCode.missing].map(String))
