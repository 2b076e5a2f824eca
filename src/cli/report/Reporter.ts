/** Reports a run while it runs: lines for its events, live rows, and the output of its steps. */
import type { Unit } from '../../domain/workflow/Unit.js'
import type { RunOutcome } from '../../executor/RunOutcome.js'
import type { Event } from '../../ports/Events.js'
import type { CommandSettings } from '../steps/commandStep.js'
import type { Prefixed } from '../terminal/Prefixed.js'
import * as Prefix from '../terminal/Prefixed.js'
import { linesOf } from './eventLines.js'
import { liveRows } from './liveRows.js'
import type { Options } from './LiveRun.js'
import * as LiveRun from './LiveRun.js'
import { summaryOf } from './summary.js'

/**
 * An observer of a run that also takes the output of its steps. `finish` prints delayed failures and unfinished lines, and removes the live
 * rows; `summary`: the time and the counts of a run that did not complete; `printed`: the failed units whose errors are printed already.
 */
export interface Reporter {
  readonly report: (event: Event) => void
  readonly onOutput: CommandSettings['onOutput']
  readonly onWarning: CommandSettings['onWarning']
  readonly finish: () => void
  readonly inFlight: () => ReadonlyArray<string>
  readonly summary: (outcome: RunOutcome) => string
  readonly printed: ReadonlySet<Unit>
}

interface Delayed {
  readonly unit: Unit
  readonly lines: ReadonlyArray<string>
}

export const make = (options: Options): Reporter => {
  const { screen } = options
  const run = LiveRun.make(options)
  const partial = new Map<string, Prefixed>()
  let delayed: ReadonlyArray<Delayed> = []
  let due: NodeJS.Timeout | undefined

  const printDelayed = (): void => {
    clearTimeout(due)
    for (const { unit, lines } of delayed) {
      lines.forEach(screen.line)
      if (lines.length > 1) run.printed.add(unit)
    }
    delayed = []
  }
  /** The end of the run reports each failure, and often follows at once. */
  const delay = (failure: Delayed): void => {
    if (failure.lines.length === 0) return
    if (delayed.length === 0) due = setTimeout(printDelayed, DELAY_MILLIS).unref()
    delayed = [...delayed, failure]
  }
  return {
    report: (event) => {
      if (LiveRun.isOver(event)) for (const stream of STREAMS) partial.get(`${event.unit} ${stream}`)?.flush()
      LiveRun.follow(run, event)
      screen.status(run.active.size === 0 ? undefined : () => liveRows(run))
      if (event._tag === 'RunFailed') delayed = []
      const lines = linesOf(run, event)
      if (event._tag === 'StepFailed') delay({ unit: event.unit, lines })
      else lines.forEach(screen.line)
    },
    onOutput: (source, stream, chunk) => {
      const wave = run.waves.around(source)
      if (wave === undefined) return screen.output(stream, chunk)
      const key = `${source} ${stream}`
      const print = (line: Uint8Array): void => screen.output(stream, line)
      const lines = partial.get(key) ?? Prefix.make(`${LiveRun.below(wave, source)} | `, print)
      partial.set(key, lines)
      lines.add(chunk)
    },
    onWarning: (source, message) => screen.warn(`step "${source}": ${message}`),
    finish: () => {
      printDelayed()
      for (const lines of partial.values()) lines.flush()
      screen.status(undefined)
    },
    inFlight: () => [...run.active.keys()],
    summary: (outcome) => summaryOf(run, outcome),
    printed: run.printed
  }
}

/** How long the failure of a group waits for the end of the run. */
const DELAY_MILLIS = 1_000

const STREAMS = ['stdout', 'stderr'] as const
