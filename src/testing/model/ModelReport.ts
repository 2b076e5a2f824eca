/**
 * What came of a comparison with the model.
 *
 * @module
 */
import type { Command } from './Command.js'
import { describe } from './Command.js'

/**
 * What was found. A failure has the shortest sequence of commands that was found to fail, why it does, and what to give
 * `checkModel` in order to see it again.
 *
 * @category model
 */
export type ModelReport =
  | { readonly _tag: 'Passed'; readonly store: string; readonly seed: number; readonly numRuns: number }
  | {
      readonly _tag: 'Failed'
      readonly store: string
      readonly seed: number
      readonly path: string
      /** As it was given to `checkModel`; it has to be the same to see the failure again. */
      readonly maxCommands?: number
      readonly commands: ReadonlyArray<Command>
      readonly why: string
    }

/**
 * A report for people: the commands that fail, why, and how to see it again.
 *
 * @example
 * import { memoryData, memoryStorage } from 'dogear/memory'
 * import { checkModel, ModelReport } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const spec = {
 *   name: 'the memory store',
 *   create: async () => memoryData(),
 *   reopen: async (data: ReturnType<typeof memoryData>) => memoryStorage(data),
 *   capabilities: []
 * }
 * const report = await checkModel(spec, { seed: 1, numRuns: 5 })
 * assert.match(ModelReport.toText(report), /^the memory store: 5 sequences of commands, all as the model has it/)
 *
 * @category destructors
 */
export const toText = (report: ModelReport): string =>
  report._tag === 'Passed'
    ? `${report.store}: ${report.numRuns} sequences of commands, all as the model has it (seed ${report.seed})`
    : [
        `${report.store}: it is not as the model has it.`,
        ...report.commands.map((one, n) => `  ${n + 1}. ${describe(one)}`),
        report.why,
        `To see it again: { seed: ${report.seed}, path: '${report.path}'${report.maxCommands === undefined ? '' : `, maxCommands: ${report.maxCommands}`} }`
      ].join('\n')
