/**
 * `dogear run`: starts a workflow, or goes on with an earlier run of it.
 *
 * @since 0.1.0
 */
import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as RunId from '../../domain/RunId.js'
import { run } from '../../executor/run.js'
import type { RunSummary, RunView } from '../../executor/runs.js'
import { viewRun } from '../../executor/runs.js'
import type { CliError } from '../CliError.js'
import { notDone, usage } from '../CliError.js'
import { strayInputs } from '../workflow/strayInputs.js'
import type { Result } from './Context.js'
import { environmentFor } from './Context.js'
import type { Attended, Loaded } from './execution.js'
import { execute, programFor, warnOf } from './execution.js'
import { allRuns, findRun, isUnfinished, minute, viewOf, warnOfDamaged } from './find.js'
import { ofExisting, ofNoRunOf, ofOtherInput, resumeLine } from './hints.js'
import type { Given } from './input.js'
import { differencesFrom, inputOf, recordable } from './input.js'
import { offer } from './offer.js'
import type { PlanFlags } from './planFlags.js'
import { resumeRun } from './resumeRun.js'
import { knowing, loadWorkflow } from './workflowOf.js'
import type { MergeFlags } from './workspace.js'
import { warnOfUncommitted } from './workspace.js'

/**
 * How a workflow is to be run. With `fromStep` or `restartWave` an earlier run is taken up: `run`, or else the newest.
 *
 * @category model
 * @since 0.1.0
 */
export interface RunFlags extends MergeFlags {
  readonly id?: string
  readonly input?: ReadonlyArray<string>
  readonly resume?: boolean
  readonly fromStep?: string
  readonly restartWave?: string
  readonly run?: string
}

/** What is to be done: a new run, or an earlier one, as flags of a resume say. */
type Choice =
  | { readonly _tag: 'Start'; readonly runId: string }
  | { readonly _tag: 'TakeUp'; readonly view: RunView; readonly how: PlanFlags }

/**
 * Runs a workflow file.
 *
 * @category commands
 * @since 0.1.0
 */
export const runCommand = async (context: Attended, file: string, flags: RunFlags): Promise<Result> => {
  const senseless = nonsense(context, flags)
  if (O.isSome(senseless)) return E.left(senseless.value)
  const typed = inputOf(flags.input ?? [])
  if (E.isLeft(typed)) return typed
  const parsed = flags.id === undefined ? E.right(undefined) : RunId.parse(flags.id)
  if (E.isLeft(parsed)) return E.left(notDone(parsed.left))
  const workflow = await loadWorkflow(resolve(context.folder, file), file)
  if (E.isLeft(workflow)) return workflow
  const given = recordable(context, workflow.right.file, typed.right)
  if (E.isLeft(given)) return given
  warnOfHidden(context, typed.right, given.right)
  const choice = await choose(context, workflow.right, given.right, flags)
  if (E.isLeft(choice)) return choice
  return choice.right._tag === 'Start'
    ? start(context, workflow.right, choice.right.runId, given.right, flags)
    : takeUp(context, workflow.right, choice.right.view, given.right, {
        ...choice.right.how,
        ...(flags.yes === true ? { yes: true } : {}),
        ...(flags.merge === undefined ? {} : { merge: flags.merge })
      })
}

/** Who gives a secret in this way sees why it does not work. */
const warnOfHidden = ({ screen }: Attended, typed: Given, given: Given): void => {
  for (const name of Object.keys(typed))
    if (given[name] !== typed[name])
      screen.line(
        screen.style.yellow(`warning: --input "${name}" has the value of a secret in it: steps see *** there`)
      )
}

/** Flags that make no sense together. */
const nonsense = (context: Attended, { id, run, fromStep, restartWave }: RunFlags): O.Option<CliError> => {
  if (fromStep === undefined && restartWave === undefined) {
    if (run === undefined) return O.none
    return O.some(usage('--run needs --from-step or --restart-wave', ofExisting(context, run)))
  }
  const flag = fromStep === undefined ? '--restart-wave' : '--from-step'
  return id === undefined ? O.none : O.some(usage(`--id is for a new run. With ${flag}, --run says which one is meant`))
}

const choose = (
  context: Attended,
  workflow: Loaded,
  given: Given,
  flags: RunFlags
): Promise<E.Either<CliError, Choice>> => {
  const { id, fromStep, restartWave } = flags
  if (fromStep !== undefined || restartWave !== undefined) return chooseRepeated(context, workflow, given, flags)
  return id === undefined ? chooseEarlier(context, workflow, given, flags) : chooseById(context, workflow, id, flags)
}

const takeUp = async (
  context: Attended,
  workflow: Loaded,
  view: RunView,
  given: Given,
  how: PlanFlags & MergeFlags
): Promise<Result> => {
  const { runId } = view
  const differences = differencesFrom(view, given)
  if (differences.length > 0) {
    const again = ['run', workflow.shown, ...inputWords(given)]
    return E.left(notDone({ _tag: 'InputChanged', runId }, ofOtherInput(context, runId, how, differences, again)))
  }
  const known = knowing(workflow, view.checkpoint.variables.keys())
  return E.isLeft(known) ? known : resumeRun(context, view, workflow, how)
}

