/**
 * Runs the cases against a store: by itself, or as the tests of whatever runner there is.
 *
 * @since 0.1.0
 */
import { strict as assert } from 'node:assert'
import { checkpointStorageCases } from './cases/index.js'
import type { ConformanceCase, Level } from './Case.js'
import { isClaimed, missingTools } from './Case.js'
import { reasonOf } from './difference.js'
import type { CaseOutcome, CaseResult, Report } from './Report.js'
import { make, resultOf } from './Report.js'
import type { Capability, StorageSpec } from './Spec.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What is run, and how.
 *
 * - `levels`: default all of them; `['core', 'capability']` leaves out what takes seconds.
 * - `only`: ids, or beginnings of ids (`CS-FENCE`). Default all.
 * - `limitMillis`: how long one case may take before it counts as failed, default 30,000; a stress case has four times as
 *   long.
 * - `onResult`: told each result as it comes.
 *
 * @category model
 * @since 0.1.0
 */
export interface ConformanceOptions {
  readonly levels?: ReadonlyArray<Level>
  readonly only?: ReadonlyArray<string>
  readonly limitMillis?: number
  /** Told each result as it comes. */
  readonly onResult?: (result: CaseResult) => void
}

// ---------------------------------------------------------------------------------------------------------------------
// running
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Runs the cases one after the other, each in a place of its own. Never rejects: what goes wrong is in the report.
 *
 * @example
 * import { memoryData, memoryStorage } from 'dogear/memory'
 * import { ConformanceReport, runConformance } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const report = await runConformance(
 *   {
 *     name: 'the memory store',
 *     create: async () => memoryData(),
 *     reopen: async (data) => memoryStorage(data),
 *     capabilities: ['large', 'watch']
 *   },
 *   { levels: ['core', 'capability'] }
 * )
 * assert.ok(ConformanceReport.isConformant(report), ConformanceReport.toText(report))
 * assert.deepEqual(report.hints, ['every case for `history` passes: the store could claim it'])
 *
 * @category running
 * @since 0.1.0
 */
export const runConformance = async <Data>(
  spec: StorageSpec<Data>,
  options: ConformanceOptions = {}
): Promise<Report> => {
  const results: Array<CaseResult> = []
  for (const one of chosen(options)) {
    const result = await tryCase(one, spec, options)
    results.push(result)
    options.onResult?.(result)
  }
  return make(spec.name, spec.capabilities, results, options.only === undefined)
}

/** The cases that are run. */
export const chosen = ({ levels, only }: Pick<ConformanceOptions, 'levels' | 'only'>): ReadonlyArray<ConformanceCase> =>
  checkpointStorageCases.filter(
    ({ id, level }) =>
      (levels === undefined || levels.includes(level)) &&
      (only === undefined || only.some((start) => id === start || id.startsWith(`${start}-`)))
  )

const tryCase = async <Data>(
  one: ConformanceCase,
  spec: StorageSpec<Data>,
  options: ConformanceOptions
): Promise<CaseResult> => {
  const began = performance.now()
  const outcome = await outcomeOf(one, spec, options)
  return resultOf(one, outcome, Math.round(performance.now() - began))
}

const outcomeOf = async <Data>(
  one: ConformanceCase,
  spec: StorageSpec<Data>,
  options: ConformanceOptions
): Promise<CaseOutcome> => {
  if (isClaimed(one, spec)) {
    const missing = missingTools(one, spec)
    if (missing.length > 0) return { _tag: 'Failed', why: `claimed, but the spec has no ${listed(missing)}` }
    const why = await failureOf(one, spec, options)
    return why === undefined ? { _tag: 'Passed' } : { _tag: 'Failed', why }
  }
  const lacks = one.needs.filter((need) => !spec.capabilities.includes(need))
  if (missingTools(one, spec).length > 0) return { _tag: 'NotClaimed', lacks, wouldHave: 'not been tried' }
  const why = await failureOf(one, spec, options)
  return { _tag: 'NotClaimed', lacks, wouldHave: why === undefined ? 'passed' : 'failed' }
}

const listed = (names: ReadonlyArray<string>): string => names.map((name) => `\`${name}\``).join(' and no ')

/** Why a case fails; nothing if it passes. */
const failureOf = async <Data>(
  one: ConformanceCase,
  spec: StorageSpec<Data>,
  { limitMillis }: ConformanceOptions
): Promise<string | undefined> => {
  try {
    await one.run(spec, limitMillis)
    return undefined
  } catch (error) {
    return reasonOf(error)
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// runners
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What a test runner offers: vitest, `node:test` and Jest as they are. The third argument of `test` is a limit in
 * milliseconds; a runner that knows of none ignores it.
 *
 * @category model
 * @since 0.1.0
 */
export interface TestRunner {
  /** Puts tests under a title. */
  readonly describe: (title: string, body: () => void) => unknown
  /** Defines a test. */
  readonly test: (title: string, body: () => Promise<void>, limitMillis: number) => unknown
}

/**
 * Defines a test for each case that a store must pass, and one that closes with the report. What is not claimed passes, and is
 * in the report.
 *
 * It is the same for `vitest` and `node:test`: only the import of `describe` and `test` differs.
 *
 * @example
 * import { memoryData, memoryStorage } from 'dogear/memory'
 * import { conformanceTests } from 'dogear/testing'
 * import { describe, test } from 'node:test'
 *
 * conformanceTests(
 *   { describe, test },
 *   {
 *     name: 'the memory store',
 *     create: async () => memoryData(),
 *     reopen: async (data) => memoryStorage(data),
 *     capabilities: ['history', 'large', 'watch']
 *   },
 *   { levels: ['core'] }
 * )
 *
 * @category running
 * @since 0.1.0
 */
export const conformanceTests = <Data>(
  { describe, test }: TestRunner,
  spec: StorageSpec<Data>,
  options: ConformanceOptions & { readonly onReport?: (report: Report) => void } = {}
): void => {
  const { limitMillis = 30_000 } = options
  const results: Array<CaseResult> = []
  // The kit's own limit comes first: it says more.
  const runnersLimit = 5 * limitMillis
  describe(`${spec.name} keeps the laws of a checkpoint store`, () => {
    for (const one of chosen(options)) {
      const title = `${one.id} ${one.title}`
      test(
        title,
        async () => {
          const result = await tryCase(one, spec, options)
          results.push(result)
          options.onResult?.(result)
          if (result.outcome._tag === 'Failed') assert.fail(`${one.id}: ${result.outcome.why}`)
        },
        runnersLimit
      )
    }
    test(
      'the report names what was not claimed',
      () => {
        options.onReport?.(make(spec.name, spec.capabilities, results, options.only === undefined))
        return Promise.resolve()
      },
      limitMillis
    )
  })
}

/**
 * The capabilities that a spec may claim.
 *
 * @category model
 * @since 0.1.0
 */
export const capabilities: ReadonlyArray<Capability> = [
  'history',
  'large',
  'watch',
  'processes',
  'damage',
  'formats',
  'faults'
]
