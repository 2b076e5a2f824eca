/**
 * Describes errors of runs, and decides whether a later call may succeed.
 *
 * @module
 */
export { describe } from '../executor/errors/describe.js'
export { retryLater } from '../executor/errors/RunError.js'
