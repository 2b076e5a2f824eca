/** Converts a step's values to stored JSON, and back. */
import * as E from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { cut } from '../../domain/data/Cut.js'
import type { Json } from '../../domain/data/Json.js'
import { fromUnknown } from '../../domain/data/Json.js'
import type { Check } from '../../domain/data/Options.js'
import { kindOf } from '../../domain/data/Options.js'
import { fromUnknown as fromThrown } from '../../domain/data/StepError.js'
import type { OutputMismatch, Task } from '../../domain/workflow/Workflow.js'
import { acceptsAnything } from '../../domain/workflow/Workflow.js'
import type { StandardIssue, StandardSchema } from './StandardSchema.js'

/** How a task's outputs are stored and decoded. */
export interface Conversions {
  /** Returns an output as JSON; `undefined` if there is none. */
  readonly encode: (output: unknown) => E.Either<OutputMismatch, Json | undefined>
  /** Returns what readers, such as later steps, see of a stored output. */
  readonly decode: (output: Json | undefined) => E.Either<OutputMismatch, unknown>
  /** Returns what readers will see of an output that is not stored yet. */
  readonly seen: (output: unknown) => E.Either<OutputMismatch, unknown>
}

/** The maximum length of text from a codec or schema in an error. */
const MAX_EXPECTED = 200

const mismatchOf = (errors: t.Errors): OutputMismatch => {
  const context = errors[0]?.context ?? []
  const path = context.slice(1).map(({ key }) => segment(key))
  return { path: `$${path.join('')}`, expected: cut(context.at(-1)?.type.name ?? 'something else', MAX_EXPECTED) }
}

export const toJson = (value: unknown): E.Either<OutputMismatch, Json | undefined> => {
  if (value === undefined) return E.right(undefined)
  const json = fromUnknown(value)
  return E.isRight(json) ? json : E.left({ path: json.left.path, expected: `plain JSON, not ${json.left.found}` })
}

/** Returns the conversions of a codec or schema; without one, those of plain JSON. Decoded values are fresh copies. */
export const conversions = (given: unknown): Conversions & Pick<Task, 'accepts'> => {
  if (given === undefined) return PLAIN_JSON
  return isStandard(given) ? withSchema(given) : withCodec(given as t.Mixed)
}

/** Shared by all steps without a codec. */
const PLAIN_JSON: ReturnType<typeof conversions> = {
  encode: toJson,
  decode: (output) => E.right(output === undefined ? null : structuredClone(output)),
  accepts: acceptsAnything,
  seen: (output) => E.map((json: Json | undefined) => json ?? null)(toJson(output))
}

const withCodec = (codec: t.Mixed): ReturnType<typeof conversions> => {
  const decode: Conversions['decode'] = (output) =>
    decodeWith(codec, output === undefined ? undefined : structuredClone(output))
  return {
    encode: (output) => E.chainFirst(decode)(encodeWith(codec, output)),
    decode,
    accepts: (output) => E.map(() => undefined)(decodeWith(codec, output)),
    seen: (output) => E.chain(decode)(encodeWith(codec, output))
  }
}

/** The output is recorded as returned, and every reader validates the record: a transform never runs on its own result. */
const withSchema = (schema: StandardSchema): ReturnType<typeof conversions> => {
  // A transform may change its argument, so each call gets a copy.
  const decode: Conversions['decode'] = (output) =>
    validateWith(schema, output === undefined ? undefined : structuredClone(output))
  const accepts: Task['accepts'] = (output) => E.map(() => undefined)(decode(output))
  return {
    encode: (output) => E.chainFirst(accepts)(toJson(output)),
    decode,
    accepts,
    seen: (output) => E.chain(decode)(toJson(output))
  }
}

const METHODS = ['decode', 'encode', 'validate', 'is'] as const

type Fields = Readonly<Record<string, unknown>>

const asObject = (given: unknown): Fields | undefined =>
  (typeof given === 'object' && given !== null) || typeof given === 'function'
    ? (given as unknown as Fields)
    : undefined

