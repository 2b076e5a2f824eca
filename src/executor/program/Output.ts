/**
 * The types of outputs: what a step returns, and what later steps read.
 *
 * @module
 */
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Json } from '../../domain/data/Json.js'
import type { SchemaInput, SchemaOutput, StandardSchema } from './StandardSchema.js'

/** An io-ts codec: the fields of `t.Mixed` that Dogear uses. `encode` must return plain JSON. */
// The parameters are `never`, so that a codec of any type is assignable; `_A` carries its type.
export interface IoTsCodec {
  readonly _A: unknown
  readonly name: string
  /** As in io-ts. */
  readonly is: (value: unknown) => boolean
  /** As in io-ts. */
  readonly validate: (value: never, context: never) => unknown
  /** As in io-ts. */
  readonly decode: (value: never) => unknown
  /** As in io-ts. */
  readonly encode: (value: never) => unknown
}

/**
 * The type of `output`, `input` and `item`: an io-ts codec, or a Standard Schema (zod, valibot, arktype).
 *
 * @category model
 */
export type Schema = StandardSchema | IoTsCodec

/** The type that a schema takes: a codec's own type, or the input of a Standard Schema. */
export type Accepted<S extends Schema> = S extends StandardSchema
  ? SchemaInput<S>
  : S extends IoTsCodec
    ? S['_A']
    : never

/** The type of the input that starts a run: what the schema takes, or plain JSON without one. */
export type StartOf<C> = C extends Schema ? Accepted<C> : Json

/** The type of the input that steps see: what the schema returns, or plain JSON without one. */
export type SeenInput<C> = C extends Schema ? Read<C> : Json

/** The type that readers of a schema see. */
type Read<S extends Schema> = S extends StandardSchema ? SchemaOutput<S> : S extends IoTsCodec ? S['_A'] : never

/** The return type of an author's function: a `TaskEither`, a promise or a value. */
export type Returned<A> = TaskEither<unknown, A> | PromiseLike<A> | A

/** The value that a {@link Returned} settles with. */
// No branch is `R` itself: TypeScript would infer `R` from it.
export type Settled<R> = R extends (...args: never) => PromiseLike<infer Result>
  ? Result extends { readonly _tag: 'Right'; readonly right: infer A }
    ? A
    : never
  : R extends PromiseLike<infer A>
    ? A
    : R extends infer A
      ? A
      : never

/** The type that `run` returns. `C`: the schema of the output, or without one the returned type itself, if JSON can store it. */
export type ReturnOf<C> = C extends Schema ? Returned<Accepted<C>> : CanStore<C> extends true ? C : Stored<C>

// A separate conditional type: TypeScript infers `C` from what `run` returns only where no schema is inferred.
type CanStore<R> = [R] extends [Stored<R>] ? true : false

/** The type that readers see. `C`: the schema, or without one the type that `run` returns, as JSON restores it. */
export type OutputOf<C> = IsAny<C> extends true ? Json : C extends Schema ? Read<C> : AsJson<Settled<C>>

/** Returns whether a type is `any`. */
export type IsAny<A> = 0 extends 1 & A ? true : false

/** A value that JSON cannot store. `Why` names it and the remedy. */
export interface NotStorable<Why extends string> {
  readonly 'not storable': Why
}

type Stored<R> = R extends Callable
  ? R extends TaskEither<unknown, infer A>
    ? TaskEither<unknown, Storable<A>>
    : NotStorable<'a function; return a TaskEither, a promise or a value'>
  : R extends Promise<infer A>
    ? Promise<TopLevel<A>>
    : R extends PromiseLike<infer A>
      ? PromiseLike<TopLevel<A>>
      : R extends infer A
        ? TopLevel<A>
        : never

type TopLevel<A> = A extends
  { readonly _tag: 'Left'; readonly left: unknown } | { readonly _tag: 'Right'; readonly right: unknown }
  ? NotStorable<'an Either; return the TaskEither itself'>
  : Storable<A>

/** A type with each part that JSON cannot store replaced by {@link NotStorable}. */
export type Storable<A> = unknown extends A
  ? A
  : A extends Json | undefined | void
    ? A
    : A extends Foreign
      ? NotStorable<ForeignName<A>>
      : A extends ReadonlyArray<infer Item>
        ? undefined extends Item
          ? ReadonlyArray<Storable<Exclude<Item, undefined>> | NotStorable<'undefined in an array; return null'>>
          : { [K in keyof A]: Storable<A[K]> }
        : { [K in keyof A]: Storable<A[K]> }

type Foreign =
  | bigint
  | symbol
  | Callable
  | Date
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | Bytes
  | PromiseLike<unknown>

type Callable = (...args: never) => unknown

type Bytes = ArrayBufferView | ArrayBuffer

type ForeignName<A> = A extends bigint
  ? 'a bigint; return a string'
  : A extends symbol
    ? 'a symbol; return a string'
    : A extends Callable
      ? 'a function; return data'
      : A extends Date
        ? 'a Date; return a string or a number, or give the step an output schema'
        : A extends Bytes
          ? 'bytes; put them as an artifact'
          : A extends PromiseLike<unknown>
            ? 'a promise; await it'
            : 'a Map or a Set; return an object or an array'

/** A storable value as it is read back: without the properties that JSON omits. */
type AsJson<A> = Json extends A
  ? Json
  : A extends undefined | void
    ? null
    : A extends string | number | boolean | null
      ? A
      : A extends ReadonlyArray<infer Item>
        ? unknown extends Item
          ? ReadonlyArray<Json>
          : A extends Json
            ? A
            : { [K in keyof A]: AsJson<A[K]> }
        : A extends object
          ? ObjectAsJson<A>
          : never

type ObjectAsJson<A> = undefined extends A[keyof A]
  ? Pruned<
      { [K in keyof A as undefined extends A[K] ? never : K]: AsJson<A[K]> } & {
        [K in keyof A as undefined extends A[K] ? K : never]?: AsJson<Exclude<A[K], undefined>>
      }
    >
  : { [K in keyof A]: AsJson<A[K]> }

// Shows the fields of an intersection as those of one object.
type Pruned<A> = A extends infer B ? { [K in keyof B]: B[K] } : never
