/** Chooses a function by the tag of a value. */
interface Tagged {
  readonly _tag: string
}

/** A function for each member of a union. */
export type Table<A extends Tagged, B> = {
  readonly [Tag in A['_tag']]: (value: Extract<A, { readonly _tag: Tag }>) => B
}

/** Calls the function for the tag of a value. */
export const byTag = <A extends Tagged, B>(value: A, table: Table<A, B>): B =>
  table[value._tag as A['_tag']](value as never)

/** Calls the function for the tag of a value, if there is one. */
export const ifTag = <A extends Tagged, B>(value: A, table: Partial<Table<A, B>>): B | undefined =>
  table[value._tag as A['_tag']]?.(value as never)
