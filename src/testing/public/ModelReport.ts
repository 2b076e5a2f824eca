/**
 * Functions on model reports.
 *
 * @module
 */
export { toText } from '../model/ModelReport.js'
