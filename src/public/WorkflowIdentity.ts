/**
 * The identity of a workflow over edits.
 *
 * @module
 */
export { of } from '../domain/workflow/WorkflowIdentity.js'
