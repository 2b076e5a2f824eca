/** Shortens long lists of names in messages. */

/** Up to `MOST` names are listed in full; of more, only the first `NAMED`. */
const MOST = 20
const NAMED = 10

export const listed = (names: ReadonlyArray<string>): string =>
  names.length <= MOST ? names.join(', ') : `${names.slice(0, NAMED).join(', ')} and ${names.length - NAMED} more`