/** A value with both interfaces counts as a schema, as those of zod do. */
const isStandard = (given: unknown): given is StandardSchema => asObject(given)?.['~standard'] !== undefined

/** Checks an option that takes a codec or a schema. */
export const schema: Check = (given) => {
  const why = isStandard(given) ? whyNoSchema(given['~standard']) : whyNoCodec(given)
  return why === undefined
    ? undefined
    : `an io-ts codec, such as t.string or t.type({ … }), or a Standard Schema (zod, valibot, arktype); ${why}`
}

const whyNoSchema = (standard: unknown): string | undefined => {
  const { version, validate } = asObject(standard) ?? {}
  if (version !== 1) return `its "~standard".version is ${kindOf(version)}, not 1`
  return typeof validate === 'function' ? undefined : 'its "~standard" has no validate'
}

const whyNoCodec = (given: unknown): string | undefined => {
  const found = asObject(given)
  if (found === undefined) return `not ${given === null ? 'null' : `a ${typeof given}`}`
  const missing = METHODS.filter((name) => typeof found[name] !== 'function')
  return missing.length === 0 ? undefined : `the value has no method ${missing.join(', ')}`
}

/** A codec that throws counts as a mismatch: planning stays total. */
const decodeWith = (codec: t.Mixed, value: unknown): E.Either<OutputMismatch, unknown> => {
  try {
    const decoded = codec.decode(value)
    return E.isRight(decoded) ? decoded : E.left(mismatchOf(decoded.left))
  } catch (error) {
    return threw(nameOf(codec), 'decode', error)
  }
}

const encodeWith = (codec: t.Mixed, value: unknown): E.Either<OutputMismatch, Json | undefined> => {
  try {
    return toJson(codec.encode(value))
  } catch (error) {
    return threw(nameOf(codec), 'encode', error)
  }
}

/** Codecs and schemas of untyped callers may lack a name. */
const nameOf = ({ name }: Partial<t.Mixed>): string => name ?? 'the codec'

const vendorOf = ({ vendor }: Partial<StandardSchema['~standard']>): string => vendor ?? 'the schema'

/** `checker`: the name of a codec or schema. */
const threw = (checker: string, method: string, error: unknown): E.Either<OutputMismatch, never> =>
  E.left({ path: '$', expected: `a value that ${checker} accepts; its ${method} threw: ${messageOf(error)}` })

/** Validates a value with a schema. If the schema throws or returns a promise, that counts as a mismatch. */
const validateWith = ({ '~standard': standard }: StandardSchema, value: unknown): E.Either<OutputMismatch, unknown> => {
  try {
    const result = standard.validate(value)
    if ('then' in result) return notAwaited(result, vendorOf(standard))
    return result.issues === undefined ? E.right(result.value) : E.left(mismatchOfIssue(result.issues[0]))
  } catch (error) {
    return threw(vendorOf(standard), 'validate', error)
  }
}

/** Refuses the promise of a schema, and ignores its rejection, which would otherwise end the process. */
const notAwaited = (result: PromiseLike<unknown>, vendor: string): E.Either<OutputMismatch, never> => {
  result.then(undefined, () => undefined)
  return E.left({
    path: '$',
    expected: `a value that its schema checks without a promise (${vendor} returned one); remove async refinements and transforms from the schema, and do that work in a step`
  })
}

const mismatchOfIssue = (issue: StandardIssue | undefined): OutputMismatch => {
  const path = (issue?.path ?? []).map((at) => segment(typeof at === 'object' ? at.key : at))
  return {
    path: `$${path.join('')}`,
    expected: `a valid value (${cut(issue?.message ?? 'no reason given', MAX_EXPECTED)})`
  }
}

const segment = (key: PropertyKey): string => (/^\d+$/.test(String(key)) ? `[${String(key)}]` : `.${String(key)}`)

const messageOf = (thrown: unknown): string => cut(fromThrown(thrown).message, MAX_EXPECTED)

/** A resume could not distinguish an input that encodes as `undefined` from a missing one. */
export const NO_INPUT: OutputMismatch = { path: '$', expected: 'something that is encoded as JSON' }
