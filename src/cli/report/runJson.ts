/** Runs as JSON documents for other programs: snake_case keys, times in UTC. */
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint, Status } from '../../domain/checkpoint/Checkpoint.js'
import { progress } from '../../domain/checkpoint/Checkpoint.js'
import * as State from '../../domain/checkpoint/CheckpointState.js'
import { top } from '../../domain/workflow/Unit.js'
import { describeQuestion, describeReason } from '../../domain/explain/Explain.js'
import { defined } from '../../domain/data/defined.js'
import type { Json, JsonObject } from '../../domain/data/Json.js'
import { printable } from '../../domain/explain/printable.js'
import type { Confirm, Run } from '../../domain/plan/Plan.js'
import { answersTo } from '../../domain/plan/Plan.js'
import type { StepError } from '../../domain/data/StepError.js'
import type { RunSummary } from '../../executor/storage/runs.js'
import type { CliError } from '../CliError.js'
import { code, describeFully } from '../CliError.js'
import type { Hint } from './Hint.js'
import { linesOf } from './Hint.js'
import { MAX_SHOWN } from '../workflow/Problem.js'

export const printed = (document: Json): string => `${JSON.stringify(document, null, 2)}\n`

/** The result of a command: a document, or the last line after its events. */
export const printedResult = ({ events }: { readonly events: boolean }, document: JsonObject): string =>
  events ? `${JSON.stringify({ event: 'Result', ...document })}\n` : printed(document)

export const summaryJson = (
  run: Pick<RunSummary, 'runId' | 'workflow' | 'status' | 'steps' | 'createdAt' | 'updatedAt'>
): JsonObject => ({
  run_id: run.runId,
  run_name: run.workflow.name,
  status: run.status,
  created_at: run.createdAt,
  updated_at: run.updatedAt,
  steps_completed: run.steps.completed,
  steps_total: run.steps.total
})

/** A run of a listing: of a pending one also what it waits for. */
export const listedJson = (run: RunSummary): JsonObject => ({
  ...summaryJson(run),
  ...(run.waits === undefined
    ? {}
    : { waits_for: run.waits.kinds.map((kind) => kind.toLowerCase()), wake_at: run.waits.wakeAt ?? null })
})

/** `questions`: what a resume will ask; `again`: the completed units that ran again. */
export const endJson = (
  checkpoint: Checkpoint,
  status: Status,
  resume = '',
  questions: ReadonlyArray<Confirm> = [],
  again: ReadonlyArray<Run> = []
): JsonObject => ({
  ...summaryJson({ ...checkpoint, status, steps: progress(checkpoint) }),
  variables: Object.fromEntries(checkpoint.variables),
  failures: failuresJson(checkpoint),
  ran_again: again.map(runAgainJson),
  ...(status === 'completed' ? {} : { questions: questions.map(questionJson), resume_command: resume })
})

export const questionJson = (question: Confirm): JsonObject => ({
  unit: question.unit,
  reason: question.reason._tag,
  question: describeQuestion(question),
  answers: answersTo(question).map((answer) => answer.toLowerCase())
})

export const runAgainJson = (run: Run): JsonObject => ({
  unit: run.unit,
  reason: run.reason._tag,
  why: describeReason(run)
})

export const failuresJson = ({ state, workflow }: Checkpoint): ReadonlyArray<JsonObject> =>
  Array.from(State.failures(state), ({ unit, error, attempts }) => ({
    step_index: workflow.steps.findIndex(({ name }) => name === top(unit)),
    unit,
    attempts: attempts.at(-1)?.attempt ?? 1,
    error: errorJson(error)
  }))

export const errorJson = ({ name, message, code }: StepError): JsonObject => ({ name, message, ...defined({ code }) })

export const holderJson = ({ heldBy }: RunSummary): Json => {
  if (O.isNone(heldBy)) return null
  const { host, pid, since, liveness } = heldBy.value
  return { host, pid, since, liveness }
}

export const cliErrorJson = (error: CliError, next: ReadonlyArray<Hint> = []): JsonObject => ({
  error: {
    code: code(error),
    message: [describeFully(error), ...linesOf(next).map(printable)].join('\n'),
    ...(error._tag === 'NotDone' && error.error._tag === 'Unconfirmed'
      ? { questions: error.error.questions.map(questionJson) }
      : {}),
    ...(error._tag === 'InvalidWorkflow'
      ? {
          file: error.file,
          problems: error.problems.slice(0, MAX_SHOWN).map(({ at, message }) => ({ ...at, message })),
          problems_total: error.problems.length
        }
      : {})
  }
})
