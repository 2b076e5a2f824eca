/**
 * Arbitraries for property tests (fast-check) of resume plans: workflows, their edits, runs and checkpoints that they can
 * reach, damaged checkpoints, plan options.
 *
 * @module
 */
export type { Damaged } from './damage.js'
export type { Edited, WorkflowEdit } from './edits.js'
export type { RunsOf } from './runs.js'
export type { Outputs } from './Samples.js'
export type { Moment, SimulatedRun } from './Tape.js'
export { damagedCheckpoint } from './damage.js'
export { edit, workflowEdit } from './edits.js'
export { checkpoint, input, moment, momentWithOptions, planOptions, run, undisturbedRun } from './runs.js'
export { workflow } from './workflows.js'
