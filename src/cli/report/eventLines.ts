/** The lines of a live run: what each event says to a person. */
import { describeAbandons, describeKept, describeJob, describeReason, explain } from '../../domain/explain/Explain.js'
import { describeStorage } from '../../executor/errors/portErrors.js'
import type { StepError } from '../../domain/data/StepError.js'
import { expectedAt } from '../../domain/data/Malformed.js'
import type { Decision, ResumePlan, Run } from '../../domain/plan/Plan.js'
import { describePosition } from '../../domain/request/Pause.js'
import { definitionAt } from '../../domain/workflow/Node.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { ancestors, isTop, nameOf as lastOf } from '../../domain/workflow/Unit.js'
import { describe } from '../../executor/errors/describe.js'
import { describeRequest } from '../../executor/errors/portErrors.js'
import type { CheckAnswer } from '../../ports/Checks.js'
import type { Event, EventUnit } from '../../ports/Events.js'
import { counted, duration, grouped } from '../../view/text.js'
import type { Style } from '../terminal/Style.js'
import type { StepEntry } from '../workflow/WorkflowFile.js'
import { commandLine } from '../workflow/WorkflowFile.js'
import type { LiveRun, Of } from './LiveRun.js'
import { wideWave } from './LiveRun.js'
import { waitText } from './pending.js'
import { completedText, isNothingLeft } from './summary.js'
import { assumedIn, skippedBy } from './skipped.js'
import { firstNames, rowFolded, shortened } from './text.js'
import type { Wave } from './waves.js'
import * as Waves from './waves.js'

type Lines = ReadonlyArray<string>

export const linesOf = (run: LiveRun, event: Event): Lines => {
  const { style } = run.screen
  const detail = (line: string): Lines => (run.verbose ? [style.dim(line)] : [])
  const warning = warningIn(style)
  switch (event._tag) {
    case 'RunPlanned':
      return [...planned(run, event), ...answered(run, event.plan)]
    case 'StepsRunAgain':
      return runAgain(run, event.units)
    case 'CheckpointSaved':
      return detail(`saved revision ${event.revision}: ${event.state._tag} ${event.state.step}`)
    case 'CheckpointRecovered':
      return [warning(`recovered from ${event.from}; damage: ${event.lost}`)]
    case 'MapExpanded':
      return [`${position(run, event)} ${event.unit}: ${counted(event.items, 'item')}`]
    case 'StepStarted':
      return started(run, event)
    case 'StepRetrying': {
      const failed = `attempt ${event.attempt}/${event.maxAttempts} failed: ${event.error.message}`
      const wait = `Retrying in ${duration(event.delayMillis)}`
      return troubles(
        run,
        event,
        [failed, wait].map((line) => style.yellow(`${groupPrefix(event)}${line}`))
      )
    }
    case 'JobSubmitted': {
      const job = event.job === undefined ? '' : `: ${describeJob(event.job)}`
      return unlessWide(run, event, `${position(run, event)} ${event.unit} has submitted its job${job}`)
    }
    case 'StepWaiting':
      return unlessWide(run, event, `${position(run, event)} ${event.unit} ${waitText(event.wait)}`)
    case 'AnswerRejected': {
      const { unit, by, path, expected } = event
      return [warning(`the answer to ${unit} by ${by} was rejected: ${expectedAt({ path, expected })}`)]
    }
    case 'StepCompleted':
      return [...completed(run, event), ...progressed(run, event)]
    case 'StepFailed':
      // The end of the run reports it too: print it only while others run.
      return run.active.size === 0 ? [] : failed(run, event)
    case 'RunCompleted':
      return isNothingLeft(run) ? [] : [style.green(completedText(run))]
    case 'CheckFailed':
      // The end of the run reports an aborting check.
      if (event.answer === 'abort') return []
      return [warning(`${event.unit}: ${event.wrong.join('; ')}${reaction(event.answer, event.previousWave)}`)]
    case 'RunRemoved':
    case 'RunNotRemoved':
      return removal(event, style)
    case 'RunPaused':
      return paused(event, style)
    case 'ReleaseFailed':
      return detail(`the claim could not be released: ${describeStorage(event.error)}`)
    case 'EvidenceKept':
    case 'StepSuspended':
    case 'WorkspaceReady':
    case 'WaveRestarted':
    case 'RunFailed':
    case 'RunInterrupted':
    case 'RunFenced':
      return []
  }
}

const warningIn =
  ({ yellow }: Style) =>
  (line: string): string =>
    yellow(`warning: ${line}`)

/** Reports whether the state of a completed run was kept, deleted or archived. */
export const removal = (event: Event, style: Style): Lines => {
  if (event._tag === 'RunNotRemoved')
    return [warningIn(style)(`the run has completed, and its state is kept: ${event.why}`)]
  if (event._tag !== 'RunRemoved') return []
  const { runId, archivedAt } = event
  return [
    archivedAt === undefined ? `The state of run ${runId} was deleted` : `Run ${runId} was archived in ${archivedAt}`
  ]
}

