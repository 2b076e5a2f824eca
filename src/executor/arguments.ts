/** Refuses the arguments of calls, because untyped hosts may pass anything. */
import * as E from 'fp-ts/lib/Either.js'
import type { Check, OptionProblem } from '../domain/data/Options.js'
import { arrayOf, fieldsOf, kindOf } from '../domain/data/Options.js'
import { notStore } from '../domain/data/storeMethods.js'
import type { PlanOptions } from '../domain/plan/Plan.js'
import { PLAN_OPTIONS } from '../domain/plan/planOptions.js'
import type { Environment } from '../ports/Environment.js'
import type { Executor } from './Executor.js'
import type { InvalidOptions } from './errors/RunError.js'

/** Returns `undefined` if there are no problems. */
export const refusal = ([problem, ...more]: ReadonlyArray<OptionProblem>): InvalidOptions | undefined =>
  problem === undefined ? undefined : { _tag: 'InvalidOptions', problems: [problem, ...more] }

/** Fails with the problems, and those of the environment, if there are any, before it calls anything. */
export const unless =
  <A>(problems: ReadonlyArray<OptionProblem>, act: () => Executor<A>): Executor<A> =>
  (environment) => {
    const invalid = refusal([...problems, ...environmentProblems(environment)])
    return invalid === undefined ? act()(environment) : () => Promise.resolve(E.left(invalid))
  }

/** An executor that fails without the ports that every environment has. */
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

/** The problem of an argument that the call cannot do without. */
export const argument = (option: string, value: unknown, check: Check): ReadonlyArray<OptionProblem> => {
  const [expected, found] = [check(value), kindOf(value)]
  if (expected === undefined) return []
  // An array with a wrong item is an array all the same.
  return [{ option, expected: expected.startsWith(found) ? expected : `${expected}, not ${found}` }]
}

/** The problems of the options of a plan; of options of a call that no plan has, none. */
export const wrongPlanOptions = (
  options: unknown,
  required: ReadonlyArray<keyof PlanOptions> = []
): ReadonlyArray<OptionProblem> => {
  const fields = fieldsOf(options)
  return (Object.keys(PLAN_OPTIONS) as ReadonlyArray<keyof PlanOptions>)
    .filter((option) => fields[option] !== undefined || required.includes(option))
    .flatMap((option) => argument(option, fields[option], PLAN_OPTIONS[option]))
}

export const isProgram = (value: unknown): boolean => {
  const { steps, decodeInput } = fieldsOf(value)
  return Array.isArray(steps) && typeof decodeInput === 'function'
}

export const isWorkflow = (value: unknown): boolean => isProgram(value) && typeof fieldsOf(value)['name'] === 'string'

export const workflows = arrayOf(isWorkflow, 'an array of workflows')
