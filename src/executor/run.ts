/** Starts and resumes runs on one path: claim, load, plan, record overrides, execute, release. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { defined } from '../domain/data/defined.js'
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import type { Claim, ClaimOptions, Stored } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'
import { load } from './callPort.js'
import { adopted } from '../domain/change/adopted.js'
import { find } from '../domain/checkpoint/Tree.js'
import { forcedUnits } from '../domain/plan/repeats.js'
import type { Unit } from '../domain/workflow/Unit.js'
import { ancestors } from '../domain/workflow/Unit.js'
import { executePlan } from './executePlan.js'
import type { Executor } from './ExecutorCall.js'
import { callProblems, unless } from './arguments.js'
import { inputsOf, recordable } from './input.js'
import { checkDefinition } from './planRun.js'
import type { CheckedCall, Prepared, WantedRun } from './prepare.js'
import { prepareNew, prepareStored } from './prepare.js'
import type { Program } from './program/Program.js'
import { clearPause, handleLateRequests, removePointer } from './requests/recordRequests.js'
import type { RunError } from './errors/RunError.js'
import type { Policy, ResumeOptions, RunOptions } from './RunOptions.js'
import { RESUME, RUN } from './RunOptions.js'
import type { RunOutcome } from './RunOutcome.js'
import { reportRunsAgain } from './replan.js'
import type { RunScope } from './RunScope.js'
import { report } from './RunScope.js'
import { makeRunScope } from './makeRunScope.js'
import { redactingInput, secure } from './secrets.js'
import { waitInProcess } from './waitInProcess.js'
import { reportFenced, withClaim } from './storage/stored.js'
import { make as makeValues } from './Values.js'
import { applyOnSuccess } from './workspace/onSuccess.js'
import { makeReady, workspaceFor } from './workspace/workspace.js'

/**
 * Starts a new run. An existing id is refused: with `RunExists`, with `RunMoved` if that run was moved, or with `HeldBy` while a process owns it.
 *
 * @example
 * import { pipe } from 'fp-ts/lib/function.js'
 * import * as TE from 'fp-ts/lib/TaskEither.js'
 * import * as E from 'fp-ts/lib/Either.js'
 * import { Program, run } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * const program = pipe(
 *   Program.start('greet'),
 *   Program.step('hello', { run: () => TE.right('hello') })
 * )
 * const outcome = await run(program, 'greet-1', {})(nodeEnvironment(memoryStorage()))()
 * assert.ok(E.isRight(outcome))
 * assert.equal(outcome.right._tag, 'Completed')
 *
 * @category running
 */
export const run = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  runId: string,
  input: Input,
  options: RunOptions = {}
): Executor<RunOutcome<Outputs>> =>
  unless(callProblems(options, RUN), () =>
    applyOnSuccess(program, runId, perform(program, runId, { _tag: 'Run', input, options }))
  )

/**
 * Resumes a run at the right step. A completed run whose workflow and evidence are unchanged runs nothing and returns `Completed` again.
 *
 * @category running
 */
export const resume = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  runId: string,
  options: ResumeOptions<Input> = {}
): Executor<RunOutcome<Outputs>> =>
  unless(callProblems(options, RESUME), () =>
    applyOnSuccess(program, runId, perform(program, runId, { _tag: 'Resume', input: options.input, options }))
  )

/** Resumes a run that is due. If it was paused or cancelled or has failed since the caller read it, returns that outcome: its user decides. */
export const resumeDue = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  runId: string,
  options: Policy = {}
): Executor<RunOutcome<Outputs>> => applyOnSuccess(program, runId, perform(program, runId, { ...automatic, options }))

const automatic = { _tag: 'Resume', input: undefined, isAutomatic: true } as const

/**
 * Starts a run, or resumes it if it exists. Without an input, an existing run keeps the stored one, and a new run of a program
 * that requires input fails with `InputMissing`. If the run exists with another input, the call fails with `InputChanged`,
 * unless `fromStep` names the step from which the new input applies.
 *
 * @category running
 */
export const runOrResume = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  runId: string,
  input?: Input,
  options: RunOptions & Omit<ResumeOptions, 'input'> = {}
): Executor<RunOutcome<Outputs>> =>
  unless(callProblems(options, { ...RESUME, ...RUN }), () =>
    applyOnSuccess(program, runId, perform(program, runId, { _tag: 'RunOrResume', input, options }))
  )

const perform = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  runId: string,
  how: WantedRun<Input>
): Executor<RunOutcome<Outputs>> =>
  redactingInput(program, (environment) => async () => {
    const call = await checkCall(environment, program, runId, how)
    if (E.isLeft(call)) return call
    const secured = call.right.environment
    const use = (claim: Claim, stored: O.Option<Stored>) => runClaimed(call.right, claim, stored)
    const released = await withClaim(secured, runId, use, howToClaim(how))
    const stopped = await handleLateRequests(secured, runId)
    // A run at rest can still be paused or cancelled. The outcome of a failed run stays `Failed`.
    const isAtRest = E.isRight(released) && (released.right._tag === 'Pending' || released.right._tag === 'Interrupted')
    const ended = isAtRest && stopped !== undefined ? E.right(stopped) : released
    const { wait = false } = how.options
    const again = { ...automatic, options: policyOf(how) }
    return wait ? await waitInProcess(environment, ended, perform(program, runId, again)(environment)) : ended
  })

