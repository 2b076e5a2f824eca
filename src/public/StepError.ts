/**
 * Builds stored errors.
 *
 * @module
 */
export { fromUnknown, make } from '../domain/data/StepError.js'
