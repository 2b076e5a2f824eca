/**
 * The ids of runs.
 *
 * @module
 */
export { fromHostId, parse } from '../domain/checkpoint/RunId.js'