const checkCall = async <Outputs, Input>(
  environment: Environment,
  program: Program<Outputs, Input, unknown, unknown>,
  runId: string,
  how: WantedRun<Input>
): Promise<E.Either<RunError, CheckedCall<Outputs, Input>>> => {
  const runnable = checkDefinition(program)
  if (E.isLeft(runnable)) return runnable
  const inputs = inputsOf(program, runId, how)
  if (E.isLeft(inputs)) return inputs
  const { initial } = inputs.right
  const wanted = how._tag === 'Resume' ? undefined : how.options.workspace
  // Only a new run needs an input and a workspace: if the input is missing or a workspace is wanted, the store shows whether the run is new.
  const stored = E.isLeft(initial) || wanted !== undefined ? await load(environment, runId) : E.right(O.none)
  if (E.isLeft(stored)) return stored
  const isKnown = O.isSome(stored.right)
  if (E.isLeft(initial) && !isKnown) return initial
  const secured = await secure(environment, program)
  if (E.isLeft(secured)) return secured
  const input = recordable(secured.right, inputs.right)
  if (E.isLeft(input)) return input
  const workspace = isKnown ? E.right(undefined) : await workspaceFor(environment, runId, wanted)
  if (E.isLeft(workspace)) return workspace
  return E.right({
    environment: secured.right,
    program,
    runId,
    how,
    input: input.right,
    workspace: workspace.right
  })
}

const runClaimed = async <Outputs, Input>(
  call: CheckedCall<Outputs, Input>,
  claim: Claim,
  stored: O.Option<Stored>
): Promise<E.Either<RunError, RunOutcome<Outputs>>> => {
  const prepared = O.isNone(stored) ? await prepareNew(call) : await prepareStored(call, claim, stored.value)
  if (E.isLeft(prepared))
    return prepared.left._tag === 'Fenced' ? reportFenced(call.environment, claim, prepared.left) : prepared
  return '_tag' in prepared.right ? E.right(prepared.right) : await executePrepared(call, claim, prepared.right)
}

const executePrepared = async <Outputs, Input>(
  { environment, program, how }: CheckedCall<Outputs, Input>,
  claim: Claim,
  { checkpoint, unsaved, plan, overrides, resumed }: Prepared
): Promise<E.Either<RunError, RunOutcome<Outputs>>> => {
  const { runId } = checkpoint
  report(environment, { _tag: 'RunPlanned', runId, resumed, plan })
  reportRunsAgain(environment, plan, checkpoint)
  const { scope, dispose } = makeRunScope(environment, program, claim, {
    checkpoint,
    unsaved,
    policy: policyOf(how),
    before: beforeOverrides(checkpoint, overrides),
    consented: consentedBy(how, program, { checkpoint, plan })
  })
  try {
    const ready = await makeReady(scope, plan, overrides)
    if (overrides.length > 0) scope.values = makeValues(scope.recorder.checkpoint())
    if (resumed && E.isRight(ready)) await removePointer(environment, runId)
    const ended = E.isLeft(ready) ? ready : await executePlan(scope, plan)
    // The pause request of a run that waits still counts. That of a fenced run is for the new owner.
    const isPending = E.isRight(ended) && ended.right._tag === 'Pending'
    if (scope.stopReason() !== 'fenced' && !isPending) await clearPause(environment, runId)
    if (E.isLeft(ended) && ended.left._tag !== 'Fenced') return ended
    // The executed program is this one, so the outputs have its types.
    if (E.isRight(ended) && ended.right._tag !== 'Fenced') return E.right(ended.right as RunOutcome<Outputs>)
    return reportFenced(environment, claim, E.isLeft(ended) ? ended.left : undefined)
  } finally {
    dispose()
  }
}

const policyOf = (how: WantedRun<unknown>): Policy => {
  if (how._tag === 'Run') return {}
  const { changes, onChanged, onRecovered } = how.options
  return defined({ changes, onChanged, onRecovered })
}

/** An edit is always the first change, and drops no sub-step that its task may still call. */
const beforeOverrides = (checkpoint: Checkpoint, [first]: Prepared['overrides']): RunScope['before'] =>
  first?._tag === 'WorkflowEdited' ? { ...checkpoint, ...adopted(checkpoint, first.workflow) } : checkpoint

/** Returns the forced units, and the sub-steps answered with "again". A forced unit that only contains what the option names is not one of them. */
const consentedBy = (
  how: WantedRun<unknown>,
  workflow: Program<unknown, never>,
  { checkpoint, plan }: Pick<Prepared, 'checkpoint' | 'plan'>
): ReadonlyArray<Unit> => {
  if (how._tag === 'Run') return []
  const { fromStep, restartWave, confirm } = how.options
  const around = new Set([fromStep, restartWave].flatMap((unit) => (unit === undefined ? [] : [...ancestors(unit)])))
  const forced = forcedUnits(plan).flatMap(({ unit }) => (around.has(unit) ? [] : [unit]))
  const again = [...(confirm ?? [])].flatMap(([unit, { _tag }]) =>
    _tag === 'Again' && find(workflow, checkpoint.items, unit) === undefined ? [unit] : []
  )
  return [...forced, ...again]
}

/** A new run has no owner to supersede. */
const howToClaim = (how: WantedRun<unknown>): ClaimOptions =>
  how._tag !== 'Run' && how.options.takeOver === true ? { takeOver: true } : {}
