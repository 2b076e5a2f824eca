/** Arbitraries of plain data. */
import * as fc from 'fast-check'

/** Objects like those that people write, whose fields have these values. */
export const plain = <T>(fields: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record<T>({ ...fields }, { noNullPrototype: true })

/** The same, of a member of a union. */
export const tagged = <Tag extends string, T>(
  tag: Tag,
  fields: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }
): fc.Arbitrary<{ readonly _tag: Tag } & T> => plain({ _tag: fc.constant(tag), ...fields }) as never
