/** Runs the cases against a store, alone or in a test runner. */
import { strict as assert } from 'node:assert'
import type { ArtifactSpec } from './artifacts/ArtifactCase.js'
import { missingArtifactTools } from './artifacts/ArtifactCase.js'
import { artifactStoreCases } from './artifacts/index.js'
import { checkpointStorageCases } from './cases/index.js'
import type { ConformanceCase } from './Case.js'
import { missingTools } from './Case.js'
import { reasonOf } from './difference.js'
import type { CaseOutcome, CaseResult, Report } from './Report.js'
import { BEYOND, make, resultOf } from './Report.js'
import type { ConformanceOptions, TestOptions } from './selection.js'
import { checkCall, checkRunner, chosenOf } from './selection.js'
import type { Capability, StorageSpec } from './Spec.js'
import { artifactSpecProblems, specProblems } from './specProblems.js'

/**
 * Runs the cases one after the other, each in its own place. Failures are in the report. Rejects only if the spec
 * or an option is invalid, or if the options select no case.
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
 */
export const runConformance = async <Data>(
  spec: StorageSpec<Data>,
  options: ConformanceOptions = {}
): Promise<Report> => {
  checkCall('runConformance', checkpointStorageCases, specProblems(spec), options)
  return await tryAll(storeOf(spec), trialsOf(spec, options), options)
}

export const chosen = (options: Pick<ConformanceOptions, 'levels' | 'only'>): ReadonlyArray<ConformanceCase> =>
  chosenOf(checkpointStorageCases, options)

/**
 * Runs the cases for an artifact store, `AS-…`. Rejects as {@link runConformance} does.
 *
 * @example
 * import { memoryArtifacts, memoryData } from 'dogear/memory'
 * import { ConformanceReport, runArtifactConformance } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const report = await runArtifactConformance({
 *   name: 'artifacts in memory',
 *   create: async () => memoryData(),
 *   reopen: async (data) => memoryArtifacts(data),
 *   capabilities: ['large']
 * })
 * assert.ok(ConformanceReport.isConformant(report), ConformanceReport.toText(report))
 *
 * @category running
 */
export const runArtifactConformance = async <Data>(
  spec: ArtifactSpec<Data>,
  options: ConformanceOptions = {}
): Promise<Report> => {
  checkCall('runArtifactConformance', artifactStoreCases, artifactSpecProblems(spec), options)
  return await tryAll(artifactStoreOf(spec), artifactTrialsOf(spec, options), options)
}

/** `missing`: the tools that the spec lacks for the case. */
interface RunnableCase {
  readonly one: Omit<ConformanceCase, 'run'>
  readonly missing: ReadonlyArray<string>
  readonly run: (limitMillis: number | undefined) => Promise<void>
}

/** `beyond`: what no case covers. */
interface Store {
  readonly name: string
  readonly capabilities: ReadonlyArray<Capability>
  readonly beyond: ReadonlyArray<string>
}

const storeOf = <Data>({ name, capabilities }: StorageSpec<Data>): Store => ({ name, capabilities, beyond: BEYOND })

const artifactStoreOf = <Data>({ name, capabilities }: ArtifactSpec<Data>): Store => ({
  name,
  capabilities,
  beyond: BEYOND
})

const reportOf = (store: Store, results: ReadonlyArray<CaseResult>, { only, levels }: ConformanceOptions): Report =>
  make(store.name, store.capabilities, results, { whole: only === undefined, levels, beyond: store.beyond })

const trialsOf = <Data>(spec: StorageSpec<Data>, options: ConformanceOptions): ReadonlyArray<RunnableCase> =>
  chosen(options).map((one) => ({
    one,
    missing: missingTools(one, spec),
    run: (limitMillis) => one.run(spec, limitMillis)
  }))

const artifactTrialsOf = <Data>(spec: ArtifactSpec<Data>, options: ConformanceOptions): ReadonlyArray<RunnableCase> =>
  chosenOf(artifactStoreCases, options).map((one) => ({
    one,
    missing: missingArtifactTools(one, spec),
    run: (limitMillis) => one.run(spec, limitMillis)
  }))

const tryAll = async (
  store: Store,
  trials: ReadonlyArray<RunnableCase>,
  options: ConformanceOptions
): Promise<Report> => {
  const results: Array<CaseResult> = []
  for (const trial of trials) {
    const result = await tryCase(trial, store, options)
    results.push(result)
    options.onResult?.(result)
  }
  return reportOf(store, results, options)
}

