/** Checks the arguments of calls, because untyped hosts may pass anything. */
import * as E from 'fp-ts/lib/Either.js'
import type { Check, OptionProblem } from '../domain/data/Options.js'
import { arrayOf, fieldsOf, kindOf } from '../domain/data/Options.js'
import { notStore } from '../domain/data/storeMethods.js'
import type { PlanOptions } from '../domain/plan/Plan.js'
import { PLAN_OPTIONS } from '../domain/plan/planOptions.js'
import type { Environment } from '../ports/Environment.js'
import type { Executor } from './ExecutorCall.js'
import type { InvalidOptions } from './errors/RunError.js'

/** Returns `undefined` if there are no problems. */
export const refusal = ([problem, ...more]: ReadonlyArray<OptionProblem>): InvalidOptions | undefined =>
  problem === undefined ? undefined : { _tag: 'InvalidOptions', problems: [problem, ...more] }

/** Runs `act`, unless there are problems or the environment has some: then it calls nothing, and fails with all of them. */
export const unless =
  <A>(problems: ReadonlyArray<OptionProblem>, act: () => Executor<A>): Executor<A> =>
  (environment) => {
    const invalid = refusal([...problems, ...environmentProblems(environment)])
    return invalid === undefined ? act()(environment) : () => Promise.resolve(E.left(invalid))
  }

/** Checks the environment before it runs the executor. */
export const inEnvironment = <A>(executor: Executor<A>): Executor<A> => unless([], () => executor)

type Port = { readonly [K in keyof Environment]-?: object extends Pick<Environment, K> ? never : K }[keyof Environment]

const PORTS: Readonly<Record<Port, true>> = {
  storage: true,
  clock: true,
  tree: true,
  owner: true,
  interrupt: true,
  events: true,
  random: true,
  graceMillis: true
}

const environmentProblems = (given: unknown): ReadonlyArray<OptionProblem> => {
  const fields = fieldsOf(given)
  const missing = Object.keys(PORTS).filter((port) => fields[port] === undefined)
  if (missing.length > 0) {
    const without = kindOf(given) === 'an object' ? ` without ${missing.join(', ')}` : ''
    const expected = `an Environment, such as nodeEnvironment(storage), not ${kindOf(given)}${without}`
    return [{ option: 'the environment', expected }]
  }
  const expected = store(fields['storage'])
  return expected === undefined ? [] : [{ option: 'environment.storage', expected }]
}

export const store: Check = (value) => {
  const wrong = notStore(value)
  return wrong === undefined ? undefined : `a CheckpointStorage, such as jsonFileStorage('.dogear'), ${wrong}`
}

/** Returns the problem of a required argument, if it has one. */
export const argumentProblems = (option: string, value: unknown, check: Check): ReadonlyArray<OptionProblem> => {
  const [expected, found] = [check(value), kindOf(value)]
  if (expected === undefined) return []
  // Of an array with a wrong item, "not an array" would be untrue.
  return [{ option, expected: expected.startsWith(found) ? expected : `${expected}, not ${found}` }]
}

/** Returns the problems of those options that `PlanOptions` has; it ignores all others. */
export const planOptionProblems = (
  options: unknown,
  required: ReadonlyArray<keyof PlanOptions> = []
): ReadonlyArray<OptionProblem> => {
  const fields = fieldsOf(options)
  return (Object.keys(PLAN_OPTIONS) as ReadonlyArray<keyof PlanOptions>)
    .filter((option) => fields[option] !== undefined || required.includes(option))
    .flatMap((option) => argumentProblems(option, fields[option], PLAN_OPTIONS[option]))
}

export const isProgram = (value: unknown): boolean => {
  const { steps, decodeInput } = fieldsOf(value)
  return Array.isArray(steps) && typeof decodeInput === 'function'
}

export const isWorkflow = (value: unknown): boolean => isProgram(value) && typeof fieldsOf(value)['name'] === 'string'

export const workflows = arrayOf(isWorkflow, 'an array of workflows')
