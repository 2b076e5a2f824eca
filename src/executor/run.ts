/** Run and resume: one path for both. Claim, load, plan, record what the plan overrides, obey it, release. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Change, Recovered, Started } from '../domain/change/Change.js'
import { inFlight } from '../domain/checkpoint/CheckpointState.js'
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import { start } from '../domain/checkpoint/Checkpoint.js'
import type { Json } from '../domain/data/Json.js'
import { overrides as overridesOf } from '../domain/plan/Overrides.js'
import type { PlanOptions, ResumePlan } from '../domain/plan/Plan.js'
import { runsAgain } from '../domain/plan/Plan.js'
import type { WantedWorkspace, Workspace } from '../domain/workflow/Workspace.js'
import type { Claim, ClaimOptions, Revision, Stored } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'
import { owning, recordCancelIfAsked } from './requests/cancel.js'
import { readAnswers, recordAnswers } from './requests/answer.js'
import { eventsOf } from './storage/changes.js'
import { disposing } from './workspace/onSuccess.js'
import type { Executor } from './Executor.js'
import { execute } from './execute.js'
import type { Inputs } from './input.js'
import { inputsOf, recordable, replacing, unlessMissing } from './input.js'
import { recorderFor } from './requests/inbox.js'
import { clearRequest, removePointer, watchFor } from './requests/pause.js'
import type { Program } from './program/Program.js'
import type { Planned } from './planRun.js'
import { checkDefinition, EXACT, planStored, survey, usable } from './planRun.js'
import { make as makeRecorder, revisionOf } from './storage/Recorder.js'
import type { RunError } from './RunError.js'
import type { Fenced, Interrupted, RunOutcome } from './RunOutcome.js'
import type { RunScope } from './RunScope.js'
import { report, stopOn, timestamp } from './RunScope.js'
import type { Secured } from './secrets.js'
import { secure } from './secrets.js'
import { staying } from './staying.js'
import { lossOf, restoreStored } from './storage/stored.js'
import { make as makeValues, reset } from './Values.js'
import { makeReady, workingTreeOf, workspaceFor } from './workspace/workspace.js'

/**
 * What was found when the newest state of a run is damaged: what can be recovered (`checkpoint`, from `from`), and
 * what is `lost`.
 *
 * @category model
 */
export interface Recovery {
  readonly runId: string
  readonly from: string
  readonly lost: string
  readonly checkpoint: Checkpoint
}

/**
 * How to resume.
 *
 * - the plan's options, see `PlanOptions`; `evidence` is looked for if it is not given;
 * - `input`: with `fromStep`, replaces the run's input for that step and all later ones; earlier outputs stay. Without
 *   `fromStep`, an input that differs from the stored one fails with `InputChanged`;
 * - `planHash`: execute only the plan that has this hash;
 * - `onRecovered`: called when the newest state is damaged; returns who agreed to continue from the recovered state, or `None`.
 *   Without it, the resume is declined;
 * - `takeOver`: supersede an owner whose liveness the store cannot decide. An owner that is proven alive still fails the call
 *   with `HeldBy`. Fencing protects the record, not the world: the old owner's step may still be running. A unit in flight that
 *   is not idempotent therefore needs an answer, as always; any other unit runs again;
 * - `reopen`: resume a cancelled run, as an interrupted one. Without it the call fails with `RunCancelled`;
 * - `wait`: stay in this process while the run only waits for timers or answers, and go on when a wait is over. Meanwhile the run is
 *   released, and its record is read about every second. If the environment is interrupted, the outcome is `Pending`.
 *
 * @category model
 */
export interface ResumeOptions<Input = Json> extends Omit<PlanOptions, 'input'> {
  readonly input?: Input | undefined
  readonly planHash?: string
  /** Who agrees to go on from what was recovered, or nobody. */
  readonly onRecovered?: (recovery: Recovery) => Promise<O.Option<string>>
  /** Supersede an owner whose liveness the store cannot decide. */
  readonly takeOver?: boolean
  /** Stay while the run only waits. */
  readonly wait?: boolean
  /** Resume the run although it was cancelled. */
  readonly reopen?: boolean
}

/**
 * How to start. `wait`: as in {@link ResumeOptions}. `workspace`: where the run works, kept with it: in a folder of its own (`directory`), in a git worktree of its own
 * (`worktree`), for which the environment needs `workspaces`; or in a folder that is there.
 *
 * @category model
 */
