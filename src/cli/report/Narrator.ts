/** Tells what happens in a run while it happens. */
import { describeKept, describeJob, describeReason, explain } from '../../domain/explain/Explain.js'
import { describePosition } from '../../domain/request/Pause.js'
import type { Decision, ResumePlan, Run } from '../../domain/plan/Plan.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { isTop, isWithin } from '../../domain/workflow/Unit.js'
import { describe, describeRequest } from '../../executor/RunError.js'
import type { Event, EventUnit } from '../../ports/Events.js'
import type { Surroundings } from '../steps/commandStep.js'
import type { Prefixed } from '../terminal/Prefixed.js'
import * as Prefix from '../terminal/Prefixed.js'
import type { Screen } from '../terminal/Screen.js'
import type { Style } from '../terminal/Style.js'
import * as Duration from '../workflow/Duration.js'
import type { StepEntry } from '../workflow/WorkflowFile.js'
import { shortened } from './fingerprints.js'
import { waitText } from './pending.js'
import { grouped, progressText } from './progress.js'
import type { Waves } from './waves.js'
import * as Wave from './waves.js'

/** An observer of a run, and a taker of its steps' output. `finish` passes on what is left and removes the live line. */
export interface Narrator {
  readonly report: (event: Event) => void
  readonly onOutput: Surroundings['onOutput']
  readonly onWarning: Surroundings['onWarning']
  readonly finish: () => void
  /** The steps and groups that are at work. */
  readonly atWork: () => ReadonlyArray<string>
}

/**
 * What is printed, and how much of it. `steps`: those of the workflow; `loaded`: how many of a resumed run were done; `assumed`: the
 * units that an earlier answer takes as done.
 */
export interface Telling {
  readonly screen: Screen
  readonly verbose: boolean
  readonly steps: ReadonlyArray<StepEntry>
  readonly loaded: number
  readonly assumed: ReadonlySet<Unit>
  readonly now: () => number
}

/** A unit that is at work, or that waits to try again until a time. */
interface Active {
  readonly since: number
  readonly until?: number
}

type StepEvent = Extract<Event, { readonly stepIndex: number; readonly attempt: number }>

/** A narrator of one run. */
export const make = (telling: Telling): Narrator => {
  const { screen, steps, now } = telling
  const waves = Wave.make(steps, now)
  const active = new Map<string, Active>()
  const partial = new Map<string, Prefixed>()
  let decisions: ReadonlyMap<string, Decision> = new Map()
  const done = new Set<number>()
  let held: ReadonlyArray<string> = []
  let due: NodeJS.Timeout | undefined

  const printHeld = (): void => {
    clearTimeout(due)
    for (const line of held) screen.line(line)
    held = []
  }
  /** The end of the run reports each failure, and often follows at once. */
  const hold = (lines: ReadonlyArray<string>): void => {
    if (lines.length === 0) return
    if (held.length === 0) due = setTimeout(printHeld, HOLD_MILLIS).unref()
    held = [...held, ...lines]
  }
  const flush = (unit: string): void => {
    for (const stream of STREAMS) partial.get(`${unit} ${stream}`)?.flush()
  }
  const follow = (event: Event): void => {
    if (event._tag === 'RunPlanned') {
      waves.planned(event.plan)
      for (const { _tag, unit, stepIndex } of event.plan.decisions)
        if (_tag === 'Skip' && isTop(unit)) done.add(stepIndex)
    } else if (event._tag === 'RunWentBack') {
      waves.wentBack(event.stepIndex)
      for (const index of done) if (index >= event.stepIndex) done.delete(index)
    }
    if (event._tag === 'MapExpanded') waves.expanded(event.unit, event.items)
    else if (event._tag === 'StepStarted') {
      active.set(event.unit, { since: now() })
    } else if (event._tag === 'StepRetrying') {
      active.set(event.unit, { since: now(), until: now() + event.delayMillis })
    } else if (isOver(event)) {
      active.delete(event.unit)
      if (event._tag === 'StepCompleted') waves.completed(event.unit)
      if (event._tag === 'StepCompleted' && isTop(event.unit)) done.add(event.stepIndex)
    }
    screen.status(
      active.size === 0 ? undefined : () => `${progressText(steps, done.size)}, ${statusOf(active, waves, now())}`
    )
  }
  return {
    report: (event) => {
      if (event._tag === 'RunPlanned') decisions = new Map(event.plan.decisions.map((one) => [one.unit, one]))
      if (event._tag === 'RunWentBack') decisions = new Map()
      if (isOver(event)) flush(event.unit)
      follow(event)
      if (event._tag === 'RunFailed') held = []
      const lines = linesOf(telling, waves, decisions, event, active.size)
      if (event._tag === 'StepFailed') hold(lines)
      else for (const line of lines) screen.line(line)
    },
    onOutput: (source, stream, chunk) => {
      const wave = waves.around(source)
      if (wave === undefined) return screen.output(stream, chunk)
      const key = `${source} ${stream}`
      const lines = partial.get(key) ?? Prefix.make(`${below(wave, source)} | `, (line) => screen.output(stream, line))
      partial.set(key, lines)
      lines.add(chunk)
    },
    onWarning: (source, message) => screen.line(screen.style.yellow(`warning: step "${source}": ${message}`)),
    finish: () => {
      printHeld()
      for (const lines of partial.values()) lines.flush()
      screen.status(undefined)
    },
    atWork: () => [...active.keys()]
  }
}

