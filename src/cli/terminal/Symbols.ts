/** Symbols for the states of units. */

/** `more` stands for omitted text. */
export const unicode = {
  completed: '✓',
  failed: '✗',
  inFlight: '⚡',
  pending: '◌',
  notStarted: '○',
  skipped: '↷',
  more: '…'
} as const

export type Symbols = Readonly<Record<keyof typeof unicode, string>>

export const ascii: Symbols = {
  completed: '+',
  failed: 'x',
  inFlight: '*',
  pending: '~',
  notStarted: '-',
  skipped: '>',
  more: '...'
}

/** ASCII on a dumb terminal, and in a locale (LC_ALL, LC_CTYPE, LANG) without UTF-8; a missing locale counts as UTF-8. */
export const of = (environment: Readonly<Record<string, string | undefined>>): Symbols => {
  const { LC_ALL: all = '', LC_CTYPE: characters = '', LANG: language = '', TERM: term } = environment
  const locale = [all, characters, language].find((one) => one !== '')
  return term !== 'dumb' && (locale === undefined || /utf-?8/i.test(locale)) ? unicode : ascii
}
