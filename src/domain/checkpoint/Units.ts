/**
 * Records by unit, in order: a persistent list with O(log n) append and lookup.
 *
 * @module
 */
import type { Vector } from '../data/Vector.js'
import * as Vec from '../data/Vector.js'
import type { Unit } from '../workflow/Unit.js'
import { ancestors, isTop, isWithin } from '../workflow/Unit.js'

// --- model

/**
 * An immutable list of records, at most one for each unit. Iterate it, or spread it into an array. `steps`: the number of records of
 * top-level steps.
 *
 * @category model
 */
export interface Units<A extends OfUnit> extends Iterable<A> {
  readonly size: number
  readonly steps: number
  /** The first unit with two records. Only a malformed document has one. */
  readonly twice: Unit | undefined
  readonly records: ReadonlyArray<A>
  /** @internal */
  readonly inner: Inner<A>
  /** The records, for JSON and inspectors. */
  readonly toJSON: () => ReadonlyArray<A>
  /** @internal */
  readonly [INSPECT]: () => ReadonlyArray<A>
}

/** A record of a unit. */
export interface OfUnit {
  readonly unit: Unit
}

/** The records, with a gap for each removed one. Not enumerable: deep equality compares `records` instead. */
interface Inner<A> {
  places: Vector<A | undefined>
  /** A short list has none: it is searched. */
  readonly index: Index | undefined
}

/** The places of each unit's records, newest first. All versions of a list share it, so a lookup checks each place in its version. */
interface Index {
  readonly placed: Map<Unit, Placed | number>
  /** The parts of each unit, built on first use. */
  parts: Map<Unit, Set<Unit>> | undefined
}

/** A place, and the one before it. Most units have had one place only, which is stored as a number. */
interface Placed {
  readonly place: number
  readonly before: Placed | number
}

/** A type with plain arrays for its lists by unit, as in JSON. */
export type Plain<T> = T extends unknown
  ? { readonly [K in keyof T]: T[K] extends Units<infer A> | undefined ? ReadonlyArray<A> : T[K] }
  : never

// --- constructors

const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom')

function iterate<A extends OfUnit>(this: Units<A>): Iterator<A> {
  const { places, index } = this.inner
  const known = index === undefined ? undefined : ALL.get(places)
  if (known !== undefined) return (known as ReadonlyArray<A>)[Symbol.iterator]()
  return this.size === places.length ? (places as Vector<A>)[Symbol.iterator]() : withoutGaps(places)
}

function* withoutGaps<A>(places: Vector<A | undefined>): Iterator<A> {
  for (const one of places) if (one !== undefined) yield one
}

function toArray<A extends OfUnit>(this: Units<A>): ReadonlyArray<A> {
  return all(this).slice()
}

/** Enumerable, so that deep equality compares the records, not the gaps between them. */
const RECORDS = { enumerable: true, get: toArray }

const LIST = { toJSON: toArray, [Symbol.iterator]: iterate, [INSPECT]: toArray }

/** Each step of a run makes several lists: an object literal with three defined properties takes twice as long. */
const make = <A extends OfUnit>(
  places: Vector<A | undefined>,
  index: Index | undefined,
  size: number,
  steps: number,
  twice: Unit | undefined
): Units<A> => {
  const self = Object.create(LIST) as { -readonly [K in keyof Units<A>]: Units<A>[K] }
  self.size = size
  self.steps = steps
  self.twice = twice
  Object.defineProperty(self, 'inner', { value: { places, index } })
  return Object.defineProperty(self, 'records', RECORDS)
}

/** Builds a list in order. Lookups return the first of two records of a unit. */
export const from = <A extends OfUnit>(records: Iterable<A>): Units<A> => (isUnits(records) ? records : build(records))

/** Detects a list that this module made. */
export const isUnits = <A extends OfUnit>(records: Iterable<A>): records is Units<A> => 'inner' in records

/** The maximum length of a list without an index: most lists have one record, and change with each step. */
const SHORT = 8

const build = <A extends OfUnit>(records: Iterable<A>): Units<A> => {
  const places = Vec.from(records)
  const placed = places.length > SHORT ? new Map<Unit, number>() : undefined
  let [place, steps] = [0, 0]
  let twice: Unit | undefined
  for (const { unit } of places) {
    const first = placed === undefined ? search(places, unit) : placed.get(unit)
    if (first !== undefined && first < place) twice ??= unit
    else placed?.set(unit, place)
    place += 1
    if (isTop(unit)) steps += 1
  }
  return make(places, placed === undefined ? undefined : { placed, parts: undefined }, place, steps, twice)
}

/** No records. */
export const none: Units<never> = build([])

// --- combinators

/** Appends a record. O(log n). */
export const append = <A extends OfUnit>(self: Units<A>, record: A): Units<A> => {
  const { unit } = record
  const { size, steps, twice } = self
  const { places, index } = self.inner
  const place = places.length
  if (has(self, unit) || (index === undefined && place === SHORT)) return build([...self, record])
  if (index !== undefined) addPlace(index, unit, place)
  return make(Vec.append(places, record), index, size + 1, isTop(unit) ? steps + 1 : steps, twice)
}

/**
 * Appends the first record of a unit. Changes the list in place if it is `own`, which the caller made by an append and shares with nothing, so
 * that a replay makes no list for each record.
 */
