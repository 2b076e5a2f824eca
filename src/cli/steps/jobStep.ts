/** Runs tasks. For one with a job, commands submit the job, poll it and collect its output. */
import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as StepError from '../../domain/data/StepError.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import * as Failure from '../../domain/data/StepFailure.js'
import type { Job, JobStatus } from '../../executor/program/Program.js'
import type { Ended } from '../../adapters/node/subprocess.js'
import type { Runner } from '../workflow/toProgram.js'
import type { JobAction, TaskEntry } from '../workflow/WorkflowFile.js'
import type { CommandSettings } from './commandStep.js'
import { commandStep, runCommand, unsuccessful } from './commandStep.js'
import type { TaskContext } from './stepEnvironment.js'

/** The exit codes of `poll` and `collect`. With any other code the poll itself failed, and the job is unchanged. */
const PollCode = { finished: 0, unfinished: 75, failed: 1, missing: 3 } as const

export const runnerIn = (settings: CommandSettings): Runner => ({
  run: (entry, action) => commandStep(settings, entry, action),
  job: (entry, job) => jobStep(settings, entry, job)
})

const JOB = 'DOGEAR_JOB'

const jobStep = (settings: CommandSettings, entry: TaskEntry, job: JobAction): Job<TaskContext, unknown> => {
  const captured: TaskEntry = { ...entry, capture: JOB }
  return {
    // Without output, the idempotency key identifies the job.
    submit: (context) =>
      TE.map((printed: string | undefined) => (printed === '' ? undefined : printed))(
        commandStep(settings, captured, job.submit)(context)
      ),
    poll: (context) => async () => {
      const ended = await runCommand(settings, captured, job.poll, context)()
      return E.isLeft(ended) ? ended : statusOf(ended.right, captured)
    },
    collect: (context) =>
      job.collect === undefined
        ? TE.right(undefined)
        : TE.mapLeft(notCollected)(commandStep(settings, entry, job.collect)(context))
  }
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

/** Exit codes mean the same as those of `poll`; after a temporary failure, the next poll collects again. */
const notCollected = ({ error, outcome }: StepFailure): StepFailure => {
  const isEnd = error.name === 'ExitError' ? ENDS.has(error.code) : outcome !== 'notApplied'
  if (isEnd) return Failure.permanent(error, outcome)
  const why = error.code === String(PollCode.unfinished) ? 'yet' : `now: ${error.message}`
  return Failure.transient(StepError.make('NotYet', `its result cannot be collected ${why}`))
}

const ENDS: ReadonlySet<unknown> = new Set([PollCode.failed, PollCode.missing].map(String))
