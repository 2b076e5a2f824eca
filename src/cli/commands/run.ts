/** `dogear run`: starts a run, or resumes an earlier one of the workflow. */
import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as RunId from '../../domain/checkpoint/RunId.js'
import { run } from '../../executor/run.js'
import type { RunSummary, RunView } from '../../executor/storage/runs.js'
import { viewRun } from '../../executor/storage/runs.js'
import type { CliError } from '../CliError.js'
import { notDone, refused, usage, wrongUse } from '../CliError.js'
import { defined } from '../../domain/data/defined.js'
import type { Context, Flags, Result } from './Context.js'
import { environmentFor, hintTo, showHint } from './Context.js'
import { positionOf, processText } from '../report/text.js'
import type { PromptContext } from './execution/withPrompt.js'
import { withPrompt } from './execution/withPrompt.js'
import { execute, prepare, printWarnings } from './execution/execution.js'
import { allRuns, findRun, isResumable, viewOf, warnOfDamaged } from './find/find.js'
import { ofNoRun, ofTaken } from './hints/ofRun.js'
import { resumeHint, resumeLine } from './execution/planFlags.js'
import type { Given } from './execution/input.js'
import {
  describeDifference,
  differencesFrom,
  redactedIn,
  inputOf,
  recordable,
  redactionFor
} from './execution/input.js'
import { withNextActions } from './hints/ofError.js'
import { offer } from './execution/offer.js'
import { heldError } from './execution/owner.js'
import { resumeRun } from './execution/resumeRun.js'
import type { Loaded } from '../workflow/load.js'
import { load } from '../workflow/load.js'
import { checkInputs, checkVariables, programError } from './find/workflowOf.js'
import { warningOfUncommitted } from './execution/workspace.js'

/** The run to resume, and how; undefined to start one. */
type Choice = { readonly view: RunView; readonly how: Flags } | undefined

export const runCommand = withPrompt(async (context: PromptContext, file: string, flags: Flags) => {
  const how = howOf(context, flags)
  if (E.isLeft(how)) return how
  const typed = inputOf(flags.input ?? [])
  if (E.isLeft(typed)) return typed
  const parsed = flags.id === undefined ? E.right(undefined) : RunId.parse(flags.id)
  if (E.isLeft(parsed)) return E.left(notDone(parsed.left))
  const workflow = load(resolve(context.folder, file), file)
  if (E.isLeft(workflow)) return E.left((await errorForRunId(context, file)) ?? workflow.left)
  const ended = await runLoaded(context, workflow.right, typed.right, flags, how.right)
  return E.mapLeft((error: CliError) => withNextActions(context, redactionFor(context, workflow.right.file), error))(
    ended
  )
})

const errorForRunId = async (context: PromptContext, name: string): Promise<CliError | undefined> => {
  if (E.isLeft(RunId.parse(name))) return undefined
  const found = await viewRun(name)(environmentFor(context))()
  return E.isRight(found) && O.isSome(found.right)
    ? usage(`${name} is the id of a run: this command takes a workflow file`, [
        resumeHint(context, 'To resume it:', found.right.value)
      ])
    : undefined
}

/** The flag that resumes an earlier run, if it is given. */
const howOf = (context: PromptContext, { id, run, fromStep, restartWave }: Flags): Result<Flags | undefined> => {
  if (fromStep === undefined && restartWave === undefined)
    return run === undefined
      ? E.right(undefined)
      : wrongUse('--run has no effect alone; add --from-step or --restart-wave', [
          hintTo(context, 'To resume it:', ['resume', run])
        ])
  const flag = fromStep === undefined ? '--restart-wave' : '--from-step'
  return id === undefined
    ? E.right(defined({ fromStep, restartWave }))
    : wrongUse(`--id cannot be combined with ${flag}; name the earlier run with --run`)
}

