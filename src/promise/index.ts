/**
 * Dogear for code with async and await: a workflow is a chain of steps, and a run resolves or rejects.
 *
 * It is the same engine, with the same steps. What fp-ts says with a `ReaderTaskEither` this says with promises.
 *
 * @module
 */
export * from './run.js'
export * from './workflow.js'
