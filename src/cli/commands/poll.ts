/** `dogear poll`: polls the jobs that a run waits for. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { subprocess } from '../../adapters/node/index.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { status } from '../../domain/checkpoint/Checkpoint.js'
import { describeJob } from '../../domain/explain/Explain.js'
import type { JsonObject } from '../../domain/data/Json.js'
import type { PolledJob, PollOutcome } from '../../executor/poll.js'
import { poll } from '../../executor/poll.js'
import { describeFenced } from '../../executor/errors/portErrors.js'
import type { Holder } from '../../ports/CheckpointStorage.js'
import { notDone, refused } from '../CliError.js'
import { ExitCode, ofStop } from '../ExitCode.js'
import { printHints } from '../report/Hint.js'
import { removal } from '../report/eventLines.js'
import { jobJson } from '../report/pending.js'
import { printed } from '../report/runJson.js'
import { runnerIn } from '../steps/jobStep.js'
import type { Style } from '../terminal/Style.js'
import { toProgram } from '../workflow/toProgram.js'
import { environmentFor, hintTo } from './Context.js'
import type { PromptContext } from './execution/withPrompt.js'
import { withPrompt } from './execution/withPrompt.js'
import { printWarnings } from './execution/execution.js'
import { afterLoss, findOrOnly } from './find/find.js'
import { treeAt } from './execution/commandPlan.js'
import { continuing } from './hints/ofRun.js'
import { ofPlanError } from './hints/ofPlan.js'
import { workflowOf } from './find/workflowOf.js'

export const pollCommand = withPrompt(async (context: PromptContext, id: string | undefined) => {
  const view = await findOrOnly(context, id, { what: 'a pending job', fits: hasJob })
  if (E.isLeft(view)) {
    const { left: error } = view
    return error._tag === 'NothingToResume' ? E.left(refused('NothingToPoll', error.lines, error.hints)) : view
  }
  const { runId, checkpoint, heldBy } = view.right
  const workflow = workflowOf(context, checkpoint)
  if (E.isLeft(workflow)) return workflow
  const folder = checkpoint.workspace?.path ?? context.folder
  printWarnings(context, workflow.right)
  const { file, path } = workflow.right
  const { screen } = context
  const runner = runnerIn({
    ...context,
    subprocess,
    folder,
    // Standard output of the commands is protocol; error output is for people.
    onOutput: (_, stream, chunk) => (stream === 'stderr' ? screen.output(stream, chunk) : undefined),
    onWarning: (source, message) => screen.warn(`step "${source}": ${message}`)
  })
  const program = toProgram(file, path, runner)
  const environment = environmentFor(context, {
    tree: treeAt(context, folder),
    interrupt: context.signals.interrupt,
    events: { report: (event) => removal(event, screen.style).forEach(screen.line) }
  })
  const polled = await poll(program, runId)(environment)()
  if (E.isLeft(polled)) {
    const planning = { checkpoint, program, options: {}, flags: {} }
    const hints = polled.left._tag === 'PlanError' ? ofPlanError(context, planning, polled.left.problems) : []
    return E.left(notDone(polled.left, hints, view.right, 'poll'))
  }
  return E.right(await report(context, runId, polled.right, heldBy))
})

const hasJob = ({ pending }: Checkpoint): boolean => [...pending].some(({ _tag }) => _tag === 'Job')

const report = async (
  context: PromptContext,
  runId: string,
  outcome: PollOutcome,
  heldBy: O.Option<Holder>
): Promise<ExitCode> => {
  const { screen, json } = context
  if (outcome._tag === 'Fenced') {
    screen.line(screen.style.red(describeFenced(outcome)))
    printHints(screen, [await afterLoss(context, runId)])
    if (json) screen.out(printed({ run_id: runId, status: 'fenced' }))
    return ExitCode.fenced
  }
  const { jobs, checkpoint } = outcome
  const isOpen = hasJob(checkpoint)
  // A recorded end took the claim, so the owner seen before has left.
  const hasRecorded = jobs.some(({ end }) => end._tag === 'Collected' || end._tag === 'Failed')
  const owner = hasRecorded ? O.none : heldBy
  const next =
    isOpen && O.isSome(owner)
      ? [hintTo(context, 'Poll again with:', ['poll', runId])]
      : continuing(context, { checkpoint, heldBy: owner })
  const now = status(checkpoint, O.isSome(owner))
  if (json) {
    screen.out(printed({ run_id: runId, status: now, jobs: jobs.map(polledJson), next: next[0]?.command ?? null }))
  } else {
    if (jobs.length === 0 && !isOpen) screen.print(`Run ${runId} has no pending job`)
    for (const job of jobs) screen.print(lineOf(job, screen.outStyle))
    if (outcome._tag === 'Stopped') screen.line(screen.style.yellow('Stopped: not all jobs were polled'))
    if (now !== 'completed') printHints(screen, next)
  }
  if (outcome._tag === 'Stopped') return ofStop(context.signals.received())
  if (jobs.some(({ end }) => end._tag === 'Failed')) return ExitCode.stepFailed
  return isOpen ? ExitCode.pending : ExitCode.done
}

const lineOf = ({ end, job, unit }: PolledJob, style: Style): string => {
  const name = `${unit}${job === undefined ? '' : ` (${describeJob(job)})`}`
  switch (end._tag) {
    case 'Unfinished':
      return `${name}: ${countsOf(end)}`
    case 'Collected':
      return style.green(`${name}: done, its result is recorded`)
    case 'Failed':
      return style.red(`${name}: failed: ${end.error.message}`)
    case 'Unknown':
      return style.yellow(`${name}: state unknown: ${end.error.message}; nothing was recorded`)
  }
}

const countsOf = ({ done, total }: { readonly done?: number; readonly total?: number }): string =>
  done === undefined ? 'not ended yet' : `not ended yet, ${done}${total === undefined ? '' : `/${total}`} done`

const polledJson = (polled: PolledJob): JsonObject => {
  const { end } = polled
  return {
    ...jobJson(polled),
    end: end._tag.toLowerCase(),
    ...(end._tag === 'Unfinished' ? { done: end.done ?? null, total: end.total ?? null } : {}),
    ...('error' in end ? { error: end.error.message } : {})
  }
}
