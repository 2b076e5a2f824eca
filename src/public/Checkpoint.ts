/**
 * Functions on checkpoints.
 *
 * @module
 */
export { isFinal, progress, start, status, variablesOf } from '../domain/checkpoint/Checkpoint.js'
