/**
 * Builds workflows as data, for the planner alone.
 *
 * @module
 */
export { group, mapOf, sequence, task, wave } from '../domain/workflow/Workflow.js'
export { define, describeProblem, problems } from '../domain/workflow/WorkflowProblem.js'
