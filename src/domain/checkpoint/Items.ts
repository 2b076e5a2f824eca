/**
 * The items of maps, by the path of the map: recorded when first computed.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'
import { indexed } from '../data/indexed.js'
import type { Json } from '../data/Json.js'
import * as UnitMap from './UnitMap.js'
import type { Unit } from '../workflow/Unit.js'
import { nameOf, parent } from '../workflow/Unit.js'

/** An item of a map. `key`: the name of its unit, unique in the map. */
export interface Item {
  readonly key: string
  readonly value: Json
}

/** The recorded items of each map in order, by the path of the map; outer maps before inner ones. */
export type Items = ReadonlyMap<Unit, ReadonlyArray<Item>>

/** The maximum number of items of a map. */
export const MAX_ITEMS = 100_000

/** The maximum length of a key. In a path it may be longer, because some characters are escaped there. */
export const MAX_KEY = 512

/** Why these cannot be the items of a map: an invalid key, a duplicate key, or too many items. */
export type ItemProblem =
  | { readonly _tag: 'InvalidKey'; readonly key: string; readonly index: number }
  | { readonly _tag: 'DuplicateKey'; readonly key: string; readonly index: number }
  | { readonly _tag: 'TooManyItems'; readonly items: number }

/** No items. */
export const none: Items = UnitMap.empty

/** Adds the items of a map, in O(log n). */
export const add = (self: Items, map: Unit, items: ReadonlyArray<Item>): Items =>
  UnitMap.set(UnitMap.from(self), map, items)

/** Keeps the items of some maps; returns the same value if it keeps all. */
export const filter = (self: Items, isWanted: (map: Unit) => boolean): Items => {
  const left = [...self].filter(([map]) => isWanted(map))
  return left.length === self.size ? self : UnitMap.from(new Map(left))
}

/** Returns the item of a map by key. */
export const get = (self: Items, map: Unit, key: string): Item | undefined => {
  const items = self.get(map)
  return items === undefined ? undefined : indexed(items, (item) => item.key).get(key)
}

/** Returns the innermost map item that contains a unit; undefined outside of maps. */
export const itemAround = (self: Items, unit: Unit): { readonly map: Unit; readonly item: Item } | undefined => {
  if (self.size === 0) return undefined
  for (let [part, map] = [unit, parent(unit)]; map !== undefined; [part, map] = [map, parent(map)]) {
    const item = get(self, map, nameOf(part))
    if (item !== undefined) return { map, item }
  }
  return undefined
}

/** Validates items; returns the first problem. */
export const check = (items: ReadonlyArray<Item>): E.Either<ItemProblem, void> => {
  if (items.length > MAX_ITEMS) return E.left({ _tag: 'TooManyItems', items: items.length })
  const seen = new Set<string>()
  for (const [index, { key }] of items.entries()) {
    if (key === '' || key.length > MAX_KEY) return E.left({ _tag: 'InvalidKey', key, index })
    if (seen.has(key)) return E.left({ _tag: 'DuplicateKey', key, index })
    seen.add(key)
  }
  return E.right(undefined)
}

/** Describes a problem of items as a sentence. Items are counted from 1. */
export const describeProblem = (problem: ItemProblem): string => {
  switch (problem._tag) {
    case 'InvalidKey':
      return `item ${problem.index + 1} has a key of ${problem.key.length} characters; use 1 to ${MAX_KEY} characters`
    case 'DuplicateKey':
      return `item ${problem.index + 1} has the key "${problem.key}" of an earlier item; use a different key for each item`
    case 'TooManyItems':
      return `there are ${problem.items} items, but a map has at most ${MAX_ITEMS}; split it`
  }
}