export interface RunOptions {
  readonly workspace?: WantedWorkspace
  readonly wait?: boolean
}

/** What a caller wants of a run id. */
type WantedRun<Input> =
  | { readonly _tag: 'Run'; readonly input: Input; readonly options: RunOptions }
  | { readonly _tag: 'Resume'; readonly input: Input | undefined; readonly options: ResumeOptions<Input> }
  | { readonly _tag: 'RunOrResume'; readonly input: Input | undefined; readonly options: RunOptions & WithoutInput }

type WithoutInput = Omit<ResumeOptions, 'input'>

/**
 * Starts a new run. An id that exists already is refused with `RunExists`.
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
): Executor<RunOutcome<Outputs>> => disposing(program, runId, perform(program, runId, { _tag: 'Run', input, options }))

/**
 * Goes on with a run at the right step. A completed run runs nothing and is `Completed` again.
 *
 * @category running
 */
export const resume = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  runId: string,
  options: ResumeOptions<Input> = {}
): Executor<RunOutcome<Outputs>> =>
  disposing(program, runId, perform(program, runId, { _tag: 'Resume', input: options.input, options }))

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
  disposing(program, runId, perform(program, runId, { _tag: 'RunOrResume', input, options }))

const perform =
  <Outputs, Input>(
    program: Program<Outputs, Input, unknown, unknown>,
    runId: string,
    request: WantedRun<Input>
  ): Executor<RunOutcome<Outputs>> =>
  (environment) =>
  async () => {
    const runnable = checkDefinition(program)
    if (E.isLeft(runnable)) return runnable
    const inputs = inputsOf(program, runId, request)
    if (E.isLeft(inputs)) return inputs
    const missing = await unlessMissing(environment, runId, inputs.right)
    if (E.isLeft(missing)) return missing
    const secured = await secure(environment, program)
    if (E.isLeft(secured)) return secured
    const input = recordable(secured.right, inputs.right)
    if (E.isLeft(input)) return input
    const wanted = request._tag === 'Resume' ? undefined : request.options.workspace
    const workspace = await workspaceFor(environment, runId, wanted)
    if (E.isLeft(workspace)) return workspace
    const take = async (claim: Claim, stored: O.Option<Stored>): Promise<E.Either<RunError, RunOutcome<Outputs>>> => {
      const prepared = O.isNone(stored)
        ? await begin(secured.right, program, runId, request, input.right.initial, workspace.right)
        : await goOn(secured.right, program, claim, stored.value, request, input.right.given)
      if (E.isLeft(prepared))
        return prepared.left._tag === 'Fenced' ? fenced(environment, claim, prepared.left) : prepared
      return '_tag' in prepared.right
        ? E.right(prepared.right)
        : await executePrepared(secured.right, program, claim, prepared.right, policyOf(request))
    }
    const ended = await owning(environment, runId, take, howToClaim(request))
    const { wait = false } = request.options
    const again = { _tag: 'Resume', input: undefined, options: policyOf(request) } as const
    return wait ? await staying(environment, ended, perform(program, runId, again)(environment)) : ended
  }

/** The options that count for every plan of a call. The others are for its first plan: what they ask for is recorded then. */
const policyOf = (request: WantedRun<unknown>): Policy => {
  if (request._tag === 'Run') return {}
  const { changes, onChanged, onRecovered } = request.options
  return {
    ...(changes === undefined ? {} : { changes }),
    ...(onChanged === undefined ? {} : { onChanged }),
    ...(onRecovered === undefined ? {} : { onRecovered })
  }
}

type Policy = Pick<ResumeOptions, 'changes' | 'onChanged' | 'onRecovered'>

/** A new run has no owner to supersede. */
const howToClaim = (request: WantedRun<unknown>): ClaimOptions =>
  request._tag !== 'Run' && request.options.takeOver === true ? { takeOver: true } : {}

/** A run that is ready to be executed: from where, by which plan, and what has to be recorded first. */
interface Prepared {
  readonly checkpoint: Checkpoint
  readonly first: ReadonlyArray<Revision>
  readonly plan: ResumePlan
  readonly overrides: ReadonlyArray<Change>
  readonly resumed: boolean
}

