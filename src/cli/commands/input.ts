/**
 * The input of a run, as the command line gives it, against the input that a run was started with.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Json, JsonObject } from '../../domain/Json.js'
import { isObject } from '../../domain/Json.js'
import * as Redaction from '../../domain/Redaction.js'
import type { RunSummary } from '../../executor/runs.js'
import type { CliError } from '../CliError.js'
import { usage } from '../CliError.js'
import { objection } from '../workflow/Variable.js'
import type { WorkflowFile } from '../workflow/WorkflowFile.js'
import type { Context } from './Context.js'

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
 * What keeps the secrets of a workflow out of what is recorded and told.
 *
 * @category constructors
 * @since 0.1.0
 */
export const redactionFor = (
  { inherited }: Pick<Context, 'inherited'>,
  { secrets }: Pick<WorkflowFile, 'secrets'>
): Redaction.Redaction => Redaction.make(secrets.flatMap((name) => inherited[name] ?? []))

/**
 * What the command line gives, as it may be recorded: a secret is not given in this way, and its value does not stand in what is.
 *
 * @category decoding
 * @since 0.1.0
 */
export const recordable = (
  context: Pick<Context, 'inherited'>,
  file: WorkflowFile,
  given: Given
): E.Either<CliError, Given> => {
  const secret = file.secrets.find((name) => Object.hasOwn(given, name))
  if (secret !== undefined)
    return E.left(usage(`--input: "${secret}" is a secret, and an input is stored: give it in the environment`))
  const redaction = redactionFor(context, file)
  const hidden = Object.entries(given).map(([name, value]) => [name, Redaction.text(redaction, value)])
  return E.right(Object.fromEntries(hidden) as Given)
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
