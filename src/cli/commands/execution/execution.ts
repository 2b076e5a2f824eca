/** What `run` and `resume` have in common: a program, somebody to watch it, and its end. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { SignalHandlers, StopSignal } from '../../../adapters/node/index.js'
import { subprocess, systemClock } from '../../../adapters/node/index.js'
import { status } from '../../../domain/checkpoint/Checkpoint.js'
import type { JsonObject } from '../../../domain/data/Json.js'
import type { Confirm, FoundEvidence, ResumePlan, Run } from '../../../domain/plan/Plan.js'
import { definitionAt } from '../../../domain/workflow/Node.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { openQuestions } from '../../../domain/plan/Plan.js'
import type { Executor } from '../../../executor/Executor.js'
import { dispose } from '../../../executor/workspace/onSuccess.js'
import { EXACT } from '../../../executor/planRun.js'
import type { Program } from '../../../executor/program/Program.js'
import type { RunOutcome } from '../../../executor/RunOutcome.js'
import type { Environment } from '../../../ports/Environment.js'
import type { WorkingTree } from '../../../ports/WorkingTree.js'
import { notDone } from '../../CliError.js'
import { ofOutcome } from '../../ExitCode.js'
import { endingOf, MAX_TOLD } from '../../report/ending.js'
import * as Narrator from '../../report/Narrator.js'
import { grouped } from '../../report/progress.js'
import { pendingJson } from '../../report/pending.js'
import { endJson, printed } from '../../report/runJson.js'
import { runnerIn } from '../../steps/jobStep.js'
import type { Prompt } from '../../terminal/Prompt.js'
import * as Problem from '../../workflow/Problem.js'
import { toProgram } from '../../workflow/toProgram.js'
import type { WorkflowFile } from '../../workflow/WorkflowFile.js'
import { askAbout } from './checks.js'
import type { Context, Result } from '../Context.js'
import { environmentFor, ignoreHome } from '../Context.js'
import { surveyRun, treeAt } from './survey.js'
import { afterLoss } from '../find/find.js'
import { failedCheckOf, goOn, ofFailedCheck, ofPending, ofRunError, resumeLine } from '../hints/hints.js'
import { warningsOf } from './input.js'
import type { PlanFlags } from './planFlags.js'
import type { MergeFlags } from './workspace.js'
import { settleWorkspace, tellOfWorkspace } from './workspace.js'

/** A process that may run steps: its context, its signal handlers, and somebody to ask. */
export interface Attended extends Context {
  readonly signals: SignalHandlers
  readonly prompt: Prompt
  readonly verbose: boolean
}

/** A workflow file, and where it is: `path` is absolute, `shown` is its name in messages. */
export interface Loaded {
  readonly file: WorkflowFile
  readonly path: string
  readonly shown: string
}

/**
 * What is to be executed: a workflow, as a run of this id, in this folder; `done`: how many of its steps are done;
 * `start`: the words that start it, for a run that is not there yet; `merging`: what is to become of its worktree; `onPlanned`:
 * told of the plan when nothing stands against it any more, before anything is done.
 */
export interface Execution {
  readonly workflow: Loaded
  readonly runId: string
  readonly folder: string
  readonly done: number
  readonly start?: ReadonlyArray<string>
  readonly merging?: MergeFlags
  /** The working tree, if the caller already read it. */
  readonly tree?: WorkingTree
  /** The units that an earlier answer takes as done. */
  readonly assumed?: ReadonlySet<Unit>
  /** Told of the plan. */
  readonly onPlanned?: (plan: ResumePlan) => void
}

type AnyProgram = Program<Readonly<Record<string, unknown>>>

/** The program of an execution, and the narrator that watches it. */
export const programFor = (
  context: Attended,
  { workflow, folder, done, assumed = new Set() }: Execution
): { readonly program: AnyProgram; readonly narrator: Narrator.Narrator } => {
  const { file, path } = workflow
  const narrator = Narrator.make({
    screen: context.screen,
    verbose: context.verbose,
    steps: file.steps,
    loaded: done,
    assumed,
    now: systemClock.now
  })
  const { onOutput, onWarning } = narrator
  const surroundings = { subprocess, inherited: context.inherited, folder, home: context.home, onOutput, onWarning }
  return { program: toProgram(file, path, runnerIn(surroundings)), narrator }
}

