/** Refuses the arguments of calls, because untyped hosts may pass anything. */
import * as E from 'fp-ts/lib/Either.js'
import type { Check, OptionProblem } from '../domain/data/Options.js'
import { arrayOf, fieldsOf, kindOf } from '../domain/data/Options.js'
import type { Executor } from './Executor.js'
import type { InvalidOptions } from './errors/RunError.js'

/** Returns `undefined` if there are no problems. */
export const refusal = ([problem, ...more]: ReadonlyArray<OptionProblem>): InvalidOptions | undefined =>
  problem === undefined ? undefined : { _tag: 'InvalidOptions', problems: [problem, ...more] }

/** Fails with the problems, if there are any, before it calls anything. */
export const unless =
  <A>(problems: ReadonlyArray<OptionProblem>, act: () => Executor<A>): Executor<A> =>
  (environment) => {
    const invalid = refusal(problems)
    return invalid === undefined ? act()(environment) : () => Promise.resolve(E.left(invalid))
  }

/** The problem of an argument that the call cannot do without. */
export const argument = (option: string, value: unknown, check: Check): ReadonlyArray<OptionProblem> => {
  const [expected, found] = [check(value), kindOf(value)]
  if (expected === undefined) return []
  // An array with a wrong item is an array all the same.
  return [{ option, expected: expected.startsWith(found) ? expected : `${expected}, not ${found}` }]
}

/** Test runners have a `Map` and an `AbortSignal` of their own. */
export const having =
  (methods: ReadonlyArray<PropertyKey>, expected: string): Check =>
  (value) =>
    methods.every((name) => typeof (value as Readonly<Record<PropertyKey, unknown>> | null)?.[name] === 'function')
      ? undefined
      : expected

export const map = having(['get', 'has', 'keys', 'entries', Symbol.iterator], 'a Map with units as keys')

/** The problems of the maps among the options of a plan. */
export const wrongMaps = (options: unknown): ReadonlyArray<OptionProblem> =>
  ['confirm', 'outputs'].flatMap((option) => {
    const value = fieldsOf(options)[option]
    return value === undefined ? [] : argument(option, value, map)
  })

export const isProgram = (value: unknown): boolean => {
  const { steps, decodeInput } = fieldsOf(value)
  return Array.isArray(steps) && typeof decodeInput === 'function'
}

export const isWorkflow = (value: unknown): boolean => isProgram(value) && typeof fieldsOf(value)['name'] === 'string'

export const workflows = arrayOf(isWorkflow, 'an array of workflows')
