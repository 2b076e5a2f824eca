/** The options of the calls of `dogear/promise`. */
import * as O from 'fp-ts/lib/Option.js'
// From the index: the declarations of a program that imports only `dogear/promise` may name any type of `dogear`.
import type { Json } from '../index.js'
import type { PlanRunOptions } from '../executor/planRun.js'
import { PLAN_RUN } from '../executor/planRun.js'
import type { Recovery, ResumeOptions as FpResumeOptions, RunOptions } from '../executor/RunOptions.js'
import type { CheckpointStorage } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'

/**
 * A storage, and the environment of the call. `signal` stops the runs and their steps in flight; `environment` overrides ports of
 * `nodeEnvironment`; a port that is `undefined` counts as absent.
 *
 * @category model
 */
export interface HostOptions {
  readonly storage: CheckpointStorage
  readonly signal?: AbortSignal | undefined
  readonly environment?:
    { readonly [Port in keyof Omit<Environment, 'storage'>]?: Environment[Port] | undefined } | undefined
}

/**
 * The id of a run and its storage. `signal` stops the run and the step in flight; `environment` overrides ports of `nodeEnvironment`.
 *
 * @category model
 */
export interface Options extends HostOptions {
  readonly id: string
}

/**
 * The options of a run that may be new: its input, if the workflow takes one, and those of `RunOptions`.
 *
 * @category model
 */
export type StartOptions<Input> = Options &
  RunOptions &
  (Json extends Input ? { readonly input?: Input } : { readonly input: Input })

/**
 * The options of a run that may exist: those of `ResumeOptions` of `dogear`. `onRecovered` may return a promise.
 *
 * @category model
 */
export interface ResumeOptions<Input = Json> extends Options, Omit<FpResumeOptions<Input>, 'onRecovered'> {
  /** Returns the name of the user who agrees to continue from the recovered state, or `undefined` to refuse. */
  readonly onRecovered?: (recovery: Recovery) => Promise<string | undefined> | string | undefined
}

/**
 * The options of {@link runOrResume} and {@link runOutcome}: `input` is optional, because the run may exist. A new run without a required
 * input fails with `InputMissing`.
 *
 * @category model
 */
export type RunOrResumeOptions<Input> = ResumeOptions<Input> & RunOptions

export const inputOf = <Input>(options: StartOptions<Input>): Input =>
  ('input' in options ? options.input : undefined) as Input

/** Returns the options for the executor. */
export const withoutHost = <O extends Options>({
  id: _id,
  storage: _storage,
  signal: _signal,
  environment: _environment,
  ...options
}: O): Omit<O, keyof Options> => options

export const forRun = <Input>(options: StartOptions<Input>): RunOptions => {
  const { input: _input, ...others } = withoutHost<Options & RunOptions & { readonly input?: Input }>(options)
  return others
}

/** Returns the options of a plan. A host may pass those of a run or resume, too. */
export const forPlan = <Input>(options: Options & PlanRunOptions<Input>): PlanRunOptions<Input> =>
  Object.fromEntries(Object.entries(withoutHost(options)).filter(([option]) => Object.hasOwn(PLAN_RUN, option)))

export const forResume = <Input>(options: ResumeOptions<Input>): FpResumeOptions<Input> => {
  const { onRecovered, ...others } = withoutHost(options)
  return onRecovered === undefined
    ? others
    : { ...others, onRecovered: async (recovery: Recovery) => O.fromNullable(await onRecovered(recovery)) }
}
