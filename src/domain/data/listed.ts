/** Shortens long lists of names in messages. */

/** Up to `MOST` names are listed in full; of more, only the first `NAMED`. */
const MOST = 20
const NAMED = 10

export const listed = (names: ReadonlyArray<string>, most = MOST, named = Math.min(most, NAMED)): string =>
  names.length <= most ? names.join(', ') : `${names.slice(0, named).join(', ')} and ${names.length - named} more`

export const quoted = (names: ReadonlyArray<string>): string =>
  names.length === 0 ? 'none' : listed(names.map((name) => `"${name}"`))
