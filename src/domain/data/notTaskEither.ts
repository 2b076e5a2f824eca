/** Describes what a port returned in place of a TaskEither: ports may be written in plain JavaScript. */
import { fieldsOf, isText, kindOf } from './Options.js'

export const notTask = (given: unknown): Error => {
  const isPromise = typeof fieldsOf(given)['then'] === 'function'
  return new Error(`it must return a TaskEither, not ${isPromise ? 'a promise' : kindOf(given)}`)
}

/** Returns undefined for an Either whose left has a tag. */
export const notEither = (result: unknown): Error | undefined => {
  const { _tag, left } = fieldsOf(result)
  if (_tag === 'Right' || (_tag === 'Left' && isText(fieldsOf(left)['_tag']))) return undefined
  const found = _tag === 'Left' ? `a left that is ${kindOf(left)}` : kindOf(result)
  return new Error(`it must return a TaskEither of a Right, or a Left of an error with a "_tag", not ${found}`)
}
