/** A workflow as a file defines it: checked, typed, and not yet able to run. */
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Json, JsonObject } from '../../domain/data/Json.js'
import type { OnSuccess } from '../../domain/checkpoint/Retention.js'
import type { RetryPolicy } from '../../domain/workflow/RetryPolicy.js'
import { join } from '../../domain/workflow/Unit.js'
import type { Workspace } from '../../domain/workflow/Workspace.js'
import type { Expectation, OnCheckFailure } from '../../executor/program/Guard.js'
import type { OnFailure } from '../../executor/program/Program.js'
import type { Reuse } from '../../executor/program/StepSpec.js'
import type { Position, Problem } from './Problem.js'
import type { Template } from './Template.js'

/** A word of a `run:` step. `text`: as it is written. */
export interface Argument {
  readonly at: Position
  readonly text: string
  readonly template: Template
}

/** A command: a script, given to the system's shell, or words, with no shell. */
export type CommandAction =
  | { readonly _tag: 'Shell'; readonly script: string }
  | { readonly _tag: 'Argv'; readonly argv: ReadonlyNonEmptyArray<Argument> }

/** What a task does: it executes a command, or takes what another run has made. */
export type Action = CommandAction | (Reuse & { readonly _tag: 'Reuse' })

/** What submits a job, what asks for it, and what fetches what it gave; absent if it gives nothing. */
export interface JobEntry {
  readonly submit: CommandAction
  readonly poll: CommandAction
  readonly collect?: CommandAction
}

/**
 * What is looked at around a step, and what that is to leave behind: `artifacts` with their content, `commits` by
 * their hashes, `files`; commands that must succeed `before` it starts and `after` it has ended well.
 */
export interface ChecksEntry {
  readonly artifacts: ReadonlyArray<Argument>
  readonly commits: ReadonlyArray<Argument>
  readonly files: ReadonlyArray<Argument>
  readonly before: ReadonlyArray<CommandAction>
  readonly after: ReadonlyArray<CommandAction>
  readonly expect: Pick<Expectation, 'commits' | 'cleanTree'>
  readonly onCheckFailure?: OnCheckFailure
}

/**
 * A task. `timeoutMillis` is for each attempt, and absent if there is none;
 * `retry` is absent if it is tried once. `fresh`: each attempt has an empty folder of its own. With a `job` its `action` is what submits that.
 */
export interface TaskEntry {
  readonly _tag: 'Task'
  readonly at: Position
  readonly name: string
  readonly action: Action
  readonly job?: JobEntry
  readonly summary: string
  readonly capture?: string
  readonly retry?: RetryPolicy
  readonly timeoutMillis?: number
  readonly idempotent: boolean
  readonly version?: string
  readonly fresh?: true
  readonly checks?: ChecksEntry
}

/** What composites have in common. `name`: of a group its key, and of what a map does for each item the name of the map. */
export interface CompositeEntry {
  readonly at: Position
  readonly name: string
  readonly summary: string
  readonly checks?: ChecksEntry
}

/** Steps in order: those of the file, or those of another file that it includes. */
export interface SequenceEntry extends CompositeEntry {
  readonly _tag: 'Sequence'
  readonly steps: ReadonlyArray<StepEntry>
}

/** A group of a wave: a step, and the names of the groups that it needs. */
export type GroupEntry = StepEntry & { readonly needs: ReadonlyArray<string> }

/** What runs in parallel. */
export interface ParallelEntry extends CompositeEntry {
  readonly concurrency?: number
  readonly onFailure?: OnFailure
}

/** A wave. */
export interface WaveEntry extends ParallelEntry {
  readonly _tag: 'Wave'
  readonly groups: ReadonlyArray<GroupEntry>
}

/** Where a map has its items from: a variable, or the file itself. */
export type ForEach =
  | { readonly _tag: 'Variable'; readonly at: Position; readonly name: string }
  | { readonly _tag: 'List'; readonly values: ReadonlyArray<Json> }

/**
 * A map: the same for each of some items. `key`: the field of an item that is its name, or `item` if that is the item itself; absent
 * if it is its number.
 */
export interface MapEntry extends ParallelEntry {
  readonly _tag: 'Map'
  readonly forEach: ForEach
  readonly key?: string
  readonly each: StepEntry
}

/** A step. */
export type StepEntry = TaskEntry | SequenceEntry | WaveEntry | MapEntry

/**
 * A workflow file. `secrets` are names of environment variables; `workspace`: of which kind that of a new run is. `warnings` are
 * for people, and nothing in them keeps it from running.
 */
