/**
 * Functions on the state of a checkpoint.
 *
 * @module
 */
export { failures, inFlight, match } from '../domain/checkpoint/CheckpointState.js'
