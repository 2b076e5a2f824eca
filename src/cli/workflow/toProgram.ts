/** Turns a workflow file into a program. */
import { defined } from '../../domain/data/defined.js'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ExpectedEvidence } from '../../domain/checkpoint/CompletedStep.js'
import type { Json } from '../../domain/data/Json.js'
import { fromUnknown } from '../../domain/data/StepFailure.js'
import type { CheckOptions } from '../../executor/program/UnitChecks.js'
import type {
  ItemSource,
  Job,
  Program,
  ProgramStep,
  ProgramTask,
  SequenceOptions,
  UnitChecks,
  WaveOptions
} from '../../executor/program/Program.js'
import { fromSteps, mapOf, reuse, sequenceOf, task, waveOf } from '../../executor/program/Program.js'
import type { TaskContext as Context, Variables } from '../steps/stepEnvironment.js'
import { variablesAsText } from '../steps/stepEnvironment.js'
import { itemsOf, keyOf, notItems } from './items.js'
import * as Template from './Template.js'
import type {
  Argument,
  ChecksEntry,
  CommandAction,
  CompositeEntry,
  JobAction,
  ParallelEntry,
  StepEntry,
  TaskEntry,
  WorkflowFile
} from './WorkflowFile.js'
import { checksJson, commandLine, definitionOf, mapJson, numberedName } from './WorkflowFile.js'

/** How tasks run. */
export interface Runner {
  readonly run: (entry: TaskEntry, action: CommandAction) => ProgramTask['run']
  readonly job: (entry: TaskEntry, job: JobAction) => Job<Context, unknown>
}

export type AnyProgram = Program<Readonly<Record<string, unknown>>>

/** `path` is absolute. */
export const toProgram = (file: WorkflowFile, path: string, runner: Runner): AnyProgram =>
  fromSteps(
    file.name,
    file.steps.map((entry, index) => stepFrom(runner, entry, index)),
    path,
    { secrets: file.secrets, onSuccess: file.onSuccess }
  )

const stepFrom = (runner: Runner, entry: StepEntry, index?: number): ProgramStep => {
  const definition = 'checks' in entry && entry.checks !== undefined ? checksJson(entry.checks) : undefined
  const isNumbered = index !== undefined && entry.name === numberedName(index)
  switch (entry._tag) {
    case 'Task':
      return taskFrom(runner, entry, isNumbered)
    case 'Wait': {
      const { name, wait, summary, capture } = entry
      return { ...task(name, { ...wait, summary, ...defined({ capture }) }), numbered: isNumbered }
    }
    case 'Sequence': {
      const steps = entry.steps.map((step, index) => stepFrom(runner, step, index))
      return sequenceOf(entry.name, steps, compositeOptions(runner, entry), definition)
    }
    case 'Wave': {
      const groups = entry.groups.map((group) => ({ ...stepFrom(runner, group), needs: group.needs }))
      return waveOf(entry.name, groups, parallelOptions(runner, entry), definition)
    }
    case 'Map': {
      const { name, forEach, key, each } = entry
      const items: ItemSource = {
        forEach: (source) => E.mapLeft(notItems)(itemsOf(forEach, source)),
        key: (item, position) => E.mapLeft(notItems)(keyOf(key, item as Json, position))
      }
      return mapOf(name, stepFrom(runner, each), items, parallelOptions(runner, entry), mapJson(entry))
    }
  }
}

const NO_ACTION: CommandAction = { _tag: 'Shell', script: ':' }

/** A runner runs commands of tasks only, so the checks of a composite run as those of a task. */
const compositeOptions = (runner: Runner, entry: CompositeEntry): SequenceOptions<Context> => ({
  summary: entry.summary,
  ...checksFrom(runner, { ...entry, _tag: 'Task', action: NO_ACTION, idempotent: true })
})

const parallelOptions = (runner: Runner, entry: ParallelEntry): WaveOptions<Context> => ({
  ...compositeOptions(runner, entry),
  ...defined({ concurrency: entry.concurrency, onFailure: entry.onFailure })
})

