/** The workflow of a run: the file from which it was started, as it is now. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import type { Program } from '../../../executor/program/Program.js'
import type { CliError } from '../../CliError.js'
import { usage } from '../../CliError.js'
import { load, shownPath } from '../../workflow/load.js'
import { toProgram } from '../../workflow/toProgram.js'
import { unknownVariables } from '../../workflow/unknownVariables.js'
import type { Context } from '../Context.js'
import { showHint } from '../Context.js'
import type { Loaded } from '../execution/execution.js'
import { ofMissingFile } from './findHints.js'

/** Loads the workflow of a run. `more`: extra variables. */
export const workflowOf = (
  context: Context,
  { runId, workflow, variables }: Checkpoint,
  more: ReadonlyArray<string> = []
): E.Either<CliError, Loaded> => {
  const { path } = workflow
  if (path === undefined) return E.left(programError(context, runId))
  const loaded = loadWorkflow(path, shownPath(path, context.folder))
  if (E.isRight(loaded)) return checkVariables(loaded.right, [...variables.keys(), ...more])
  return loaded.left._tag === 'Usage' ? E.left(usage(loaded.left.message, ofMissingFile(context, runId))) : loaded
}

/** The refusal to resume a run whose steps are in a program. */
export const programError = (context: Context, runId: string): CliError =>
  usage(`Run ${runId} was started by a program: resume it there, and answer questions with its option \`confirm\``, [
    showHint(context, runId)
  ])

/** Loads a workflow file. */
export const loadWorkflow = (path: string, shown: string): E.Either<CliError, Loaded> => {
  const file = load(path, shown)
  return E.isLeft(file) ? file : E.right({ file: file.right, path, shown })
}

/** The workflow, if no `run:` step names a variable that nobody sets. `variables`: those that are set from the start. */
export const checkVariables = (workflow: Loaded, variables: Iterable<string>): E.Either<CliError, Loaded> => {
  const problems = unknownVariables(workflow.file, variables)
  return problems.length > 0 ? E.left({ _tag: 'InvalidWorkflow', file: workflow.shown, problems }) : E.right(workflow)
}

/** A program of a workflow that is only planned: nothing of it runs. */
export const plannable = ({ file, path }: Loaded): Program<Readonly<Record<string, unknown>>> =>
  toProgram(file, path, { run: () => refuse, job: () => ({ submit: refuse, poll: refuse, collect: refuse }) })

const refuse = () => () => Promise.resolve(E.left('only planned'))
