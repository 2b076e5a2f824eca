/**
 * Colours, where they are wanted.
 *
 * @since 0.1.0
 */

/**
 * Ways to set off text.
 *
 * @category model
 * @since 0.1.0
 */
export interface Style {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
}

const wrapped =
  (open: number, close: number) =>
  (text: string): string =>
    `\x1b[${open}m${text}\x1b[${close}m`

const plain = (text: string): string => text

/**
 * No colours.
 *
 * @category constructors
 * @since 0.1.0
 */
export const none: Style = { bold: plain, dim: plain, red: plain, green: plain, yellow: plain }

/**
 * The colours of a terminal.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ansi: Style = {
  bold: wrapped(1, 22),
  dim: wrapped(2, 22),
  red: wrapped(31, 39),
  green: wrapped(32, 39),
  yellow: wrapped(33, 39)
}

/**
 * The style for a stream: FORCE_COLOR and NO_COLOR (see no-color.org) decide, else whether it is a terminal.
 *
 * @category constructors
 * @since 0.1.0
 */
export const of = (isTerminal: boolean, environment: Readonly<Record<string, string | undefined>>): Style => {
  const { FORCE_COLOR: force, NO_COLOR: refuse, TERM: term } = environment
  if (force !== undefined && force !== '') return force === '0' || force === 'false' ? none : ansi
  if (refuse !== undefined && refuse !== '') return none
  return isTerminal && term !== 'dumb' ? ansi : none
}

/**
 * Text on one line that does nothing to a terminal: control characters are shown, not sent.
 *
 * @category combinators
 * @since 0.1.0
 */
export const printable = (text: string): string =>
  text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (character) =>
    character === '\n'
      ? '\\n'
      : character === '\t'
        ? ' '
        : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  )