/** Detects the end of an attempt. */
const isOver = (event: Event): event is Extract<Event, { readonly stepIndex: number; readonly unit: Unit }> =>
  event._tag === 'StepCompleted' ||
  event._tag === 'StepFailed' ||
  event._tag === 'JobSubmitted' ||
  event._tag === 'StepSuspended'

/** How long the failure of a group waits for the end of the run. */
const HOLD_MILLIS = 1_000

const STREAMS = ['stdout', 'stderr'] as const

/** What a unit is called beside its wave. */
const below = (wave: Wave.Wave | undefined, unit: Unit): string =>
  wave !== undefined && isWithin(unit, wave.unit) ? unit.slice(wave.unit.length + 1) : unit

const linesOf = (
  telling: Telling,
  waves: Waves,
  decisions: ReadonlyMap<string, Decision>,
  event: Event,
  atWork: number
): ReadonlyArray<string> => {
  const { style } = telling.screen
  const detail = (line: string): ReadonlyArray<string> => (telling.verbose ? [style.dim(line)] : [])
  switch (event._tag) {
    case 'RunPlanned':
      return [...planned(telling, event), ...answeredLines(telling, event.plan)]
    case 'StepsRunAgain':
      return againLines(telling, event.units)
    case 'CheckpointSaved':
      return detail(`saved revision ${event.revision}: ${event.state._tag} ${event.state.step}`)
    case 'CheckpointRecovered':
      return [style.yellow(`warning: recovered from ${event.from}; lost: ${event.lost}`)]
    case 'MapExpanded':
      return [`${place(telling, event)} ${event.unit}: ${grouped(event.items)} ${event.items === 1 ? 'item' : 'items'}`]
    case 'StepStarted':
      return asWhole(telling, waves, event)
        ? startedWave(telling, waves, decisions, event)
        : started(telling, decisions.get(event.unit), event)
    case 'StepRetrying': {
      const wait = `Retrying in ${(event.delayMillis / 1_000).toFixed(1)}s`
      const failed = `attempt ${event.attempt}/${event.maxAttempts} failed: ${event.error.message}`
      return troubles(
        telling,
        waves,
        event,
        [failed, wait].map((line) => style.yellow(`${groupPrefix(event)}${line}`))
      )
    }
    case 'JobSubmitted': {
      if (asWhole(telling, waves, event)) return []
      const job = event.job === undefined ? '' : `: ${describeJob(event.job)}`
      return [`${place(telling, event)} ${event.unit} has submitted its job${job}`]
    }
    case 'StepWaiting':
      return asWhole(telling, waves, event)
        ? []
        : [`${place(telling, event)} ${event.unit} ${waitText({ ...event.wait, unit: event.unit, startedAt: '' })}`]
    case 'AnswerRejected':
      return [
        style.yellow(
          `warning: the answer to ${event.unit} by ${event.by} was rejected: at ${event.path} expected ${event.expected}`
        )
      ]
    case 'StepCompleted':
      return [...completed(telling, waves, event), ...progressed(telling, waves, event)]
    case 'StepFailed':
      // The end of the run reports it too: print it only while others run.
      return atWork === 0
        ? []
        : troubles(telling, waves, event, [
            style.red(`${place(telling, event)} failed: ${event.unit} (others still running)`)
          ])
    case 'RunCompleted':
      return telling.loaded === telling.steps.length && [...decisions.values()].every(({ _tag }) => _tag === 'Skip')
        ? []
        : [style.green('Run completed')]
    case 'CheckFailed':
      return checkFailed(telling, event)
    case 'RunRemoved':
    case 'RunLeft':
      return removal(event, style)
    case 'RunPaused':
      return paused(telling, event)
    case 'ReleaseFailed':
      return detail(`the claim could not be released: ${describe(event.error)}`)
    case 'EvidenceKept':
    case 'StepSuspended':
    case 'WorkspaceReady':
    case 'RunWentBack':
    case 'RunFailed':
    case 'RunInterrupted':
    case 'RunFenced':
      return []
  }
}

