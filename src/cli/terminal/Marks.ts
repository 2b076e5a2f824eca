/** The signs that stand before what is done, at work, waits for its job, failed or is still to come. */

/** A sign for each state of a unit; `more` stands for what was left out. */
export interface Marks {
  readonly completed: string
  readonly failed: string
  readonly inFlight: string
  readonly pending: string
  readonly notStarted: string
  readonly more: string
}

/** For everything that shows UTF-8. */
export const unicode: Marks = { completed: '✓', failed: '✗', inFlight: '⚡', pending: '◌', notStarted: '○', more: '…' }

/** For what shows only ASCII. */
export const ascii: Marks = { completed: '+', failed: 'x', inFlight: '*', pending: '~', notStarted: '-', more: '...' }

/**
 * The signs for an environment: those of ASCII on a dumb terminal, and where the locale (LC_ALL, else LC_CTYPE, else
 * LANG) is one without UTF-8, as C is. No locale at all says nothing.
 */
export const of = (environment: Readonly<Record<string, string | undefined>>): Marks => {
  const { LC_ALL: all = '', LC_CTYPE: characters = '', LANG: language = '', TERM: term } = environment
  const locale = [all, characters, language].find((one) => one !== '')
  return term !== 'dumb' && (locale === undefined || /utf-?8/i.test(locale)) ? unicode : ascii
}
