/** Loads the workflow of a run from its file, as it is now. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import type { CliError } from '../../CliError.js'
import { invalidWorkflow, usage, wrongUse } from '../../CliError.js'
import type { Loaded } from '../../workflow/load.js'
import { load, shownPath } from '../../workflow/load.js'
import type { AnyProgram } from '../../workflow/toProgram.js'
import { toProgram } from '../../workflow/toProgram.js'
import { unknownInputs } from '../../workflow/unknownInputs.js'
import { unknownVariables } from '../../workflow/unknownVariables.js'
import type { Context, Result } from '../Context.js'
import { showHint } from '../Context.js'
import { ofMissingFile } from '../hints/ofRun.js'

/** `more`: the names of `--input`. */
export const workflowOf = (
  context: Context,
  checkpoint: Checkpoint,
  more: ReadonlyArray<string> = []
): Result<Loaded> => {
  const { runId, workflow, variables } = checkpoint
  const { path } = workflow
  if (path === undefined) return E.left(programError(context, runId))
  const loaded = load(path, shownPath(path, context.folder))
  if (E.isRight(loaded)) {
    const known = checkInputs(loaded.right, more)
    return E.isLeft(known) ? known : checkVariables(loaded.right, [...variables.keys(), ...more])
  }
  return loaded.left._tag === 'Usage' ? E.left({ ...loaded.left, hints: ofMissingFile(context, checkpoint) }) : loaded
}

export const programError = (context: Context, runId: string): CliError =>
  usage(`Run ${runId} was started by a program; resume it there; "dogear answer" answers its questions`, [
    showHint(context, runId)
  ])

/** Refuses an input that is probably mistyped. */
export const checkInputs = (workflow: Loaded, names: ReadonlyArray<string>): Result<Loaded> => {
  const [problem] = unknownInputs(workflow, names)
  return problem === undefined ? E.right(workflow) : wrongUse(problem)
}

/** Refuses a `run:` step that names an unset variable. `variables`: those set from the start. */
export const checkVariables = (workflow: Loaded, variables: Iterable<string>): Result<Loaded> => {
  const problems = unknownVariables(workflow.file, variables)
  return problems.length > 0 ? E.left(invalidWorkflow(workflow.shown, problems)) : E.right(workflow)
}

/** A program that can be planned, but not run. */
export const plannable = ({ file, path }: Loaded): AnyProgram =>
  toProgram(file, path, { run: () => refuse, job: () => ({ submit: refuse, poll: refuse, collect: refuse }) })

const refuse = () => () => Promise.resolve(E.left('only planned'))
