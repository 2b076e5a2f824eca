/** Handles what ports and callbacks of the host return against their type: they may be written in plain JavaScript. */
import { fieldsOf, isText, kindOf } from './Options.js'

/** Describes what a port returned instead of a TaskEither. */
export const notTaskEither = (given: unknown): Error =>
  new Error(`it must return a TaskEither, not ${isThenable(given) ? 'a promise' : kindOf(given)}`)

/** The fields that an error must have, with their types. */
export type FieldTypes = Readonly<Record<string, 'string' | 'number' | 'object' | 'array'>>

/** Describes a result that is neither a Right nor a Left of an error with one of these tags and its fields; undefined for any other result. */
export const notEither = (result: unknown, tags: Readonly<Record<string, FieldTypes>>): Error | undefined => {
  const { _tag, left } = fieldsOf(result)
  if (_tag === 'Right') return undefined
  if (_tag !== 'Left') return wrongResult(kindOf(result))
  const error = fieldsOf(left)
  const tag = error['_tag']
  if (!isText(tag))
    return wrongResult(
      `a Left of ${left instanceof Error ? `the error ${JSON.stringify(left.message)}` : kindOf(left)}`
    )
  if (!Object.hasOwn(tags, tag)) return wrongResult(`a Left with the unknown "_tag" ${JSON.stringify(tag)}`)
  const missing = Object.entries(tags[tag] ?? {}).find(([field, type]) => typeOf(error[field]) !== type)
  return missing === undefined ? undefined : wrongResult(`a Left of ${tag} without the ${missing[1]} "${missing[0]}"`)
}

const typeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value)

/** Calls an observer. Ignores what it throws, and the rejection of a promise that it returns, which would end the process. */
export const ignoringErrors = (call: () => unknown): void => {
  try {
    const returned = call()
    if (isThenable(returned)) returned.then(undefined, () => undefined)
  } catch {
    // An observer cannot fail a run.
  }
}

const isThenable = (given: unknown): given is PromiseLike<unknown> => typeof fieldsOf(given)['then'] === 'function'

const wrongResult = (found: string): Error =>
  new Error(`it returned ${found}; return a Right, or a Left of an error that the port declares`)
