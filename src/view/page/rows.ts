/** Renders the units of a run as a tree in a table: one row for each, with its bars on the axis. */
import { pushTo } from '../../domain/data/indexed.js'
import { presentOf } from '../../domain/checkpoint/Due.js'
import { nameOf, parent } from '../../domain/workflow/Unit.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import type { Axis } from '../timeline/Axis.js'
import type { Bar, Gap, Timeline, Why } from '../timeline/Timeline.js'
import { coveredBy } from '../../domain/data/Span.js'
import { duration, grouped } from '../text.js'
import type { UnitView } from '../../domain/explain/UnitView.js'
import { waitEnd } from '../waitEnd.js'
import { data, escaped } from './html.js'
import type { Page } from './RunPage.js'
import { describeEnd, detailsOf } from './details.js'

/** The number of rows in a `tbody`: a browser skips the layout of a `tbody` that is out of view. */
const BLOCK_ROWS = 64

/** `millis`: how long the unit took so far, if that is known. */
interface Row {
  readonly view: UnitView
  readonly level: number
  readonly bars: ReadonlyArray<Bar>
  readonly millis: number | undefined
}

export const rowsOf = (page: Page, units: ReadonlyArray<UnitView>, timeline: Timeline, axis: Axis): string => {
  const rows = arrange(units, timeline, page.now)
  const blocks: Array<string> = []
  for (let start = 0; start < rows.length; start += BLOCK_ROWS) {
    const some = rows.slice(start, start + BLOCK_ROWS).map((row, index) => rowOf(page, row, start + index, axis))
    blocks.push(`<tbody>${some.join('')}</tbody>`)
  }
  const isLong = units.length > 12
  return `<section class="t" aria-labelledby="timeline">
<div class="head"><h2 id="timeline">Timeline</h2>${isLong ? TOOLS : ''}</div>
${units.length === 0 ? '<p>The workflow has no steps.</p>' : ''}
<div class="chart">
${overlayOf(timeline, axis)}
<table role="treegrid" aria-labelledby="timeline">
<thead><tr><th scope="col">Unit</th><th scope="col">State</th><th scope="col">Time</th><th scope="col" class="axis"><span class="sr">Attempts</span>${ticksOf(axis, timeline)}</th></tr></thead>
${blocks.join('\n')}
</table>
</div>
<p class="none" hidden>No unit matches.</p>
${legendOf(rows, timeline)}
<script type="application/json" id="details">${data(detailsOf(page, rows, timeline.from))}</script>
</section>`
}

const TOOLS = `<div class="tools" hidden><input type="search" aria-label="Search units" placeholder="Search units"><select aria-label="Which units"><option value="">All units</option><option value="o">Not completed</option><option value="f">Failed</option></select><button type="button" data-do="open">Expand all</button><button type="button" data-do="close">Collapse all</button></div>`

const arrange = (units: ReadonlyArray<UnitView>, { bars }: Timeline, now: string | undefined): ReadonlyArray<Row> => {
  const levels = new Map<Unit, number>()
  const inside = barsInside(units, bars)
  return units.map((view) => {
    const above = parent(view.unit)
    const level = above === undefined ? 1 : (levels.get(above) ?? 0) + 1
    levels.set(view.unit, level)
    const { unit, durationMillis } = view
    const isComposite = view.parts !== undefined
    const own = (isComposite ? inside : bars).get(unit) ?? []
    const soFar = isComposite ? partsMillis(own) : millisOf(view, own, now)
    const millis = view.assumed ? soFar : (durationMillis ?? soFar)
    return { view, level, bars: isComposite ? spanOf(own) : own, millis }
  })
}

/** The time of the last attempt or wait. */
const millisOf = ({ status }: UnitView, bars: ReadonlyArray<Bar>, now: string | undefined): number | undefined => {
  const last = bars.at(-1)
  if (last === undefined || status === 'not started' || last.end === 'cut') return undefined
  return last.end === 'running' && now === undefined ? undefined : last.to - last.from
}

/** The time in which at least one part ran or waited so far, in failed attempts too, but not in rewound ones. */
const partsMillis = (parts: ReadonlyArray<Bar>): number | undefined => {
  const millis = coveredBy(parts.filter(({ isRewound }) => !isRewound))
  return millis === 0 ? undefined : millis
}

