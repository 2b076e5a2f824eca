/**
 * What code that is called inside of a function can tell of it, however many promises lie between.
 *
 * @since 0.1.0
 */

/**
 * Carries a value through asynchronous calls.
 *
 * @category model
 * @since 0.1.0
 */
export interface AsyncContext {
  /** Calls a function. All that it calls gets the value, also after an `await`. */
  readonly run: <A>(value: unknown, act: () => A) => A
  /** The value of the innermost call; `undefined` outside of all. */
  readonly get: () => unknown
}