const paused = ({ pointer, where, unreadable, problems }: Of<'RunPaused'>, style: Style): Lines => {
  const { unit, commits, committed } = pointer
  const warnings = [
    ...(unreadable === undefined
      ? []
      : [`nothing was committed, because the pause request cannot be attributed: ${describeRequest(unreadable)}`]),
    ...problems.map(describe)
  ]
  return [
    style.yellow(`Paused ${isTop(unit) ? 'before' : 'at'} ${describePosition(pointer)}`),
    ...(where === undefined ? [] : [`Pointer written to ${where}`]),
    ...(commits.length === 0 ? [] : [`Evidence: ${counted(commits.length, 'commit')}`]),
    ...(committed === undefined ? [] : [`Committed the uncommitted changes: ${committed.slice(0, 12)}`]),
    ...warnings.map(warningIn(style))
  ]
}

const reaction = (answer: Exclude<CheckAnswer, 'abort'>, previousWave: Unit | undefined): string => {
  switch (answer) {
    case 'retry':
      // Whether an attempt is left is reported with that attempt.
      return ''
    case 'lookAgain':
      return '; repeating the check'
    case 'previousWave':
      return `; running ${previousWave ?? 'the previous wave'} again`
    case 'continue':
      return '; continuing anyway'
  }
}

const planned = (run: LiveRun, { runId, resumed, plan }: Of<'RunPlanned'>): Lines => {
  const { verbose, loaded, steps } = run
  const { style } = run.screen
  const { completed, total } = loaded
  if (!resumed) return [style.bold(`Run ${runId} started`)]
  const abandons = describeAbandons(plan).map(warningIn(style))
  if (plan.startIndex === steps.length && completed === total) return [`Run ${runId}: nothing left to do`, ...abandons]
  return [
    style.bold(`Resuming run ${runId}`),
    `Loaded checkpoint: ${completed}/${total} steps completed`,
    ...skipped(run, plan),
    ...(verbose
      ? explain(plan, new Date(run.now()).toISOString())
          .split('\n')
          .slice(1)
          .map(shortened)
          .flatMap((line) => rowFolded(line, style.width))
          .map(style.dim)
      : abandons)
  ]
}

const skipped = (run: LiveRun, plan: ResumePlan): Lines => {
  const { style } = run.screen
  const units = skippedBy(plan)
  const before = assumedIn(plan).filter((unit) => run.assumed.has(unit))
  const assumed = before.length === 0 ? [] : [`assumed done: ${firstNames(before, MAX_SKIPPED)}`]
  if (units.length === 0) return assumed.map((line) => style.dim(`${style.symbols.skipped} ${line}`))
  const noun = units.every(isTop) ? 'step' : 'unit'
  const tasks = tasksIn(run, units)
  const inside = tasks === units.length ? '' : ` (${counted(tasks, 'task')})`
  const completed = `${counted(units.length, noun)} completed earlier${inside}: ${firstNames(units, MAX_SKIPPED)}`
  return [style.dim(`${style.symbols.skipped} ${[completed, ...assumed].join('; ')}`)]
}

/** How many tasks the end of the run will count as skipped for these units. */
const tasksIn = ({ tally }: LiveRun, units: ReadonlyArray<Unit>): number => {
  const named = new Set(units)
  return [...tally.ends].filter(
    ([unit, end]) => end === 'skipped' && [unit, ...ancestors(unit)].some((one) => named.has(one))
  ).length
}

const MAX_SKIPPED = 6

/** The units that count as completed because the user said so. */
const answered = ({ screen: { style }, assumed }: LiveRun, { decisions }: ResumePlan): Lines => {
  const kept = decisions.flatMap((one) =>
    one._tag === 'Skip' && one.reason._tag === 'EvidenceChanged' && one.reason.changed.length > 0
      ? [`Kept with changes: ${describeKept(one.reason.changed)} of ${one.unit}`]
      : []
  )
  const done = decisions.flatMap(({ reason, unit }) =>
    reason._tag === 'Assumed' && !assumed.has(unit) ? [`Assumed done: ${unit}`] : []
  )
  return [...firstLines(kept, 'more are kept with changes'), ...firstLines(done, 'more are assumed done')].map(
    style.yellow
  )
}

const runAgain = ({ screen: { style } }: LiveRun, units: ReadonlyArray<Run>): Lines => {
  const lines = units.map((unit) => `  ${unit.unit}: ${describeReason(unit)}`)
  return ['Completed before, running again:', ...firstLines(lines, 'more')].map(style.yellow)
}

