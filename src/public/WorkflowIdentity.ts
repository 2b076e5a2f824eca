/**
 * Computes the identity of a workflow.
 *
 * @module
 */
export { of } from '../domain/workflow/WorkflowIdentity.js'
