/** Arbitraries of plain data. */
import * as fc from 'fast-check'

/** Objects with the usual prototype, whose fields have values from these arbitraries. */
export const plain = <T>(fields: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record<T>({ ...fields }, { noNullPrototype: true })

/** Does the same for one member of a tagged union. */
export const tagged = <Tag extends string, T>(
  tag: Tag,
  fields: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }
): fc.Arbitrary<{ readonly _tag: Tag } & T> => plain({ _tag: fc.constant(tag), ...fields }) as never
