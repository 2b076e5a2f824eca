/** Where in somebody's files an error came from. */

const OURS = new URL('.', import.meta.url).href

/** The lines of a stack trace, or of any text, without those that lead into this command or into Node itself. */
export const withoutOurs = (text: string): ReadonlyArray<string> =>
  text.split('\n').filter((line) => !(/^\s+at /.test(line) && (line.includes(OURS) || /\(?node:internal\//.test(line))))
