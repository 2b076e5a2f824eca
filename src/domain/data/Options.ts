/** Checks options, because untyped hosts may pass anything, and a misspelt option that is ignored may repeat or discard work. */
import { likeliest, orList, withArticle } from './Suggestion.js'

/**
 * An option that has an invalid value, or that does not exist (`known`: those that do).
 *
 * @category errors
 */
export type OptionProblem =
  | { readonly option: string; readonly expected: string }
  | { readonly option: string; readonly known: ReadonlyArray<string> }

/** Returns what a value should be instead, or undefined if it is valid. */
export type Check = (value: unknown) => string | undefined

/** A {@link Check}, which may instead return the problems of the options inside a value; none if it is valid. */
export type OptionCheck = (value: unknown) => string | ReadonlyArray<OptionProblem> | undefined

/** The check of each option. */
export type OptionTable = Readonly<Record<string, OptionCheck>>

/** Returns the fields of an object; none for any other value. */
export const fieldsOf = (given: unknown): Readonly<Record<string, unknown>> =>
  isObject(given) ? (given as Readonly<Record<string, unknown>>) : {}

/** Detects an option that can be read: its getter, if it has one, does not throw. */
const isReadable = (fields: Readonly<Record<string, unknown>>, option: string): boolean => {
  try {
    Reflect.get(fields, option)
    return true
  } catch {
    return false
  }
}

const READABLE = 'readable, but its getter throws'

/** Returns an object to read options from, whatever an untyped host passes; the check of the options refuses other values. */
export const readable = <A extends object>(options: A): Partial<A> => Object(options) as Partial<A>

const isObject = (given: unknown): given is object => typeof given === 'object' && given !== null

/** Detects an object that may have options: no array or `Map`. */
export const isRecord = (given: unknown): given is object => isObject(given) && !(Symbol.iterator in given)

/** Detects an object that inherits no fields, also one of another realm; an instance of a class may inherit some. */
const isPlain = (given: object): boolean => {
  const prototype = Object.getPrototypeOf(given) as object | null
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/**
 * Returns options with some values replaced. Inherited options are read from the original, because their accessors may read private fields.
 * Returns an array or `Map` unchanged.
 */
export const extended = (given: unknown, more: Readonly<Record<string, unknown>>): object => {
  if (isObject(given) && !isRecord(given)) return given
  return isObject(given) && !isPlain(given)
    ? new Proxy(Object.create(given, Object.getOwnPropertyDescriptors(more)) as object, {
        get: (own, key): unknown => Reflect.get(Object.hasOwn(own, key) ? own : given, key)
      })
    : { ...fieldsOf(given), ...more }
}

const NONE: ReadonlyArray<OptionProblem> = []

interface Context {
  readonly required?: ReadonlyArray<string>
  /** Options that no message lists: hidden ones, and those that belong elsewhere, whose check refuses them. */
  readonly unlisted?: OptionTable
}

/**
 * Returns the problems of options. An option that is `undefined` counts as absent. Of an instance of a class only the known options are
 * checked, because it may have other members.
 */
export const optionProblems = (
  given: unknown,
  table: OptionTable,
  { required = [], unlisted = {} }: Context = {}
): ReadonlyArray<OptionProblem> => {
  if (given !== undefined && !isRecord(given))
    return [{ option: 'options', expected: `an object, not ${kindOf(given)}` }]
  const fields = fieldsOf(given)
  const checked = isPlain(fields) ? fields : { ...unlisted, ...table }
  const unreadable = Object.keys(checked).filter((option) => !isReadable(fields, option))
  if (unreadable.length > 0) return unreadable.map((option) => ({ option, expected: READABLE }))
  let found: Array<OptionProblem> | undefined
  const checkOption = (option: string, value: unknown): void => {
    const check = [table, unlisted].find((checks) => Object.hasOwn(checks, option))?.[option]
    const wrong = check === undefined ? [{ option, known: Object.keys(table) }] : check(value)
    if (typeof wrong === 'string') (found ??= []).push({ option, expected: wrong })
    else if (wrong !== undefined && wrong.length > 0) (found ??= []).push(...wrong)
  }
  for (const option of required) if (fields[option] === undefined) checkOption(option, undefined)
  for (const option of Object.keys(checked)) {
    const value = fields[option]
    if (value !== undefined) checkOption(option, value)
  }
  return found ?? NONE
}

/** Returns the problem of arguments after the last one of a call. `first`: the position of the first of them; `options`: that of the options. */
export const extraArgument = (
  more: ReadonlyArray<unknown>,
  first: string,
  options = 'second'
): OptionProblem | undefined =>
  more.every((one) => one === undefined)
    ? undefined
    : { option: `the ${first} argument`, expected: `omitted; pass all options in the ${options}` }

/** Returns the problem of an option inside another one, named by both: `job.poll`. */
export const within = (outer: string, problem: OptionProblem): OptionProblem => {
  const option = `${outer}.${problem.option}`
  return 'known' in problem
    ? { option, known: problem.known.map((one) => `${outer}.${one}`) }
    : { option, expected: problem.expected }
}

/** Checks an option that has options, and returns each problem. `expected`: what the option must be. */
export const inside =
  (outer: string, table: OptionTable, expected: string, required: ReadonlyArray<string> = []): OptionCheck =>
  (value) =>
    isRecord(value)
      ? optionProblems(value, table, { required }).map((one) => within(outer, one))
      : `${expected}, not ${kindOf(value)}`

/** Describes all problems of the options of `call`; undefined if there are none. `hidden`: options that no message names. */
export const describeInvalid = (
  call: string,
  given: unknown,
  table: OptionTable,
  hidden: ReadonlyArray<string> = []
): string | undefined => {
  const problems = optionProblems(given, table, { unlisted: Object.fromEntries(hidden.map((one) => [one, anything])) })
  return problems.length === 0 ? undefined : `${call}: ${problems.map((one) => describeOption(one)).join('; ')}`
}

/** Describes a problem. `place`: the step that has the option. */
export const describeOption = (problem: OptionProblem, place?: string): string => {
  const of = place === undefined ? '' : ` of "${place}"`
  if ('expected' in problem) return `${problem.option}${of} must be ${problem.expected}`
  if (problem.known.length === 0) return `unknown option "${problem.option}"${of}; there are no options`
  const meant = nearestOption(problem.option, problem.known)
  const remedy = meant === undefined ? `the options are ${problem.known.join(', ')}` : `did you mean "${meant}"?`
  return `unknown option "${problem.option}"${of}; ${remedy}`
}

/** Compares without the prefix that all options share (`environment.`): it would make every option look near. */
const nearestOption = (option: string, known: ReadonlyArray<string>): string | undefined => {
  const inner = known.find((one) => one.endsWith(`.${option}`))
  if (inner !== undefined) return inner
  const prefix = option.slice(0, option.lastIndexOf('.') + 1)
  if (!known.every((one) => one.startsWith(prefix))) return likeliest(option, known)
  const rest = (one: string): string => one.slice(prefix.length)
  const meant = likeliest(rest(option), known.map(rest))
  return meant === undefined ? undefined : prefix + meant
}

/** Names a value in a message: `the string "x"`, `an array`. */
export const kindOf = (value: unknown): string => {
  if (value === undefined || value === null) return String(value)
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'string') return `the string ${JSON.stringify(value.slice(0, 40))}`
  if (typeof value === 'object') {
    const tag = Object.prototype.toString.call(value).slice(8, -1)
    if (!(Symbol.iterator in value) && tag !== 'Promise') return 'an object'
    return tag === 'Object' ? 'an iterable object' : withArticle(tag)
  }
  return typeof value === 'number' || typeof value === 'boolean' ? `the ${typeof value} ${value}` : `a ${typeof value}`
}

