/** Paths of units from the root of their workflow: `build`, `checks/unit`. No other module splits a path. */

/**
 * The names of a unit and of its ancestors, from the top, joined by `/`. Characters other than `A-Z a-z 0-9 . _ -` are escaped, so
 * that no two units share a path. A repeated sub-step ends with `#2`, `#3` and so on.
 */
export type Unit = string

/**
 * Returns the path of a unit below a parent, or of a top-level step.
 *
 * @example
 * import { Unit } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * assert.equal(Unit.join('checks', 'unit'), 'checks/unit')
 * assert.equal(Unit.join('pages', 'a/b'), 'pages/a%2Fb')
 *
 * @category constructors
 */
export const join = (parent: Unit | undefined, name: string): Unit =>
  parent === undefined ? escaped(name) : `${parent}/${escaped(name)}`

const PLAIN = /^[A-Za-z0-9._-]+$/

/** An empty name becomes `%`. */
const escaped = (name: string): string => {
  if (PLAIN.test(name)) return name
  return name === '' ? '%' : name.replace(OTHERS, escapeOf)
}

const OTHERS = /[^A-Za-z0-9._-]/g

const escapeOf = (character: string): string => {
  const code = character.charCodeAt(0).toString(16).toUpperCase()
  return code.length > 2 ? `%u${code.padStart(4, '0')}` : `%${code.padStart(2, '0')}`
}

/** Returns the path of the nth sub-step with the same name, from 1. */
export const nth = (unit: Unit, number: number): Unit => (number === 1 ? unit : `${unit}#${number}`)

/** The path of the first sub-step with the same name: the inverse of {@link nth}. */
export const withoutNumber = (unit: Unit): Unit => unit.replace(/#\d+$/, '')

/** Returns whether the last name in a path is escaped as {@link join} escapes it. If not, at most a sub-step has this path. */
export const isJoined = (unit: Unit): boolean => {
  const last = unit.slice(unit.lastIndexOf('/') + 1)
  return PLAIN.test(last) || escaped(unescaped(last)) === last
}

/** Returns whether a path can be that of a sub-step, whose last name may end with a number as {@link nth} adds it. */
export const isSubStepPath = (unit: Unit): boolean => isJoined(unit.replace(/#([2-9]|[1-9]\d+)$/, ''))

/**
 * Returns the names in a path, from the top: the inverse of {@link join}.
 *
 * @example
 * import { Unit } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * assert.deepEqual(Unit.names('pages/a%2Fb'), ['pages', 'a/b'])
 *
 * @category destructors
 */
export const names = (unit: Unit): ReadonlyArray<string> => unit.split('/').map(unescaped)

const unescaped = (segment: string): string => {
  if (!segment.includes('%')) return segment
  return segment === '%' ? '' : segment.replace(ESCAPES, characterOf)
}

const ESCAPES = /%u[0-9A-F]{4}|%[0-9A-F]{2}/g

const characterOf = (escape: string): string => String.fromCharCode(parseInt(escape.replace(/^%u?/, ''), 16))

/** The name of a unit among its siblings. */
export const nameOf = (unit: Unit): string => unescaped(unit.slice(unit.lastIndexOf('/') + 1))

/**
 * Returns the path of the parent of a unit, or `undefined` for a top-level step.
 *
 * @category destructors
 */
export const parent = (unit: Unit): Unit | undefined => {
  const end = unit.lastIndexOf('/')
  return end === -1 ? undefined : unit.slice(0, end)
}

/** The ancestors of a unit, from its parent to the top-level step. */
export const ancestors = (unit: Unit): Iterable<Unit> => (isTop(unit) ? [] : ancestorsBelowTop(unit))

function* ancestorsBelowTop(unit: Unit): Iterable<Unit> {
  for (let above = parent(unit); above !== undefined; above = parent(above)) yield above
}

/** The units on the path to a unit, from its top-level step to the unit itself. */
export const fromTop = (unit: Unit): ReadonlyArray<Unit> => [...ancestors(unit)].reverse().concat(unit)

/** Returns the child of `above` (undefined: the workflow) that a unit is or is part of, or undefined if the unit is not below `above`. */
export const childToward = (above: Unit | undefined, unit: Unit): Unit | undefined => {
  if (above === undefined) return top(unit)
  if (unit.length === above.length || !isWithin(unit, above)) return undefined
  const end = unit.indexOf('/', above.length + 1)
  return end === -1 ? unit : unit.slice(0, end)
}

/** The top-level step that a unit is or is part of. */
export const top = (unit: Unit): Unit => {
  const end = unit.indexOf('/')
  return end === -1 ? unit : unit.slice(0, end)
}

/** Returns whether a unit is a top-level step. */
export const isTop = (unit: Unit): boolean => !unit.includes('/')

/** Returns whether a unit is a part of another, on the level below it. */
export const isChild = (unit: Unit, parent: Unit): boolean =>
  unit.lastIndexOf('/') === parent.length && unit.startsWith(parent)

/**
 * Returns whether a unit is `ancestor` or part of it.
 *
 * @example
 * import { Unit } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * assert.equal(Unit.isWithin('checks/unit', 'checks'), true)
 * assert.equal(Unit.isWithin('checks-2', 'checks'), false)
 *
 * @category destructors
 */
export const isWithin = (unit: Unit, ancestor: Unit): boolean =>
  unit.startsWith(ancestor) && (unit.length === ancestor.length || unit[ancestor.length] === '/')