/** Collects the bars of all parts of each composite. */
const barsInside = (units: ReadonlyArray<UnitView>, bars: Timeline['bars']): ReadonlyMap<Unit, ReadonlyArray<Bar>> => {
  const inside = new Map<Unit, Array<Bar>>()
  for (const { unit, parts } of units) {
    if (parts !== undefined) continue
    for (const bar of bars.get(unit) ?? [])
      for (let above = parent(unit); above !== undefined; above = parent(above)) pushTo(inside, above, bar)
  }
  return inside
}

/** The bar of a composite, which spans those of its parts. */
const spanOf = (parts: ReadonlyArray<Bar>): ReadonlyArray<Bar> => {
  if (parts.length === 0) return []
  const from = parts.reduce((first, bar) => Math.min(first, bar.from), Infinity)
  const to = parts.reduce((last, bar) => Math.max(last, bar.to), from)
  return [{ from, to, attempt: 0, end: 'completed', isWait: false, isRewound: false }]
}

/** The class of a row, for which the style shows a mark. */
const STATES: Readonly<Record<UnitView['status'], string>> = {
  completed: 'c',
  failed: 'f',
  'in flight': 'r',
  pending: 'p',
  'not started': 'n'
}

/** A longer name has a line of its own on a phone. */
const LONG_NAME = 16

/** Omits what HTML does not need, such as end tags and quotes: a page may have 10,000 rows, which a browser then reads in half the time. */
const rowOf = (page: Page, { view, level, bars, millis }: Row, index: number, axis: Axis): string => {
  const { status, parts, unit } = view
  const state = view.assumed ? 'assumed done' : stateOf(page, view)
  const hasParts = parts !== undefined && parts.total > 0
  const count = parts === undefined ? '' : ` <small>${grouped(parts.completed)}/${grouped(parts.total)}</small>`
  const name = `${escaped(nameOf(unit))}${kindOf(view)}`
  const id = status === 'failed' ? ` id=u${index}` : ''
  const label =
    parts !== undefined || bars.length === 0
      ? ''
      : ` aria-label="${bars.map((bar) => labelOf(bar, page.now)).join('; ')}"`
  return (
    `<tr class=${nameOf(unit).length > LONG_NAME ? `"${STATES[status]} l"` : STATES[status]} aria-level=${level}${id}${hasParts ? ' aria-expanded=true' : ''}>` +
    `<th scope=row>${hasParts ? `<b></b><span>${name}</span>` : name}<td>${state}${count}` +
    `<td>${millis === undefined ? '' : duration(millis)}<td${label}>${bars.length === 0 ? '' : graphicOf(view, bars, axis)}`
  )
}

const kindOf = ({ kind }: UnitView): string => (kind === 'task' || kind === 'sequence' ? '' : ` <small>${kind}</small>`)

const stateOf = (page: Page, view: UnitView): string => {
  const { status, attempts, parts } = view
  const inFlight = page.status === 'running' ? 'running' : 'stopped'
  const state = status === 'in flight' ? inFlight : status
  const over = waitEnd(view, presentOf(page, page.now))
  if (over !== undefined) return `${state} <small>${over}</small>`
  return attempts > 1 && parts === undefined ? `${state} <small>attempt ${attempts}</small>` : state
}

const graphicOf = ({ parts }: UnitView, bars: ReadonlyArray<Bar>, axis: Axis): string =>
  `<svg aria-hidden=true>${bars.map((bar) => shapeOf(bar, axis, parts !== undefined)).join('')}</svg>`

const labelOf = (bar: Bar, now: string | undefined): string => {
  const isTimeKnown = bar.end !== 'cut' && (bar.end !== 'running' || now !== undefined)
  const time = duration(bar.to - bar.from)
  if (bar.isWait && bar.end === 'running') return isTimeKnown ? `has waited ${time}` : 'waits'
  const what = bar.isWait ? 'wait' : `attempt ${bar.attempt}`
  const after = isTimeKnown ? ` after ${time}` : ''
  return `${what} ${describeEnd(bar.end)}${after}${bar.isRewound ? ', run again since' : ''}`
}

const shapeOf = (bar: Bar, { place }: Axis, isSpan: boolean): string => {
  const x = place(bar.from)
  const end = place(bar.to)
  if (isSpan) return rectOf('s', x, Math.max(end - x, 0.1))
  const delay =
    bar.delayMillis === undefined ? '' : rectOf('d', end, Math.max(0, place(bar.to + bar.delayMillis) - end))
  return `${rectOf(classOf(bar), x, Math.max(end - x, 0.35))}${delay}`
}

const classOf = ({ isWait, end, isRewound }: Bar): string => {
  const ofAttempt = end === 'completed' ? '' : end
  const kind = isWait ? 'w' : ofAttempt
  return isRewound ? `${kind} o`.trim() : kind
}

