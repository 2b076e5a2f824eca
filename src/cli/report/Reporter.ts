/** Reports a run while it runs: lines for its events, a live line, and the output of its steps. */
import { describeKept, describeJob, describeReason, explain } from '../../domain/explain/Explain.js'
import type { Decision, ResumePlan, Run } from '../../domain/plan/Plan.js'
import { describePosition } from '../../domain/request/Pause.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { isTop, isWithin } from '../../domain/workflow/Unit.js'
import { describe } from '../../executor/RunError.js'
import { describeRequest } from '../../executor/storage/portErrors.js'
import type { Event, EventUnit } from '../../ports/Events.js'
import type { CommandSettings } from '../steps/commandStep.js'
import type { Prefixed } from '../terminal/Prefixed.js'
import * as Prefix from '../terminal/Prefixed.js'
import type { Screen, Status } from '../terminal/Screen.js'
import type { Style } from '../terminal/Style.js'
import { fitted, printable } from '../terminal/Style.js'
import * as Duration from '../workflow/Duration.js'
import type { StepEntry } from '../workflow/WorkflowFile.js'
import { waitText } from './pending.js'
import { progressText } from './progress.js'
import { counted, grouped, shortened } from './text.js'
import type { Wave } from './waves.js'
import * as Waves from './waves.js'

/** An observer of a run that also takes the output of its steps. `finish` flushes both and removes the live line. */
export interface Reporter {
  readonly report: (event: Event) => void
  readonly onOutput: CommandSettings['onOutput']
  readonly onWarning: CommandSettings['onWarning']
  readonly finish: () => void
  readonly inFlight: () => ReadonlyArray<string>
}

/** `loaded`: how many steps of a resumed run were completed; `assumed`: the units that an earlier answer assumed done. */
export interface Options {
  readonly screen: Screen
  readonly verbose: boolean
  readonly steps: ReadonlyArray<StepEntry>
  readonly loaded: number
  readonly assumed: ReadonlySet<Unit>
  readonly now: () => number
}

/** A unit in flight; `until`: the time of its next attempt, if it waits for one. */
interface Active {
  readonly since: number
  readonly until?: number
}

interface State extends Options {
  readonly waves: Waves.Waves
  readonly active: Map<Unit, Active>
  /** The completed top-level steps. */
  readonly done: Set<number>
  decisions: ReadonlyMap<string, Decision>
}

type Lines = ReadonlyArray<string>

type Of<Tag extends Event['_tag']> = Event & { readonly _tag: Tag }

export const make = (options: Options): Reporter => {
  const { screen, steps, now } = options
  const waves = Waves.make(steps, now)
  const state: State = { ...options, waves, active: new Map(), done: new Set(), decisions: new Map() }
  const partial = new Map<string, Prefixed>()
  let delayed: Lines = []
  let due: NodeJS.Timeout | undefined

  const printDelayed = (): void => {
    clearTimeout(due)
    delayed.forEach(screen.line)
    delayed = []
  }
  /** The end of the run reports each failure, and often follows at once. */
  const delay = (lines: Lines): void => {
    if (lines.length === 0) return
    if (delayed.length === 0) due = setTimeout(printDelayed, DELAY_MILLIS).unref()
    delayed = [...delayed, ...lines]
  }
  const showStatus = (): void =>
    screen.status(state.active.size === 0 ? undefined : () => statusOf(state, progressText(steps, state.done.size)))
  return {
    report: (event) => {
      if (isOver(event)) for (const stream of STREAMS) partial.get(`${event.unit} ${stream}`)?.flush()
      waves.follow(event)
      follow(state, event)
      showStatus()
      if (event._tag === 'RunFailed') delayed = []
      const lines = linesOf(state, event)
      if (event._tag === 'StepFailed') delay(lines)
      else lines.forEach(screen.line)
    },
    onOutput: (source, stream, chunk) => {
      const wave = waves.around(source)
      if (wave === undefined) return screen.output(stream, chunk)
      const key = `${source} ${stream}`
      const lines = partial.get(key) ?? Prefix.make(`${below(wave, source)} | `, (line) => screen.output(stream, line))
      partial.set(key, lines)
      lines.add(chunk)
    },
    onWarning: (source, message) => screen.warn(`step "${source}": ${message}`),
    finish: () => {
      printDelayed()
      for (const lines of partial.values()) lines.flush()
      screen.status(undefined)
    },
    inFlight: () => [...state.active.keys()]
  }
}

