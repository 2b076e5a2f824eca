/**
 * Dogear for code with async and await: a workflow is a chain of steps, and a run resolves or rejects.
 *
 * The engine and the steps are the same; promises replace `ReaderTaskEither`.
 *
 * @module
 */
export type { HostOptions, Options, ResumeOptions, RunOrResumeOptions, StartOptions } from './options.js'
export * from './hosts.js'
export * from './run.js'
export * from './RunFailure.js'
export * from './workflow.js'
