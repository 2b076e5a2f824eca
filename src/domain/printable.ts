/**
 * Text from outside, made safe to show: it can neither steer a terminal nor begin a line of its own.
 *
 * @since 0.1.0
 */

/** C0, DEL, C1, marks that turn the direction of text, and the separators of lines and paragraphs. */
const STEERING = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/**
 * The text on one line, with each such character as `\u001b`: what JSON text has for it, too.
 *
 * @since 0.1.0
 */
export const printable = (text: string): string => text.replace(STEERING, shown)

const shown = (character: string): string => {
  if (character === '\n') return '\\n'
  return character === '\t' ? ' ' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/**
 * A text of several lines, none of which makes another.
 *
 * @since 0.1.0
 */
export const printableLines = (lines: ReadonlyArray<string>): string => lines.map(printable).join('\n')