/** A new run: revision 0 goes out with the first save. */
const begin = async <Outputs, Input>(
  environment: Environment,
  program: Program<Outputs, Input, unknown, unknown>,
  runId: string,
  request: WantedRun<Input>,
  initial: Inputs['initial'],
  workspace: Workspace | undefined
): Promise<E.Either<RunError, Prepared>> => {
  if (E.isLeft(initial)) return initial
  const input = initial.right
  const at = timestamp(environment.clock.now())
  const place = workspace === undefined ? {} : { workspace }
  const started: Started = { _tag: 'Started', at, runId, workflow: program.identity, input, ...place }
  const checkpoint = start(started)
  const options = request._tag === 'RunOrResume' ? request.options : {}
  const surveyed = await survey(program, { checkpoint, found: EXACT }, { ...options, evidence: [] })(environment)()
  if (E.isLeft(surveyed)) return surveyed
  // A new run has nothing in its workspace yet.
  const planned = usable({ ...surveyed.right, workspaceFound: true })
  if (E.isLeft(planned)) return planned
  const agreed = unlessOpen(planned.right, options)
  if (E.isLeft(agreed)) return agreed
  const { plan } = planned.right
  return E.right({
    checkpoint,
    first: [revisionOf(checkpoint, started)],
    plan,
    overrides: overridesOf(checkpoint, program, plan, planned.right.options, at),
    resumed: false
  })
}

/** A stored run: restored, agreed on if damaged, cancelled if that was asked for, planned, and the plan checked against what was asked. */
const goOn = async <Outputs, Input>(
  environment: Secured,
  program: Program<Outputs, Input, unknown, unknown>,
  claim: Claim,
  stored: Stored,
  request: WantedRun<Input>,
  input: Json | undefined
): Promise<E.Either<RunError, Prepared | Interrupted>> => {
  const { runId } = claim
  const restored = restoreStored(stored, runId)
  if (E.isLeft(restored)) return restored
  const found = restored.right
  if (request._tag === 'Run') return E.left({ _tag: 'RunExists', runId })
  const asked = replacing(found, request.options, input)
  if (E.isLeft(asked)) return asked
  const agreed = await agree(environment, stored, found, request.options)
  if (E.isLeft(agreed)) return agreed
  const cancelled = await recordCancelIfAsked(environment, claim, found, agreed.right)
  if (E.isLeft(cancelled)) return cancelled
  if (O.isSome(cancelled.right)) return E.right(cancelled.right.value)
  // What was recovered is first agreed on in the record; its answers are taken in later.
  const taken = stored.found._tag === 'Exact' ? await withAnswers(environment, claim, found) : E.right(found)
  if (E.isLeft(taken)) return taken
  const checkpoint = taken.right
  const planned = await planStored(program, { checkpoint, found: stored.found }, asked.right)(environment)()
  if (E.isLeft(planned)) return planned
  const answered = unlessOpen(planned.right, request.options)
  if (E.isLeft(answered)) return answered
  const { plan, options } = planned.right
  const at = timestamp(environment.clock.now())
  return E.right({
    checkpoint,
    first: [],
    plan,
    overrides: [...agreed.right, ...overridesOf(checkpoint, program, plan, options, at)],
    resumed: true
  })
}

/** The checkpoint with the answers of the inbox, recorded. */
const withAnswers = async (
  environment: Secured,
  claim: Claim,
  checkpoint: Checkpoint
): Promise<E.Either<RunError, Checkpoint>> => {
  const answers = await readAnswers(environment, claim.runId)
  if (answers.length === 0) return E.right(checkpoint)
  const recorder = recorderFor(environment, claim, checkpoint, environment.vault.redaction)
  const taken = await recordAnswers(environment, recorder, answers)
  return E.isLeft(taken) ? taken : E.right(recorder.checkpoint())
}

/** Refuses a plan that is not the one that was reviewed, or has open questions. */
const unlessOpen = (planned: Planned, { planHash }: Pick<ResumeOptions, 'planHash'>): E.Either<RunError, void> => {
  if (planHash !== undefined && planHash !== planned.hash)
    return E.left({ _tag: 'PlanChanged', expected: planHash, found: planned.hash })
  const [question, ...more] = planned.questions
  return question === undefined ? E.right(undefined) : E.left({ _tag: 'Unconfirmed', questions: [question, ...more] })
}

