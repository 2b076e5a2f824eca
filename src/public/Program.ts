/**
 * Builds programs: a pipe of steps, or a list of them.
 *
 * @module
 */
export { problems } from '../executor/program/programProblems.js'
export { fromSteps, map, sequence, sleep, start, step, waitFor, wave } from '../executor/program/Program.js'
export { mapOf, reuse, sequenceOf, task, waveOf } from '../executor/program/ProgramStep.js'
