/**
 * `dogear run`: starts a workflow, or goes on with an earlier run of it.
 *
 * @since 0.1.0
 */
import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Json, JsonObject } from '../../domain/Json.js'
import { equals, isObject } from '../../domain/Json.js'
import * as RunId from '../../domain/RunId.js'
import { run } from '../../executor/run.js'
import type { RunSummary, RunView } from '../../executor/runs.js'
import { viewRun } from '../../executor/runs.js'
import type { CliError } from '../CliError.js'
import { notDone, usage } from '../CliError.js'
import { confirm, isYes } from '../terminal/Prompt.js'
import { strayInputs } from '../workflow/strayInputs.js'
import { objection } from '../workflow/Variable.js'
import type { Result } from './Context.js'
import { environmentFor } from './Context.js'
import type { Attended, Loaded } from './execution.js'
import { execute, programFor, warnOf } from './execution.js'
import { allRuns, isUnfinished, minute, viewOf, warnOfDamaged } from './find.js'
import { ofExisting, resumeLine } from './hints.js'
import { resumeRun } from './resumeRun.js'
import { knowing, loadWorkflow } from './workflowOf.js'

/**
 * How a workflow is to be run.
 *
 * @category model
 * @since 0.1.0
 */
export interface RunFlags {
  readonly id?: string
  readonly input?: ReadonlyArray<string>
  readonly resume?: boolean
  readonly yes?: boolean
}

/** What is to be done: a new run, or an earlier one. */
type Choice = { readonly _tag: 'Start'; readonly runId: string } | { readonly _tag: 'TakeUp'; readonly view: RunView }

/**
 * Runs a workflow file.
 *
 * @category commands
 * @since 0.1.0
 */
export const runCommand = async (context: Attended, file: string, flags: RunFlags): Promise<Result> => {
  const given = inputOf(flags.input ?? [])
  if (E.isLeft(given)) return given
  const { id } = flags
  const parsed = id === undefined ? E.right(undefined) : RunId.parse(id)
  if (E.isLeft(parsed)) return E.left(notDone(parsed.left))
  const workflow = await loadWorkflow(resolve(context.folder, file), file)
  if (E.isLeft(workflow)) return workflow
  const choice =
    id === undefined
      ? await chooseEarlier(context, workflow.right, given.right, flags)
      : await chooseById(context, workflow.right, id, flags)
  if (E.isLeft(choice)) return choice
  if (choice.right._tag === 'Start') return start(context, workflow.right, choice.right.runId, given.right, flags)
  const { view } = choice.right
  if (differs(view, given.right)) return E.left(notDone({ _tag: 'InputChanged', runId: view.runId }))
  const known = knowing(workflow.right, view.checkpoint.variables.keys())
  return E.isLeft(known) ? known : resumeRun(context, view, workflow.right, flags.yes === true ? { yes: true } : {})
}

const start = async (
  context: Attended,
  workflow: Loaded,
  runId: string,
  given: JsonObject,
  flags: RunFlags
): Promise<Result> => {
  const input = { ...workflow.file.input, ...given }
  const known = knowing(workflow, Object.keys(input))
  if (E.isLeft(known)) return known
  warnOf(context, workflow)
  for (const stray of strayInputs(workflow.file, workflow.shown, Object.keys(given))) {
    context.screen.line(context.screen.style.yellow(`warning: ${stray}`))
  }
  const execution = { workflow, runId, folder: context.folder, done: 0, start: wordsOf(workflow, flags) }
  const { program, narrator } = programFor(context, execution)
  const workspace = { kind: 'directory', path: context.folder } as const
  return execute(context, { ...execution, program }, narrator, run(program, runId, input, { workspace }))
}

/** The command line of a run again, as words. */
const wordsOf = ({ shown }: Loaded, { id, input }: RunFlags): ReadonlyArray<string> => [
  'run',
  shown,
  ...(id === undefined ? [] : ['--id', id]),
  ...(input ?? []).flatMap((one) => ['--input', one])
]

// ---------------------------------------------------------------------------------------------------------------------
// input
// ---------------------------------------------------------------------------------------------------------------------

