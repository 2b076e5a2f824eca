/** Executes a run for `run` and `resume`, and reports its end. */
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { subprocess, systemClock } from '../../../adapters/node/index.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { progress, status } from '../../../domain/checkpoint/Checkpoint.js'
import type { JsonObject } from '../../../domain/data/Json.js'
import type { Confirm, ResumePlan, Run } from '../../../domain/plan/Plan.js'
import { definitionAt } from '../../../domain/workflow/Node.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { openQuestions } from '../../../domain/plan/Plan.js'
import type { Executor } from '../../../executor/ExecutorCall.js'
import { disposeOfRun } from '../../../executor/workspace/onSuccess.js'
import { EXACT } from '../../../executor/storage/runs.js'
import type { RunOutcome } from '../../../executor/RunOutcome.js'
import type { Environment } from '../../../ports/Environment.js'
import type { Event } from '../../../ports/Events.js'
import type { WorkingTree } from '../../../ports/WorkingTree.js'
import { notDone } from '../../CliError.js'
import { ofOutcome } from '../../ExitCode.js'
import { endingOf, MAX_UNITS } from '../../report/ending.js'
import * as Reporter from '../../report/Reporter.js'
import { changeJson, lineOf, plannedJson } from '../../report/changeJson.js'
import { pendingJson } from '../../report/pending.js'
import { firstNames } from '../../report/text.js'
import { endJson, printedResult } from '../../report/runJson.js'
import { runnerIn } from '../../steps/jobStep.js'
import * as Problem from '../../workflow/Problem.js'
import type { AnyProgram } from '../../workflow/toProgram.js'
import { toProgram } from '../../workflow/toProgram.js'
import type { WorkflowFile } from '../../workflow/WorkflowFile.js'
import { askChecks } from './checks.js'
import type { PromptContext } from './withPrompt.js'
import { SIGNALS } from './withPrompt.js'
import type { Context, Flags, Result } from '../Context.js'
import { environmentFor, ignoreHome } from '../Context.js'
import type { CommandPlan } from './commandPlan.js'
import { planForCommand, treeAt } from './commandPlan.js'
import { afterLoss, viewOf } from '../find/find.js'
import type { Loaded } from '../../workflow/load.js'
import { asking, failedCheckOf, ofFailedCheck } from '../hints/ofPlan.js'
import { continuing, reopening } from '../hints/ofRun.js'
import { WAIT_TIMEOUT } from '../../../domain/checkpoint/Due.js'
import { resumeHint, resumeLine } from './planFlags.js'
import { warningsOf } from './input.js'
import { settleWorkspace, printWorkspace } from './workspace.js'

/** `from`: the state of a stored run, before an edit. `uncommitted`: what a new worktree lacks. `onPlanned` is called before anything runs. */
interface Execution {
  readonly workflow: Loaded
  readonly runId: string
  readonly from?: Checkpoint
  readonly merging: Flags
  readonly uncommitted?: string
  readonly onPlanned?: (plan: ResumePlan) => void
}

/** `tree`: the working tree of the run. */
interface Prepared extends Execution {
  readonly program: AnyProgram
  readonly reporter: Reporter.Reporter
  readonly tree: WorkingTree
}

export const prepare = (context: PromptContext, execution: Execution): Prepared => {
  const { workflow, from } = execution
  const { file, path } = workflow
  const folder = from?.workspace?.path ?? context.folder
  const completed = Array.from(from?.completedSteps ?? [])
  const reporter = Reporter.make({
    screen: context.screen,
    verbose: context.verbose,
    steps: file.steps,
    loaded: from === undefined ? { completed: 0, total: file.steps.length } : progress(from),
    assumed: new Set(completed.flatMap(({ unit, assumed }) => (assumed === true ? [unit] : []))),
    now: systemClock.now
  })
  const program = toProgram(file, path, runnerIn({ ...context, ...reporter, subprocess, folder }))
  return { ...execution, program, reporter, tree: treeAt(context, folder) }
}

/** What the events of an execution said. `isKept`: the state of a completed run was not removed, for example because of its workspace. */
interface Seen {
  saved: boolean
  planned: boolean
  worked: boolean
  isKept: boolean
  readonly again: Map<Unit, Run>
}

