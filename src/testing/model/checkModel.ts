/** Checks a store against a model with random commands of several clients. */
import * as fc from 'fast-check'
import type { StorageSpec } from '../conformance/Spec.js'
import { specProblems } from '../conformance/specProblems.js'
import { defined } from '../../domain/data/defined.js'
import { text, whole, wholeFrom } from '../../domain/data/Options.js'
import type { TableOf } from '../arguments.js'
import { problemsOf, refuse } from '../arguments.js'
import { reasonOf } from '../conformance/difference.js'
import { isLate } from '../conformance/Trial.js'
import type { Command } from './Command.js'
import { command } from './Command.js'
import type { ModelReport } from './ModelReport.js'
import { play } from './play.js'

/**
 * The options of a model-based test.
 *
 * - `numRuns`: the number of command sequences, default 100.
 * - `maxCommands`: the maximum length of a sequence, default 60.
 * - `seed`: the seed of the sequences, default random. With the `path` and `maxCommands` of a report it repeats the
 *   failing sequence.
 * - `limitMillis`: the time limit of one command, default 10,000. A sequence that exceeds it is not shrunk.
 *
 * @category model
 */
export interface ModelOptions {
  readonly numRuns?: number
  readonly maxCommands?: number
  readonly seed?: number
  readonly path?: string
  readonly limitMillis?: number
}

const OPTIONS: TableOf<ModelOptions> = {
  numRuns: wholeFrom(1),
  maxCommands: wholeFrom(1),
  seed: whole,
  path: text,
  limitMillis: wholeFrom(1)
}

/**
 * Plays random commands of several clients on a store and on a model of it, and compares the results. A failure is in
 * the report, shrunk to a short sequence. Rejects only for an invalid spec and for invalid options. A store that claims `processes` is tested with
 * several live processes.
 *
 * @example
 * import { memoryData, memoryStorage } from 'dogear/memory'
 * import { checkModel, ModelReport } from 'dogear/testing'
 * import * as TE from 'fp-ts/lib/TaskEither.js'
 * import assert from 'node:assert/strict'
 *
 * const broken = {
 *   name: 'a store that keeps its claims',
 *   create: async () => memoryData(),
 *   reopen: async (data: ReturnType<typeof memoryData>) => ({ ...memoryStorage(data), release: () => TE.right(undefined) }),
 *   capabilities: []
 * }
 * const report = await checkModel(broken, { seed: 7, numRuns: 500 })
 * assert.ok(report._tag === 'Failed', 'it was not found')
 * assert.match(ModelReport.toText(report), /Release/)
 *
 * @category running
 */
export const checkModel = async <Data>(spec: StorageSpec<Data>, options: ModelOptions = {}): Promise<ModelReport> => {
  refuse('checkModel', [...specProblems(spec).map((one) => `the spec: ${one}`), ...problemsOf(options, OPTIONS)])
  const { numRuns = 100, maxCommands = 60, seed, path, limitMillis = 10_000 } = options
  const hasProcesses = spec.capabilities.includes('processes') && spec.beside !== undefined
  const sequences = fc.array(command(hasProcesses), { maxLength: maxCommands, size: 'max' })
  let late: { readonly why: string; readonly commands: ReadonlyArray<Command> } | undefined
  const tryOut = async (commands: ReadonlyArray<Command>): Promise<void> => {
    if (late !== undefined) return
    let played = 0
    const tried = play(spec, commands, limitMillis, (index) => (played = index + 1))
    await tried.catch((error: unknown) => {
      // Shrinking such commands would take too long.
      if (isLate(error)) late = { why: reasonOf(error), commands: commands.slice(0, played) }
    })
    return tried
  }
  const details = await fc.check(fc.asyncProperty(sequences, tryOut), {
    numRuns,
    ...defined({ seed, path })
  })
  const store = spec.name
  if (!details.failed) return { _tag: 'Passed', store, seed: details.seed, numRuns: details.numRuns }
  const { errorInstance, counterexample, counterexamplePath } = details
  return {
    _tag: 'Failed',
    store,
    seed: details.seed,
    path: counterexamplePath ?? '',
    ...(maxCommands === 60 ? {} : { maxCommands }),
    commands: late?.commands ?? counterexample?.[0] ?? [],
    why: late?.why ?? reasonOf(errorInstance)
  }
}