/** Executes, and tells how it ended. */
export const execute = async (
  context: Attended,
  execution: Execution & { readonly program: AnyProgram },
  narrator: Narrator.Narrator,
  executor: Executor<RunOutcome>
): Promise<Result> => {
  const { runId, program } = execution
  let saved = execution.start === undefined
  let worked = false
  let isLeft = false
  const again = new Map<string, Run>()
  const environment = environmentFor(context, {
    tree: execution.tree ?? treeAt(context, execution.folder),
    ...(context.interactive ? { onCheckFailed: askAbout(context, program) } : {}),
    interrupt: context.signals.interrupt,
    events: {
      report: (event) => {
        if (event._tag === 'CheckpointSaved') {
          if (!saved) ignoreHome(context)
          saved = true
        }
        if (event._tag === 'WorkspaceReady') tellOfWorkspace(context, event.workspace, event.renamed)
        if (event._tag === 'RunPlanned') execution.onPlanned?.(event.plan)
        if (event._tag === 'StepsRunAgain') for (const unit of event.units) again.set(unit.unit, unit)
        if (event._tag === 'StepStarted') worked = true
        // What its workspace is in the way of may be done once that is settled.
        if (event._tag === 'RunLeft') isLeft = true
        else narrator.report(event)
      }
    }
  })
  const silent = tellOfSignals(context, narrator, resumeLine(context, runId))
  const ended = await executor(environment)()
  silent()
  narrator.finish()
  if (E.isLeft(ended)) {
    const hints = ofRunError(context, runId, program, saved ? undefined : execution.start, ended.left)
    return E.left(notDone(ended.left, hints, runId))
  }
  const outcome = ended.right
  const ownFolders = await ownFoldersOf(environment, outcome, execution.workflow.file)
  const { questions, evidence } = await outlookAfter(context, outcome, program)
  const { screen } = context
  const isCancelled = outcome._tag === 'Interrupted' && outcome.reason === 'cancelled'
  const goesOn = resumeLine(context, runId, isCancelled ? { reopen: true } : {})
  const restarts = ofFailedCheck(context, program, outcome, evidence)
  const hints =
    outcome._tag === 'Fenced'
      ? [await afterLoss(context, runId)]
      : outcome._tag === 'Pending'
        ? ofPending(context, runId)
        : isCancelled
          ? [{ text: 'To resume it all the same:', command: goesOn }]
          : [...goOn(context, runId, program, questions, leadOf(outcome, program)), ...restarts]
  for (const line of endingOf(outcome, execution.workflow.file, hints, screen.style, ownFolders)) screen.line(line)
  const place =
    outcome._tag === 'Completed'
      ? await settleWorkspace(context, outcome.checkpoint, execution.merging ?? {}, worked)
      : {}
  if (isLeft && outcome._tag === 'Completed')
    await dispose(execution.workflow.file.onSuccess, outcome.checkpoint)({ ...environment, events: narrator })()
  if (context.json)
    screen.out(
      printed({
        ...outcomeJson(outcome, goesOn, questions, [...again.values()]),
        ...Object.fromEntries(restarts.map(({ command }) => ['restart_wave_command', command ?? null])),
        ...place
      })
    )
  return E.right(ofOutcome(outcome, context.signals.received()))
}

/** What has passed may be gone when it is tried again; everything else needs somebody. */
const leadOf = (outcome: RunOutcome, program: AnyProgram): string => {
  if (outcome._tag !== 'Failed') return 'Resume with:'
  if (failedCheckOf(program, outcome)?.when === 'after') return 'After fixing it, repeat the check with:'
  return outcome.retryable
    ? 'It may pass by itself. Wait or fix it, then resume with:'
    : 'After fixing this, resume with:'
}

/** What a resume would find and ask. Evidence is looked at only if it may be why a wave did not start. */
const outlookAfter = async (
  context: Context,
  outcome: RunOutcome,
  program: AnyProgram
): Promise<{ readonly questions: ReadonlyArray<Confirm>; readonly evidence: ReadonlyArray<FoundEvidence> }> => {
  const none = { questions: [], evidence: [] }
  if (outcome._tag === 'Fenced' || outcome._tag === 'Completed') return none
  const { checkpoint } = outcome
  const isRefused = outcome._tag === 'Failed' && failedCheckOf(program, outcome)?.when === 'before'
  const given = isRefused ? {} : { evidence: [] }
  const surveyed = await surveyRun(context, program, { checkpoint, found: EXACT }, given)
  if (E.isLeft(surveyed)) return none
  const { plan, options } = surveyed.right
  return { questions: E.isRight(plan) ? openQuestions(plan.right) : [], evidence: options.evidence ?? [] }
}