export const execute = async (
  context: PromptContext,
  execution: Prepared,
  executor: Executor<RunOutcome>
): Promise<Result> => {
  const { runId, program, reporter } = execution
  const seen: Seen = { saved: false, planned: false, worked: false, isKept: false, again: new Map() }
  const environment = environmentFor(context, {
    tree: execution.tree,
    ...(context.interactive ? { onCheckFailed: askChecks(context, program) } : {}),
    interrupt: context.signals.interrupt,
    events: { report: (event) => observe(context, execution, seen, event) }
  })
  const stopAnnouncing = announceSignals(context, reporter, resumeLine(context, runId))
  const ended = await executor(
    context.events ? { ...environment, storage: reporting(context, environment) } : environment
  )()
  stopAnnouncing()
  reporter.finish()
  if (E.isLeft(ended)) {
    // Before the first save, the same command starts or resumes the run.
    const hints = seen.saved ? [resumeHint(context, 'After fixing this, resume with:', execution)] : []
    return E.left(notDone(ended.left, hints, execution))
  }
  await reportEnd(context, execution, environment, seen, ended.right)
  return E.right(ofOutcome(ended.right, context.signals.received()))
}

const observe = (context: PromptContext, execution: Prepared, seen: Seen, event: Event): void => {
  const { program, reporter, from, uncommitted, onPlanned } = execution
  if (event._tag === 'CheckpointSaved') {
    if (!seen.saved && from === undefined) ignoreHome(context)
    seen.saved = true
  }
  if (event._tag === 'WorkspaceReady') {
    printWorkspace(context, event.workspace, event.renamed)
    if (uncommitted !== undefined) context.screen.warn(uncommitted)
  }
  if (event._tag === 'RunPlanned') {
    seen.planned = true
    onPlanned?.(event.plan)
    if (context.events) context.screen.out(lineOf(plannedJson(program.name, event)))
  }
  if (event._tag === 'StepsRunAgain') for (const unit of event.units) seen.again.set(unit.unit, unit)
  if (event._tag === 'StepStarted') seen.worked = true
  // The state can be removed once the workspace is settled.
  if (event._tag === 'RunNotRemoved') seen.isKept = true
  else reporter.report(event)
}

/** Prints how the run ended and what to do next, and settles its workspace. */
const reportEnd = async (
  context: PromptContext,
  { workflow: { file }, runId, program, reporter, merging }: Prepared,
  environment: Environment,
  { planned, worked, isKept, again }: Seen,
  outcome: RunOutcome
): Promise<void> => {
  const { screen } = context
  const ownFolders = await ownFoldersOf(environment, outcome, file)
  const checkpoint = await endOf(context, outcome)
  const isCancelled = checkpoint !== undefined && status(checkpoint, false) === 'cancelled'
  const planResult = isCancelled ? undefined : await planAfter(context, outcome, program)
  const questions = planResult === undefined || E.isLeft(planResult.plan) ? [] : openQuestions(planResult.plan.right)
  const resumeCommand = resumeLine(context, runId, isCancelled ? { reopen: true } : {})
  const restarts =
    questions.length > 0 ? [] : ofFailedCheck(context, program, outcome, planResult?.options.evidence ?? [])
  const next =
    outcome._tag === 'Fenced'
      ? [await afterLoss(context, runId)]
      : planResult !== undefined && questions.length > 0
        ? asking(context, planResult, questions)
        : isCancelled
          ? reopening(context, checkpoint, reopeningLead(outcome))
          : continuing(context, { ...outcome, heldBy: O.none }, leadOf(outcome, program))
  const hints = [...next, ...restarts]
  const ending = { file, style: screen.style, hints, ownFolders, reporter, planned }
  for (const line of endingOf(outcome, ending)) screen.line(line)
  const isCompleted = outcome._tag === 'Completed'
  const settled = isCompleted ? await settleWorkspace(context, outcome.checkpoint, merging, worked) : {}
  if (isKept && isCompleted)
    await disposeOfRun(file.onSuccess, outcome.checkpoint)({ ...environment, events: reporter })()
  if (!context.json) return
  const document = {
    ...outcomeJson(outcome, checkpoint, resumeCommand, questions, [...again.values()]),
    ...Object.fromEntries(restarts.map(({ command }) => ['restart_wave_command', command ?? null])),
    ...settled
  }
  screen.out(printedResult(context, document))
}

/** Prints each change once its save is durable. */
const reporting = ({ screen }: Context, { storage }: Environment): Environment['storage'] => ({
  ...storage,
  save: (claim, revisions) =>
    pipe(
      storage.save(claim, revisions),
      TE.map(() => {
        for (const { revision, change } of revisions) screen.out(lineOf(changeJson(revision, change)))
      })
    )
})

/** The checkpoint at the end. After a failure, the owner records a cancel that was requested meanwhile. */
const endOf = async (context: Context, outcome: RunOutcome): Promise<Checkpoint | undefined> => {
  if (outcome._tag === 'Fenced') return undefined
  if (outcome._tag !== 'Failed') return outcome.checkpoint
  const view = await viewOf(context, outcome.runId)
  // Another process may have resumed the run since: only a cancel belongs to this end.
  const isCancelled = E.isRight(view) && status(view.right.checkpoint, false) === 'cancelled'
  return isCancelled ? view.right.checkpoint : outcome.checkpoint
}