const workOf = (
  runner: Runner,
  entry: TaskEntry
): { readonly run: (context: Context) => unknown } | { readonly job: Job<Context, unknown> } => {
  const { action } = entry
  if (action._tag === 'Job') return { job: runner.job(entry, action) }
  if (action._tag !== 'Reuse') return { run: runner.run(entry, action) }
  const { fromRun, artifact } = action
  return { run: reuse({ fromRun, artifact }).run }
}

const taskFrom = (runner: Runner, entry: TaskEntry, numbered: boolean): ProgramTask => {
  const { name, summary, idempotent, capture, retry, timeoutMillis, fresh, checks } = entry
  return task(
    name,
    {
      ...workOf(runner, entry),
      ...{ summary, idempotent, numbered },
      ...defined({ capture, retry, timeoutMillis, workspace: fresh && ('fresh' as const) }),
      ...checksFrom(runner, entry)
    },
    definitionOf(entry),
    checks === undefined || fresh === true ? undefined : artifactPathsOf(checks, capture)
  )
}

const checksFrom = (
  runner: Runner,
  entry: TaskEntry
): CheckOptions<Context> & { readonly evidence?: NonNullable<UnitChecks['evidence']> } => {
  const { checks } = entry
  if (checks === undefined) return {}
  const { before, after, expect, onCheckFailure } = checks
  return {
    expect,
    evidence: (output, context) => evidenceOf(checks, entry.capture, output, context),
    ...(before.length === 0 ? {} : { before: inTurn(runner, entry, before) }),
    ...(after.length === 0 ? {} : { after: inTurn(runner, entry, after) }),
    ...defined({ onCheckFailure })
  }
}

const inTurn =
  (runner: Runner, { capture: _, retry: __, ...entry }: TaskEntry, actions: ReadonlyArray<CommandAction>) =>
  (context: Context): TaskEither<unknown, unknown> =>
  async () => {
    for (const action of actions) {
      const ended = await runner.run(entry, action)(context)()
      if (E.isLeft(ended)) return E.left(new Error(`${commandLine(action)}: ${fromUnknown(ended.left).error.message}`))
    }
    return E.right(undefined)
  }

/** The paths of a task's artifacts, except those that use its own capture. */
const artifactPathsOf = (
  { artifacts }: ChecksEntry,
  capture: string | undefined
): NonNullable<ProgramTask['artifactPaths']> => {
  const known = artifacts.filter(({ text }) => !Template.variablesIn(text).includes(capture ?? ''))
  const named = new Set(known.flatMap(({ text }) => Template.variablesIn(text)))
  return ({ variables, ...item }) => {
    const needed = new Map([...variables].filter(([name]) => named.has(name)))
    const texts = E.getOrElse((): Variables => new Map())(variablesAsText({ variables: needed, ...item }))
    return known.flatMap(({ text }) => {
      const path = Template.fill(text, texts)
      return E.isLeft(path) ? [] : [path.right]
    })
  }
}

/** Unknown variables stay as they are written. */
const evidenceOf = (
  { artifacts, commits, files }: ChecksEntry,
  capture: string | undefined,
  output: unknown,
  context: Context
): ReadonlyArray<ExpectedEvidence> => {
  const known = new Map(E.getOrElse((): Variables => new Map())(variablesAsText(context)))
  if (capture !== undefined && typeof output === 'string') known.set(capture, output)
  const filled = ({ text }: Argument): string => E.getOrElse(() => text)(Template.fill(text, known))
  return [
    ...artifacts.map((one): ExpectedEvidence => ({ _tag: 'Artifact', path: filled(one) })),
    ...commits.map((one): ExpectedEvidence => ({ _tag: 'Commit', hash: filled(one) })),
    ...files.map((one): ExpectedEvidence => ({ _tag: 'File', path: filled(one) }))
  ]
}
