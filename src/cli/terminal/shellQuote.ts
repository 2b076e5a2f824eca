/**
 * Commands that people can copy and run.
 *
 * @since 0.1.0
 */

/**
 * Words as a line for a POSIX shell: what could mean something to it is quoted.
 *
 * @category destructors
 * @since 0.1.0
 */
export const commandOf = (words: ReadonlyArray<string>): string => words.map(quoted).join(' ')

const quoted = (word: string): string =>
  /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
