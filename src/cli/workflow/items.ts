/** The items of a map in a workflow file: from a list, or from the text of a variable. */
import type { Json } from '../../domain/data/Json.js'
import { isObject } from '../../domain/data/Json.js'
import * as Failure from '../../domain/data/StepFailure.js'
import * as StepError from '../../domain/data/StepError.js'
import * as E from 'fp-ts/lib/Either.js'
import type { ForEach } from './WorkflowFile.js'

/** The variable that has the item, for what is done for each. */
export const ITEM = 'item'

/** The items that a map has, or why it has none. A variable that is text has one item on each of its lines, or is a JSON list. */
export const itemsOf = (
  forEach: ForEach,
  source: { readonly variables: ReadonlyMap<string, Json>; readonly item?: unknown }
): E.Either<string, ReadonlyArray<Json>> => {
  if (forEach._tag === 'List') return E.right(forEach.values)
  const value = forEach.name === ITEM && 'item' in source ? (source.item as Json) : source.variables.get(forEach.name)
  if (value === undefined) return E.left(`no earlier step and no input has set "${forEach.name}"`)
  if (Array.isArray(value)) return E.right(value as ReadonlyArray<Json>)
  if (typeof value !== 'string') return E.left(`"${forEach.name}" is no list: ${JSON.stringify(value).slice(0, 80)}`)
  return value.trimStart().startsWith('[') ? listIn(forEach.name, value) : E.right(linesOf(value))
}

const linesOf = (text: string): ReadonlyArray<string> => text.split(/\r?\n/).filter((line) => line.trim() !== '')

const listIn = (name: string, text: string): E.Either<string, ReadonlyArray<Json>> => {
  const parsed = E.tryCatch(
    () => JSON.parse(text) as Json,
    (error) => `"${name}" begins like a JSON list but is none: ${StepError.fromUnknown(error).message}`
  )
  return E.isLeft(parsed) ? parsed : E.right(parsed.right as ReadonlyArray<Json>)
}

/** The key of an item: itself, the value of one of its fields, or if none is named its number, counted from 1. */
export const keyOf = (key: string | undefined, item: Json, index: number): E.Either<string, string> => {
  if (key === undefined) return E.right(String(index + 1))
  const value = key === ITEM ? item : isObject(item) && Object.hasOwn(item, key) ? item[key] : undefined
  return typeof value === 'string' || typeof value === 'number'
    ? E.right(String(value))
    : E.left(`item ${index + 1} has no "${key}" that can be its key: ${JSON.stringify(item).slice(0, 80)}`)
}

/** What fails a map of which the items can't be told. */
export const notItems = (why: string): Failure.StepFailure =>
  Failure.permanent(StepError.make('NotItems', why, { code: 'NOT_ITEMS' }), 'notApplied')
