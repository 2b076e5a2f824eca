/** Checks the arguments of calls, because untyped hosts may pass anything. */
import * as E from 'fp-ts/lib/Either.js'
import * as RunId from '../domain/checkpoint/RunId.js'
import type { Check, OptionCheck, OptionProblem } from '../domain/data/Options.js'
import { arrayOf, fieldsOf, isText, kindOf, optionProblems } from '../domain/data/Options.js'
import { environmentProblems } from './environmentProblems.js'
import type { Executor } from './ExecutorCall.js'
import type { InvalidOptions, RunError } from './errors/RunError.js'

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

/** Returns the problem of a required argument, if it has one. */
export const argumentProblems = (option: string, value: unknown, check: Check): ReadonlyArray<OptionProblem> => {
  const [expected, found] = [check(value), kindOf(value)]
  if (expected === undefined) return []
  // Of an array with a wrong item, "not an array" would be untrue.
  const isWhole = expected.startsWith(found) || expected.endsWith(`, not ${found}`)
  return [{ option, expected: isWhole ? expected : `${expected}, not ${found}` }]
}

/** Returns the problems of the options of a call. An option that the call does not have is one, too. */
export const callProblems = (
  options: unknown,
  table: Readonly<Record<string, Check>>,
  required: ReadonlyArray<string> = []
): ReadonlyArray<OptionProblem> => {
  const naming = ([option, check]: readonly [string, Check]): readonly [string, OptionCheck] => [
    option,
    (value) => argumentProblems(option, value, check)
  ]
  return optionProblems(options, Object.fromEntries(Object.entries(table).map(naming)), { required })
}

/** Fails because the environment lacks the port that a call needs, unless the id of the run is invalid. */
export const withoutPort = (_tag: 'NoRequests' | 'NoWorkspaces', runId: string): E.Either<RunError, never> =>
  E.chain(() => E.left<RunError>({ _tag, runId }))(RunId.parse(runId))

export const checkpointProblems = (value: unknown): ReadonlyArray<OptionProblem> =>
  argumentProblems('checkpoint', value, (given) =>
    isText(fieldsOf(given)['runId']) ? undefined : 'a Checkpoint, such as that of viewRun'
  )

export const isProgram = (value: unknown): boolean => {
  const { steps, decodeInput } = fieldsOf(value)
  return Array.isArray(steps) && typeof decodeInput === 'function'
}

export const isWorkflow = (value: unknown): boolean => isProgram(value) && typeof fieldsOf(value)['name'] === 'string'

const isEachWorkflow = arrayOf(isWorkflow, 'an array of workflows')

/** Checks workflows that are found by their names. */
export const workflows: Check = (value) => {
  const wrong = isEachWorkflow(value)
  if (wrong !== undefined) return wrong
  const names = (value as ReadonlyArray<{ readonly name: string }>).map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  return twice === undefined ? undefined : `an array of workflows with different names; it has "${twice}" twice`
}