const inputOf = (texts: ReadonlyArray<string>): E.Either<CliError, JsonObject> => {
  const input = new Map<string, Json>()
  for (const text of texts) {
    const at = text.indexOf('=')
    if (at < 1) return E.left(usage(`--input is NAME=VALUE, not "${text}"`))
    const name = text.slice(0, at)
    const why = objection(name)
    if (O.isSome(why)) return E.left(usage(`--input: "${name}" can't be a variable: ${why.value}`))
    if (input.has(name)) return E.left(usage(`--input gives "${name}" twice`))
    input.set(name, text.slice(at + 1))
  }
  return E.right(Object.fromEntries(input))
}

/** Whether a run was started with another value of something that is given now. */
const differs = ({ input }: RunSummary, given: JsonObject): boolean =>
  Object.entries(given).some(([name, value]) => {
    const stored = isObject(input) ? input[name] : undefined
    return stored === undefined || !equals(stored, value)
  })

// ---------------------------------------------------------------------------------------------------------------------
// earlier runs
// ---------------------------------------------------------------------------------------------------------------------

const chooseById = async (
  context: Attended,
  { file }: Loaded,
  id: string,
  flags: RunFlags
): Promise<E.Either<CliError, Choice>> => {
  const found = await viewRun(id)(environmentFor(context))()
  if (E.isLeft(found)) return E.left(notDone(found.left))
  if (O.isNone(found.right)) return E.right({ _tag: 'Start', runId: id })
  const view = found.right.value
  if (flags.resume === true || flags.yes === true) return E.right({ _tag: 'TakeUp', view })
  if (O.isSome(view.heldBy)) return E.left(notDone({ _tag: 'HeldBy', runId: id, holder: view.heldBy.value }))
  const offered = isUnfinished(view) && view.checkpoint.workflow.name === file.name && context.interactive
  if (offered && isYes(await offer(context, view))) return E.right({ _tag: 'TakeUp', view })
  return E.left(notDone({ _tag: 'RunExists', runId: id }, isUnfinished(view) ? ofExisting(context, id) : []))
}

const chooseEarlier = async (
  context: Attended,
  workflow: Loaded,
  given: JsonObject,
  flags: RunFlags
): Promise<E.Either<CliError, Choice>> => {
  const fresh: Choice = { _tag: 'Start', runId: randomUUID() }
  const runs = await allRuns(context)
  if (E.isLeft(runs)) return runs
  warnOfDamaged(context, runs.right)
  const mine = runs.right.runs.filter((one) => isUnfinished(one) && isOf(one, workflow))
  const [nearest] = mine
    .filter((one) => !differs(one, given))
    .sort((a, b) => nearness(b, workflow) - nearness(a, workflow))
  const unasked = flags.resume === true || flags.yes === true
  const takeUp = async ({ runId }: RunSummary): Promise<E.Either<CliError, Choice>> =>
    E.map((view: RunView): Choice => ({ _tag: 'TakeUp', view }))(await viewOf(context, runId))
  if (nearest === undefined) {
    const [other] = mine
    return unasked && other !== undefined ? takeUp(other) : E.right(fresh)
  }
  if (unasked) return takeUp(nearest)
  if (context.interactive) {
    const answer = await offer(context, nearest)
    if (O.isNone(answer)) return E.left({ _tag: 'Declined' })
    return answer.value ? takeUp(nearest) : E.right(fresh)
  }
  context.screen.line(`An earlier run is unfinished (${position(nearest)}). To go on with it instead:`)
  context.screen.line(`  ${resumeLine(context, nearest.runId)}`)
  return E.right(fresh)
}

/** A run keeps to its workflow's name, so one that was renamed can't be taken up. */
const isOf = ({ workflow }: RunSummary, { file }: Loaded): boolean => workflow.name === file.name

const nearness = ({ workflow }: RunSummary, { path }: Loaded): number => (workflow.path === path ? 1 : 0)

const offer = async ({ screen, prompt }: Attended, view: RunSummary): Promise<O.Option<boolean>> => {
  screen.line(`Run ${view.runId}, ${position(view)}`)
  return confirm(prompt, 'Previous execution found. Resume?', true)
}

const position = ({ status, steps, createdAt }: RunSummary): string =>
  `${status}, ${steps.completed}/${steps.total} steps completed, started ${minute(createdAt)}`
