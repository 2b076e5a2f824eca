/**
 * From a step's values to what is stored, and back.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import type { Json } from '../domain/Json.js'
import { fromUnknown } from '../domain/Json.js'
import { fromUnknown as fromThrown } from '../domain/StepError.js'
import type { OutputMismatch, Task } from '../domain/Workflow.js'

/**
 * How a task's outputs are stored.
 *
 * @category model
 * @since 0.1.0
 */
export interface Conversions {
  /** An output as JSON; `undefined` if there is none. */
  readonly encode: (output: unknown) => E.Either<OutputMismatch, Json | undefined>
  /** What later steps see of a stored output. */
  readonly decode: (output: Json | undefined) => E.Either<OutputMismatch, unknown>
  /** The expected type, if the step's codec is not a codec. */
  readonly codecExpected: string | undefined
}

const mismatchOf = (errors: t.Errors): OutputMismatch => {
  const context = errors[0]?.context ?? []
  const path = context.slice(1).map(({ key }) => (/^\d+$/.test(key) ? `[${key}]` : `.${key}`))
  return { path: `$${path.join('')}`, expected: (context.at(-1)?.type.name ?? 'something else').slice(0, 200) }
}

/**
 * A value as plain JSON; nothing is `undefined`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const toJson = (value: unknown): E.Either<OutputMismatch, Json | undefined> => {
  if (value === undefined) return E.right(undefined)
  const json = fromUnknown(value)
  return E.isRight(json) ? json : E.left({ path: json.left.path, expected: `plain JSON, not ${json.left.found}` })
}

/**
 * Encoding and decoding with a codec, or as plain JSON without one. Decoded values are fresh copies.
 *
 * @category constructors
 * @since 0.1.0
 */
export const conversions = (codec: t.Mixed | undefined): Conversions & Pick<Task, 'accepts'> => {
  if (codec === undefined) {
    return {
      encode: toJson,
      decode: (output) => E.right(output === undefined ? null : structuredClone(output)),
      accepts: () => E.right(undefined),
      codecExpected: undefined
    }
  }
  const codecExpected = expectedInstead(codec)
  if (codecExpected !== undefined) {
    const none = (): E.Either<OutputMismatch, never> => E.left({ path: '$', expected: codecExpected })
    return { encode: none, decode: none, accepts: none, codecExpected }
  }
  const decode: Conversions['decode'] = (output) =>
    decodeWith(codec, output === undefined ? undefined : structuredClone(output))
  return {
    encode: (output) => {
      const encoded = encodeWith(codec, output)
      if (E.isLeft(encoded)) return encoded
      const back = decode(encoded.right)
      return E.isRight(back) ? encoded : back
    },
    decode,
    accepts: (output) => {
      const decoded = decodeWith(codec, output)
      return E.isRight(decoded) ? E.right(undefined) : decoded
    },
    codecExpected
  }
}

const METHODS = ['decode', 'encode', 'validate', 'is'] as const

/** The expected type, if an untyped caller passed something that is not a codec; else undefined. */
const expectedInstead = (given: unknown): string | undefined => {
  const hasFields = (typeof given === 'object' && given !== null) || typeof given === 'function'
  const found = hasFields ? (given as Readonly<Record<string, unknown>>) : {}
  const missing = METHODS.filter((name) => typeof found[name] !== 'function')
  if (missing.length === 0) return undefined
  const standard = found['~standard'] as { readonly vendor?: unknown } | undefined
  const why =
    standard !== undefined
      ? `a Standard Schema (${String(standard.vendor)}) is not supported yet`
      : hasFields
        ? `the value has no ${missing.join(', ')}`
        : `not ${given === null ? 'null' : `a ${typeof given}`}`
  return `an io-ts codec, such as t.string or t.type({ … }); ${why}`
}

/** A codec that throws does not take the value either: planning stays total. */
const decodeWith = (codec: t.Mixed, value: unknown): E.Either<OutputMismatch, unknown> => {
  try {
    const decoded = codec.decode(value)
    return E.isRight(decoded) ? decoded : E.left(mismatchOf(decoded.left))
  } catch (error) {
    return E.left({ path: '$', expected: `something that ${codec.name} decodes: ${messageOf(error)}` })
  }
}

const encodeWith = (codec: t.Mixed, value: unknown): E.Either<OutputMismatch, Json | undefined> => {
  try {
    return toJson(codec.encode(value))
  } catch (error) {
    return E.left({ path: '$', expected: `something that ${codec.name} encodes: ${messageOf(error)}` })
  }
}

const messageOf = (thrown: unknown): string => fromThrown(thrown).message.slice(0, 200)
