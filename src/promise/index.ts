/**
 * Dogear for code with async and await: a workflow is a chain of steps, and a run resolves or rejects.
 *
 * The engine and the steps are the same; promises replace `ReaderTaskEither`.
 *
 * @module
 */
export * from './run.js'
export * from './workflow.js'
