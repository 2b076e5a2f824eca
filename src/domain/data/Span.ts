/** Spans of time. */

/** Milliseconds since 1970. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** Returns the union of spans, in order and without overlaps. */
export const joined = (spans: Iterable<Span>): ReadonlyArray<Span> => {
  const union: Array<{ from: number; to: number }> = []
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    const last = union.at(-1)
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to)
    else union.push({ from, to })
  }
  return union
}

/** Returns the milliseconds in at least one of the spans. */
export const coveredBy = (spans: Iterable<Span>): number =>
  joined(spans).reduce((sum, { from, to }) => sum + to - from, 0)
