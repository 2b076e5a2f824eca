/** Cuts long texts. A note at the cut has the full length, and shows a redaction where a secret may be cut in two. */

/** Cuts a text after so many characters. */
export const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most)}${noteOf(text)}`

/** The note at the cut of a text. */
export const noteOf = ({ length }: string): string => `… (${length} characters)`

/** Every note in a text. */
export const NOTES = /(… \(\d+ characters\))/
