/** Removes this command and Node from stack traces. */

const OURS = new URL('.', import.meta.url).href

export const withoutOurs = (text: string): ReadonlyArray<string> =>
  text.split('\n').filter((line) => !(/^\s+at /.test(line) && (line.includes(OURS) || /\(?node:internal\//.test(line))))
