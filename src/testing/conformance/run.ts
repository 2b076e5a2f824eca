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
): Promise<Report> => await runAll<StorageSpec<Data>>('runConformance', STORES, spec, options)

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
): Promise<Report> => await runAll<ArtifactSpec<Data>>('runArtifactConformance', ARTIFACT_STORES, spec, options)

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

const STORES = { kind: 'a checkpoint store', cases: checkpointStorageCases, tools: TOOLS }

const ARTIFACT_STORES = { kind: 'an artifact store', cases: artifactStoreCases, tools: ARTIFACT_TOOLS }

const runAll = async <S extends Spec>(
  call: string,
  kit: Kit<S>,
  spec: S,
  options: ConformanceOptions
): Promise<Report> => {
  checkCall(call, kit.cases, specProblems(spec, kit.tools), options)
  const results: Array<CaseResult> = []
  for (const one of chosenOf(kit.cases, options)) {
    const result = await tryCase(kit, one, spec, options)
    results.push(result)
    options.onResult?.(result)
  }
  return make(spec.name, spec.capabilities, results, options)
}

const tryCase = async <S extends Spec>(
  kit: Kit<S>,
  one: CaseFor<S>,
  spec: S,
  { limitMillis }: ConformanceOptions
): Promise<CaseResult> => {
  const began = performance.now()
  const result = (ended: 'passed' | 'failed' | 'not been tried', why?: string): CaseResult =>
    resultOf(one, spec.capabilities, Math.round(performance.now() - began), ended, why)
  const missing = one.needs
    .flatMap((need) => kit.tools[need] ?? [])
    .filter((tool) => fieldsOf(spec)[tool] === undefined)
    .map((tool) => `\`${tool}\``)
  if (missing.length > 0) return result('not been tried', `claimed, but the spec has no ${missing.join(' and no ')}`)
  return one.run(spec, limitMillis).then(
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
  testAll<StorageSpec<Data>>('conformanceTests', runner, STORES, spec, options)
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
  testAll<ArtifactSpec<Data>>('artifactConformanceTests', runner, ARTIFACT_STORES, spec, options)
}

const testAll = <S extends Spec>(
  call: string,
  runner: TestRunner,
  kit: Kit<S>,
  spec: S,
  options: TestOptions
): void => {
  checkRunner(call, runner)
  checkCall(call, kit.cases, specProblems(spec, kit.tools), options)
  const { describe, test } = runner
  const { limitMillis = LIMIT_MILLIS } = options
  const results: Array<CaseResult> = []
  // Longer than any limit of the kit, whose message says more than that of the runner.
  const runnersLimit = 5 * limitMillis
  describe(`${spec.name} keeps the laws of ${kit.kind}`, () => {
    for (const one of chosenOf(kit.cases, options))
      test(
        `${one.id} ${one.title}`,
        async () => {
          const result = await tryCase(kit, one, spec, options)
          results.push(result)
          options.onResult?.(result)
          if (result.outcome._tag === 'Failed') assert.fail(`${one.id}: ${result.outcome.why}`)
        },
        runnersLimit
      )
    test(
      'the kit passes its report to `onReport`',
      () => {
        options.onReport?.(make(spec.name, spec.capabilities, results, options))
        return Promise.resolve()
      },
      limitMillis
    )
  })
}
