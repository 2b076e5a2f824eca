/**
 * The kit that proves stores and workflows. It knows no test runner.
 *
 * It needs `fast-check`, an optional peer of this package: `npm install --save-dev fast-check`.
 *
 * @module
 * @since 0.1.0
 */
export * as ConformanceReport from './conformance/Report.js'
export { checkpointStorageCases } from './conformance/cases/index.js'
export type { ConformanceCase, Level } from './conformance/Case.js'
export type { CaseOutcome, CaseResult, Report } from './conformance/Report.js'
export type { ConformanceOptions, TestRunner } from './conformance/run.js'
export { conformanceTests, runConformance } from './conformance/run.js'
export type { Capability, Faulty, OtherProcess, StorageSpec } from './conformance/Spec.js'
export type { Disk, Flaw, Mutant } from './mutants/index.js'
export { mutants, sampleSpec } from './mutants/index.js'
export * as ModelCommand from './model/Command.js'
export * as ModelReport from './model/ModelReport.js'
export type { ModelOptions } from './model/checkModel.js'
export { checkModel } from './model/checkModel.js'
