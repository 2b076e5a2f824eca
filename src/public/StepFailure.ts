/**
 * Classifies errors as transient or permanent.
 *
 * @module
 */
export { fromUnknown, permanent, transient } from '../domain/data/StepFailure.js'
