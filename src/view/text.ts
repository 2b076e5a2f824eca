/** Formats numbers, durations and long lines for people. */

/** Formats a whole number: `10,000`. */
export const grouped = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')

/** Formats a number of things: `1 run`, `10,000 runs`. */
export const counted = (count: number, noun: string): string => `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`

const MAX_TEXT = 200

/** Cuts a line that is too long. */
export const clipped = (line: string, most = MAX_TEXT): string =>
  line.length > most ? `${line.slice(0, most - 1)}…` : line

/** Returns the first line of a string, cut like `clipped`. */
export const firstLine = (text: string): string => clipped(text.split('\n', 1)[0] ?? '')

/** Formats a duration: `40 ms`, `1.2 s`, `3 min 5 s`, `2 h 10 min`. */
export const duration = (millis: number): string => {
  if (millis < 1_000) return `${Math.round(millis)} ms`
  if (millis < 60_000) return `${(Math.floor(millis / 100) / 10).toFixed(1)} s`
  const seconds = Math.floor(millis / 1_000)
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
