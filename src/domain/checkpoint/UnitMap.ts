/** Values by unit, in insertion order: an immutable `ReadonlyMap`, built on the list of records in `Units.ts`. */
import type { Unit } from '../workflow/Unit.js'
import type { OfUnit, Units } from './Units.js'
import * as List from './Units.js'

/** A `ReadonlyMap` to which {@link set} adds in O(log n). */
export interface UnitMap<A> extends ReadonlyMap<Unit, A> {
  readonly entriesByUnit: Units<Entry<A>>
}

interface Entry<A> extends OfUnit {
  readonly value: A
}

/** What Node and test runners print. */
const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom')

function toMap<A>(this: UnitMap<A>): Map<Unit, A> {
  return new Map(Array.from(this.entriesByUnit, ({ unit, value }) => [unit, value]))
}

const METHODS = {
  get<A>(this: UnitMap<A>, unit: Unit): A | undefined {
    return List.get(this.entriesByUnit, unit)?.value
  },
  has(this: UnitMap<unknown>, unit: Unit): boolean {
    return List.has(this.entriesByUnit, unit)
  },
  keys<A>(this: UnitMap<A>): MapIterator<Unit> {
    return toMap.call(this).keys()
  },
  values<A>(this: UnitMap<A>): MapIterator<A> {
    return (toMap<A>).call(this).values()
  },
  entries<A>(this: UnitMap<A>): MapIterator<[Unit, A]> {
    return (toMap<A>).call(this).entries()
  },
  [Symbol.iterator]<A>(this: UnitMap<A>): MapIterator<[Unit, A]> {
    return (toMap<A>).call(this).entries()
  },
  forEach<A>(this: UnitMap<A>, act: (value: A, unit: Unit, map: ReadonlyMap<Unit, A>) => void): void {
    for (const { unit, value } of this.entriesByUnit) act(value, unit, this)
  },
  [INSPECT]: toMap
}

const make = <A>(entriesByUnit: Units<Entry<A>>): UnitMap<A> => ({
  ...METHODS,
  size: entriesByUnit.size,
  entriesByUnit
})

export const empty: UnitMap<never> = make<never>(List.none)

/** Makes a map of this kind from any map; returns the same map if it is one. O(n). */
export const from = <A>(map: ReadonlyMap<Unit, A>): UnitMap<A> =>
  isUnitMap(map) ? map : make(List.from(Array.from(map, ([unit, value]) => ({ unit, value }))))

const isUnitMap = <A>(map: ReadonlyMap<Unit, A>): map is UnitMap<A> => 'entriesByUnit' in map

/** Returns the map with the value of a unit added or replaced. O(log n). */
export const set = <A>({ entriesByUnit }: UnitMap<A>, unit: Unit, value: A): UnitMap<A> => {
  const write = List.has(entriesByUnit, unit) ? List.replace : List.append
  return make(write(entriesByUnit, { unit, value }))
}