const start = async (
  context: Attended,
  workflow: Loaded,
  runId: string,
  given: Given,
  flags: RunFlags
): Promise<Result> => {
  const input = { ...workflow.file.input, ...given }
  const known = knowing(workflow, Object.keys(input))
  if (E.isLeft(known)) return known
  warnOf(context, workflow)
  for (const stray of strayInputs(workflow.file, workflow.shown, Object.keys(given))) {
    context.screen.line(context.screen.style.yellow(`warning: ${stray}`))
  }
  const start = wordsOf(workflow, given, flags)
  const execution = { workflow, runId, folder: context.folder, done: 0, start, merging: flags }
  const { program, narrator } = programFor(context, execution)
  const { workspace: kind } = workflow.file
  if (kind === 'worktree') await warnOfUncommitted(context)
  const workspace = kind === 'none' ? { kind, path: context.folder } : kind
  return execute(context, { ...execution, program }, narrator, run(program, runId, input, { workspace }))
}

/** The command line of a run again, as words. */
const wordsOf = ({ shown }: Loaded, given: Given, { id, merge }: RunFlags): ReadonlyArray<string> => [
  'run',
  shown,
  ...(id === undefined ? [] : ['--id', id]),
  ...inputWords(given),
  ...(merge === undefined ? [] : [merge ? '--merge' : '--no-merge'])
]

const inputWords = (given: Given): ReadonlyArray<string> =>
  Object.entries(given).flatMap(([name, value]) => ['--input', `${name}=${value}`])

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
  if (flags.resume === true || flags.yes === true) return E.right({ _tag: 'TakeUp', view, how: {} })
  if (O.isSome(view.heldBy)) return E.left(notDone({ _tag: 'HeldBy', runId: id, holder: view.heldBy.value }))
  const exists = notDone({ _tag: 'RunExists', runId: id }, isUnfinished(view) ? ofExisting(context, id) : [])
  return isUnfinished(view) && view.checkpoint.workflow.name === file.name && context.interactive
    ? offered(context, view, file, 'leave it as it is', E.left(exists))
    : E.left(exists)
}

const chooseEarlier = async (
  context: Attended,
  workflow: Loaded,
  given: Given,
  flags: RunFlags
): Promise<E.Either<CliError, Choice>> => {
  const fresh: Choice = { _tag: 'Start', runId: randomUUID() }
  const runs = await runsOf(context, workflow)
  if (E.isLeft(runs)) return runs
  const mine = runs.right.filter(isUnfinished)
  const nearest = mine.find((one) => differencesFrom(one, given).length === 0)
  if (flags.resume === true || flags.yes === true) {
    const earlier = nearest ?? mine[0]
    return earlier === undefined ? E.right(fresh) : taken(await viewOf(context, earlier.runId))
  }
  if (nearest === undefined) return E.right(fresh)
  if (context.interactive) {
    const view = await viewOf(context, nearest.runId)
    return E.isLeft(view) ? view : offered(context, view.right, workflow.file, 'start a new run', E.right(fresh))
  }
  context.screen.line(`An earlier run is unfinished (${position(nearest)}). To go on with it instead:`)
  context.screen.line(`  ${resumeLine(context, nearest.runId)}`)
  return E.right(fresh)
}

/** Of what is given, `--run` says which run is meant; else it is the newest with this input, else the newest. */
const chooseRepeated = async (
  context: Attended,
  workflow: Loaded,
  given: Given,
  { run: id, fromStep, restartWave }: RunFlags
): Promise<E.Either<CliError, Choice>> => {
  const how: PlanFlags = {
    ...(fromStep === undefined ? {} : { fromStep }),
    ...(restartWave === undefined ? {} : { restartWave })
  }
  if (id !== undefined) return taken(await findRun(context, id), how)
  const runs = await runsOf(context, workflow)
  if (E.isLeft(runs)) return runs
  const newest = runs.right.find((one) => differencesFrom(one, given).length === 0) ?? runs.right[0]
  if (newest !== undefined) return taken(await viewOf(context, newest.runId), how)
  const { file, shown } = workflow
  return E.left({ _tag: 'NoRunOfWorkflow', workflow: file.name, hints: ofNoRunOf(context, shown) })
}

/** The runs of a workflow, first those that were started from this very file, newest first. */
const runsOf = async (context: Attended, workflow: Loaded): Promise<E.Either<CliError, ReadonlyArray<RunSummary>>> => {
  const runs = await allRuns(context)
  if (E.isLeft(runs)) return runs
  warnOfDamaged(context, runs.right)
  const mine = runs.right.runs.filter((one) => isOf(one, workflow))
  return E.right(mine.sort((a, b) => nearness(b, workflow) - nearness(a, workflow)))
}

/** A run keeps to its workflow's name, so one that was renamed can't be taken up. */
const isOf = ({ workflow }: RunSummary, { file }: Loaded): boolean => workflow.name === file.name

const nearness = ({ workflow }: RunSummary, { path }: Loaded): number => (workflow.path === path ? 1 : 0)

const taken = (view: E.Either<CliError, RunView>, how: PlanFlags = {}): E.Either<CliError, Choice> =>
  E.isLeft(view) ? view : E.right({ _tag: 'TakeUp', view: view.right, how })

/** What comes of the offer to go on with a run. `declined`: what comes of a no. */
const offered = async (
  context: Attended,
  view: RunView,
  file: Loaded['file'],
  otherwise: string,
  declined: E.Either<CliError, Choice>
): Promise<E.Either<CliError, Choice>> => {
  const wish = await offer(context, view, file, otherwise)
  if (O.isNone(wish)) return E.left({ _tag: 'Declined' })
  switch (wish.value._tag) {
    case 'GoOn':
      return taken(E.right(view))
    case 'RestartWave':
      return taken(E.right(view), { restartWave: wish.value.wave })
    case 'Decline':
      return declined
    case 'Abort':
      return E.left({ _tag: 'Declined' })
  }
}

const position = ({ status, steps, createdAt }: RunSummary): string =>
  `${status}, ${steps.completed}/${steps.total} steps completed, started ${minute(createdAt)}`