const agree = async (
  environment: Environment,
  stored: Stored,
  checkpoint: Checkpoint,
  options: Pick<ResumeOptions, 'onRecovered'>
): Promise<E.Either<RunError, ReadonlyArray<Recovered>>> => {
  if (stored.found._tag === 'Exact') return E.right([])
  const { runId } = checkpoint
  const { from, lost } = stored.found
  report(environment, { _tag: 'CheckpointRecovered', runId, from, lost })
  const refused = (cause?: unknown): E.Either<RunError, never> =>
    E.left({ _tag: 'RecoveryRefused', runId, from, lost, cause })
  try {
    const agreedBy = (await options.onRecovered?.({ runId, from, lost, checkpoint })) ?? O.none
    if (O.isNone(agreedBy)) return refused()
    const at = timestamp(environment.clock.now())
    return E.right([{ _tag: 'Recovered', at, from, lost, agreedBy: agreedBy.value }])
  } catch (cause) {
    return refused(cause)
  }
}

const executePrepared = async <Outputs, Input>(
  environment: Secured,
  program: Program<Outputs, Input, unknown, unknown>,
  claim: Claim,
  { checkpoint, first, plan, overrides, resumed }: Prepared,
  policy: Policy
): Promise<E.Either<RunError, RunOutcome<Outputs>>> => {
  const { runId } = checkpoint
  report(environment, { _tag: 'RunPlanned', runId, resumed, plan })
  const [again, ...more] = runsAgain(plan, checkpoint)
  if (again !== undefined) report(environment, { _tag: 'StepsRunAgain', runId, units: [again, ...more] })
  const { scope, dispose } = scopeOf(environment, program, claim, { checkpoint, first, policy })
  try {
    const ready = await makeReady(scope, plan, overrides)
    if (overrides.length > 0) reset(scope.values, scope.recorder.checkpoint())
    if (resumed && E.isRight(ready)) await removePointer(environment, runId)
    const ended = E.isLeft(ready) ? ready : await execute(scope, plan)
    if (scope.stop()?._tag !== 'Fenced') await clearRequest(environment, runId)
    if (E.isLeft(ended) && ended.left._tag !== 'Fenced') return ended
    // The executed program is this one, so the outputs have its types.
    if (E.isRight(ended) && ended.right._tag !== 'Fenced') return E.right(ended.right as RunOutcome<Outputs>)
    return fenced(environment, claim, E.isLeft(ended) ? ended.left : undefined)
  } finally {
    dispose()
  }
}

const fenced = (environment: Environment, claim: Claim, told: RunError | undefined): E.Either<never, Fenced> => {
  const loss = lossOf(claim, told)
  report(environment, { _tag: 'RunFenced', ...loss })
  return E.right({ _tag: 'Fenced', ...loss })
}

const NOBODY: ReadonlySet<string> = new Set()

/**
 * What the parts of one execution share, from a checkpoint on. `first`: revisions that go out with the first save. `dispose`
 * removes the listeners.
 */
export const scopeOf = <Outputs, Input>(
  environment: Secured,
  program: Program<Outputs, Input, unknown, unknown>,
  claim: Claim,
  {
    checkpoint,
    first = [],
    policy = {}
  }: { readonly checkpoint: Checkpoint; readonly first?: ReadonlyArray<Revision>; readonly policy?: RunScope['policy'] }
): { readonly scope: RunScope; readonly dispose: () => void } => {
  const { runId } = checkpoint
  const onSaved = (reached: Checkpoint, revisions: ReadonlyArray<Revision>): void => {
    report(environment, { _tag: 'CheckpointSaved', runId, revision: reached.revision, state: reached.state })
    for (const { change } of revisions)
      for (const event of eventsOf(program, reached.items, runId, change)) report(environment, event)
  }
  const { redaction } = environment.vault
  const recorder = makeRecorder(environment.storage, claim, checkpoint, first, onSaved, redaction)
  const { stopping, stop, dispose } = stopOn(environment, claim)
  const scope: RunScope = {
    environment: { ...environment, tree: workingTreeOf(environment, checkpoint.workspace) },
    definition: program,
    recorder,
    values: makeValues(checkpoint),
    policy,
    restarts: new Map(),
    toRepeat: new Set(Array.from(inFlight(checkpoint.state), ({ unit }) => unit)),
    awake: NOBODY,
    stopping,
    stop,
    requests: watchFor(environment, runId, (answers) => recordAnswers(environment, recorder, answers))
  }
  return { scope, dispose }
}
