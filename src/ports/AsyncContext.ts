/**
 * Carries a value through asynchronous calls, as `AsyncLocalStorage` does.
 *
 * @category model
 */
export interface AsyncContext {
  /** Calls a function. Everything that it calls sees the value, even after an `await`. */
  readonly run: <A>(value: unknown, act: () => A) => A
  /** Returns the value of the innermost call; `undefined` outside of all. */
  readonly get: () => unknown
}
