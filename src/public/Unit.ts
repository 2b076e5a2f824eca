/**
 * Functions on the paths of units.
 *
 * @module
 */
export { isWithin, join, names, parent } from '../domain/workflow/Unit.js'
