/**
 * The input of a run, as the command line gives it, against the input that a run was started with.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Json, JsonObject } from '../../domain/Json.js'
import { isObject } from '../../domain/Json.js'
import type { RunSummary } from '../../executor/runs.js'
import type { CliError } from '../CliError.js'
import { usage } from '../CliError.js'
import { objection } from '../workflow/Variable.js'

/**
 * What the command line gives, by name. Its values are text.
 *
 * @category model
 * @since 0.1.0
 */
export type Given = Readonly<Record<string, string>>

/**
 * A variable of which the command line gives another value than a run was started with; `recorded`: as its steps see it,
 * undefined if the run does not have it.
 *
 * @category model
 * @since 0.1.0
 */
export interface Difference {
  readonly name: string
  readonly given: string
  readonly recorded: string | undefined
}

/**
 * The values of `--input`.
 *
 * @category decoding
 * @since 0.1.0
 */
export const inputOf = (texts: ReadonlyArray<string>): E.Either<CliError, Given> => {
  const input = new Map<string, string>()
  for (const text of texts) {
    const at = text.indexOf('=')
    if (at < 1) return E.left(usage(`--input is NAME=VALUE, not "${text}"`))
    const name = text.slice(0, at)
    const why = objection(name)
    if (O.isSome(why)) return E.left(usage(`--input: "${name}" can't be a variable: ${why.value}`))
    if (input.has(name)) return E.left(usage(`--input gives "${name}" twice`))
    input.set(name, text.slice(at + 1))
  }
  return E.right(Object.fromEntries(input))
}

/**
 * Where the input of a run is another one than what is given. What is not given does not count; and values are the same
 * if steps see the same: text as it is, anything else as JSON.
 *
 * @category destructors
 * @since 0.1.0
 */
export const differencesFrom = ({ input }: Pick<RunSummary, 'input'>, given: Given): ReadonlyArray<Difference> => {
  const stored: JsonObject = isObject(input) ? input : {}
  return Object.entries(given).flatMap(([name, value]) => {
    const recorded = Object.hasOwn(stored, name) ? seenBySteps(stored[name] as Json) : undefined
    return recorded === value ? [] : [{ name, given: value, recorded }]
  })
}

const seenBySteps = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))
