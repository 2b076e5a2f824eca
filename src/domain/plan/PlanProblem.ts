/**
 * Why there is no plan.
 *
 * @module
 */
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { PendingUnit } from '../checkpoint/Pending.js'
import type { Unit } from '../workflow/Unit.js'
import type { WorkflowProblem } from '../workflow/WorkflowProblem.js'

/** How a workflow was edited. Only the `strict` policy refuses `added`. */
export type Edit = 'changed' | 'removed' | 'reordered' | 'insertedBefore' | 'added'

/**
 * A problem that prevents a plan.
 *
 * - `WrongWorkflow`: the checkpoint belongs to another workflow.
 * - `InvalidWorkflow`: the definition cannot run.
 * - `WorkflowChanged`: an edit that the policy refuses, with the recorded and the present fingerprint, if any; for a composite, those of
 *   its own settings. `movedTo`: the new place of a removed task, with `*` for the key of an item. `inDoubt`: the step did not complete but
 *   may have taken effect, so it must stay. `pending`: its job is pending, and was submitted with the recorded definition.
 *   `otherKind`: a task, a sequence or wave, and a map have results of different forms, so no policy accepts the recorded one.
 * - `NothingToConfirm`: an answer to a unit that runs does not apply: `Done`, although the unit is not in doubt; or `Keep` (`keep`),
 *   although its evidence did not change, or it has not completed. `asked`: the unit has a question, which takes `Again` or `Done`. `forced`:
 *   `fromStep` or `restartWave` runs the unit, whatever is recorded. `completed`: the answer is `Done` with an output, but the unit is recorded
 *   with another one.
 * - `UnitPending`: an answer says that a pending unit runs again or is done; `unit`: the unit that waits, in a suspended task the wait
 *   itself; `waitsFor`: what it waits for; `answered`: the answer that it waits for is recorded.
 * - `UnknownStep`: an option names an unknown step; `option`: which one, absent for `fromStep`; `available`: the known steps.
 * - `NotAWave`: `restartWave` does not name a sequence, wave or map; `exists`: it names another unit; `available`: the sequences, waves and
 *   maps on the top level, `steps`: all steps there.
 * - `InputWithoutStep`: the input differs from the recorded one, and `fromStep` is missing.
 * - `InputInUse`: the input differs from the recorded one, and a unit that continues started with the recorded one.
 * - `StepOutOfRange`: the checkpoint is at a step that its own workflow does not have.
 * - `InconsistentCheckpoint`: the checkpoint is inconsistent.
 * - `NotACheckpoint`: the argument is no checkpoint, or a part of it is malformed; stored JSON is decoded first. `found`: what it is, in words.
 * - `InvalidOption`: an option has the wrong type.
 * - `OutputNotDecodable`: a recorded output no longer fits its step, with the path into it. `assumed`: a user declared the step done.
 * - `AssumedOutputMissing`: a step that is assumed done has no output, or (`evidence`) its evidence is missing.
 *
 * @category errors
 */
export type PlanProblem =
  | { readonly _tag: 'WrongWorkflow'; readonly expected: string; readonly found: string }
  | { readonly _tag: 'InvalidWorkflow'; readonly problem: WorkflowProblem }
  | {
      readonly _tag: 'WorkflowChanged'
      readonly edit: Edit
      readonly unit: Unit
      readonly recorded?: string
      readonly present?: string
      readonly movedTo?: Unit
      readonly inDoubt?: true
      readonly pending?: true
      readonly otherKind?: true
    }
  | {
      readonly _tag: 'NothingToConfirm'
      readonly unit: Unit
      readonly keep?: true
      readonly asked?: true
      readonly forced?: true
      readonly completed?: true
    }
  | {
      readonly _tag: 'UnitPending'
      readonly unit: Unit
      readonly waitsFor: PendingUnit['_tag']
      readonly answered?: true
    }
  | {
      readonly _tag: 'UnknownStep'
      readonly step: string
      readonly option?: 'confirm' | 'outputs'
      readonly available: ReadonlyArray<string>
    }
  | {
      readonly _tag: 'NotAWave'
      readonly step: string
      readonly exists: boolean
      readonly available: ReadonlyArray<string>
      readonly steps: ReadonlyArray<string>
    }
  | { readonly _tag: 'InputWithoutStep' }
  | { readonly _tag: 'InputInUse'; readonly unit: Unit }
  | { readonly _tag: 'StepOutOfRange'; readonly stepIndex: number; readonly steps: number }
  | { readonly _tag: 'InconsistentCheckpoint'; readonly why: string }
  | { readonly _tag: 'NotACheckpoint'; readonly found: string }
  | { readonly _tag: 'InvalidOption'; readonly option: string; readonly expected: string }
  | {
      readonly _tag: 'OutputNotDecodable'
      readonly unit: Unit
      readonly path: string
      readonly expected: string
      readonly assumed?: true
    }
  | {
      readonly _tag: 'AssumedOutputMissing'
      readonly unit: Unit
      readonly expected: string
      readonly evidence?: true
    }

/** All problems of a plan. `verb`: what it was for, default a resume. */
export interface PlanError {
  readonly _tag: 'PlanError'
  readonly problems: ReadonlyNonEmptyArray<PlanProblem>
  readonly verb?: 'fork' | 'answer'
}
