/**
 * The problems of a plan in words.
 *
 * @module
 */
export { describeProblem, describeProblems } from '../domain/explain/problems.js'
