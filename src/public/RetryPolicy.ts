/**
 * Builds retry policies, and computes their delays.
 *
 * @module
 */
export { delay, make, never, standard } from '../domain/workflow/RetryPolicy.js'
