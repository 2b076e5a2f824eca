/**
 * Tests for storage backends, workflows and resume plans, for any test runner.
 *
 * It needs `fast-check`, an optional peer of this package: `npm install --save-dev fast-check`.
 *
 * Some types share their name with the namespace of their functions: `CrashReport` is a type, `CrashReport.toText` a function.
 *
 * @module
 */
import type * as types from './public/signatureTypes.js'

/** The result of a conformance run, as plain data. */
export type ConformanceReport = types.Report
export * as ConformanceReport from './public/ConformanceReport.js'
export type { ConformanceCase } from './conformance/Case.js'
export type { Gate } from './conformance/Gate.js'
export { stallGate } from './conformance/Gate.js'
export type {
  Capability,
  Cutting,
  Failover,
  Faulty,
  Lossy,
  OtherProcess,
  Sleeper,
  Stalling,
  StorageSpec
} from './conformance/Spec.js'
export { checkpointStorageCases } from './conformance/cases/index.js'
export type { ArtifactCapability, ArtifactSpec } from './conformance/artifacts/ArtifactCase.js'
export { artifactStoreCases } from './conformance/artifacts/cases.js'
export type { ConformanceOptions, TestOptions } from './conformance/selection.js'
export type { TestRunner } from './conformance/run.js'
export {
  artifactConformanceTests,
  conformanceTests,
  runArtifactConformance,
  runConformance
} from './conformance/run.js'

/** The result of a crash test, as plain data. */
export type CrashReport = types.CrashReport
export * as CrashReport from './public/CrashReport.js'
export type { CrashCase, Violation } from './crash/CrashReport.js'
export type { CrashPoint } from './crash/CrashPoint.js'
export { crashCase } from './crash/crashCase.js'
export type { Intervention } from './crash/Intervention.js'
export type { Trace, TraceEntry } from './crash/Trace.js'
export type { CrashStorage } from './crash/process/CrashStorage.js'
export type { ProcessContext } from './crash/process/Process.js'
export type { VirtualClock } from './crash/process/VirtualClock.js'
export { virtualClock } from './crash/process/VirtualClock.js'
export type { CrashOptions, Invariant, Observation } from './crash/crashOptions.js'
export { crashEverywhere } from './crash/crashEverywhere.js'

export type { Fault, FaultSchedule, StorageCall } from './faults.js'
export { fault, faultSchedule, withFaults } from './faults.js'
export type { TreeData } from './memoryTree.js'
export { memoryTree, treeData } from './memoryTree.js'

/** The result of a model-based test, as plain data. */
export type ModelReport = types.ModelReport
export * as ModelReport from './public/ModelReport.js'
export type { ModelOptions } from './model/checkModel.js'
export { checkModel } from './model/checkModel.js'

/** The result of checking the plan laws, as plain data. */
export type PlanLawReport = types.PlanLawReport
export * as PlanLawReport from './public/PlanLawReport.js'
export * as Arbitrary from './planning/arbitrary/Arbitrary.js'
export type { LawOptions, LawResult, PlanLaw } from './planning/laws/PlanLaw.js'
export type { PlanLawOptions } from './planning/checkPlanLaws.js'
export { checkPlanLaws, planLaws } from './planning/checkPlanLaws.js'