export const anything: Check = () => undefined

/** Refuses every value. */
export const instead =
  (expected: string): Check =>
  () =>
    expected

const ofType =
  (type: 'string' | 'boolean' | 'function', expected: string): Check =>
  (value) =>
    typeof value === type ? undefined : expected

export const text = ofType('string', 'a string')

export const flag = ofType('boolean', 'true or false')

/** Milliseconds of a time limit. */
export const millis: Check = (value) =>
  typeof value === 'number' && value >= 0 && value < Infinity ? undefined : 'a finite number ≥ 0'

export const whole: Check = (value) =>
  Number.isSafeInteger(value) ? undefined : `a whole number, not ${kindOf(value)}`

export const wholeFrom =
  (least: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= least
      ? undefined
      : `a whole number ≥ ${least}, not ${kindOf(value)}`

/** A limit; Infinity sets none. */
export const amount: Check = (value) =>
  typeof value === 'number' && value >= 0 ? undefined : `a number ≥ 0, not ${kindOf(value)}`

/** The longest delay that a Node timer supports; a longer one would fire at once. */
export const LONGEST_TIMER = 2 ** 31 - 1

/** Milliseconds of a Node timer. */
export const interval: Check = (value) =>
  typeof value === 'number' && value >= 0 && value <= LONGEST_TIMER
    ? undefined
    : `a number from 0 to ${LONGEST_TIMER}, not ${kindOf(value)}`

/** Checks an option that has options, and returns the first problem as text. */
export const nested =
  (table: OptionTable): Check =>
  (value) => {
    if (!isRecord(value)) return `an object, not ${kindOf(value)}`
    const [problem] = optionProblems(value, table)
    return problem === undefined ? undefined : `an object of valid options: ${describeOption(problem)}`
  }

/** Checks for methods, not with `instanceof`, because test runners have a `Map` and an `AbortSignal` of their own. */
export const having =
  (methods: ReadonlyArray<PropertyKey>, expected: string): Check =>
  (value) =>
    methods.every((name) => typeof (value as Readonly<Record<PropertyKey, unknown>> | null)?.[name] === 'function')
      ? undefined
      : expected

export const signal: Check = (value) =>
  typeof fieldsOf(value)['addEventListener'] === 'function' ? undefined : 'an AbortSignal'

export const callback = ofType('function', 'a function')

export const oneOf =
  (...words: ReadonlyArray<string>): Check =>
  (value) =>
    words.some((word) => word === value) ? undefined : either(words)

const either = (words: ReadonlyArray<string>): string => orList(words.map((word) => `'${word}'`))

export const arrayOf =
  (isItem: (value: unknown) => boolean, expected: string): Check =>
  (value) =>
    Array.isArray(value) && Array.from(value).every(isItem) ? undefined : expected

export const eachOf = (...words: ReadonlyArray<string>): Check =>
  arrayOf((item) => words.some((word) => word === item), `an array of ${either(words)}`)

export const isText = (value: unknown): value is string => typeof value === 'string'
