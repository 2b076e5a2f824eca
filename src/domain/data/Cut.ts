/** Cuts long strings. A note at the cut has the full length; redaction looks there for the start of a secret that the cut divides. */

/** Cuts a string after `most` characters. */
export const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most)}${noteOf(text)}`

/** The note at the cut of a string. */
export const noteOf = ({ length }: string): string => `… (${length} characters)`

/** Matches each note; a split keeps the notes. */
export const NOTES = /(… \(\d+ characters\))/