/** What became of the state of a run that has completed; nothing of another event. */
export const removal = (event: Event, style: Style): ReadonlyArray<string> => {
  if (event._tag === 'RunLeft')
    return [style.yellow(`warning: the run has completed, and its state is kept: ${event.why}`)]
  if (event._tag !== 'RunRemoved') return []
  return [event.archivedAt === undefined ? 'Its state was deleted' : `Archived in ${event.archivedAt}`]
}

/** Where it goes on, and what the pause has left behind. How to go on is told at the end. */
const paused = (
  { screen: { style } }: Telling,
  { pointer, where, unreadable, problems }: Event & { readonly _tag: 'RunPaused' }
): ReadonlyArray<string> => {
  const { unit, commits, committed } = pointer
  const position = describePosition(pointer)
  const more = committed === undefined ? '' : `, and ${committed.slice(0, 12)} of what was not committed`
  return [
    style.yellow(`Paused ${isTop(unit) ? 'before' : 'at'} ${position}`),
    ...(where === undefined ? [] : [`Progress saved to ${where}`]),
    `Commits: ${commits.length} completed${more}`,
    ...(unreadable === undefined
      ? []
      : [
          style.yellow(
            `warning: nothing was committed, because the pause request cannot be attributed: ${describeRequest(unreadable)}`
          )
        ]),
    ...problems.map((problem) => style.yellow(`warning: ${describe(problem)}`))
  ]
}

/** What has failed for it is told at the end. */
const checkFailed = (telling: Telling, event: Event & { readonly _tag: 'CheckFailed' }): ReadonlyArray<string> => {
  if (event.answer === 'abort') return []
  const what = `${event.unit}: ${event.wrong.join('; ')}`
  return [telling.screen.style.yellow(`warning: ${what}; ${whatNow(event)}`)]
}

const whatNow = ({ answer, previousWave }: Event & { readonly _tag: 'CheckFailed' }): string => {
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
  { screen: { style }, verbose, loaded, steps: { length: total } }: Telling,
  { runId, resumed, plan }: { readonly runId: string; readonly resumed: boolean; readonly plan: ResumePlan }
): ReadonlyArray<string> => {
  if (!resumed) return [style.bold(`Run ${runId} started`)]
  if (plan.startIndex === total && loaded === total) return [`Run ${runId}: nothing left to do`]
  const lines = [style.bold(`Resuming run ${runId}`), `Loaded checkpoint: ${loaded}/${total} steps completed`]
  return verbose ? [...lines, ...explain(plan).split('\n').slice(1).map(shortened).map(style.dim)] : lines
}

/** The units that count as completed because the user said so. */
const answeredLines = (telling: Telling, { decisions }: ResumePlan): ReadonlyArray<string> => {
  const { style } = telling.screen
  const kept = decisions.flatMap((one) =>
    one._tag === 'Skip' && one.reason._tag === 'EvidenceChanged' && one.reason.changed.length > 0
      ? [`Kept with changes: ${describeKept(one.reason.changed)} of ${one.unit}`]
      : []
  )
  const done = decisions.flatMap(({ reason, unit }) =>
    reason._tag === 'Assumed' && !telling.assumed.has(unit) ? [`Taken as done: ${unit}`] : []
  )
  return [...some(kept, 'more are kept with changes'), ...some(done, 'more are taken as done')].map(style.yellow)
}

const againLines = ({ screen: { style } }: Telling, units: ReadonlyArray<Run>): ReadonlyArray<string> => {
  const lines = units.map((unit) => `  ${unit.unit}: ${describeReason(unit)}`)
  return ['Completed before, running again:', ...some(lines, 'more')].map(style.yellow)
}

/** The maximum number of listed units of one kind. */
const MAX_LISTED = 10

const some = (lines: ReadonlyArray<string>, more: string): ReadonlyArray<string> =>
  lines.length <= MAX_LISTED + 1
    ? lines
    : [...lines.slice(0, MAX_LISTED), `  … and ${grouped(lines.length - MAX_LISTED)} ${more}`]