const reopeningLead = ({ _tag }: RunOutcome): string =>
  _tag === 'Failed' ? 'The run was cancelled, as requested. To resume it anyway:' : 'To resume it anyway:'

const leadOf = (outcome: RunOutcome, program: AnyProgram): string => {
  if (outcome._tag !== 'Failed') return 'Resume with:'
  if (failedCheckOf(program, outcome)?.when === 'after') return 'After fixing this, repeat the check with:'
  if (outcome.failures.every(({ error }) => error.code === WAIT_TIMEOUT)) return 'To wait again, resume with:'
  return outcome.retryable
    ? 'The error may be temporary. Wait or fix it, then resume with:'
    : 'After fixing this, resume with:'
}

/** Reads evidence only if it may be why a wave did not start. */
const planAfter = async (
  context: Context,
  outcome: RunOutcome,
  program: AnyProgram
): Promise<CommandPlan | undefined> => {
  if (outcome._tag === 'Fenced' || outcome._tag === 'Completed') return undefined
  const isRefused = outcome._tag === 'Failed' && failedCheckOf(program, outcome)?.when === 'before'
  const state = { checkpoint: outcome.checkpoint, found: EXACT }
  const planResult = await planForCommand(context, program, state, {}, isRefused ? {} : { evidence: [] })
  return E.isLeft(planResult) ? undefined : planResult.right
}

/** The private folders of failed steps, by unit. */
const ownFoldersOf = async (
  { workspaces }: Environment,
  outcome: RunOutcome,
  file: WorkflowFile
): Promise<ReadonlyMap<string, string>> => {
  const folders = new Map<string, string>()
  if (outcome._tag !== 'Failed' || workspaces === undefined) return folders
  const { runId, failures } = outcome
  for (const { unit } of failures.slice(0, MAX_UNITS)) {
    const step = definitionAt(file, unit)
    if (step?._tag !== 'Task' || step.fresh !== true) continue
    const folder = await workspaces.stepFolder({ runId, unit }, false)()
    if (E.isRight(folder)) folders.set(unit, folder.right)
  }
  return folders
}

const outcomeJson = (
  outcome: RunOutcome,
  checkpoint: Checkpoint | undefined,
  resume: string,
  questions: ReadonlyArray<Confirm>,
  again: ReadonlyArray<Run>
): JsonObject =>
  checkpoint === undefined
    ? { run_id: outcome.runId, status: 'fenced' }
    : {
        ...endJson(checkpoint, status(checkpoint, false), resume, questions, again),
        ...(outcome._tag === 'Failed' ? { retryable: outcome.retryable } : {}),
        ...(outcome._tag === 'Pending' ? pendingJson(outcome.units) : {})
      }

/** Announces a stop at the first signal, and prints how to resume at the second. Returns a function that ends this. */
const announceSignals = (context: PromptContext, reporter: Reporter.Reporter, resume: string): (() => void) => {
  const { screen, signals } = context
  const { signal: stop } = signals.interrupt
  const before = new Map<NodeJS.Signals, number>()
  const onSignal = (signal: NodeJS.Signals): void => {
    // At a second signal, `abortOnSignals` has removed its listeners. A SIGHUP is never a second one.
    if (signal === 'SIGHUP' || process.listenerCount(signal) > (before.get(signal) ?? 0)) return
    reporter.finish()
    const names = firstNames(reporter.inFlight(), 10)
    screen.line(screen.style.yellow(`Ended at once${names === '' ? '' : `, in the middle of ${names}`}`))
    screen.line('Resume with:')
    screen.line(`  ${screen.style.bold(resume)}`)
    end()
    process.kill(process.pid, signal)
  }
  const onStop = (): void => {
    const names = firstNames(reporter.inFlight(), 10)
    const again = O.toUndefined(signals.received()) === 'SIGINT' ? ' press Ctrl+C again to end at once' : ''
    screen.line(screen.style.yellow(`Stopping${names === '' ? '' : ` ${names}`} …${again}`))
    for (const signal of SIGNALS) {
      before.set(signal, process.listenerCount(signal))
      process.on(signal, onSignal)
    }
  }
  const end = (): void => {
    stop.removeEventListener('abort', onStop)
    for (const signal of SIGNALS) process.off(signal, onSignal)
  }
  stop.addEventListener('abort', onStop, { once: true })
  return end
}

export const printWarnings = (context: Context, { file, shown }: Loaded, flags: Flags = {}): void => {
  const { screen } = context
  const warnings = [...Problem.describeAll(shown, file.warnings), ...warningsOf(context, file, flags)]
  for (const warning of warnings) screen.warn(warning)
}
