/** The options of starting and resuming a run. */
import type * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import type { Json } from '../domain/data/Json.js'
import type { Check } from '../domain/data/Options.js'
import { callback, fieldsOf, flag, isText, kindOf, text } from '../domain/data/Options.js'
import type { PlanOptions } from '../domain/plan/Plan.js'
import { PLAN_OPTIONS } from '../domain/plan/planOptions.js'
import type { WantedWorkspace } from '../domain/workflow/Workspace.js'

/** The newest state of a run is damaged: `checkpoint` is the recovered one, `from` where it was found, `lost` what is missing. */
export interface Recovery {
  readonly runId: string
  readonly from: string
  readonly lost: string
  readonly checkpoint: Checkpoint
}

/**
 * How to resume.
 *
 * - the plan's options, see `PlanOptions`; missing `evidence` is collected;
 * - `input`: with `fromStep`, replaces the run's input for that step and all later ones; earlier outputs stay. Without
 *   `fromStep`, an input that differs from the stored one fails with `InputChanged`;
 * - `planHash`: execute only the plan that has this hash;
 * - `onRecovered`: called when the newest state is damaged; returns the name of the user who agrees to continue from the recovered
 *   state, or `None` to refuse. Without it, the call fails with `RecoveryRefused`;
 * - `takeOver`: supersede an owner whose liveness the store cannot decide. An owner that is proven alive still fails the call
 *   with `HeldBy`. Fencing protects the record, not the world: the old owner's step may still be running. A unit in flight that
 *   is not idempotent therefore needs an answer, as always; any other unit runs again;
 * - `reopen`: resume a cancelled run, as an interrupted one. Without it the call fails with `RunCancelled`;
 * - `wait`: stay in this process while the run only waits for timers or answers, and continue when a wait ends. Meanwhile the run is
 *   released, and its record is read about every second. If the environment is interrupted, the outcome is `Pending`.
 *
 * @category model
 */
export interface ResumeOptions<Input = Json> extends Omit<PlanOptions, 'input' | 'recovered'> {
  readonly input?: Input | undefined
  readonly planHash?: string
  /** Returns who agrees to continue from the recovered state, or `None`. */
  readonly onRecovered?: (recovery: Recovery) => Promise<O.Option<string>>
  /** Supersede an owner whose liveness the store cannot decide. */
  readonly takeOver?: boolean
  /** Stay in this process while the run only waits. */
  readonly wait?: boolean
  /** Resume the run although it was cancelled. */
  readonly reopen?: boolean
}

/**
 * How to start. `wait`: as in {@link ResumeOptions}. `workspace`: where the run works, recorded with it: in its own folder (`directory`) or git
 * worktree (`worktree`), for which the environment needs `workspaces`; or in an existing folder.
 *
 * @category model
 */
export interface RunOptions {
  readonly workspace?: WantedWorkspace
  readonly wait?: boolean
}

/** The options that apply to every plan of a call. The others apply to the first plan, which records them. */
export type Policy = Pick<ResumeOptions, 'changes' | 'onChanged' | 'onRecovered'>

const workspace: Check = (value) => {
  const { kind, path } = fieldsOf(value)
  return value === 'directory' || value === 'worktree' || (kind === 'none' && isText(path))
    ? undefined
    : `'directory', 'worktree' or { kind: 'none', path }, not ${kindOf(value)}`
}

/** The checks of the options of `resume`. It accepts and ignores `recovered`, because a host may pass the options of a `Planned`. */
export const RESUME: Readonly<Record<keyof ResumeOptions | 'recovered', Check>> = {
  ...PLAN_OPTIONS,
  planHash: text,
  onRecovered: callback,
  takeOver: flag,
  wait: flag,
  reopen: flag
}

/** The checks of the options of `run`. */
export const RUN: Readonly<Record<keyof RunOptions, Check>> = { workspace, wait: flag }
