/** The live rows below the lines of a run: its progress, and what is in flight. */
import { progressText } from './text.js'
import { printable } from '../../domain/explain/printable.js'
import { duration, grouped } from '../../view/text.js'
import type { Status } from '../terminal/Screen.js'
import { fitted } from '../terminal/Style.js'
import type { LiveRun } from './LiveRun.js'
import { below } from './LiveRun.js'
import * as Waves from './waves.js'

/** The maximum number of units that the live lines name. */
const MAX_ACTIVE = 8

/** One line for a unit that runs alone; a line for each of several. */
export const liveRows = ({ active, waves, now, screen, steps, done }: LiveRun): Status => {
  const progress = progressText(steps, done.size)
  const time = now()
  const [first = ''] = active.keys()
  const wave = waves.around(first)
  const units = [...active].slice(0, MAX_ACTIVE).map(([unit, { since, until }]) => {
    const state = until === undefined ? seconds(time - since) : `retries in ${seconds(Math.max(0, until - time))}`
    return [below(wave, unit), ` ${state}`] as const
  })
  const position =
    wave === undefined
      ? ([progress, ''] as const)
      : ([`${progress}, ${wave.unit}`, `: ${Waves.countOf(wave)}`] as const)
  if (active.size === 1) return `${position.join('')}, ${units.map((one) => one.join('')).join(', ')}`
  const { yellow, symbols, width } = screen.style
  /** Shortens the name, not the state after it. */
  const fit = ([name, state]: readonly [string, string], indent: number): string => {
    const left = width - indent - 1
    const short = fitted(printable(name), { symbols, width: Math.max(Math.floor(left / 3), left - state.length) })
    return fitted(`${short}${printable(state)}`, { symbols, width: left })
  }
  const more = active.size - units.length
  return [
    fit(position, 0),
    ...units.map((unit) => `  ${yellow(symbols.inFlight)} ${fit(unit, 5)}`),
    ...(more === 0 ? [] : [`  ${fit([`${symbols.more} and ${grouped(more)} more`, ''], 2)}`])
  ]
}

/** The live line is drawn once a second: no fractions. */
const seconds = (millis: number): string => (millis < 60_000 ? `${Math.floor(millis / 1_000)} s` : duration(millis))
