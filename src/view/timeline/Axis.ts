/** Maps times to places on an axis, on which gaps are short: a run that slept for a week still shows its seconds of work. */
import type { Span } from '../../domain/data/Span.js'
import { joined } from '../../domain/data/Span.js'
import { duration } from '../text.js'
import type { Timeline } from './Timeline.js'

/** A stretch of time, and its place: both ends in percent of the width. `isIdle`: no attempt ran; `isGap`: no process worked on the run. */
interface Stretch {
  readonly from: number
  readonly to: number
  readonly left: number
  readonly right: number
  readonly isIdle: boolean
  readonly isGap: boolean
}

export interface Tick {
  readonly at: number
  readonly label: string
}

/** `busy`: the milliseconds in which an attempt ran. */
export interface Axis {
  readonly busy: number
  /** The place of a time, in percent. */
  readonly place: (time: number) => number
  readonly ticks: ReadonlyArray<Tick>
}

/** The widest idle stretch, as a share of the busy time. */
const WIDEST = 0.05

/** The narrowest gap, as a share of the busy time. */
const NARROWEST = 0.02

/** All idle stretches together, as a share of the busy time: if they are many, each is narrowed further. */
const MOST_IDLE = 0.4

export const axisOf = (timeline: Timeline): Axis => {
  const { from, to } = timeline
  const work = busyTimes(timeline)
  const busy = Math.max(
    1,
    work.reduce((sum, one) => sum + one.to - one.from, 0)
  )
  const idle = idleTimes(work, from, to)
  const scale = Math.min(1, MOST_IDLE / Math.max(1e-9, idle.length * WIDEST))
  const meetsGap = ({ from, to }: Span): boolean =>
    timeline.gaps.some((gap) => gap.from <= to && (gap.to ?? Infinity) >= from)
  const spaceFor = (one: Span & Pick<Stretch, 'isIdle' | 'isGap'>): number => {
    if (!one.isIdle) return Math.max(one.to - one.from, busy * 1e-4)
    const least = one.isGap ? busy * NARROWEST : 0
    return Math.max(least, Math.min(one.to - one.from, busy * WIDEST)) * scale
  }
  const parts = [
    ...work.map((one) => ({ ...one, isIdle: false, isGap: false })),
    ...idle.map((one) => ({ ...one, isIdle: true, isGap: meetsGap(one) }))
  ]
    .sort((a, b) => a.from - b.from || a.to - b.to)
    .map((one) => ({ ...one, width: spaceFor(one) }))
  const total = parts.reduce((sum, { width }) => sum + width, 0)
  let left = 0
  const stretches = parts.map(({ width, ...part }): Stretch => {
    const stretch = { ...part, left, right: left + (100 * width) / total }
    left = stretch.right
    return stretch
  })
  return { busy, place: (time) => placeOf(stretches, time), ticks: ticksOf(stretches, busy) }
}

/** The union of all attempts. */
const busyTimes = ({ bars, from, to }: Timeline): ReadonlyArray<Span> => {
  const attempts = [...bars.values()].flat().filter(({ isWait }) => !isWait)
  const busy = joined(attempts.map((bar) => ({ from: Math.max(from, bar.from), to: Math.max(from, bar.to) })))
  return busy.length === 0 ? [{ from, to }] : busy
}

const idleTimes = (busy: ReadonlyArray<Span>, from: number, to: number): ReadonlyArray<Span> => {
  const idle: Array<Span> = []
  let since = from
  for (const one of busy) {
    if (one.from > since) idle.push({ from: since, to: one.from })
    since = Math.max(since, one.to)
  }
  // The axis ends with the last gap, which may continue.
  idle.push({ from: since, to: Math.max(to, since) })
  return idle
}

/** Finds the last stretch that begins at or before a time, and places the time in it. */
const placeOf = (stretches: ReadonlyArray<Stretch>, time: number): number => {
  let [low, high] = [0, stretches.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((stretches[middle]?.from ?? 0) <= time) low = middle
    else high = middle - 1
  }
  const stretch = stretches[low]
  if (stretch === undefined) return 0
  const { from, to, left, right } = stretch
  const share = to === from ? 0 : (time - from) / (to - from)
  return left + (right - left) * Math.min(1, Math.max(0, share))
}

/** The possible distances between ticks, in milliseconds. */
const DISTANCES = [1, 2, 5, 10, 20, 50, 100, 200, 500].concat(
  [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400, 604_800].map((s) => s * 1_000)
)

/** The width of a label on a narrow axis, in percent. */
const widthOf = (label: string): number => 2.2 * label.length

/** Ticks show a clock time where work begins after a gap, and round distances from there. */
const ticksOf = (stretches: ReadonlyArray<Stretch>, busy: number): ReadonlyArray<Tick> => {
  const distance = DISTANCES.find((one) => one >= busy / 7) ?? 604_800_000
  const ticks: Array<Tick> = []
  const add = (at: number, label: string): void => {
    const last = ticks.at(-1)
    if (last?.label === label) return
    if ((last === undefined || at - last.at >= widthOf(last.label)) && at + widthOf(label) <= 100)
      ticks.push({ at, label })
  }
  /** A clock time replaces a distance that is too near. */
  const addClock = (at: number, time: number): void => {
    const last = ticks.at(-1)
    if (last !== undefined && at - last.at < widthOf(last.label) && last.label.startsWith('+')) ticks.pop()
    add(at, clock(time))
  }
  let origin = stretches.find(({ isIdle }) => !isIdle)?.from ?? 0
  let isAfterGap = true
  for (const { from, to, left, right, isIdle, isGap } of stretches) {
    if (isIdle) {
      isAfterGap ||= isGap || to - from > busy * WIDEST
      continue
    }
    // If the clock still shows the same second as the last clock time, none is added, and distances count on from that one.
    if (isAfterGap && (ticks.length === 0 || clock(from) !== clock(origin) || from - origin >= 1_000)) {
      origin = from
      addClock(left, from)
    }
    isAfterGap = false
    for (let time = origin + distance * Math.ceil((from - origin) / distance || 1); time < to; time += distance)
      add(left + ((right - left) * (time - from)) / (to - from), `+${duration(time - origin)}`)
  }
  return ticks
}

const clock = (time: number): string => new Date(time).toISOString().slice(11, 19)