/** The folders of their own that failed steps have worked in, by the names of the steps. */
const ownFoldersOf = async (
  { workspaces }: Environment,
  outcome: RunOutcome,
  file: WorkflowFile
): Promise<ReadonlyMap<string, string>> => {
  const folders = new Map<string, string>()
  if (outcome._tag !== 'Failed' || workspaces === undefined) return folders
  const { runId, failures } = outcome
  for (const { unit } of failures.slice(0, MAX_TOLD)) {
    const step = definitionAt(file, unit)
    if (step?._tag !== 'Task' || step.fresh !== true) continue
    const folder = await workspaces.stepFolder({ runId, unit }, false)()
    if (E.isRight(folder)) folders.set(unit, folder.right)
  }
  return folders
}

const outcomeJson = (
  outcome: RunOutcome,
  resume: string,
  questions: ReadonlyArray<Confirm>,
  again: ReadonlyArray<Run>
): JsonObject =>
  outcome._tag === 'Fenced'
    ? { run_id: outcome.runId, status: 'fenced' }
    : {
        ...endJson(outcome.checkpoint, status(outcome.checkpoint, false), resume, questions, again),
        ...(outcome._tag === 'Failed' ? { retryable: outcome.retryable } : {}),
        ...(outcome._tag === 'Pending' ? pendingJson(outcome.units) : {})
      }

/** All signals that end a process and can be caught, so that a stop always ends the commands of the steps too. */
export const SIGNALS: ReadonlyArray<StopSignal> = [
  ...(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const),
  ...(['SIGABRT', 'SIGALRM', 'SIGIO', 'SIGPWR', 'SIGUSR2', 'SIGVTALRM', 'SIGXCPU'] as const)
]

/** Says at the first signal what is stopped, and at the second, before the end, how to go on. Gives the end of that. */
const tellOfSignals = ({ screen, signals }: Attended, narrator: Narrator.Narrator, resume: string): (() => void) => {
  const { signal: stop } = signals.interrupt
  const before = new Map<NodeJS.Signals, number>()
  const onSignal = (signal: NodeJS.Signals): void => {
    // The handlers are taken away by the second signal, and by nothing else while steps run.
    if (process.listenerCount(signal) > (before.get(signal) ?? 0)) return
    narrator.finish()
    screen.line('Resume with:')
    screen.line(`  ${screen.style.bold(resume)}`)
    end()
    process.kill(process.pid, signal)
  }
  const onStop = (): void => {
    const names = named(narrator.atWork())
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

const MAX_NAMED = 10

const named = (names: ReadonlyArray<string>): string =>
  names.length <= MAX_NAMED
    ? names.join(', ')
    : `${names.slice(0, MAX_NAMED).join(', ')} and ${grouped(names.length - MAX_NAMED)} more`

/** Node aborts when it ends on a terminal that is gone: let the signal end the process, as it would have. */
const endOnHangUp = ({ stdin }: Context): void => {
  const onTerminal = stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY
  if (!onTerminal) return
  process.removeAllListeners('SIGHUP')
  process.kill(process.pid, 'SIGHUP')
}

/** Does something while signals are handled and questions can be asked, and tidies up behind it. */
export const attended = async (
  context: Context,
  verbose: boolean,
  tools: { readonly signals: SignalHandlers; readonly prompt: Prompt },
  body: (context: Attended) => Promise<Result>
): Promise<Result> => {
  let hungUp = false
  const onHangUp = (): void => {
    hungUp = true
  }
  process.on('SIGHUP', onHangUp)
  try {
    const result = await body({ ...context, ...tools, verbose })
    const { signals } = tools
    const received = signals.received()
    return E.isLeft(result) && result.left._tag === 'Declined' && O.isSome(received)
      ? E.left({ _tag: 'Stopped', signal: received.value })
      : result
  } finally {
    tools.prompt.close()
    tools.signals.dispose()
    // How it ended is decided: a signal in the last moments of the process changes nothing. A second one still ends it.
    for (const signal of SIGNALS) process.once(signal, () => undefined)
    process.off('SIGHUP', onHangUp)
    if (hungUp) endOnHangUp(context)
  }
}

/** Prints the warnings about a workflow file and about the input for a plan. */
export const warnOf = (context: Context, { file, shown }: Loaded, flags: PlanFlags = {}): void => {
  const { screen } = context
  const warnings = [...Problem.describeAll(shown, file.warnings), ...warningsOf(context, file, shown, flags)]
  for (const warning of warnings) screen.line(screen.style.yellow(`warning: ${warning}`))
}
