/**
 * The result of a model-based test.
 *
 * @module
 */
import type { Command } from './Command.js'
import { describe } from './Command.js'

/**
 * The result of a model-based test. A failure has the shortest failing sequence of commands that was found, the reason,
 * and the options that repeat it.
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
      /** The option as passed to `checkModel`; a repetition needs the same. */
      readonly maxCommands?: number
      readonly commands: ReadonlyArray<Command>
      readonly why: string
    }

/**
 * Renders a report: the failing commands, the reason, and the options that repeat it.
 *
 * @example
 * import { ModelReport } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const report = { _tag: 'Passed', store: 'mine', seed: 1, numRuns: 5 } as const
 * assert.match(ModelReport.toText(report), /^mine: 5 command sequences, all as the model predicts/)
 *
 * @category destructors
 */
export const toText = (report: ModelReport): string =>
  report._tag === 'Passed'
    ? `${report.store}: ${report.numRuns} command sequences, all as the model predicts (seed ${report.seed})`
    : [
        `${report.store} differs from the model:`,
        ...report.commands.map((one, n) => `  ${n + 1}. ${describe(one)}`),
        report.why,
        `Repeat with: { seed: ${report.seed}, path: '${report.path}'${report.maxCommands === undefined ? '' : `, maxCommands: ${report.maxCommands}`} }`
      ].join('\n')