const runLoaded = async (
  context: PromptContext,
  workflow: Loaded,
  typed: Given,
  flags: Flags,
  how: Flags | undefined
): Promise<Result> => {
  const given = recordable(context, workflow.file, typed)
  if (E.isLeft(given)) return given
  const known = checkInputs(workflow, Object.keys(typed))
  if (E.isLeft(known)) return known
  redactedIn(typed, given.right).forEach(context.screen.warn)
  const call = { workflow, given: given.right, flags }
  const { id, yes, merge } = flags
  const choice =
    how !== undefined
      ? await chooseRepeated(context, call, how)
      : id === undefined
        ? await startUnless(context, call)
        : await chooseById(context, call, id)
  if (E.isLeft(choice)) return choice
  if (choice.right === undefined) return start(context, call)
  return resumeEarlier(context, call, choice.right.view, { ...choice.right.how, ...defined({ yes, merge }) })
}

/** What was typed. `given`: the input, without secrets. */
interface Call {
  readonly workflow: Loaded
  readonly given: Given
  readonly flags: Flags
}

const resumeEarlier = async (context: PromptContext, call: Call, view: RunView, how: Flags): Promise<Result> => {
  const { workflow, given } = call
  const { runId } = view
  if (view.workflow.path === undefined) return E.left(programError(context, runId))
  const differences = differencesFrom(view.checkpoint, given)
  if (differences.length > 0 && how.fromStep === undefined) {
    const fromStep = ['resume', runId, '--from-step', 'STEP', ...inputWords(call)]
    const hints = [
      ...differences.map((one) => ({ text: `  ${describeDifference(one)}` })),
      resumeHint(context, 'To resume with its recorded input:', view, how),
      hintTo(context, 'To use the new input from a step on:', fromStep),
      hintTo(context, 'To start a new run with the new input:', startWords(call))
    ]
    return E.left(notDone({ _tag: 'InputChanged', runId }, hints))
  }
  const known = checkVariables(workflow, [...view.checkpoint.variables.keys(), ...Object.keys(given)])
  if (E.isLeft(known)) return known
  const input = Object.entries(given).map(([name, value]) => `${name}=${value}`)
  return resumeRun(context, view, workflow, differences.length === 0 ? how : { ...how, input })
}

const start = async (context: PromptContext, { workflow, given, flags }: Call): Promise<Result> => {
  const { id: runId = randomUUID() } = flags
  const input = { ...workflow.file.input, ...given }
  const known = checkVariables(workflow, Object.keys(input))
  if (E.isLeft(known)) return known
  printWarnings(context, workflow)
  const { workspace: kind } = workflow.file
  const uncommitted = kind === 'worktree' ? await warningOfUncommitted(context) : undefined
  const execution = prepare(context, { workflow, runId, merging: flags, ...defined({ uncommitted }) })
  const workspace = kind === 'none' ? { kind, path: context.folder } : kind
  return execute(context, execution, run(execution.program, runId, input, { workspace }))
}

const inputWords = ({ given }: Call): ReadonlyArray<string> =>
  Object.entries(given).flatMap(([name, value]) => ['--input', `${name}=${value}`])

const startWords = (call: Call): ReadonlyArray<string> => ['run', call.workflow.shown, ...inputWords(call)]

const chooseById = async (context: PromptContext, call: Call, id: string): Promise<Result<Choice>> => {
  const { workflow, flags } = call
  const found = await viewRun(id)(environmentFor(context))()
  if (E.isLeft(found)) return E.left(notDone(found.left))
  if (O.isNone(found.right)) return startUnless(context, call)
  const view = found.right.value
  if (flags.resume === true || flags.yes === true) return E.right({ view, how: {} })
  if (O.isSome(view.heldBy)) return E.left(await heldError(context, view, view.heldBy.value))
  const exists = E.left(notDone({ _tag: 'RunExists', runId: id }, ofTaken(context, view, startWords(call))))
  return isResumable(view) && view.checkpoint.workflow.name === workflow.file.name && context.interactive
    ? offered(context, call, view, 'leave it as it is', exists)
    : exists
}

