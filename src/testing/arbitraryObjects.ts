/** Arbitraries of objects. */
import * as fc from 'fast-check'

/** Objects with the usual prototype, whose fields have values from these arbitraries. */
export const plainObject = <T>(fields: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record<T>({ ...fields }, { noNullPrototype: true })

/** A {@link plainObject} that is a member of a tagged union. */
export const taggedObject = <Tag extends string, T>(
  tag: Tag,
  fields: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }
): fc.Arbitrary<{ readonly _tag: Tag } & T> => plainObject({ _tag: fc.constant(tag), ...fields }) as never
