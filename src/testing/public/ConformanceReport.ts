/**
 * Functions on conformance reports.
 *
 * @module
 */
export { isConformant, toJson, toTap, toText } from '../conformance/Report.js'