export interface WorkflowFile {
  readonly name: string
  readonly input: JsonObject
  readonly secrets: ReadonlyArray<string>
  readonly onSuccess: OnSuccess
  readonly workspace: Workspace['kind']
  readonly steps: ReadonlyArray<StepEntry>
  readonly warnings: ReadonlyArray<Problem>
}

/** How long an attempt may take if the file does not say: 10 minutes. */
export const DEFAULT_TIMEOUT_MILLIS = 600_000

/** How many steps and groups a file may have, with those of the files that it includes. */
export const MAX_TASKS = 10_000

/** The name of a step that was given none: its number. */
export const numberedName = (index: number): string => `step-${index + 1}`

/**
 * What a task's fingerprint covers beside its name, `idempotent` and `capture`: what it executes, whether in a folder of its own,
 * and its version.
 */
export const definitionOf = ({ action, job, version, fresh, checks }: TaskEntry): Json => ({
  ...(job === undefined
    ? actionJson(action)
    : {
        job: {
          submit: actionJson(job.submit),
          poll: actionJson(job.poll),
          ...(job.collect === undefined ? {} : { collect: actionJson(job.collect) })
        }
      }),
  ...(version === undefined ? {} : { version }),
  ...(fresh === undefined ? {} : { workspace: 'fresh' }),
  ...(checks === undefined ? {} : { checks: checksJson(checks) })
})

const actionJson = (action: Action): JsonObject => {
  switch (action._tag) {
    case 'Shell':
      return { shell: action.script }
    case 'Argv':
      return { run: texts(action.argv) }
    case 'Reuse':
      return { reuse: { fromRun: action.fromRun, artifact: action.artifact } }
  }
}

const texts = (words: ReadonlyArray<Argument>): ReadonlyArray<string> => words.map(({ text }) => text)

/** Checks, as far as they are what is done: not what is done about one that fails. */
export const checksJson = ({ artifacts, commits, files, before, after, expect }: ChecksEntry): Json => ({
  artifacts: texts(artifacts),
  commits: texts(commits),
  files: texts(files),
  before: before.map(actionJson),
  after: after.map(actionJson),
  expect: { ...expect }
})

/** What of a map must not change once it has completed, beside what it does for each item. */
export const mapJson = ({ forEach, key, checks }: MapEntry): Json => ({
  forEach: forEach._tag === 'Variable' ? forEach.name : forEach.values,
  ...(key === undefined ? {} : { key }),
  ...(checks === undefined ? {} : { checks: checksJson(checks) })
})

/** The parts that a step lists: none of a task, the one body of a map. */
export const partsOf = (step: StepEntry): ReadonlyArray<StepEntry> => {
  switch (step._tag) {
    case 'Task':
      return []
    case 'Sequence':
      return step.steps
    case 'Wave':
      return step.groups
    case 'Map':
      return [step.each]
  }
}

/** All steps on all levels, each before its parts, with its place: its path, where `*` stands for the key of an item. */
export const placed = (
  steps: ReadonlyArray<StepEntry>
): ReadonlyArray<{ readonly step: StepEntry; readonly place: string }> => {
  const found: Array<{ readonly step: StepEntry; readonly place: string }> = []
  const visit = (step: StepEntry, place: string): void => {
    found.push({ step, place })
    for (const part of partsOf(step)) visit(part, step._tag === 'Map' ? `${place}/*` : join(place, part.name))
  }
  for (const step of steps) visit(step, join(undefined, step.name))
  return found
}

/** All tasks on all levels. */
export const tasksOf = (steps: ReadonlyArray<StepEntry>): ReadonlyArray<TaskEntry> =>
  placed(steps).flatMap(({ step }) => (step._tag === 'Task' ? [step] : []))

/** Everything that a task does. */
export const actionsOf = ({ action, job }: TaskEntry): ReadonlyArray<Action> =>
  job === undefined ? [action] : [job.submit, job.poll, ...(job.collect === undefined ? [] : [job.collect])]

/** What a task does as a line for people. */
export const commandLine = (action: Action): string => {
  if (action._tag === 'Reuse') return `reuse:${action.fromRun}/${action.artifact}`
  if (action._tag === 'Argv')
    return action.argv.map(({ text }) => (/[\s"'\\]/.test(text) || text === '' ? JSON.stringify(text) : text)).join(' ')
  const [first = '', ...more] = action.script.trim().split('\n')
  return more.length === 0 ? first : `${first} …`
}