/** Chooses a new run, unless an earlier one is resumed. With an explicit id an earlier run is only reported. */
const startUnless = async (context: PromptContext, call: Call): Promise<Result<Choice>> => {
  const { workflow, given, flags } = call
  const resumes = flags.id === undefined && (flags.resume === true || flags.yes === true)
  const asks = flags.id === undefined && context.interactive
  const fresh: Result<Choice> = E.right(undefined)
  const runs = await runsOf(context, workflow)
  if (E.isLeft(runs)) return runs
  const mine = runs.right.filter(isResumable)
  const nearest = await firstLike(context, mine, given)
  await printRunning(context, runs.right, given)
  const earlier = nearest ?? (resumes ? mine[0] : undefined)
  if (earlier === undefined) return fresh
  if (resumes) return chosen(await viewOf(context, earlier.runId))
  if (asks && nearest !== undefined) return offered(context, call, nearest, 'start a new run', fresh)
  context.screen.line(
    `An earlier run of ${workflow.file.name} is unfinished (${positionOf(earlier)}). To resume it instead:`
  )
  context.screen.line(`  ${resumeLine(context, earlier.runId)}`)
  return fresh
}

/** The first of these runs that has this input. A summary has none, so runs are read until it is found. */
const firstLike = async (
  context: Context,
  runs: ReadonlyArray<RunSummary>,
  given: Given
): Promise<RunView | undefined> => {
  for (const { runId } of runs) {
    const view = await viewOf(context, runId)
    if (E.isRight(view) && differencesFrom(view.right.checkpoint, given).length === 0) return view.right
  }
  return undefined
}

/** A user who starts another run may not know about an active one. */
const printRunning = async (context: Context, runs: ReadonlyArray<RunSummary>, given: Given): Promise<void> => {
  const held = runs.filter(({ heldBy }) => O.isSome(heldBy))
  const running = await firstLike(context, held, given)
  if (running === undefined || O.isNone(running.heldBy)) return
  const owner = processText(running.heldBy.value)
  context.screen.line(`Run ${running.runId} of this workflow is in progress (${owner}). To show it:`)
  context.screen.line(`  ${showHint(context, running.runId).command}`)
}

/** Prefers `--run`, then of `runsOf` the first with this input, or the first. */
const chooseRepeated = async (context: PromptContext, call: Call, how: Flags): Promise<Result<Choice>> => {
  const { workflow, given, flags } = call
  if (flags.run !== undefined) return chosen(await findRun(context, flags.run), how)
  const runs = await runsOf(context, workflow)
  if (E.isLeft(runs)) return runs
  const newest = (await firstLike(context, runs.right, given)) ?? runs.right[0]
  if (newest !== undefined) return chosen(await viewOf(context, newest.runId), how)
  const { file, shown } = workflow
  const hints = [...ofNoRun(context), hintTo(context, 'Start one:', ['run', shown])]
  return E.left(refused('NoRunOfWorkflow', [`There is no run of workflow ${file.name} to resume`], hints))
}

/** Runs of this very file first, then newest first. */
const runsOf = async (context: PromptContext, workflow: Loaded): Promise<Result<ReadonlyArray<RunSummary>>> => {
  const runs = await allRuns(context)
  if (E.isLeft(runs)) return runs
  warnOfDamaged(context, runs.right)
  const mine = runs.right.runs.filter((one) => isOf(one, workflow))
  return E.right(mine.sort((a, b) => nearness(b, workflow) - nearness(a, workflow)))
}

const isOf = ({ workflow }: RunSummary, { file }: Loaded): boolean =>
  workflow.name === file.name && workflow.path !== undefined

const nearness = ({ workflow }: RunSummary, { path }: Loaded): number => (workflow.path === path ? 1 : 0)

const chosen = (view: Result<RunView>, how: Flags = {}): Result<Choice> =>
  E.isLeft(view) ? view : E.right({ view: view.right, how })

const offered = async (
  context: PromptContext,
  { workflow }: Call,
  view: RunView,
  otherwise: string,
  declined: Result<Choice>
): Promise<Result<Choice>> => {
  const how = await offer(context, view, workflow.file, otherwise)
  if (E.isLeft(how)) return how
  return how.right === undefined ? declined : E.right({ view, how: how.right })
}
