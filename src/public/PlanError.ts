/**
 * The problems of a plan in words.
 *
 * @module
 */
export { describeProblem, describeProblems } from '../domain/explain/Explain.js'