const rectOf = (kind: string, x: number, width: number): string =>
  `<rect${kind === '' ? '' : ` class="${kind}"`} x=${short(x)}% width=${short(width)}% />`

const short = (percent: number): string => String(Math.round(percent * 100) / 100)

/** Space between two labels in percent of the axis for each of their characters: closer labels overlap, on a narrow page sooner. */
const LEAST_SPACE = 0.65
const LEAST_SPACE_ON_NARROW = 0.85

/** Renders the ticks, and the labels of gaps that overlap no other. */
const ticksOf = ({ ticks, place }: Axis, { gaps, to }: Timeline): string => {
  let last = -100
  let lastLength = 0
  const labels = gaps.map((gap) => {
    const at = (place(gap.from) + place(gap.to ?? to)) / 2
    const why = describeWhy(gap.why)
    const space = (at - last) / (lastLength + why.length)
    if (space < LEAST_SPACE) return ''
    last = at
    lastLength = why.length
    const near = space < LEAST_SPACE_ON_NARROW ? ' near' : ''
    const anchor = at > 90 ? 'end' : at < 5 ? 'start' : 'middle'
    return `<text class="why${near}" text-anchor="${anchor}" x="${short(at > 90 ? Math.max(at, 99) : at)}%" y="31"><title>${gapText(gap)}</title>${why}</text>`
  })
  const times = ticks.map(({ at, label }) => `<text x="${short(at)}%" y="15">${label}</text>`)
  return `<svg aria-hidden="true">${times.join('')}${labels.join('')}</svg>`
}

const describeWhy = (why: Why): string => (why === 'pending' ? 'waiting' : why)

/** Grid lines, and the gaps of the run across all rows. */
const overlayOf = ({ gaps, to }: Timeline, { place, ticks }: Axis): string => {
  const lines = ticks.map(({ at }) => `<line x1="${short(at)}%" x2="${short(at)}%" y1="0" y2="100%"/>`)
  const rects = gaps.map((gap) => {
    const x = place(gap.from)
    const width = Math.max(0.6, place(gap.to ?? to) - x)
    const at = `x="${short(Math.min(x, 99.4))}%" width="${short(width)}%"`
    return `<rect class="${gap.why}" ${at}/><rect class="hatch${gap.why === 'crashed' ? ' died' : ''}" ${at}/>`
  })
  return `<svg class="over" aria-hidden="true"><defs><pattern id="h" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6"/></pattern><pattern id="k" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><line x1="0" y1="0" x2="0" y2="6"/></pattern></defs>${lines.join('')}${rects.join('')}</svg>`
}

const gapText = ({ from, to, why }: Gap): string => {
  if (why === 'crashed')
    return to === undefined ? `${NO_RECORD} since` : `no record for ${duration(to - from)}: ${DIED}`
  return to === undefined ? describeWhy(why) : `${describeWhy(why)}, resumed ${duration(to - from)} later`
}

const NO_RECORD = 'the process died: no record'

const DIED = 'the process died in this time'

/** Explains the kinds of bars that the page has. */
const legendOf = (rows: ReadonlyArray<Row>, { gaps }: Timeline): string => {
  const kinds = new Set<string>()
  for (const { view, bars } of rows)
    if (view.parts === undefined)
      for (const bar of bars) {
        kinds.add(bar.isWait ? 'w' : bar.end)
        if (bar.delayMillis !== undefined) kinds.add('d')
        if (bar.isRewound) kinds.add('o')
      }
  const shown = LEGEND.filter(([kind]) => kinds.has(kind)).map(
    ([kind, text]) => `<li><svg aria-hidden="true"><rect class="${kind}" width="100%"/></svg>${text}</li>`
  )
  const isCrash = ({ why }: Gap): boolean => why === 'crashed'
  const noProcess = gaps.every(isCrash) ? '' : '<li><span class="rest"></span>no process</li>'
  const crash = gaps.some(isCrash) ? `<li><span class="rest crash"></span>no record: ${DIED}</li>` : ''
  return `<ul class="legend">${shown.join('')}${noProcess}${crash}</ul>`
}

const ENDS = ['completed', 'failed', 'running', 'cut', 'interrupted', 'suspended', 'submitted'] as const

const LEGEND: ReadonlyArray<readonly [string, string]> = [
  ...ENDS.map((end) => [end, describeEnd(end)] as const),
  ['w', 'waits'],
  ['d', 'delay before a retry'],
  ['o', 'run again since']
]
