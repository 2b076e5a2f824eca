/** Compares the input on the command line with the recorded input of a run. */
import { defined } from '../../../domain/data/defined.js'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Json, JsonObject } from '../../../domain/data/Json.js'
import { isObject } from '../../../domain/data/Json.js'
import * as Redaction from '../../../domain/data/Redaction.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import type { WorkflowIdentity } from '../../../domain/workflow/WorkflowIdentity.js'
import { clipped } from '../../../view/text.js'
import type { CliError } from '../../CliError.js'
import { usage, wrongUse } from '../../CliError.js'
import { capturedInputs } from '../../workflow/unknownInputs.js'
import { objection } from '../../workflow/Variable.js'
import type { WorkflowFile } from '../../workflow/WorkflowFile.js'
import type { Context, Flags, Place, Result } from '../Context.js'
import { resumeLine } from './planFlags.js'

/** Where the values of secrets are, and the names of those that a workflow has. */
type Environment = Pick<Context, 'inherited'>
type Definition = Pick<WorkflowIdentity, 'secrets'>

export type Given = Readonly<Record<string, string>>

/** `recorded`: as its steps see it; undefined if the run has no such variable. */
export interface Difference {
  readonly name: string
  readonly given: string
  readonly recorded: string | undefined
}

export const inputOf = (texts: ReadonlyArray<string>): Result<Given> => {
  const input = new Map<string, string>()
  for (const text of texts) {
    const at = text.indexOf('=')
    if (at < 1) return wrongUse(`--input: expected NAME=VALUE, got "${text}"`)
    const name = text.slice(0, at)
    const why = objection(name)
    if (O.isSome(why)) return wrongUse(`--input: "${name}" cannot be a variable: ${why.value}`)
    if (input.has(name)) return wrongUse(`--input: "${name}" is set twice; pass it once`)
    input.set(name, text.slice(at + 1))
  }
  return E.right(Object.fromEntries(input))
}

export const redactionFor = ({ inherited }: Environment, { secrets = [] }: Definition): Redaction.Redaction =>
  Redaction.make(secrets.flatMap((name) => inherited[name] ?? []))

/** An input or a declared output may contain a secret. */
export const withoutSecrets = (context: Environment, definition: Definition, flags: Flags): Flags => {
  const redaction = redactionFor(context, definition)
  const shown = (texts: ReadonlyArray<string> | undefined): ReadonlyArray<string> | undefined =>
    texts?.map((one) => Redaction.text(redaction, one))
  return { ...flags, ...defined({ confirm: shown(flags.confirm), input: shown(flags.input) }) }
}

/** Refuses a secret as input, because an input is stored, and redacts its value in others. */
export const recordable = (context: Environment, definition: Definition, given: Given): Result<Given> => {
  const secret = (definition.secrets ?? []).find((name) => Object.hasOwn(given, name))
  if (secret !== undefined)
    return wrongUse(`--input: "${secret}" is a secret, and an input is stored; set it in the environment`)
  const redaction = redactionFor(context, definition)
  const redacted = Object.entries(given).map(([name, value]) => [name, Redaction.text(redaction, value)])
  return E.right(Object.fromEntries(redacted) as Given)
}

/** Two values are the same if steps see the same text. */
export const differencesFrom = ({ input }: Pick<Checkpoint, 'input'>, given: Given): ReadonlyArray<Difference> => {
  const stored: JsonObject = isObject(input) ? input : {}
  return Object.entries(given).flatMap(([name, value]) => {
    const recorded = Object.hasOwn(stored, name) ? seenBySteps(stored[name] as Json) : undefined
    return recorded === value ? [] : [{ name, given: value, recorded }]
  })
}

const seenBySteps = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The recorded input with the changed values; undefined if no value differs. */
export const replacementOf = (
  context: Environment & Place,
  definition: Definition,
  run: Pick<Checkpoint, 'input' | 'runId'>,
  { input = [], fromStep, force }: Flags
): Result<JsonObject | undefined> => {
  if (input.length === 0) return E.right(undefined)
  const typed = inputOf(input)
  if (E.isLeft(typed)) return typed
  const given = recordable(context, definition, typed.right)
  if (E.isLeft(given)) return given
  if (fromStep === undefined && force !== true) return E.left(needsStep(context, run.runId, input))
  const changed = differencesFrom(run, given.right).map(({ name, given: value }) => [name, value] as const)
  const recorded = isObject(run.input) ? run.input : {}
  return E.right(changed.length === 0 ? undefined : { ...recorded, ...Object.fromEntries(changed) })
}

const needsStep = (context: Place, runId: string, input: ReadonlyArray<string>): CliError =>
  usage('--input: a run keeps its input; add --from-step or --force to replace it', [
    {
      text: 'To run all steps again with this input:',
      command: resumeLine(context, runId, { force: true, input })
    }
  ])

/** A malformed flag is reported where its value is needed. */
export const inputNamesIn = ({ input = [] }: Flags): ReadonlyArray<string> =>
  input.map((text) => text.slice(0, Math.max(0, text.indexOf('='))))

export const warningsOf = (context: Environment, file: WorkflowFile, flags: Flags): ReadonlyArray<string> => {
  const typed = inputOf(flags.input ?? [])
  const given = E.isLeft(typed) ? typed : recordable(context, file, typed.right)
  if (E.isLeft(typed) || E.isLeft(given)) return []
  const names = Object.keys(given.right)
  const captured = flags.fromStep === undefined ? [] : capturedInputs(file, flags.fromStep, names)
  return [...redactedIn(typed.right, given.right), ...captured]
}

export const redactedIn = (typed: Given, given: Given): ReadonlyArray<string> =>
  Object.keys(typed)
    .filter((name) => given[name] !== typed[name])
    .map((name) => `--input "${name}" contains the value of a secret: steps see *** instead`)

const MAX_VALUE = 60

const quoted = (value: string): string => JSON.stringify(clipped(value, MAX_VALUE))

export const describeDifference = ({ name, given, recorded }: Difference): string =>
  `${name}: given ${quoted(given)}, ${recorded === undefined ? 'started without it' : `started with ${quoted(recorded)}`}`

export const inputReplaced = (step: string, differences: ReadonlyArray<Difference>): string => {
  const values = differences.map(({ name, given, recorded }) => {
    const was = recorded === undefined ? ', previously unset' : ` instead of ${quoted(recorded)}`
    return `${name} ${quoted(given)}${was}`
  })
  return `Input replaced from step ${quoted(step)} on: ${values.join('; ')}`
}
