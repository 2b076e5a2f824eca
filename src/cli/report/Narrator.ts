/**
 * Tells what happens in a run while it happens.
 *
 * @since 0.1.0
 */
import { describeJob, explain } from '../../domain/Explain.js'
import type { Decision, ResumePlan } from '../../domain/Plan.js'
import { unitName } from '../../domain/Plan.js'
import type { Event } from '../../ports/Events.js'
import type { Source, Surroundings } from '../steps/commandStep.js'
import type { Prefixed } from '../terminal/Prefixed.js'
import * as Prefix from '../terminal/Prefixed.js'
import type { Screen } from '../terminal/Screen.js'
import { printable } from '../terminal/Style.js'
import * as Duration from '../workflow/Duration.js'
import { shortened } from './fingerprints.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * An observer of a run, and a taker of its steps' output. `finish` passes on what is left and removes the live line.
 *
 * @category model
 * @since 0.1.0
 */
export interface Narrator {
  readonly report: (event: Event) => void
  readonly onOutput: Surroundings['onOutput']
  readonly onWarning: Surroundings['onWarning']
  readonly finish: () => void
  /** The steps and groups that are at work. */
  readonly atWork: () => ReadonlyArray<string>
}

/**
 * What is told, and how much of it. `total`: how many steps there are; `loaded`: how many of a resumed run were done.
 *
 * @category model
 * @since 0.1.0
 */
export interface Telling {
  readonly screen: Screen
  readonly verbose: boolean
  readonly total: number
  readonly loaded: number
  readonly now: () => number
}

/** A unit that is at work, or that waits to try again until a time. */
interface Active {
  readonly stepIndex: number
  readonly name: string
  readonly since: number
  readonly until?: number
}

type StepEvent = Extract<Event, { readonly stepIndex: number; readonly attempt: number }>

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A narrator of one run.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (telling: Telling): Narrator => {
  const { screen, now } = telling
  const active = new Map<string, Active>()
  const partial = new Map<string, Prefixed>()
  let decisions: ReadonlyMap<string, Decision> = new Map()

  const flush = (unit: string): void => {
    for (const stream of STREAMS) partial.get(`${unit} ${stream}`)?.flush()
  }
  const follow = (event: Event): void => {
    if (event._tag === 'StepStarted') {
      active.set(unitName(event), { stepIndex: event.stepIndex, name: unitName(event), since: now() })
    } else if (event._tag === 'StepRetrying') {
      const wait = { since: now(), until: now() + event.delayMillis }
      active.set(unitName(event), { stepIndex: event.stepIndex, name: unitName(event), ...wait })
    } else if (event._tag === 'StepCompleted' || event._tag === 'StepFailed' || event._tag === 'JobSubmitted') {
      active.delete(unitName(event))
    }
    screen.status(active.size === 0 ? undefined : () => statusOf([...active.values()], telling))
  }
  return {
    report: (event) => {
      if (event._tag === 'RunPlanned') decisions = new Map(event.plan.decisions.map((one) => [unitName(one), one]))
      if (event._tag === 'StepCompleted' || event._tag === 'StepFailed' || event._tag === 'JobSubmitted')
        flush(unitName(event))
      follow(event)
      for (const line of linesOf(telling, decisions, event, active.size)) screen.line(line)
    },
    onOutput: (source, stream, chunk) => {
      if (source.group === undefined) return screen.output(stream, chunk)
      const key = `${unitName(source)} ${stream}`
      const lines = partial.get(key) ?? Prefix.make(`${source.group} | `, (line) => screen.output(stream, line))
      partial.set(key, lines)
      lines.add(chunk)
    },
    onWarning: (source: Source, message) =>
      screen.line(screen.style.yellow(`warning: step "${unitName(source)}": ${printable(message)}`)),
    finish: () => {
      for (const lines of partial.values()) lines.flush()
      screen.status(undefined)
    },
    atWork: () => [...active.keys()]
  }
}

const STREAMS = ['stdout', 'stderr'] as const

// ---------------------------------------------------------------------------------------------------------------------
// lines
// ---------------------------------------------------------------------------------------------------------------------

