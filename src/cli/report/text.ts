/** Formats numbers, times, owners and long lines for people. */
import type { RunSummary } from '../../executor/storage/runs.js'
import type { Holder } from '../../ports/CheckpointStorage.js'

/** A number: `10,000`. */
export const grouped = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')

/** A number of things: `1 run`, `10,000 runs`. */
export const counted = (count: number, noun: string): string => `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`

/** A time: `2026-01-02 03:04 UTC`. */
export const minute = (at: string): string => `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`

/** The owner of a run, with its liveness if that is undecided. */
export const holderText = ({ host, pid, since, liveness }: Holder): string =>
  `process ${pid} on ${host} since ${since}${liveness === 'undecided' ? ', which may be dead' : ''}`

/** Cuts fingerprints to 12 digits; JSON has them whole. */
export const shortened = (text: string): string => text.replace(/\b(v\d+:[0-9a-f]{12})[0-9a-f]{52}\b/g, '$1')

const MAX_TEXT = 200

/** Cuts a long line. */
export const clipped = (line: string): string => (line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT - 1)}…` : line)

/** Returns the first line of a string, truncated. */
export const firstLine = (text: string): string => clipped(text.split('\n', 1)[0] ?? '')

/** The status, progress and start of a run. */
export const positionOf = ({ status, steps, createdAt }: RunSummary): string =>
  `${status}, ${steps.completed}/${steps.total} steps completed, started ${minute(createdAt)}`
