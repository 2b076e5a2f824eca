/** Parses durations: `250ms`, `5s`, `2m`, `1h`. */
import * as O from 'fp-ts/lib/Option.js'

const MILLIS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

export const PATTERN = '^(\\d{1,9}(?:\\.\\d{1,3})?)(ms|s|m|h)$'

export const DAYS = '^(\\d{1,6})d$'

const AGE = new RegExp(DAYS)

const DURATION = new RegExp(PATTERN)

export const parse = (text: string): O.Option<number> => {
  const [, amount, unit] = DURATION.exec(text) ?? []
  const factor = MILLIS[unit ?? '']
  return amount === undefined || factor === undefined ? O.none : O.some(Math.round(Number(amount) * factor))
}

/** Also accepts days: `30d`. */
export const parseAge = (text: string): O.Option<number> => {
  const [, days] = AGE.exec(text) ?? []
  return days === undefined ? parse(text) : O.some(Number(days) * DAY_MILLIS)
}

const DAY_MILLIS = 86_400_000