const tryCase = async (trial: RunnableCase, store: Store, options: ConformanceOptions): Promise<CaseResult> => {
  const began = performance.now()
  const outcome = await outcomeOf(trial, store, options)
  return resultOf(trial.one, outcome, Math.round(performance.now() - began))
}

const outcomeOf = async (
  trial: RunnableCase,
  { capabilities: claimed }: Store,
  options: ConformanceOptions
): Promise<CaseOutcome> => {
  const { missing } = trial
  const lacks = trial.one.needs.filter((need) => !claimed.includes(need))
  if (lacks.length === 0) {
    if (missing.length > 0) return { _tag: 'Failed', why: `claimed, but the spec has no ${listed(missing)}` }
    const why = await failureOf(trial, options)
    return why === undefined ? { _tag: 'Passed' } : { _tag: 'Failed', why }
  }
  if (missing.length > 0) return { _tag: 'NotClaimed', lacks, wouldHave: 'not been tried' }
  const why = await failureOf(trial, options)
  return { _tag: 'NotClaimed', lacks, wouldHave: why === undefined ? 'passed' : 'failed' }
}

const listed = (names: ReadonlyArray<string>): string => names.map((name) => `\`${name}\``).join(' and no ')

/** The reason for a failure; undefined if the case passes. */
const failureOf = async (trial: RunnableCase, { limitMillis }: ConformanceOptions): Promise<string | undefined> => {
  try {
    await trial.run(limitMillis)
    return undefined
  } catch (error) {
    return reasonOf(error)
  }
}

/**
 * The functions of a test runner. vitest, `node:test` and Jest fit. The third argument of `test` is a limit in
 * milliseconds, which a runner may ignore.
 *
 * @category model
 */
export interface TestRunner {
  /** Groups tests under a title. */
  readonly describe: (title: string, body: () => void) => unknown
  /** Defines a test. */
  readonly test: (title: string, body: () => Promise<void>, limitMillis: number) => unknown
}

/**
 * Defines a test for each case, and a last one for the report. Cases that the store does not claim pass and are listed
 * in the report. Throws for what {@link runConformance} rejects.
 * For `vitest` and `node:test` only the import of `describe` and `test` differs.
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
 */
export const conformanceTests = <Data>(
  runner: TestRunner,
  spec: StorageSpec<Data>,
  options: TestOptions = {}
): void => {
  checkRunner('conformanceTests', runner)
  checkCall('conformanceTests', checkpointStorageCases, specProblems(spec), options)
  testAll(runner, storeOf(spec), `${spec.name} keeps the laws of a checkpoint store`, trialsOf(spec, options), options)
}

/**
 * Defines the tests for an artifact store.
 *
 * @example
 * import { memoryArtifacts, memoryData } from 'dogear/memory'
 * import { artifactConformanceTests } from 'dogear/testing'
 * import { describe, test } from 'node:test'
 *
 * artifactConformanceTests(
 *   { describe, test },
 *   {
 *     name: 'artifacts in memory',
 *     create: async () => memoryData(),
 *     reopen: async (data) => memoryArtifacts(data),
 *     capabilities: ['large']
 *   }
 * )
 *
 * @category running
 */
export const artifactConformanceTests = <Data>(
  runner: TestRunner,
  spec: ArtifactSpec<Data>,
  options: TestOptions = {}
): void => {
  checkRunner('artifactConformanceTests', runner)
  checkCall('artifactConformanceTests', artifactStoreCases, artifactSpecProblems(spec), options)
  testAll(
    runner,
    artifactStoreOf(spec),
    `${spec.name} keeps the laws of an artifact store`,
    artifactTrialsOf(spec, options),
    options
  )
}

const testAll = (
  { describe, test }: TestRunner,
  store: Store,
  heading: string,
  trials: ReadonlyArray<RunnableCase>,
  options: TestOptions
): void => {
  const { limitMillis = 30_000 } = options
  const results: Array<CaseResult> = []
  // The limit of the kit must come first, because its message says more.
  const runnersLimit = 5 * limitMillis
  describe(heading, () => {
    for (const trial of trials) {
      const { id, title } = trial.one
      test(
        `${id} ${title}`,
        async () => {
          const result = await tryCase(trial, store, options)
          results.push(result)
          options.onResult?.(result)
          if (result.outcome._tag === 'Failed') assert.fail(`${id}: ${result.outcome.why}`)
        },
        runnersLimit
      )
    }
    test(
      'the kit passes its report to `onReport`',
      () => {
        options.onReport?.(reportOf(store, results, options))
        return Promise.resolve()
      },
      limitMillis
    )
  })
}
