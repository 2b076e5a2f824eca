/** Runs the cases against a store, alone or in a test runner. */
import { strict as assert } from 'node:assert'
import { fieldsOf } from '../../domain/data/Options.js'
import type { ArtifactSpec } from './artifacts/ArtifactCase.js'
import { ARTIFACT_TOOLS } from './artifacts/ArtifactCase.js'
import { artifactStoreCases } from './artifacts/cases.js'
import { checkpointStorageCases } from './cases/index.js'
import type { ConformanceCase } from './Case.js'
import { reasonOf } from './difference.js'
import { LIMIT_MILLIS } from './Trial.js'
import type { CaseResult, Report } from './Report.js'
import { make, resultOf } from './Report.js'
import type { ConformanceOptions, TestOptions } from './selection.js'
import { checkCall, checkRunner, chosenOf } from './selection.js'
import type { StorageSpec, ToolTable } from './Spec.js'
import { TOOLS } from './Spec.js'
import { specProblems } from './specProblems.js'

/**
 * Runs the cases one after the other, each on its own data. Failures are in the report. Rejects only if the spec
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
): Promise<Report> => await runAll<StorageSpec<Data>>({ name: 'runConformance', kit: STORES, spec, options })

/**
 * Runs the cases for an artifact store, `AS-…`. Rejects as {@link runConformance} does.
 *
 * @example
 * import { memoryArtifacts, memoryData } from 'dogear/memory'
 * import { ConformanceReport, runArtifactConformance } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const report = await runArtifactConformance({
 *   name: 'the artifact store in memory',
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
): Promise<Report> =>
  await runAll<ArtifactSpec<Data>>({ name: 'runArtifactConformance', kit: ARTIFACT_STORES, spec, options })

type Spec = Pick<StorageSpec<unknown>, 'name' | 'capabilities'>

/** The cases for a kind of store. */
interface Kit<S extends Spec> {
  readonly kind: string
  readonly cases: ReadonlyArray<CaseFor<S>>
  readonly tools: ToolTable
}

interface CaseFor<S extends Spec> extends Omit<ConformanceCase, 'run'> {
  readonly run: (spec: S, limitMillis?: number) => Promise<void>
}

/** A call of the function with this name. */
interface Call<S extends Spec> {
  readonly name: string
  readonly kit: Kit<S>
  readonly spec: S
  readonly options: TestOptions
}

const STORES = { kind: 'a checkpoint store', cases: checkpointStorageCases, tools: TOOLS }

const ARTIFACT_STORES = { kind: 'an artifact store', cases: artifactStoreCases, tools: ARTIFACT_TOOLS }

const runAll = async <S extends Spec>(call: Call<S>): Promise<Report> => {
  const { trials, report } = trialsOf(call)
  for (const { run } of trials) await run()
  return report()
}

/** The chosen cases, each with the function that tries it and reports its result. */
const trialsOf = <S extends Spec>(call: Call<S>) => {
  const { name, kit, spec, options } = call
  checkCall(name, kit.cases, specProblems(spec, kit.tools), options)
  const results: Array<CaseResult> = []
  const trials = chosenOf(kit.cases, options).map((one) => ({
    title: `${one.id} ${one.title}`,
    run: async (): Promise<CaseResult> => {
      const result = await tryCase(call, one)
      results.push(result)
      options.onResult?.(result)
      return result
    }
  }))
  return { trials, report: () => make(spec.name, spec.capabilities, results, options) }
}

const tryCase = async <S extends Spec>({ kit, spec, options }: Call<S>, one: CaseFor<S>): Promise<CaseResult> => {
  const began = performance.now()
  const result = (ended: 'passed' | 'failed' | 'not been tried', why?: string): CaseResult =>
    resultOf(one, spec.capabilities, Math.round(performance.now() - began), ended, why)
  const missing = one.needs
    .flatMap((need) => kit.tools[need] ?? [])
    .filter((tool) => fieldsOf(spec)[tool] === undefined)
    .map((tool) => `\`${tool}\``)
  if (missing.length > 0) return result('not been tried', `claimed, but the spec has no ${missing.join(' and no ')}`)
  return one.run(spec, options.limitMillis).then(
    () => result('passed'),
    (error: unknown) => result('failed', reasonOf(error))
  )
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
  testAll<StorageSpec<Data>>(runner, { name: 'conformanceTests', kit: STORES, spec, options })
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
 *     name: 'the artifact store in memory',
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
  testAll<ArtifactSpec<Data>>(runner, { name: 'artifactConformanceTests', kit: ARTIFACT_STORES, spec, options })
}

const testAll = <S extends Spec>(runner: TestRunner, call: Call<S>): void => {
  checkRunner(call.name, runner)
  const { trials, report } = trialsOf(call)
  const { describe, test } = runner
  const { spec, kit, options } = call
  const { limitMillis = LIMIT_MILLIS } = options
  // Longer than any limit of the kit, whose message says more than that of the runner.
  const runnersLimit = 5 * limitMillis
  describe(`${spec.name} keeps the laws of ${kit.kind}`, () => {
    const failing = async (run: () => Promise<CaseResult>): Promise<void> => {
      const { id, outcome } = await run()
      if (outcome._tag === 'Failed') assert.fail(`${id}: ${outcome.why}`)
    }
    for (const { title, run } of trials) test(title, () => failing(run), runnersLimit)
    const reported = (): Promise<void> => Promise.resolve(options.onReport?.(report()))
    test('the kit passes its report to `onReport`', reported, limitMillis)
  })
}