const follow = (state: State, event: Event): void => {
  const { active, done, now } = state
  if (event._tag === 'RunPlanned') {
    state.decisions = new Map(event.plan.decisions.map((one) => [one.unit, one]))
    for (const { _tag, unit, stepIndex } of event.plan.decisions)
      if (_tag === 'Skip' && isTop(unit)) done.add(stepIndex)
  } else if (event._tag === 'WaveRestarted') {
    state.decisions = new Map()
    for (const index of done) if (index >= event.stepIndex) done.delete(index)
  } else if (event._tag === 'StepStarted') {
    active.set(event.unit, { since: now() })
  } else if (event._tag === 'StepRetrying') {
    active.set(event.unit, { since: now(), until: now() + event.delayMillis })
  } else if (isOver(event)) {
    active.delete(event.unit)
    if (event._tag === 'StepCompleted' && isTop(event.unit)) done.add(event.stepIndex)
  }
}

/** Detects the end of an attempt. */
const isOver = (event: Event): event is Of<'StepCompleted' | 'StepFailed' | 'JobSubmitted' | 'StepSuspended'> =>
  ['StepCompleted', 'StepFailed', 'JobSubmitted', 'StepSuspended'].includes(event._tag)

/** How long the failure of a group waits for the end of the run. */
const DELAY_MILLIS = 1_000

const STREAMS = ['stdout', 'stderr'] as const

/** The name of a unit beside its wave. */
const below = (wave: Wave | undefined, unit: Unit): string =>
  wave !== undefined && isWithin(unit, wave.unit) ? unit.slice(wave.unit.length + 1) : unit

