/**
 * The items of maps, by the paths of the maps: recorded when first computed.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'
import { indexed } from '../data/indexed.js'
import type { Json } from '../data/Json.js'
import * as UnitMap from '../data/UnitMap.js'
import type { Unit } from '../workflow/Unit.js'
import { nameOf, parent } from '../workflow/Unit.js'
import { NAME } from '../workflow/Workflow.js'

// --- model

/** An item of a map. `key`, a name that no other item of the map has, is that of its unit. */
export interface Item {
  readonly key: string
  readonly value: Json
}

/** The items of each map whose items are known, in their order, by the path of the map; outer maps before inner ones. */
export type Items = ReadonlyMap<Unit, ReadonlyArray<Item>>

/** How many items a map may have. */
export const MAX_ITEMS = 100_000

/** Why a map can't have these items: a key that can't be a name, a key that two of them have, or too many of them. */
export type ItemProblem =
  | { readonly _tag: 'InvalidKey'; readonly key: string; readonly index: number }
  | { readonly _tag: 'DuplicateKey'; readonly key: string; readonly index: number }
  | { readonly _tag: 'TooManyItems'; readonly items: number }

// --- constructors

/** No items of any map. */
export const none: Items = UnitMap.empty

// --- combinators

/** The items of one more map. O(log n). */
export const add = (self: Items, map: Unit, items: ReadonlyArray<Item>): Items =>
  UnitMap.set(UnitMap.from(self), map, items)

/** The items of those maps that are wanted; the same value if all are. */
export const filter = (self: Items, isWanted: (map: Unit) => boolean): Items => {
  const left = [...self].filter(([map]) => isWanted(map))
  return left.length === self.size ? self : UnitMap.from(new Map(left))
}

// --- destructors

/** The item of a map with a key. */
export const get = (self: Items, map: Unit, key: string): Item | undefined => {
  const items = self.get(map)
  return items === undefined ? undefined : indexed(items, (item) => item.key).get(key)
}

/** The item that a unit belongs to, of the innermost map around it; none outside of maps. */
export const around = (self: Items, unit: Unit): { readonly map: Unit; readonly item: Item } | undefined => {
  if (self.size === 0) return undefined
  for (let [of, map] = [unit, parent(unit)]; map !== undefined; [of, map] = [map, parent(map)]) {
    const item = get(self, map, nameOf(of))
    if (item !== undefined) return { map, item }
  }
  return undefined
}

// --- validation

/** Whether these can be the items of a map: on the left the first thing that is wrong with them. */
export const check = (items: ReadonlyArray<Item>): E.Either<ItemProblem, void> => {
  if (items.length > MAX_ITEMS) return E.left({ _tag: 'TooManyItems', items: items.length })
  const seen = new Set<string>()
  for (const [index, { key }] of items.entries()) {
    if (!NAME.test(key)) return E.left({ _tag: 'InvalidKey', key, index })
    if (seen.has(key)) return E.left({ _tag: 'DuplicateKey', key, index })
    seen.add(key)
  }
  return E.right(undefined)
}

/** What is wrong with the items of a map, as a sentence for people. Items are counted from 1. */
export const describeProblem = (problem: ItemProblem): string => {
  switch (problem._tag) {
    case 'InvalidKey':
      return `item ${problem.index + 1} has the key "${problem.key}", which can't be a name: use letters, digits, ".", "_" and "-", first a letter or digit, at most 128 characters`
    case 'DuplicateKey':
      return `item ${problem.index + 1} has the key "${problem.key}", which an earlier item has already`
    case 'TooManyItems':
      return `there are ${problem.items} items, and a map has at most ${MAX_ITEMS}`
  }
}
