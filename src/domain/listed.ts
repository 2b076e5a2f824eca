/**
 * Long lists, for people.
 *
 * @since 0.1.0
 */

/** So many are all named. Of more, these many. */
const MOST = 20
const NAMED = 10

/**
 * The names, or the first of them and how many more there are.
 *
 * @since 0.1.0
 */
export const listed = (names: ReadonlyArray<string>): string =>
  names.length <= MOST ? names.join(', ') : `${names.slice(0, NAMED).join(', ')} and ${names.length - NAMED} more`
