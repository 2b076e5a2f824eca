/** Computes the items of a map. */
import type { Json } from '../../domain/data/Json.js'
import { isObject } from '../../domain/data/Json.js'
import * as Failure from '../../domain/data/StepFailure.js'
import * as StepError from '../../domain/data/StepError.js'
import * as E from 'fp-ts/lib/Either.js'
import type { ForEach } from './WorkflowFile.js'

export const ITEM = 'item'

/** A string is a JSON list, or has one item on each line. */
export const itemsOf = (
  forEach: ForEach,
  source: { readonly variables: ReadonlyMap<string, Json>; readonly item?: unknown }
): E.Either<string, ReadonlyArray<Json>> => {
  if (forEach._tag === 'List') return E.right(forEach.values)
  const value = forEach.name === ITEM && 'item' in source ? (source.item as Json) : source.variables.get(forEach.name)
  if (value === undefined) return E.left(`"${forEach.name}" is not set by the input or an earlier step`)
  if (Array.isArray(value)) return E.right(value as ReadonlyArray<Json>)
  if (typeof value !== 'string')
    return E.left(`"${forEach.name}" is not a JSON array: ${JSON.stringify(value).slice(0, 80)}`)
  return value.trimStart().startsWith('[') ? listIn(forEach.name, value) : E.right(linesOf(value))
}

const linesOf = (text: string): ReadonlyArray<string> => text.split(/\r?\n/).filter((line) => line.trim() !== '')

const listIn = (name: string, text: string): E.Either<string, ReadonlyArray<Json>> =>
  E.tryCatch(
    () => JSON.parse(text) as ReadonlyArray<Json>,
    (error) => `"${name}" is not a valid JSON array: ${StepError.fromUnknown(error).message}`
  )

export const keyOf = (key: string | undefined, item: Json, index: number): E.Either<string, string> => {
  if (key === undefined) return E.right(String(index + 1))
  const value = key === ITEM ? item : isObject(item) && Object.hasOwn(item, key) ? item[key] : undefined
  return typeof value === 'string' || typeof value === 'number'
    ? E.right(String(value))
    : E.left(`item ${index + 1} has no string or number "${key}" as its key: ${JSON.stringify(item).slice(0, 80)}`)
}

export const notItems = (why: string): Failure.StepFailure =>
  Failure.permanent(StepError.make('NotItems', why, { code: 'NOT_ITEMS' }), 'notApplied')