export const appendOwn = <A extends OfUnit>(self: Units<A>, record: A, own: Units<A> | undefined): Units<A> => {
  const { places, index } = self.inner
  if (self !== own || index === undefined) return append(self, record)
  const grown = self as { -readonly [K in keyof Units<A>]: Units<A>[K] }
  addPlace(index, record.unit, places.length)
  grown.inner.places = Vec.append(places, record)
  grown.size += 1
  if (isTop(record.unit)) grown.steps += 1
  return self
}

const addPlace = ({ placed, parts }: Index, unit: Unit, place: number): void => {
  const before = placed.get(unit)
  if (before === undefined) placed.set(unit, place)
  else if (newestOf(before) !== place) placed.set(unit, { place, before })
  if (parts !== undefined) addPart(parts, unit)
}

/** Replaces the record of a unit; returns the same list if there is none. O(log n). */
export const replace = <A extends OfUnit>(self: Units<A>, record: A): Units<A> => {
  const { size, steps, twice } = self
  const { places, index } = self.inner
  const place = placeOf(self, record.unit)
  return place === undefined ? self : make(Vec.set(places, place, record), index, size, steps, twice)
}

/** Removes the record of a unit; returns the same list if there is none. O(log n). */
export const without = <A extends OfUnit>(self: Units<A>, unit: Unit): Units<A> => {
  const place = placeOf(self, unit)
  if (place === undefined) return self
  if (self.twice !== undefined) return filter(self, (one) => one.unit !== unit)
  const size = self.size - 1
  if (size === 0) return none
  const places = Vec.set<A | undefined>(self.inner.places, place, undefined)
  const less = make(places, self.inner.index, size, isTop(unit) ? self.steps - 1 : self.steps, undefined)
  return places.length > 2 * size + MAX_GAPS ? build(less) : less
}

/** Up to this number of gaps beyond the number of records, skipping the gaps costs less than closing them. */
const MAX_GAPS = 32

/** Removes the records of a unit and its parts; returns the same list if there are none. O(log n) each. */
export const outside = <A extends OfUnit>(self: Units<A>, unit: Unit): Units<A> => {
  let rest = self
  for (const one of within(self, unit)) rest = without(rest, one.unit)
  return rest
}

/** Keeps some records, in O(n); returns the same list if it keeps all. */
export const filter = <A extends OfUnit>(self: Units<A>, isWanted: (record: A) => boolean): Units<A> => {
  const wanted = [...self].filter(isWanted)
  return wanted.length === self.size ? self : build(wanted)
}

// --- destructors

/** Returns the records as one array, which is faster to iterate. It is cached: do not change it. */
export const all = <A extends OfUnit>({ inner: { places } }: Units<A>): ReadonlyArray<A> => {
  const known = ALL.get(places) ?? Vec.toArray(places).filter((one) => one !== undefined)
  ALL.set(places, known)
  return known as ReadonlyArray<A>
}

const ALL = new WeakMap<Vector<unknown>, ReadonlyArray<unknown>>()

/** Returns the place of a unit's record. */
export const placeOf = ({ inner: { places, index } }: Units<OfUnit>, unit: Unit): number | undefined => {
  if (index === undefined) return search(places, unit)
  let placed = index.placed.get(unit)
  while (typeof placed === 'object' && Vec.at(places, placed.place)?.unit !== unit) placed = placed.before
  const place = placed === undefined ? -1 : newestOf(placed)
  return Vec.at(places, place)?.unit === unit ? place : undefined
}

const search = (places: Vector<OfUnit | undefined>, unit: Unit): number | undefined => {
  for (let place = 0; place < places.length; place++) if (Vec.at(places, place)?.unit === unit) return place
  return undefined
}

const newestOf = (placed: Placed | number): number => (typeof placed === 'number' ? placed : placed.place)

/** Returns the record of a unit. O(log n). `expected`: its usual place, which is tried first. */
export const get = <A extends OfUnit>(self: Units<A>, unit: Unit, expected = -1): A | undefined => {
  const likely = Vec.at(self.inner.places, expected)
  if (likely?.unit === unit && self.twice === undefined) return likely
  const place = placeOf(self, unit)
  return place === undefined ? undefined : Vec.at(self.inner.places, place)
}

/** Returns whether a unit has a record. O(log n). */
export const has = (self: Units<OfUnit>, unit: Unit): boolean => placeOf(self, unit) !== undefined

/** Returns the records of a unit and its parts, in order. O(log n) each. */
export const within = <A extends OfUnit>(self: Units<A>, unit: Unit): ReadonlyArray<A> => {
  if (self.size === 0) return NOTHING
  const { index, places } = self.inner
  if (index === undefined) return [...self].filter((one) => isWithin(one.unit, unit))
  index.parts ??= partsOf(index.placed.keys())
  const parts = index.parts.get(unit)
  if (parts === undefined && !has(self, unit)) return NOTHING
  const found = [unit, ...(parts ?? [])].flatMap((one) => placeOf(self, one) ?? [])
  return found.sort((a, b) => a - b).map((place) => Vec.at(places, place) as A)
}

const NOTHING: ReadonlyArray<never> = []

const partsOf = (units: Iterable<Unit>): Map<Unit, Set<Unit>> => {
  const parts = new Map<Unit, Set<Unit>>()
  for (const unit of units) addPart(parts, unit)
  return parts
}

const addPart = (parts: Map<Unit, Set<Unit>>, unit: Unit): void => {
  for (const above of ancestors(unit)) {
    const known = parts.get(above)
    if (known === undefined) parts.set(above, new Set([unit]))
    else known.add(unit)
  }
}
