/** Makes untrusted strings safe to print: they can neither control the terminal nor start a new line. */

/** C0, DEL, C1, bidirectional controls, and line and paragraph separators. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/** Escapes control characters as in JSON (`\u001b`), so that the text stays on one line; a tab becomes a space. */
export const printable = (text: string): string => text.replace(CONTROLS, escaped)

const escaped = (character: string): string => {
  if (character === '\n') return '\\n'
  return character === '\t' ? ' ' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

export const printableLines = (lines: ReadonlyArray<string>): string => lines.map(printable).join('\n')
