/**
 * Functions on crash reports.
 *
 * @module
 */
export { toText } from '../crash/CrashReport.js'
