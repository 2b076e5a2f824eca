/**
 * From a workflow file to a program that runs it.
 *
 * @since 0.1.0
 */
import type { Job, Program, ProgramStep, ProgramTask } from '../../executor/Program.js'
import { fromSteps, task, waveOf } from '../../executor/Program.js'
import type { TaskEntry, WorkflowFile } from './WorkflowFile.js'
import { definitionOf, numberedName } from './WorkflowFile.js'

/**
 * What a task does when it runs, or how it hands its work over.
 *
 * @category model
 * @since 0.1.0
 */
export type Runner = (
  entry: TaskEntry
) => { readonly run: ProgramTask['run'] } | { readonly job: Job<unknown, unknown, undefined> }

/**
 * A program of this file. `path` is where the file is, absolute.
 *
 * @category constructors
 * @since 0.1.0
 */
export const toProgram = (
  file: WorkflowFile,
  path: string,
  runner: Runner
): Program<Readonly<Record<string, unknown>>> =>
  fromSteps(
    file.name,
    file.steps.map((entry, index) => stepFrom(runner, entry, index)),
    path
  )

const stepFrom = (runner: Runner, entry: WorkflowFile['steps'][number], index: number): ProgramStep =>
  entry._tag === 'Task'
    ? taskFrom(runner, entry, entry.name === numberedName(index))
    : waveOf(
        entry.name,
        entry.groups.map((group) => ({ ...taskFrom(runner, group), needs: group.needs })),
        {
          summary: entry.summary,
          ...(entry.concurrency === undefined ? {} : { concurrency: entry.concurrency }),
          ...(entry.onFailure === undefined ? {} : { onFailure: entry.onFailure })
        }
      )

const taskFrom = (runner: Runner, entry: TaskEntry, numbered = false): ProgramTask =>
  task(
    entry.name,
    {
      ...runner(entry),
      summary: entry.summary,
      idempotent: entry.idempotent,
      numbered,
      ...(entry.capture === undefined ? {} : { capture: entry.capture }),
      ...(entry.retry === undefined ? {} : { retry: entry.retry }),
      ...(entry.timeoutMillis === undefined ? {} : { timeoutMillis: entry.timeoutMillis })
    },
    definitionOf(entry)
  )
