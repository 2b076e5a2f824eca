/**
 * Errors of runs in words.
 *
 * @module
 */
export { describe, retryLater } from '../executor/RunError.js'
