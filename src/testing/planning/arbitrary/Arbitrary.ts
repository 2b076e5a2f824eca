/**
 * fast-check arbitraries for property tests of resume plans: workflows, edits, runs, reachable and damaged checkpoints, plan options.
 *
 * @module
 */
export type { WorkflowEdit } from './edits.js'
export type { RunsOf } from './runs.js'
export type { Moment, SimulatedRun } from './RunRecorder.js'
export { damagedCheckpoint } from './damage.js'
export { edit, workflowEdit } from './edits.js'
export { checkpoint, moment, planOptions, run } from './runs.js'
export { workflow } from './workflows.js'
