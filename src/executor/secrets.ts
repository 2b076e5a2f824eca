/** Reads the secrets of a program before anything runs, and redacts them from inputs and events. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Json } from '../domain/data/Json.js'
import { isObject } from '../domain/data/Json.js'
import { isText } from '../domain/data/Options.js'
import type { ResumePlan } from '../domain/plan/Plan.js'
import * as Redaction from '../domain/data/Redaction.js'
import * as StepError from '../domain/data/StepError.js'
import type { Environment } from '../ports/Environment.js'
import type { Event } from '../ports/Events.js'
import type { Executor } from './ExecutorCall.js'
import type { InvalidInput, SecretProblem, SecretsMissing } from './errors/RunError.js'

/** The values of a program's secrets, by name, and their redaction. */
export interface SecretValues {
  readonly values: Readonly<Record<string, string>>
  readonly redaction: Redaction.Redaction
}

/** An environment with the secrets of a program. Its events and prompts are redacted. */
export interface SecuredEnvironment extends Environment {
  readonly vault: SecretValues
}

const EMPTY: SecretValues = { values: Object.freeze({}), redaction: Redaction.none }

/** Reads all secrets of a program. Unusable ones are reported together. */
export const secure = async (
  environment: Environment,
  { secrets: names = [] }: { readonly secrets?: ReadonlyArray<string> }
): Promise<E.Either<SecretsMissing, SecuredEnvironment>> => {
  if (names.length === 0) return E.right({ ...environment, vault: EMPTY })
  const values = new Map<string, string>()
  const problems: Array<SecretProblem> = []
  for (const name of names) {
    const found = await readSecret(environment, name)
    if (E.isLeft(found)) problems.push({ name, ...found.left })
    else values.set(name, found.right)
  }
  const [first, ...more] = problems
  if (first !== undefined)
    return E.left({ _tag: 'SecretsMissing', where: whereIn(environment), secrets: [first, ...more] })
  return E.right(securedWith(environment, Redaction.make(values.values()), Object.freeze(Object.fromEntries(values))))
}

/** Untyped secrets may have no name. */
const whereIn = ({ secrets }: Environment): string => {
  if (secrets === undefined) return 'an environment without `secrets`'
  return isText(secrets.where) ? secrets.where : '`secrets` of the environment'
}

const readSecret = async (
  { secrets }: Environment,
  name: string
): Promise<E.Either<Pick<SecretProblem, 'problem' | 'why'>, string>> => {
  try {
    const found = secrets === undefined ? E.right(O.none) : await secrets.read(name)()
    if (E.isLeft(found)) return E.left({ problem: 'unreadable', why: `can't be read: ${found.left.why}` })
    const value = O.isSome(found.right) ? found.right.value : undefined
    if (value === undefined) return E.left({ problem: 'missing', why: 'is not set' })
    const { length } = value.trim()
    if (length === 0) return E.left({ problem: 'missing', why: 'is empty' })
    return length < Redaction.MIN_CHARACTERS ? E.left({ problem: 'tooShort', why: TOO_SHORT }) : E.right(value)
  } catch (cause) {
    return E.left({ problem: 'unreadable', why: `can't be read: ${StepError.fromUnknown(cause).message}` })
  }
}

const TOO_SHORT = `is too short to redact safely (minimum ${Redaction.MIN_CHARACTERS} characters)`

const securedWith = (
  environment: Environment,
  redaction: Redaction.Redaction,
  values: SecretValues['values']
): SecuredEnvironment => {
  const { events, onCheckFailed } = environment
  return {
    ...environment,
    vault: { values, redaction },
    events: { report: (event) => events.report(redactedEvent(redaction, event)) },
    ...(onCheckFailed === undefined
      ? {}
      : { onCheckFailed: (failed) => onCheckFailed({ ...failed, wrong: redactedTexts(redaction, failed.wrong) }) })
  }
}

/** Redacts the error of an invalid input, because inputs are validated before the secrets are read. Ignores secrets that cannot be read. */
export const redactingInput =
  <A>(program: { readonly secrets?: ReadonlyArray<string> }, executor: Executor<A>): Executor<A> =>
  (environment) =>
  async () => {
    const ended = await executor(environment)()
    if (E.isRight(ended) || !('expected' in ended.left && 'path' in ended.left)) return ended
    const values: Array<string> = []
    for (const name of program.secrets ?? []) {
      const found = await readSecret(environment, name)
      if (E.isRight(found)) values.push(found.right)
    }
    const redaction = Redaction.make(values)
    const { path, expected } = ended.left
    return E.left({
      ...ended.left,
      path: Redaction.text(redaction, path),
      expected: Redaction.text(redaction, expected)
    })
  }

/** Redacts an input, because it is recorded, and refuses a field with the name of a secret. */
export const withoutSecrets = (
  { vault: { values, redaction } }: SecuredEnvironment,
  input: Json
): E.Either<InvalidInput, Json> => {
  const name = isObject(input) ? Object.keys(values).find((one) => Object.hasOwn(input, one)) : undefined
  return name === undefined
    ? E.right(Redaction.isNone(redaction) ? input : Redaction.json(redaction, input))
    : E.left({ _tag: 'InvalidInput', path: `$.${name}`, expected: NO_FIELD })
}

const NO_FIELD = 'no field with the name of a secret, because the input is stored; leave it out'

/** Redacts an event. The state in `CheckpointSaved` is redacted already. */
const redactedEvent = (redaction: Redaction.Redaction, event: Event): Event => {
  switch (event._tag) {
    case 'RunPlanned':
      return { ...event, plan: redactedPlan(redaction, event.plan) }
    case 'CheckpointRecovered':
      return { ...event, from: Redaction.text(redaction, event.from), lost: Redaction.text(redaction, event.lost) }
    case 'StepRetrying':
    case 'StepFailed':
      return { ...event, error: Redaction.error(redaction, event.error) }
    case 'JobSubmitted':
      return event.job === undefined ? event : { ...event, job: Redaction.json(redaction, event.job) }
    case 'AnswerRejected':
      return { ...event, by: Redaction.text(redaction, event.by) }
    case 'CheckFailed':
      return { ...event, wrong: redactedTexts(redaction, event.wrong) }
    default:
      return event
  }
}

const redactedTexts = (
  redaction: Redaction.Redaction,
  [first, ...more]: ReadonlyNonEmptyArray<string>
): ReadonlyNonEmptyArray<string> => [
  Redaction.text(redaction, first),
  ...more.map((one) => Redaction.text(redaction, one))
]

/** Records are redacted already; the output of an answer, also as a variable, and a new input may not be. */
const redactedPlan = (redaction: Redaction.Redaction, plan: ResumePlan): ResumePlan => ({
  ...plan,
  decisions: plan.decisions.map((one) =>
    one._tag === 'Skip' && one.reason._tag === 'Assumed' && one.reason.output !== undefined
      ? { ...one, reason: { ...one.reason, output: Redaction.json(redaction, one.reason.output) } }
      : one
  ),
  variables: new Map(Array.from(plan.variables, ([name, value]) => [name, Redaction.json(redaction, value)])),
  ...(plan.input === undefined ? {} : { input: Redaction.json(redaction, plan.input) })
})
