/**
 * Builds workflows as data, for the planner alone.
 *
 * @module
 */
export { define, describeProblem, group, mapOf, problems, sequence, task, wave } from '../domain/workflow/Workflow.js'
