/**
 * Applies changes to checkpoints.
 *
 * @module
 */
export { apply, replay } from '../domain/change/Transition.js'