const linesOf = (state: State, event: Event): Lines => {
  const { style } = state.screen
  const detail = (line: string): Lines => (state.verbose ? [style.dim(line)] : [])
  const warning = (line: string): string => style.yellow(`warning: ${line}`)
  switch (event._tag) {
    case 'RunPlanned':
      return [...planned(state, event), ...answered(state, event.plan)]
    case 'StepsRunAgain':
      return runAgain(state, event.units)
    case 'CheckpointSaved':
      return detail(`saved revision ${event.revision}: ${event.state._tag} ${event.state.step}`)
    case 'CheckpointRecovered':
      return [warning(`recovered from ${event.from}; lost: ${event.lost}`)]
    case 'MapExpanded':
      return [`${position(state, event)} ${event.unit}: ${counted(event.items, 'item')}`]
    case 'StepStarted':
      return started(state, event)
    case 'StepRetrying': {
      const failed = `attempt ${event.attempt}/${event.maxAttempts} failed: ${event.error.message}`
      const wait = `Retrying in ${(event.delayMillis / 1_000).toFixed(1)}s`
      return troubles(
        state,
        event,
        [failed, wait].map((line) => style.yellow(`${groupPrefix(event)}${line}`))
      )
    }
    case 'JobSubmitted': {
      const job = event.job === undefined ? '' : `: ${describeJob(event.job)}`
      return unlessWide(state, event, `${position(state, event)} ${event.unit} has submitted its job${job}`)
    }
    case 'StepWaiting': {
      const wait = waitText({ ...event.wait, unit: event.unit, startedAt: '' })
      return unlessWide(state, event, `${position(state, event)} ${event.unit} ${wait}`)
    }
    case 'AnswerRejected': {
      const { unit, by, path, expected } = event
      return [warning(`the answer to ${unit} by ${by} was rejected: at ${path} expected ${expected}`)]
    }
    case 'StepCompleted':
      return [...completed(state, event), ...progressed(state, event)]
    case 'StepFailed':
      // The end of the run reports it too: print it only while others run.
      return state.active.size === 0
        ? []
        : troubles(state, event, [style.red(`${position(state, event)} failed: ${event.unit} (others still running)`)])
    case 'RunCompleted':
      return state.loaded === state.steps.length && [...state.decisions.values()].every(({ _tag }) => _tag === 'Skip')
        ? []
        : [style.green('Run completed')]
    case 'CheckFailed':
      // The end of the run reports an aborting check.
      return event.answer === 'abort' ? [] : [warning(`${event.unit}: ${event.wrong.join('; ')}; ${reaction(event)}`)]
    case 'RunRemoved':
    case 'RunNotRemoved':
      return removal(event, style)
    case 'RunPaused':
      return paused(event, style.yellow)
    case 'ReleaseFailed':
      return detail(`the claim could not be released: ${describe(event.error)}`)
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

/** Reports if the state of a completed run was kept, deleted or archived. */
export const removal = (event: Event, style: Style): Lines => {
  if (event._tag === 'RunNotRemoved')
    return [style.yellow(`warning: the run has completed, and its state is kept: ${event.why}`)]
  if (event._tag !== 'RunRemoved') return []
  return [event.archivedAt === undefined ? 'Its state was deleted' : `Archived in ${event.archivedAt}`]
}

const paused = ({ pointer, where, unreadable, problems }: Of<'RunPaused'>, yellow: (line: string) => string): Lines => {
  const { unit, commits, committed } = pointer
  const more = committed === undefined ? '' : `, and ${committed.slice(0, 12)} with uncommitted changes`
  const warnings = [
    ...(unreadable === undefined
      ? []
      : [`nothing was committed, because the pause request cannot be attributed: ${describeRequest(unreadable)}`]),
    ...problems.map(describe)
  ]
  return [
    yellow(`Paused ${isTop(unit) ? 'before' : 'at'} ${describePosition(pointer)}`),
    ...(where === undefined ? [] : [`Progress saved to ${where}`]),
    `Commits: ${commits.length} completed${more}`,
    ...warnings.map((line) => yellow(`warning: ${line}`))
  ]
}

const reaction = ({ answer, previousWave }: Of<'CheckFailed'>): string => {
  switch (answer) {
    case 'retry':
      return 'retrying'
    case 'lookAgain':
      return 'repeating the check'
    case 'previousWave':
      return `running ${previousWave ?? 'the previous wave'} again`
    case 'continue':
    case 'abort':
      return 'continuing anyway'
  }
}

const planned = (
  { screen: { style }, verbose, loaded, steps: { length: total } }: State,
  { runId, resumed, plan }: Of<'RunPlanned'>
): Lines => {
  if (!resumed) return [style.bold(`Run ${runId} started`)]
  if (plan.startIndex === total && loaded === total) return [`Run ${runId}: nothing left to do`]
  const lines = [style.bold(`Resuming run ${runId}`), `Loaded checkpoint: ${loaded}/${total} steps completed`]
  return verbose ? [...lines, ...explain(plan).split('\n').slice(1).map(shortened).map(style.dim)] : lines
}

/** The units that count as completed because the user said so. */
const answered = ({ screen: { style }, assumed }: State, { decisions }: ResumePlan): Lines => {
  const kept = decisions.flatMap((one) =>
    one._tag === 'Skip' && one.reason._tag === 'EvidenceChanged' && one.reason.changed.length > 0
      ? [`Kept with changes: ${describeKept(one.reason.changed)} of ${one.unit}`]
      : []
  )
  const done = decisions.flatMap(({ reason, unit }) =>
    reason._tag === 'Assumed' && !assumed.has(unit) ? [`Assumed done: ${unit}`] : []
  )
  return [...some(kept, 'more are kept with changes'), ...some(done, 'more are assumed done')].map(style.yellow)
}

const runAgain = ({ screen: { style } }: State, units: ReadonlyArray<Run>): Lines => {
  const lines = units.map((unit) => `  ${unit.unit}: ${describeReason(unit)}`)
  return ['Completed before, running again:', ...some(lines, 'more')].map(style.yellow)
}

/** The maximum number of listed units of one kind. */
const MAX_LISTED = 10

const some = (lines: Lines, more: string): Lines =>
  lines.length <= MAX_LISTED + 1
    ? lines
    : [...lines.slice(0, MAX_LISTED), `  … and ${grouped(lines.length - MAX_LISTED)} ${more}`]

/** Reports the first attempt of this process; `StepRetrying` announces the others. */
const started = (state: State, event: Of<'StepStarted'>): Lines => {
  const wide = wideWave(state, event)
  if (wide !== undefined) return startedWave(state, wide, event)
  const decision = state.decisions.get(event.unit)
  const first = decision?._tag === 'Retry' ? decision.attempt : 1
  const group = isTop(event.unit) ? '' : ` ${event.unit}`
  return event.attempt === first ? [starting(state, event, decision, `${group}: ${event.summary}`)] : []
}

/** The first group that starts stands for its wave. */
const startedWave = (state: State, wave: Wave, event: EventUnit): Lines => {
  if (!state.waves.isNew(wave)) return []
  const { total = 0, done, unit } = wave
  const some = done === 0 ? '' : `${grouped(total - done)} of `
  return [starting(state, event, state.decisions.get(unit), `: ${unit} (${some}${grouped(total)} groups)`)]
}

const starting = (
  { screen: { style }, steps }: State,
  { stepIndex }: EventUnit,
  decision: Decision | undefined,
  what: string
): string =>
  style.bold(
    decision?._tag === 'Retry'
      ? `Retrying step ${stepIndex + 1}${what}`
      : `Executing step ${stepIndex + 1}/${steps.length}${what}`
  )

const completed = (state: State, event: Of<'StepCompleted'>): Lines => {
  const again = event.attempts > 1 ? `${groupPrefix(event)}succeeded on attempt ${event.attempts}` : undefined
  const line = `${position(state, event)} completed: ${event.unit}, ${Duration.show(event.durationMillis)}`
  return [
    ...(again === undefined ? [] : unlessWide(state, event, again)),
    ...(state.verbose ? [state.screen.style.dim(line)] : [])
  ]
}

const position = ({ steps }: State, { stepIndex }: { readonly stepIndex: number }): string =>
  `Step ${stepIndex + 1}/${steps.length}`

const groupPrefix = ({ unit }: EventUnit): string => (isTop(unit) ? '' : `${unit}: `)

/** The wide wave that is reported in place of a unit in it. */
const wideWave = ({ verbose, waves }: State, { unit }: EventUnit): Wave | undefined => {
  const wave = waves.around(unit)
  return !verbose && wave !== undefined && Waves.isWide(wave) ? wave : undefined
}

const unlessWide = (state: State, event: EventUnit, line: string): Lines =>
  wideWave(state, event) === undefined ? [line] : []

/** The live line has the counts already. */
const progressed = ({ screen, waves }: State, { unit }: EventUnit): Lines => {
  const wave = waves.around(unit)
  return wave === undefined || screen.live || !waves.isDue(wave) ? [] : [`${wave.unit}: ${Waves.countOf(wave)}`]
}

/** Of a wide wave, only the first retries and failures are reported. */
const troubles = (state: State, event: EventUnit, lines: Lines): Lines => {
  const wave = wideWave(state, event)
  if (wave === undefined) return lines
  const count = state.waves.trouble(wave)
  if (count <= Waves.MAX_TROUBLES) return lines
  const { style } = state.screen
  return count === Waves.MAX_TROUBLES + 1 ? [style.yellow(`${wave.unit}: more groups fail; -v reports each`)] : []
}

/** The maximum number of units that the live lines name. */
const MAX_ACTIVE = 8

/** One line for what runs alone; a line for each of several groups. */
const statusOf = ({ active, waves, now, screen }: State, progress: string): Status => {
  const time = now()
  const [first = ''] = active.keys()
  const wave = waves.around(first)
  const units = [...active].slice(0, MAX_ACTIVE).map(([unit, { since, until }]) => {
    const name = below(wave, unit)
    return until === undefined
      ? `${name} ${seconds(time - since)}`
      : `${name} retries in ${seconds(Math.max(0, until - time))}`
  })
  const position = wave === undefined ? progress : `${progress}, ${wave.unit}: ${Waves.countOf(wave)}`
  if (active.size === 1) return `${position}, ${units.join(', ')}`
  const { yellow, symbols, width } = screen.style
  const fit = (text: string, indent: number): string => fitted(printable(text), { symbols, width: width - indent - 1 })
  const more = active.size - units.length
  return [
    fit(position, 0),
    ...units.map((unit) => `  ${yellow(symbols.inFlight)} ${fit(unit, 5)}`),
    ...(more === 0 ? [] : [`  ${fit(`${symbols.more} and ${grouped(more)} more`, 2)}`])
  ]
}

/** The live line is drawn once a second: no fractions. */
const seconds = (millis: number): string => (millis < 60_000 ? `${Math.floor(millis / 1_000)}s` : Duration.show(millis))
