/**
 * The kit that proves stores and workflows. It knows no test runner.
 *
 * It needs `fast-check`, an optional peer of this package: `npm install --save-dev fast-check`.
 *
 * @module
 */
export * as ConformanceReport from './conformance/Report.js'
export * as CrashReport from './crash/CrashReport.js'
export * as ModelCommand from './model/Command.js'
export * as ModelReport from './model/ModelReport.js'
export * as Arbitrary from './planning/arbitrary/Arbitrary.js'
export * as PlanLawReport from './planning/laws/PlanLawReport.js'
export type { ConformanceCase, Level } from './conformance/Case.js'
export type { Gate } from './conformance/Gate.js'
export { stallGate } from './conformance/Gate.js'
export type { Capability, Faulty, OtherProcess, RevisionOfRun, Stalling, StorageSpec } from './conformance/Spec.js'
export { checkpointStorageCases } from './conformance/cases/index.js'
export type { ArtifactCapability, ArtifactCase, ArtifactSpec } from './conformance/artifacts/ArtifactCase.js'
export { artifactStoreCases } from './conformance/artifacts/index.js'
export type { ConformanceOptions, TestOptions, TestRunner } from './conformance/run.js'
export {
  artifactConformanceTests,
  conformanceTests,
  runArtifactConformance,
  runConformance
} from './conformance/run.js'
export type { AtCall, AtEffect, AtRequest, AtUnit, CrashPoint, CrashSchedule, RequestCall } from './crash/CrashPoint.js'
export { crashSchedule, describePoint } from './crash/CrashPoint.js'
export { crashCase } from './crash/crashCase.js'
export type { CrashStorage } from './crash/process/CrashStorage.js'
export type {
  Edited,
  FromStep,
  Gone,
  Intervention,
  Override,
  Ask,
  Cancel,
  Pause,
  PauseAtCall,
  Reply,
  RestartWave
} from './crash/Intervention.js'
export { describeIntervention, interventions } from './crash/Intervention.js'
export type { DeathAtCall, Delayed } from './crash/process/Life.js'
export type { Scene } from './crash/process/Process.js'
export type { Trace, TraceEntry } from './crash/Trace.js'
export { describeEntry } from './crash/Trace.js'
export type { VirtualClock } from './crash/process/VirtualClock.js'
export { virtualClock } from './crash/process/VirtualClock.js'
export type { CrashOptions, Invariant, Seen } from './crash/crashEverywhere.js'
export { crashEverywhere } from './crash/crashEverywhere.js'
export type { Fault, FaultRule, FaultSchedule, StorageCall } from './faults.js'
export { fault, faultSchedule, withFaults } from './faults.js'
export type { TreeData } from './memoryTree.js'
export { memoryTree, treeData } from './memoryTree.js'
export type { ModelOptions } from './model/checkModel.js'
export { checkModel } from './model/checkModel.js'
export type { LawOptions, LawResult, PlanLaw } from './planning/laws/PlanLaw.js'
export { checkPlanLaws, planLaws } from './planning/checkPlanLaws.js'
