/**
 * Functions on the outcome of a run.
 *
 * @module
 */
export { match } from '../executor/RunOutcome.js'
