/**
 * The types that the types of `dogear/testing` refer to, such as members of unions. You need not import them: the documentation shows them,
 * and declarations that TypeScript infers import them from `dogear/testing/types`.
 *
 * @module
 */
export type { ArtifactCase } from '../conformance/artifacts/ArtifactCase.js'
export type { Level } from '../conformance/Case.js'
export type { CaseOutcome, CaseResult, Report } from '../conformance/Report.js'
export type { RevisionOfRun } from '../conformance/Spec.js'
export type { AtCall, AtEffect, AtRequest, AtUnit, CrashSchedule, RequestCall } from '../crash/CrashPoint.js'
export type { CrashLaw, CrashReport } from '../crash/CrashReport.js'
export type {
  AnswerWait,
  Cancel,
  ConcurrentRequest,
  DeleteEvidence,
  EditEvidence,
  FromStep,
  Override,
  Pause,
  PauseAtCall,
  RestartWave
} from '../crash/Intervention.js'
export type { DeathAtCall, Delayed } from '../crash/process/Life.js'
export type { FaultRule } from '../faults.js'
export type { Command } from '../model/Command.js'
export type { ModelReport } from '../model/ModelReport.js'
export type { Damaged } from '../planning/arbitrary/damage.js'
export type { EditedWorkflow } from '../planning/arbitrary/edits.js'
export type { Outputs } from '../planning/arbitrary/Samples.js'
export type { PlanLawReport } from '../planning/laws/PlanLawReport.js'
