/**
 * Tries a store on random commands of several clients, against a model that is too simple to be wrong.
 *
 * @since 0.1.0
 */
import * as fc from 'fast-check'
import type { StorageSpec } from '../conformance/Spec.js'
import { command } from './Command.js'
import type { ModelReport } from './ModelReport.js'
import { play } from './play.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * How much is tried.
 *
 * - `numRuns`: how many sequences of commands, default 100. `maxCommands`: how long one is at most, default 60.
 * - `seed`: the same seed tries the same sequences; default: another one each time. With `path`, both from a report, exactly
 *   the sequence that failed is tried again.
 *
 * @category model
 * @since 0.1.0
 */
export interface ModelOptions {
  readonly numRuns?: number
  readonly maxCommands?: number
  readonly seed?: number
  readonly path?: string
}

// ---------------------------------------------------------------------------------------------------------------------
// checking
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Plays random commands of several clients on a store and on a model of it. Never rejects: what goes wrong is in the report,
 * shrunk to the commands that matter. A store that claims `processes` is tried with several live processes.
 *
 * @example
 * import { checkModel, mutants, ModelReport } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const mutant = mutants.find(({ flaw }) => flaw === 'lets anybody give a claim back') ?? assert.fail()
 * const report = await checkModel(mutant.spec, { seed: 7, numRuns: 500 })
 * assert.ok(report._tag === 'Failed', 'it was not found')
 * assert.match(ModelReport.toText(report), /Release/)
 *
 * @category running
 * @since 0.1.0
 */
export const checkModel = async <Data>(spec: StorageSpec<Data>, options: ModelOptions = {}): Promise<ModelReport> => {
  const { numRuns = 100, maxCommands = 60, seed, path } = options
  const several = spec.capabilities.includes('processes') && spec.beside !== undefined
  const sequences = fc.array(command(several), { maxLength: maxCommands, size: 'max' })
  const details = await fc.check(
    fc.asyncProperty(sequences, (commands) => play(spec, commands)),
    { numRuns, ...(seed === undefined ? {} : { seed }), ...(path === undefined ? {} : { path }) }
  )
  const store = spec.name
  if (!details.failed) return { _tag: 'Passed', store, seed: details.seed, numRuns: details.numRuns }
  const { errorInstance, counterexample, counterexamplePath } = details
  return {
    _tag: 'Failed',
    store,
    seed: details.seed,
    path: counterexamplePath ?? '',
    commands: counterexample?.[0] ?? [],
    why: errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
  }
}
