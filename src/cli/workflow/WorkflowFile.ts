/** A workflow as a file defines it: checked, typed, and not yet able to run. */
import { defined } from '../../domain/data/defined.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Json, JsonObject } from '../../domain/data/Json.js'
import type { OnSuccess } from '../../domain/checkpoint/Retention.js'
import type { RetryPolicy } from '../../domain/workflow/RetryPolicy.js'
import { partsOf } from '../../domain/workflow/Node.js'
import { join } from '../../domain/workflow/Unit.js'
import type { Workspace } from '../../domain/workflow/Workspace.js'
import type { Expectation, OnCheckFailure } from '../../executor/program/UnitChecks.js'
import type { OnFailure } from '../../executor/program/Program.js'
import type { Reuse, WaitFor } from '../../executor/program/StepSpec.js'
import type { Position, Problem } from './Problem.js'

/** A word of a `run:` step, as it is written. */
export interface Argument {
  readonly at: Position
  readonly text: string
}

export type CommandAction =
  | { readonly _tag: 'Shell'; readonly script: string }
  | { readonly _tag: 'Argv'; readonly argv: ReadonlyNonEmptyArray<Argument> }

export type Action = CommandAction | JobAction | (Reuse & { readonly _tag: 'Reuse' })

export interface JobAction {
  readonly _tag: 'Job'
  readonly submit: CommandAction
  readonly poll: CommandAction
  readonly collect?: CommandAction
}

/** `artifacts` are recorded by a digest of their content, `commits` by hash, `files` by existence. */
export interface ChecksEntry {
  readonly artifacts: ReadonlyArray<Argument>
  readonly commits: ReadonlyArray<Argument>
  readonly files: ReadonlyArray<Argument>
  readonly before: ReadonlyArray<CommandAction>
  readonly after: ReadonlyArray<CommandAction>
  readonly expect: Pick<Expectation, 'commits' | 'cleanTree'>
  readonly onCheckFailure?: OnCheckFailure
}

/** `retry` is absent for one attempt. `fresh`: each attempt has an empty folder. */
export interface TaskEntry {
  readonly _tag: 'Task'
  readonly at: Position
  readonly name: string
  readonly action: Action
  readonly summary: string
  readonly capture?: string
  readonly retry?: RetryPolicy
  readonly timeoutMillis?: number
  readonly idempotent: boolean
  readonly version?: string
  readonly fresh?: true
  readonly checks?: ChecksEntry
}

/** A step that sleeps, or waits for an answer, which `capture` names. */
export interface WaitEntry {
  readonly _tag: 'Wait'
  readonly at: Position
  readonly name: string
  readonly summary: string
  readonly wait: { readonly sleep: { readonly millis: number } } | { readonly waitFor: WaitFor }
  readonly capture?: string
}

/** `name`: the key of a group; for the body of a map, the name of the map. */
export interface CompositeEntry {
  readonly at: Position
  readonly name: string
  readonly summary: string
  readonly checks?: ChecksEntry
}

export interface SequenceEntry extends CompositeEntry {
  readonly _tag: 'Sequence'
  readonly steps: ReadonlyArray<StepEntry>
}

export type GroupEntry = StepEntry & { readonly needs: ReadonlyArray<string> }

export interface ParallelEntry extends CompositeEntry {
  readonly concurrency?: number
  readonly onFailure?: OnFailure
}

export interface WaveEntry extends ParallelEntry {
  readonly _tag: 'Wave'
  readonly groups: ReadonlyArray<GroupEntry>
}

export type ForEach =
  | { readonly _tag: 'Variable'; readonly at: Position; readonly name: string }
  | { readonly _tag: 'List'; readonly values: ReadonlyArray<Json> }

/** `key`: the field that names an item, or `item` for the item itself; absent for its number. */
export interface MapEntry extends ParallelEntry {
  readonly _tag: 'Map'
  readonly forEach: ForEach
  readonly key?: string
  readonly each: StepEntry
}

export type StepEntry = TaskEntry | WaitEntry | SequenceEntry | WaveEntry | MapEntry

/** `secrets`: names of environment variables; `workspace`: for new runs. */
export interface WorkflowFile {
  readonly name: string
  readonly input: JsonObject
  readonly secrets: ReadonlyArray<string>
  readonly onSuccess: OnSuccess
  readonly workspace: Workspace['kind']
  readonly steps: ReadonlyArray<StepEntry>
  readonly warnings: ReadonlyArray<Problem>
}

export const DEFAULT_TIMEOUT_MILLIS = 600_000

/** The maximum number of steps and groups, counting those of included files. */
export const MAX_STEPS = 10_000

export const numberedName = (index: number): string => `step-${index + 1}`

/** What the fingerprint of a task covers besides `idempotent` and `capture`. */
export const definitionOf = ({ action, version, fresh, checks }: TaskEntry): Json => ({
  ...actionJson(action),
  ...defined({ version, workspace: fresh && 'fresh', checks: checks && checksJson(checks) })
})

const actionJson = (action: Action): JsonObject => {
  switch (action._tag) {
    case 'Shell':
      return { shell: action.script }
    case 'Argv':
      return { run: texts(action.argv) }
    case 'Reuse':
      return { reuse: { fromRun: action.fromRun, artifact: action.artifact } }
    case 'Job': {
      const { submit, poll, collect } = action
      const optional = defined({ collect: collect && actionJson(collect) })
      return { job: { submit: actionJson(submit), poll: actionJson(poll), ...optional } }
    }
  }
}

const texts = (words: ReadonlyArray<Argument>): ReadonlyArray<string> => words.map(({ text }) => text)

/** Leaves out the reaction to a failed check. */
export const checksJson = ({ artifacts, commits, files, before, after, expect }: ChecksEntry): Json => ({
  artifacts: texts(artifacts),
  commits: texts(commits),
  files: texts(files),
  before: before.map(actionJson),
  after: after.map(actionJson),
  expect: { ...expect }
})

/** What must not change in a completed map, besides its body. */
export const mapJson = ({ forEach, key, checks }: MapEntry): Json => ({
  forEach: forEach._tag === 'Variable' ? forEach.name : forEach.values,
  ...defined({ key, checks: checks && checksJson(checks) })
})

export const captureOf = (step: StepEntry): string | undefined => ('capture' in step ? step.capture : undefined)

/** Parents come first. In a `place`, `*` stands for the key of an item. */
export const placed = (
  steps: ReadonlyArray<StepEntry>
): ReadonlyArray<{ readonly step: StepEntry; readonly place: string }> => {
  const found: Array<{ readonly step: StepEntry; readonly place: string }> = []
  const visit = (step: StepEntry, place: string): void => {
    found.push({ step, place })
    for (const part of partsOf<StepEntry>(step))
      visit(part, step._tag === 'Map' ? `${place}/*` : join(place, part.name))
  }
  for (const step of steps) visit(step, join(undefined, step.name))
  return found
}

export const commandLine = (action: Action): string => {
  if (action._tag === 'Job') return commandLine(action.submit)
  if (action._tag === 'Reuse') return `reuse:${action.fromRun}/${action.artifact}`
  if (action._tag === 'Argv')
    return action.argv.map(({ text }) => (/[\s"'\\]/.test(text) || text === '' ? JSON.stringify(text) : text)).join(' ')
  const [first = '', ...more] = action.script.trim().split('\n')
  return more.length === 0 ? first : `${first} …`
}