/** A unit's first attempt of this process; the further ones are told of before they start. */
const started = (
  telling: Telling,
  decision: Decision | undefined,
  event: StepEvent & { readonly summary: string }
): ReadonlyArray<string> => {
  const { style } = telling.screen
  const summary = event.summary
  const group = isTop(event.unit) ? '' : ` ${event.unit}`
  if (decision?._tag === 'Retry') {
    if (event.attempt !== decision.attempt) return []
    return [style.bold(`Retrying step ${event.stepIndex + 1}${group}: ${summary}`)]
  }
  return event.attempt === 1
    ? [style.bold(`Executing step ${event.stepIndex + 1}/${telling.steps.length}${group}: ${summary}`)]
    : []
}

const completed = (
  telling: Telling,
  waves: Waves,
  event: Event & { readonly _tag: 'StepCompleted' }
): ReadonlyArray<string> => {
  const { verbose, screen } = telling
  const tried = event.attempts > 1 && !asWhole(telling, waves, event)
  const again = tried ? [`${groupPrefix(event)}succeeded on attempt ${event.attempts}`] : []
  const lasted = Duration.show(event.durationMillis)
  const line = `${place(telling, event)} completed: ${event.unit}, ${lasted}`
  return verbose ? [...again, screen.style.dim(line)] : again
}

const place = ({ steps }: Telling, { stepIndex }: { readonly stepIndex: number }): string =>
  `Step ${stepIndex + 1}/${steps.length}`

const groupPrefix = ({ unit }: EventUnit): string => (isTop(unit) ? '' : `${unit}: `)

/** Whether a unit is one of so many that only their wave is told of. */
const asWhole = ({ verbose }: Telling, waves: Waves, { unit }: EventUnit): boolean => {
  const wave = waves.around(unit)
  return !verbose && wave !== undefined && Wave.isWide(wave)
}

/** The first group that starts tells of all. */
const startedWave = (
  { screen: { style }, steps }: Telling,
  waves: Waves,
  decisions: ReadonlyMap<string, Decision>,
  { stepIndex, unit }: EventUnit
): ReadonlyArray<string> => {
  const wave = waves.around(unit)
  if (wave === undefined || !waves.isNew(wave)) return []
  const { total = 0, done } = wave
  const some = done === 0 ? '' : `${grouped(total - done)} of `
  const what = `${wave.unit} (${some}${grouped(total)} groups)`
  return decisions.get(wave.unit)?._tag === 'Retry'
    ? [style.bold(`Retrying step ${stepIndex + 1}: ${what}`)]
    : [style.bold(`Executing step ${stepIndex + 1}/${steps.length}: ${what}`)]
}

/** How many groups are done. The live line says so already, where there is one. */
const progressed = ({ screen }: Telling, waves: Waves, { unit }: EventUnit): ReadonlyArray<string> => {
  const wave = waves.around(unit)
  return wave === undefined || screen.live || !waves.isDue(wave) ? [] : [`${wave.unit}: ${Wave.countOf(wave)}`]
}

/** What went wrong in one group of many is told of the first ones. */
const troubles = (
  telling: Telling,
  waves: Waves,
  event: EventUnit,
  lines: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const wave = waves.around(event.unit)
  if (wave === undefined || !asWhole(telling, waves, event)) return lines
  const count = waves.trouble(wave)
  if (count <= Wave.MAX_TROUBLES) return lines
  const { style } = telling.screen
  return count === Wave.MAX_TROUBLES + 1 ? [style.yellow(`${wave.unit}: more groups fail; -v reports each`)] : []
}

/** More than these do not fit on a line. */
const MAX_ACTIVE = 8

const statusOf = (active: ReadonlyMap<Unit, Active>, waves: Waves, time: number): string => {
  const [first = ''] = active.keys()
  const wave = waves.around(first)
  const units = [...active].slice(0, MAX_ACTIVE).map(([unit, { since, until }]) => {
    const name = below(wave, unit)
    return until === undefined
      ? `${name} ${seconds(time - since)}`
      : `${name} retries in ${seconds(Math.max(0, until - time))}`
  })
  return wave === undefined ? units.join(', ') : `${wave.unit}: ${[Wave.countOf(wave), ...units].join(', ')}`
}

/** The live line is drawn once a second: no fractions. */
const seconds = (millis: number): string => (millis < 60_000 ? `${Math.floor(millis / 1_000)}s` : Duration.show(millis))
