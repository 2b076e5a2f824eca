/** A run as rows, one for each unit. Long lists show the rows that matter and count the others. */
import type { Unit } from '../../domain/workflow/Unit.js'
import { ancestors, isTop, parent } from '../../domain/workflow/Unit.js'
import type { RunView } from '../../executor/storage/runs.js'
import type { Style } from '../terminal/Style.js'
import { printable } from '../../domain/explain/printable.js'
import { columnsOf, fitted } from '../terminal/Style.js'
import { clipped, counted } from '../../view/text.js'
import type { UnitView } from '../../domain/explain/UnitView.js'
import { unitsOf } from '../../domain/explain/UnitView.js'
import { nowText } from './text.js'
import { describe } from './UnitView.js'

/** Up to `units` rows are all listed; of more, at most `steps` steps, and `groups` groups of each. */
export const MAX_LISTED = { units: 30, steps: 15, groups: 8 } as const

/** A row: a unit, or a count of unlisted units with one status. */
export type Row = { readonly _tag: 'Unit'; readonly unit: UnitView } | More

interface More {
  readonly _tag: 'More'
  readonly of: 'step' | 'group' | 'sub-step' | 'unit'
  readonly status: UnitView['status']
  readonly count: number
}

/** Selects the rows: of many units, failed and running ones and their neighbours; a uniform wave is one row. */
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
    return isUniform(groups) ? [row] : [row, ...chosen(groups, MAX_LISTED.groups, wordOf(groups))]
  })
}

/** Units inside a group are no groups. */
const wordOf = (below: ReadonlyArray<UnitView>): More['of'] => {
  if (below.every(({ kind }) => kind === 'sub-step')) return 'sub-step'
  return below.every(({ kind, unit }) => kind !== 'sub-step' && isTop(parent(unit) ?? unit)) ? 'group' : 'unit'
}

const unitRow = (unit: UnitView): Row => ({ _tag: 'Unit', unit })

const isUniform = ([first, ...others]: ReadonlyArray<UnitView>): boolean =>
  (first?.status === 'completed' || first?.status === 'not started') &&
  others.every(({ status }) => status === first.status)

/** Counts the unlisted units of each status where the first of them would stand. */
const chosen = (all: ReadonlyArray<UnitView>, most: number, of: More['of']): ReadonlyArray<Row> => {
  if (all.length <= most) return all.map(unitRow)
  const shown = nearest(all, most)
  const unlisted = new Map<UnitView['status'], number>()
  for (const [index, { status }] of all.entries()) {
    if (!shown.has(index)) unlisted.set(status, (unlisted.get(status) ?? 0) + 1)
  }
  const isCounted = new Set<UnitView['status']>()
  return all.flatMap((unit, index): ReadonlyArray<Row> => {
    if (shown.has(index)) return [unitRow(unit)]
    if (isCounted.has(unit.status)) return []
    isCounted.add(unit.status)
    return [{ _tag: 'More', of, status: unit.status, count: unlisted.get(unit.status) ?? 0 }]
  })
}

const URGENCY = { failed: 0, 'in flight': 0, pending: 0, completed: 1, 'not started': 1 } as const

/** Ranks failed, running and pending units first, then those nearest to the first incomplete one. */
const nearest = (all: ReadonlyArray<UnitView>, most: number): ReadonlySet<number> => {
  const first = all.findIndex(({ status }) => status !== 'completed')
  const place = first === -1 ? all.length - 1 : first
  const ranked = all
    .map(({ status }, index) => ({ index, urgency: URGENCY[status], distance: Math.abs(index - place) }))
    .sort((a, b) => a.urgency - b.urgency || a.distance - b.distance || a.index - b.index)
  return new Set(ranked.slice(0, most).map(({ index }) => index))
}

/** A run as lines; `errorLines` limits the lines of each error. */
export const rowLines = (view: RunView, style: Style, errorLines: number): ReadonlyArray<string> => {
  const rows = rowsOf(unitsOf(view.checkpoint))
  const names = namesOf(rows)
  const now = nowText()
  const states = new Map(
    rows.flatMap((row) => (row._tag === 'Unit' ? [[row.unit, describe(view, row.unit, now)]] : []))
  )
  const column = { symbols: style.symbols, width: nameWidth(style, [...names.values()], [...states.values()]) }
  return rows.flatMap((row) =>
    row._tag === 'Unit'
      ? unitLines(style, row.unit, padded(names.get(row.unit) ?? '', column), states.get(row.unit) ?? '', errorLines)
      : [moreLine(style, row)]
  )
}

/** A narrow terminal shortens names: the state must stay readable. */
const nameWidth = ({ width }: Style, names: ReadonlyArray<string>, states: ReadonlyArray<string>): number => {
  const widest = (all: ReadonlyArray<string>): number => all.reduce((most, one) => Math.max(most, columnsOf(one)), 0)
  const rest = width - 3 - BETWEEN.length
  return Math.min(widest(names), Math.max(rest - widest(states), Math.floor(rest / 2)))
}

const BETWEEN = '  '

const padded = (name: string, column: Pick<Style, 'symbols' | 'width'>): string => {
  const shown = fitted(name, column)
  return `${shown}${' '.repeat(Math.max(0, column.width - columnsOf(shown)))}`
}

/** Each unit is indented below the nearest unit around it that has a row, and named from there. */
const namesOf = (rows: ReadonlyArray<Row>): ReadonlyMap<UnitView, string> => {
  const levels = new Map<Unit, number>()
  const names = new Map<UnitView, string>()
  for (const row of rows) {
    if (row._tag !== 'Unit') continue
    const { index, unit } = row.unit
    const above = [...ancestors(unit)].find((one) => levels.has(one))
    const level = above === undefined ? 0 : (levels.get(above) ?? 0) + 1
    levels.set(unit, level)
    const name = unit.slice(above === undefined ? 0 : above.length + 1)
    names.set(row.unit, level === 0 ? `${String(index + 1).padStart(3)} ${name}` : `${'  '.repeat(level + 2)}${name}`)
  }
  return names
}

const unitLines = (
  style: Style,
  view: UnitView,
  name: string,
  state: string,
  errorLines: number
): ReadonlyArray<string> => {
  const lines = view.error === undefined ? [] : view.error.message.split('\n').slice(0, errorLines)
  return [
    marked(style, view.status, `${name}${BETWEEN}${state}`),
    ...lines.map((text) => style.red(fitted(`        ${printable(clipped(text))}`, style)))
  ]
}

const moreLine = (style: Style, { of, status, count }: More): string => {
  const what = `${counted(count, `more ${of}`)} ${status}`
  return marked(style, status, `${of === 'step' ? '    ' : '      '}${style.symbols.more} ${what}`)
}

/** The mark may take two columns. */
const marked = (style: Style, status: UnitView['status'], text: string): string => {
  const { symbols, width } = style
  const mark = {
    completed: style.green(symbols.completed),
    failed: style.red(symbols.failed),
    'in flight': style.yellow(symbols.inFlight),
    pending: style.yellow(symbols.pending),
    'not started': style.dim(symbols.notStarted)
  }[status]
  return `${mark} ${fitted(text, { symbols, width: width - 3 })}`
}
