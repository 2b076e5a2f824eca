/**
 * Errors of runs in words.
 *
 * @module
 */
export { describe } from '../executor/errors/describe.js'
export { retryLater } from '../executor/errors/RunError.js'