const linesOf = (
  telling: Telling,
  decisions: ReadonlyMap<string, Decision>,
  event: Event,
  atWork: number
): ReadonlyArray<string> => {
  const { style } = telling.screen
  const detail = (line: string): ReadonlyArray<string> => (telling.verbose ? [style.dim(line)] : [])
  switch (event._tag) {
    case 'RunPlanned':
      return planned(telling, event)
    case 'CheckpointSaved':
      return detail(`saved revision ${event.revision}: ${event.state._tag} ${event.state.step}`)
    case 'CheckpointRecovered':
      return [style.yellow(`warning: recovered from ${printable(event.from)}; lost: ${printable(event.lost)}`)]
    case 'StepStarted':
      return started(telling, decisions.get(unitName(event)), event)
    case 'StepRetrying': {
      const wait = `Retrying in ${(event.delayMillis / 1_000).toFixed(1)}s`
      const failed = `attempt ${event.attempt}/${event.attempts} failed: ${printable(event.error.message)}`
      return [failed, wait].map((line) => style.yellow(`${groupPrefix(event)}${line}`))
    }
    case 'StepCompleted': {
      const lasted = Duration.show(event.durationMillis)
      const again = event.attempts > 1 ? [`${groupPrefix(event)}succeeded on attempt ${event.attempts}`] : []
      return [...again, ...detail(`${place(telling, event)} completed: ${unitName(event)}, ${lasted}`)]
    }
    case 'JobSubmitted': {
      const job = event.job === undefined ? '' : `: ${printable(describeJob(event.job))}`
      return [`${place(telling, event)} ${unitName(event)} has submitted its job${job}`]
    }
    case 'StepFailed':
      // The report at the end tells of it; until then there is something to say only while others are at work.
      return atWork === 0 ? [] : [style.red(`${place(telling, event)} failed: ${unitName(event)} (others are at work)`)]
    case 'RunCompleted':
      return [...decisions.values()].every((decision) => decision._tag === 'Skip') ? [] : [style.green('Run completed')]
    case 'RunFailed':
    case 'RunInterrupted':
    case 'RunFenced':
      return []
  }
}

const planned = (
  { screen: { style }, verbose, loaded, total }: Telling,
  { runId, resumed, plan }: { readonly runId: string; readonly resumed: boolean; readonly plan: ResumePlan }
): ReadonlyArray<string> => {
  if (!resumed) return [style.bold(`Run ${runId} started`)]
  if (plan.startIndex === total) return [`Run ${runId}: nothing left to do`]
  const lines = [style.bold(`Resuming run ${runId}`), `Loaded checkpoint: ${loaded}/${total} steps completed`]
  return verbose
    ? [...lines, ...explain(plan).split('\n').slice(1).map(printable).map(shortened).map(style.dim)]
    : lines
}

/** A unit's first attempt of this process; the further ones are told of before they start. */
const started = (
  telling: Telling,
  decision: Decision | undefined,
  event: StepEvent & { readonly summary: string }
): ReadonlyArray<string> => {
  const { style } = telling.screen
  const summary = printable(event.summary)
  const group = event.group === undefined ? '' : ` ${unitName(event)}`
  if (decision?._tag === 'Retry') {
    if (event.attempt !== decision.attempt) return []
    return [style.bold(`Retrying step ${event.stepIndex + 1}${group}: ${summary}`)]
  }
  return event.attempt === 1
    ? [style.bold(`Executing step ${event.stepIndex + 1}/${telling.total}${group}: ${summary}`)]
    : []
}

const place = ({ total }: Telling, { stepIndex }: { readonly stepIndex: number }): string =>
  `Step ${stepIndex + 1}/${total}`

const groupPrefix = (unit: { readonly step: string; readonly group?: string }): string =>
  unit.group === undefined ? '' : `${unitName(unit)}: `

// ---------------------------------------------------------------------------------------------------------------------
// the live line
// ---------------------------------------------------------------------------------------------------------------------

const statusOf = (active: ReadonlyArray<Active>, { total, now }: Telling): string => {
  const [first] = active
  if (first === undefined) return ''
  const time = now()
  const units = active.map(({ name, since, until }) =>
    until === undefined
      ? `${name} ${seconds(time - since)}`
      : `${name} tries again in ${seconds(Math.max(0, until - time))}`
  )
  return `[${first.stepIndex + 1}/${total}] ${units.join(', ')}`
}

/** The live line is drawn once a second: no fractions. */
const seconds = (millis: number): string => (millis < 60_000 ? `${Math.floor(millis / 1_000)}s` : Duration.show(millis))
