/** Selects cases, and refuses selections that are empty or misspelled. */
import type { TableOf } from '../arguments.js'
import { problemsOf, refuse, selection } from '../arguments.js'
import { callback, fieldsOf, kindOf, wholeFrom } from '../../domain/data/Options.js'
import type { ConformanceCase, Level } from './Case.js'
import { LEVELS } from './Case.js'
import type { CaseResult, Report } from './Report.js'

/**
 * Which cases run, and how.
 *
 * - `levels`: default all; `['core', 'capability']` leaves out slow cases.
 * - `only`: ids of cases (`CS-FENCE-03`) or families (`CS-FENCE`, `AS-ID`). Default all.
 * - `limitMillis`: the time limit of a case, default 30,000; four times as long for a stress case. A store that blocks
 *   its thread can only be stopped from another process, as `dogear conformance` does.
 *
 * @category model
 */
export interface ConformanceOptions {
  readonly levels?: ReadonlyArray<Level>
  readonly only?: ReadonlyArray<string>
  readonly limitMillis?: number
  /** Called with each result. */
  readonly onResult?: (result: CaseResult) => void
}

/**
 * The options of conformance tests in a test runner.
 *
 * @category model
 */
export interface TestOptions extends ConformanceOptions {
  /** Called with the report after all tests. */
  readonly onReport?: (report: Report) => void
}

type Selectable = Omit<ConformanceCase, 'run'>

/** The families of cases: `CS-FENCE` of `CS-FENCE-03`. */
export const familiesOf = (cases: ReadonlyArray<Pick<Selectable, 'id'>>): ReadonlyArray<string> => [
  ...new Set(cases.map(({ id }) => id.replace(/-\d+$/, '')))
]

export const chosenOf = <C extends Selectable>(
  cases: ReadonlyArray<C>,
  { levels, only }: Pick<TestOptions, 'levels' | 'only'>
): ReadonlyArray<C> =>
  cases.filter(
    ({ id, level }) =>
      (levels === undefined || levels.includes(level)) &&
      (only === undefined || only.some((start) => id === start || id.startsWith(`${start}-`)))
  )

/** Throws for an invalid runner. Call it before a check of the spec, because a caller may exchange the two. */
export const checkRunner = (call: string, runner: unknown): void => {
  const fields = fieldsOf(runner)
  const missing = ['describe', 'test'].filter((name) => typeof fields[name] !== 'function')
  const expected = 'the first argument must be an object with the functions `describe` and `test`'
  const isObject = typeof runner === 'object' && runner !== null
  const found = isObject ? `; it has no ${missing.join(' and no ')}` : `, not ${kindOf(runner)}`
  refuse(call, missing.length === 0 ? [] : [expected + found])
}

/** Throws for an invalid spec, for invalid options, and if they select no case. */
export const checkCall = (
  call: string,
  cases: ReadonlyArray<Selectable>,
  specProblems: ReadonlyArray<string>,
  options: TestOptions
): void => {
  const table: TableOf<TestOptions> = {
    levels: selection('level', LEVELS),
    only: selection('case or family of cases', [...familiesOf(cases), ...cases.map(({ id }) => id)]),
    limitMillis: wholeFrom(1),
    onResult: callback,
    onReport: callback
  }
  refuse(call, [...specProblems.map((one) => `the spec: ${one}`), ...problemsOf(options, table)])
  const { only = ['the kit'], levels = LEVELS } = options
  const isAny = chosenOf(cases, options).length > 0
  refuse(call, isAny ? [] : [`${only.join(', ')} has no ${levels.join(' or ')} case; select another level`])
}