/** How many units of one kind are listed, if more than one is left out. */
const MAX_LISTED = 10

const firstLines = (lines: Lines, more: string): Lines =>
  lines.length <= MAX_LISTED + 1
    ? lines
    : [...lines.slice(0, MAX_LISTED), `  … and ${grouped(lines.length - MAX_LISTED)} ${more}`]

/** Reports the first attempt of this process; `StepRetrying` announces the others. */
const started = (run: LiveRun, event: Of<'StepStarted'>): Lines => {
  const wide = wideWave(run, event)
  if (wide !== undefined) return startedWave(run, wide, event)
  const decision = run.decisions.get(event.unit)
  const first = decision?._tag === 'Retry' ? decision.attempt : 1
  return event.attempt === first ? [starting(run, event, decision, nameOf(event))] : []
}

/** The name of a unit, as the lines about its end have it, and its summary if that says more. */
const nameOf = ({ unit, summary }: Of<'StepStarted'>): string =>
  summary === unit || summary === lastOf(unit) ? unit : `${unit} (${summary})`

/** The first group that starts stands for its wave. */
const startedWave = (run: LiveRun, wave: Wave, event: EventUnit): Lines => {
  if (wave.isReported) return []
  wave.isReported = true
  const { total = 0, done, unit } = wave
  const some = done === 0 ? '' : `${grouped(total - done)} of `
  return [starting(run, event, run.decisions.get(unit), `${unit} (${some}${grouped(total)} groups)`)]
}

const starting = (run: LiveRun, { stepIndex }: EventUnit, decision: Decision | undefined, what: string): string => {
  const verb = decision?._tag === 'Retry' ? 'Retrying' : 'Executing'
  return run.screen.style.bold(`${verb} step ${stepIndex + 1}/${run.steps.length}: ${what}`)
}

/** The end of a unit: `✓ checks/unit (1.2 s)`. A wide wave has one line. */
const completed = (run: LiveRun, event: Of<'StepCompleted'>): Lines => {
  if (wideWave(run, event) !== undefined) return []
  const { style } = run.screen
  const facts = [
    ...partsOf(run, event.unit),
    duration(event.durationMillis),
    ...(event.attempts > 1 ? [`succeeded on attempt ${event.attempts}`] : [])
  ]
  return [`${style.green(style.symbols.completed)} ${event.unit} ${style.dim(`(${facts.join(', ')})`)}`]
}

const partsOf = ({ steps, waves }: LiveRun, unit: Unit): ReadonlyArray<string> => {
  const definition = definitionAt<StepEntry>({ steps }, unit)
  if (definition?._tag === 'Sequence') return [counted(definition.steps.length, 'step')]
  const total = waves.at(unit)?.total
  return total === undefined ? [] : [counted(total, definition?._tag === 'Map' ? 'item' : 'group')]
}

/** The failure of a group while others run, which may take long. */
const failed = (run: LiveRun, event: Of<'StepFailed'>): Lines => {
  const { style } = run.screen
  return troubles(run, event, [
    style.red(`${style.symbols.failed} ${position(run, event)} failed: ${event.unit} (others still running)`),
    ...errorLines(definitionAt<StepEntry>(run, event.unit), event.error, event.attempt)
  ])
}

/** What failed, and why. */
export const errorLines = (step: StepEntry | undefined, { message }: StepError, attempt: number): Lines => [
  ...(step?._tag === 'Task' ? [`  command: ${commandLine(step.action)}`] : []),
  `  error: ${message}${attempt > 1 ? ` (attempt ${attempt})` : ''}`
]

const position = ({ steps }: LiveRun, { stepIndex }: { readonly stepIndex: number }): string =>
  `Step ${stepIndex + 1}/${steps.length}`

const groupPrefix = ({ unit }: EventUnit): string => (isTop(unit) ? '' : `${unit}: `)

const unlessWide = (run: LiveRun, event: EventUnit, line: string): Lines =>
  wideWave(run, event) === undefined ? [line] : []

/** The live line has the counts already. */
const progressed = (run: LiveRun, event: EventUnit): Lines => {
  const wave = wideWave(run, event)
  return wave === undefined || run.screen.live || !Waves.markProgress(wave, run.now())
    ? []
    : [`${wave.unit}: ${Waves.countOf(wave)}`]
}

/** Of a wide wave, only the first failed attempts are reported, whether they are retried or not. */
const troubles = (run: LiveRun, event: EventUnit, lines: Lines): Lines => {
  const wave = wideWave(run, event)
  if (wave === undefined) return lines
  wave.troubles += 1
  if (wave.troubles <= Waves.MAX_TROUBLES) return lines
  const { style } = run.screen
  return wave.troubles === Waves.MAX_TROUBLES + 1
    ? [style.yellow(`${wave.unit}: more attempts fail; -v reports each`)]
    : []
}
