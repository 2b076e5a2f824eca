/** A run as rows, one for each step and group. Of long lists the rows that matter are shown, and the others are counted. */
import * as O from 'fp-ts/lib/Option.js'
import { describeReason } from '../../domain/explain/Explain.js'
import type { Decision, RetryReason } from '../../domain/plan/Plan.js'
import { isTop, top } from '../../domain/workflow/Unit.js'
import type { RunView } from '../../executor/storage/runs.js'
import { waitText } from './pending.js'
import type { Style } from '../terminal/Style.js'
import { fitted, printable } from '../terminal/Style.js'
import * as Duration from '../workflow/Duration.js'
import { clipped } from './facts.js'
import { grouped } from './progress.js'
import type { UnitView } from './units.js'
import { unitsOf } from './units.js'

/** So many steps and groups are all listed. Of more: so many steps, and so many groups of a wave. */
export const MAX_LISTED = { units: 30, steps: 15, groups: 8 } as const

/** A row: a unit, or so many of this status that are not listed one by one. */
export type Row =
  | { readonly _tag: 'Unit'; readonly unit: UnitView }
  | {
      readonly _tag: 'More'
      readonly of: 'step' | 'group' | 'sub-step'
      readonly status: UnitView['status']
      readonly count: number
    }

/**
 * The rows of these units: all of them, or of many those that failed or are at work, those around them, and how many
 * others there are. Waves whose groups are all completed, or all not started, are then one row.
 */
export const rowsOf = (units: ReadonlyArray<UnitView>): ReadonlyArray<Row> => {
  if (units.length <= MAX_LISTED.units) return units.map(unitRow)
  const groupsOf = new Map<number, Array<UnitView>>()
  for (const unit of units) {
    if (isTop(unit.unit)) groupsOf.set(unit.index, [])
    else groupsOf.get(unit.index)?.push(unit)
  }
  const steps = units.filter(({ unit }) => isTop(unit))
  return chosen(steps, MAX_LISTED.steps, 'step').flatMap((row) => {
    const groups = row._tag === 'Unit' ? (groupsOf.get(row.unit.index) ?? []) : []
    return isUniform(groups)
      ? [row]
      : [row, ...chosen(groups, MAX_LISTED.groups, groups[0]?.kind === 'sub-step' ? 'sub-step' : 'group')]
  })
}

const unitRow = (unit: UnitView): Row => ({ _tag: 'Unit', unit })

const isUniform = ([first, ...others]: ReadonlyArray<UnitView>): boolean =>
  (first?.status === 'completed' || first?.status === 'not started') &&
  others.every(({ status }) => status === first.status)

/** The others of each status are counted where the first of them would stand. */
const chosen = (
  all: ReadonlyArray<UnitView>,
  most: number,
  of: (Row & { readonly _tag: 'More' })['of']
): ReadonlyArray<Row> => {
  if (all.length <= most) return all.map(unitRow)
  const shown = nearest(all, most)
  const hidden = new Map<UnitView['status'], number>()
  for (const [index, { status }] of all.entries()) {
    if (!shown.has(index)) hidden.set(status, (hidden.get(status) ?? 0) + 1)
  }
  const told = new Set<UnitView['status']>()
  return all.flatMap((unit, index): ReadonlyArray<Row> => {
    if (shown.has(index)) return [unitRow(unit)]
    if (told.has(unit.status)) return []
    told.add(unit.status)
    return [{ _tag: 'More', of, status: unit.status, count: hidden.get(unit.status) ?? 0 }]
  })
}

const URGENCY = { failed: 0, 'in flight': 0, pending: 0, completed: 1, 'not started': 1 } as const

/** What failed, is at work or waits for its job comes first, then what is nearest to the first place that is not done. */
const nearest = (all: ReadonlyArray<UnitView>, most: number): ReadonlySet<number> => {
  const first = all.findIndex(({ status }) => status !== 'completed')
  const place = first === -1 ? all.length - 1 : first
  const ranked = all
    .map(({ status }, index) => ({ index, urgency: URGENCY[status], distance: Math.abs(index - place) }))
    .sort((a, b) => a.urgency - b.urgency || a.distance - b.distance || a.index - b.index)
  return new Set(ranked.slice(0, most).map(({ index }) => index))
}

/** A run as lines: its rows, each error under its row with so many lines of it at most. */
export const rowLines = (view: RunView, style: Style, errorLines: number): ReadonlyArray<string> => {
  const rows = rowsOf(unitsOf(view.checkpoint))
  const widest = rows.reduce((width, row) => Math.max(width, row._tag === 'Unit' ? nameOf(row.unit).length : 0), 0)
  return rows.flatMap((row) =>
    row._tag === 'Unit' ? unitLines(view, style, row.unit, widest, errorLines) : [moreLine(style, row)]
  )
}

const nameOf = ({ index, unit }: UnitView): string =>
  isTop(unit) ? `${String(index + 1).padStart(3)} ${unit}` : `      ${unit.slice(top(unit).length + 1)}`

const PARTS = { task: 'parts', 'sub-step': 'parts', sequence: 'steps', wave: 'groups', map: 'groups' } as const

const unitLines = (
  view: RunView,
  style: Style,
  unit: UnitView,
  widest: number,
  errorLines: number
): ReadonlyArray<string> => {
  const { kind, status, assumed, parts, pending, attempts, durationMillis, error } = unit
  const stopped = stopOf(view, unit)
  const facts = [
    assumed ? 'taken as done' : (stopped ?? status),
    ...(parts === undefined ? [] : [`${grouped(parts.completed)}/${grouped(parts.total)} ${PARTS[kind]}`]),
    ...(pending === undefined ? [] : [printable(waitText(pending))]),
    ...(attempts > 1 && stopped === undefined ? [`${attempts} attempts`] : []),
    ...(durationMillis === undefined || assumed ? [] : [Duration.show(durationMillis)])
  ]
  const line = marked(style, status, `${nameOf(unit).padEnd(widest)}  ${facts.join(', ')}`)
  const said = error === undefined ? [] : error.message.split('\n').slice(0, errorLines)
  return [line, ...said.map((text) => style.red(fitted(`        ${printable(clipped(text))}`, style)))]
}

const moreLine = (style: Style, { of, status, count }: Row & { readonly _tag: 'More' }): string => {
  const what = `${grouped(count)} more ${of}${count === 1 ? '' : 's'} ${status}`
  return marked(style, status, `${of === 'step' ? '    ' : '      '}${style.marks.more} ${what}`)
}

/** A mark that takes two columns leaves its line one less. */
const marked = (style: Style, status: UnitView['status'], text: string): string => {
  const { marks, width } = style
  const mark = {
    completed: style.green(marks.completed),
    failed: style.red(marks.failed),
    'in flight': style.yellow(marks.inFlight),
    pending: style.yellow(marks.pending),
    'not started': style.dim(marks.notStarted)
  }[status]
  return `${mark} ${fitted(text, { marks, width: width - 3 })}`
}

/** What was in flight when the run was stopped, or its process ended, is so no more: here are the words of the plan. */
const stopOf = (
  { checkpoint: { state }, heldBy }: RunView,
  { status, attempts, parts }: UnitView
): string | undefined => {
  if (status !== 'in flight' || O.isSome(heldBy)) return undefined
  const reason: RetryReason =
    state._tag === 'Interrupted'
      ? { _tag: 'Interrupted', reason: state.reason }
      : { _tag: 'InFlight', attempt: Math.max(1, attempts) }
  return parts === undefined || state._tag === 'Interrupted' ? describeReason({ reason } as Decision) : 'interrupted'
}
