/** Determines the input of a run: the caller's, the initial one of a new run, or a replacement. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import type { Json } from '../domain/data/Json.js'
import { equals } from '../domain/data/Json.js'
import { NO_INPUT } from './program/conversions.js'
import type { Program } from './program/Program.js'
import type { InvalidInput, RunError } from './errors/RunError.js'
import type { SecuredEnvironment } from './secrets.js'
import { withoutSecrets } from './secrets.js'

/** The caller's input (`undefined`: none), and the initial input of a new run or the reason why none can start. */
export interface Inputs {
  readonly given: Json | undefined
  readonly initial: E.Either<RunError, Json>
}

interface WantedInput<Input> {
  readonly _tag: 'Run' | 'Resume' | 'RunOrResume'
  readonly input: Input | undefined
}

export const encodedInput = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  input: Input
): E.Either<InvalidInput, Json> => {
  const json = program.encodeInput(input)
  return E.isRight(json) ? json : E.left({ _tag: 'InvalidInput', ...json.left })
}

/** Encodes the inputs of a call. A new run without input starts with an empty one if the program accepts it. */
export const inputsOf = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  runId: string,
  { _tag, input }: WantedInput<Input>
): E.Either<RunError, Inputs> => {
  const noSuchRun: E.Either<RunError, never> = E.left({ _tag: 'NoSuchRun', runId })
  if (input !== undefined) {
    const json = encodedInput(program, input)
    if (E.isLeft(json)) return json
    return E.right({ given: json.right, initial: _tag === 'Resume' ? noSuchRun : json })
  }
  return E.right({ given: undefined, initial: _tag === 'Resume' ? noSuchRun : emptyInput(program, runId) })
}

const emptyInput = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  runId: string
): E.Either<RunError, Json> => {
  const none = encodedInput(program, undefined as Input)
  if (E.isRight(none)) return none
  const empty = program.encodeInput({} as Input)
  if (E.isRight(empty)) return empty
  // A codec that accepts `undefined` says of `{}` what it needs; a union may say of it that it is not `undefined`.
  const saysMore = none.left.expected === NO_INPUT.expected && empty.left.expected !== 'undefined'
  const { path, expected } = saysMore ? empty.left : none.left
  return E.left({ _tag: 'InputMissing', runId, path, expected })
}

/** Redacts the values of secrets, and rejects fields that have the name of one. */
export const recordable = (secured: SecuredEnvironment, { given, initial }: Inputs): E.Either<RunError, Inputs> => {
  const redacted = given === undefined ? E.right(undefined) : withoutSecrets(secured, given)
  if (E.isLeft(redacted)) return redacted
  const first = E.isLeft(initial) ? initial : withoutSecrets(secured, initial.right)
  return E.right({ given: redacted.right, initial: first })
}

/** Returns the options of a plan, with the caller's input only if it replaces the stored one. That requires `fromStep`. */
export const optionsWithInput = <A extends { readonly fromStep?: string; readonly input?: unknown }>(
  { runId, input: stored }: Pick<Checkpoint, 'runId' | 'input'>,
  options: A,
  given: Json | undefined
): E.Either<RunError, Omit<A, 'input'> & { readonly input?: Json }> => {
  const { input: _, ...others } = options
  if (given === undefined || equals(given, stored)) return E.right(others)
  return others.fromStep === undefined ? E.left({ _tag: 'InputChanged', runId }) : E.right({ ...others, input: given })
}
