/**
 * Dogear for code with async and await: steps are functions that return promises, and a run resolves or rejects.
 *
 * It is the same engine. What fp-ts says with `TaskEither` this says with promises; nothing else differs.
 *
 * @module
 * @since 0.1.0
 */
export * from './run.js'
export * from './workflow.js'
