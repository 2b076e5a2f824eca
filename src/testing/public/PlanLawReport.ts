/**
 * Functions on plan law reports.
 *
 * @module
 */
export { toText } from '../planning/laws/PlanLawReport.js'
