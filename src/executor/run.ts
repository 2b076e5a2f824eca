/**
 * Run and resume: one path for both. Claim, load, plan, record what the plan overrides, obey it, release.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Change, Recovered, Started } from '../domain/Change.js'
import type { Checkpoint } from '../domain/Checkpoint.js'
import { start } from '../domain/Checkpoint.js'
import type { Json } from '../domain/Json.js'
import { unitsInNeed } from '../domain/evidenceOf.js'
import { equals } from '../domain/Json.js'
import { overrides } from '../domain/Overrides.js'
import type { MissingEvidence, PlanOptions, PlanProblem, ResumePlan } from '../domain/Plan.js'
import { hashPlan, openQuestions } from '../domain/Plan.js'
import { planResume } from '../domain/planResume.js'
import { replay } from '../domain/Transition.js'
import type { WorkflowIdentity } from '../domain/WorkflowIdentity.js'
import type { WantedWorkspace, Workspace } from '../domain/Workspace.js'
import type { Claim, Revision, Stored } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'
import { eventsOf } from './changes.js'
import { disposing } from './onSuccess.js'
import type { Executor } from './Executor.js'
import { execute } from './execute.js'
import { collectEvidence } from './evidence.js'
import { clearRequest, removePointer, watchFor } from './pause.js'
import type { Program } from './Program.js'
import { expanded, problems as problemsOf } from './Program.js'
import * as Redaction from '../domain/Redaction.js'
import { make as makeRecorder, revisionOf } from './Recorder.js'
import type { RunError } from './RunError.js'
import type { RunOutcome } from './RunOutcome.js'
import type { RunScope } from './RunScope.js'
import { report, stopOn, timestamp } from './RunScope.js'
import type { Secured } from './secrets.js'
import { secure, withoutSecrets } from './secrets.js'
import { answering, holding, restoreStored } from './stored.js'
import { make as makeValues } from './Values.js'
import { hasWorkspace, makeReady, treeOf, unlessGone, workspaceFor } from './workspace.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What was found when the newest state of a run is damaged: what can be recovered (`checkpoint`, from `from`), and
 * what is `lost`.
 *
 * @category model
 * @since 0.1.0
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
 * - `planHash`: execute only the plan that has this hash;
 * - `onRecovered`: asked when the newest state is damaged; answers who agreed to go on from what was recovered, or
 *   nobody. Without it the answer is nobody.
 *
 * @category model
 * @since 0.1.0
 */
export interface ResumeOptions extends PlanOptions {
  readonly planHash?: string
  /** Who agrees to go on from what was recovered, or nobody. */
  readonly onRecovered?: (recovery: Recovery) => Promise<O.Option<string>>
}

/**
 * How to start. `workspace`: where the run works, kept with it: in a folder of its own (`directory`), in a git worktree of its own
 * (`worktree`), for which the environment needs `workspaces`; or in a folder that is there.
 *
 * @category model
 * @since 0.1.0
 */
export interface RunOptions {
  readonly workspace?: WantedWorkspace
}

/** What a caller wants of a run id. */
type Request<Input> =
  | { readonly _tag: 'Run'; readonly input: Input; readonly options: RunOptions }
  | { readonly _tag: 'Resume'; readonly options: ResumeOptions }
  | { readonly _tag: 'RunOrResume'; readonly input: Input; readonly options: RunOptions & ResumeOptions }

// ---------------------------------------------------------------------------------------------------------------------
// run and resume
// ---------------------------------------------------------------------------------------------------------------------

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
 * @since 0.1.0
 */
export const run = <Outputs, Input>(
  program: Program<Outputs, Input>,
  runId: string,
  input: Input,
  options: RunOptions = {}
): Executor<RunOutcome> => disposing(program, runId, perform(program, runId, { _tag: 'Run', input, options }))

/**
 * Goes on with a run at the right step. A completed run runs nothing and is `Completed` again.
 *
 * @category running
 * @since 0.1.0
 */
export const resume = <Outputs, Input>(
  program: Program<Outputs, Input>,
  runId: string,
  options: ResumeOptions = {}
): Executor<RunOutcome> => disposing(program, runId, perform(program, runId, { _tag: 'Resume', options }))

/**
 * Starts a run, or goes on with it if it exists. If it exists with another input, that is `InputChanged`.
 *
 * @category running
 * @since 0.1.0
 */
export const runOrResume = <Outputs, Input>(
  program: Program<Outputs, Input>,
  runId: string,
  input: Input,
  options: RunOptions & ResumeOptions = {}
): Executor<RunOutcome> => disposing(program, runId, perform(program, runId, { _tag: 'RunOrResume', input, options }))

const perform =
  <Outputs, Input>(program: Program<Outputs, Input>, runId: string, request: Request<Input>): Executor<RunOutcome> =>
  (environment) =>
  async () => {
    const given = request._tag === 'Resume' ? E.right(undefined) : inputOf(program, request.input)
    if (E.isLeft(given)) return given
    const runnable = checkDefinition(program)
    if (E.isLeft(runnable)) return runnable
    const { storage } = environment
    if (request._tag === 'Resume') {
      const there = await answering('load', () => storage.load(runId))
      if (E.isLeft(there)) return there
      if (O.isNone(there.right)) return E.left({ _tag: 'NoSuchRun', runId })
    }
    const secured = await secure(environment, program)
    if (E.isLeft(secured)) return secured
    const input = given.right === undefined ? given : withoutSecrets(secured.right, given.right)
    if (E.isLeft(input)) return input
    const wanted = request._tag === 'Resume' ? undefined : request.options.workspace
    const workspace = await workspaceFor(environment, runId, wanted)
    if (E.isLeft(workspace)) return workspace
    return await holding(environment, runId, async (claim, stored) => {
      const prepared = O.isNone(stored)
        ? begin(secured.right, program, runId, request, input.right, workspace.right)
        : await goOn(secured.right, program, runId, stored.value, request, input.right)
      return E.isLeft(prepared) ? prepared : await executePrepared(secured.right, program, claim, prepared.right)
    })
  }

/**
 * What can't run is refused before anything is claimed.
 *
 * @category validation
 * @since 0.1.0
 */
export const checkDefinition = (
  program: Pick<Program<unknown, never>, 'name' | 'steps' | 'secrets' | 'onSuccess'>
): E.Either<RunError, void> => {
  const [problem, ...more] = problemsOf(program).map((problem): PlanProblem => ({ _tag: 'InvalidWorkflow', problem }))
  return problem === undefined ? E.right(undefined) : E.left({ _tag: 'PlanError', problems: [problem, ...more] })
}

const inputOf = <Outputs, Input>(program: Program<Outputs, Input>, input: Input): E.Either<RunError, Json> => {
  const encoded = program.encodeInput(input)
  return E.isRight(encoded) ? encoded : E.left({ _tag: 'InvalidInput', ...encoded.left })
}

// ---------------------------------------------------------------------------------------------------------------------
// preparing
// ---------------------------------------------------------------------------------------------------------------------

/** A run that is ready to be executed: from where, by which plan, and what has to be recorded first. */
interface Prepared {
  readonly checkpoint: Checkpoint
  readonly first: ReadonlyArray<Revision>
  readonly plan: ResumePlan
  readonly carry: ReadonlyArray<Change>
  readonly resumed: boolean
}

/** A new run: revision 0 goes out with the first save. */
const begin = <Outputs, Input>(
  environment: Environment,
  program: Program<Outputs, Input>,
  runId: string,
  request: Request<Input>,
  input: Json | undefined,
  workspace: Workspace | undefined
): E.Either<RunError, Prepared> => {
  if (request._tag === 'Resume' || input === undefined) return E.left({ _tag: 'NoSuchRun', runId })
  const at = timestamp(environment.clock.now())
  const place = workspace === undefined ? {} : { workspace }
  const started: Started = { _tag: 'Started', at, runId, workflow: program.identity, input, ...place }
  const checkpoint = start(started)
  const options = request._tag === 'RunOrResume' ? request.options : {}
  const planned = planFor(checkpoint, program, options)
  if (E.isLeft(planned)) return planned
  const carry = overrides(checkpoint, program, planned.right, options, at)
  return E.right({ checkpoint, first: [revisionOf(checkpoint, started)], plan: planned.right, carry, resumed: false })
}

/** A stored run: restored, agreed on if damaged, planned, and the plan checked against what was asked. */
const goOn = async <Outputs, Input>(
  environment: Environment,
  program: Program<Outputs, Input>,
  runId: string,
  stored: Stored,
  request: Request<Input>,
  input: Json | undefined
): Promise<E.Either<RunError, Prepared>> => {
  const restored = restoreStored(stored, runId)
  if (E.isLeft(restored)) return restored
  const checkpoint = restored.right
  if (request._tag === 'Run') return E.left({ _tag: 'RunExists', runId })
  if (input !== undefined && !equals(input, checkpoint.input)) return E.left({ _tag: 'InputChanged', runId })
  const agreed = await agree(environment, stored, checkpoint, request.options)
  if (E.isLeft(agreed)) return agreed
  const there = await hasWorkspace(checkpoint)(environment)()
  if (E.isLeft(there)) return there
  const evidence = there.right ? await evidenceFor(environment, checkpoint, program, request.options) : E.right([])
  if (E.isLeft(evidence)) return evidence
  const at = timestamp(environment.clock.now())
  const recovered = stored.found._tag === 'Recovered'
  const options = { ...request.options, evidence: evidence.right, recovered }
  const planned = planFor(checkpoint, program, options)
  if (E.isLeft(planned)) return planned
  const missed = unlessGone(checkpoint, planned.right, there.right)
  if (E.isLeft(missed)) return missed
  return E.right({
    checkpoint,
    first: [],
    plan: planned.right,
    carry: [...agreed.right, ...overrides(checkpoint, program, planned.right, options, at)],
    resumed: true
  })
}

/** What is gone: as the caller has found out, else as it is found now. */
const evidenceFor = async (
  environment: Environment,
  checkpoint: Checkpoint,
  program: Pick<Program<unknown, never>, 'steps'>,
  options: PlanOptions
): Promise<E.Either<RunError, ReadonlyArray<MissingEvidence>>> =>
  options.evidence === undefined
    ? await collectEvidence(unitsInNeed(checkpoint, program, options))(environment)()
    : E.right(options.evidence)

/** The plan that may be executed: the one that was reviewed, without open questions. */
const planFor = <Outputs, Input>(
  checkpoint: Checkpoint,
  program: Program<Outputs, Input>,
  options: ResumeOptions
): E.Either<RunError, ResumePlan> => {
  const input = program.decodeInput(checkpoint.input)
  if (E.isLeft(input)) return E.left({ _tag: 'InvalidInput', ...input.left })
  const planned = planResume(checkpoint, program, options)
  if (E.isLeft(planned)) return planned
  const plan = planned.right
  if (options.planHash !== undefined && options.planHash !== hashPlan(plan)) {
    return E.left({ _tag: 'PlanChanged', expected: options.planHash, found: hashPlan(plan) })
  }
  const [question, ...more] = openQuestions(plan)
  return question === undefined ? planned : E.left({ _tag: 'Unconfirmed', questions: [question, ...more] })
}

const agree = async (
  environment: Environment,
  stored: Stored,
  checkpoint: Checkpoint,
  options: ResumeOptions
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

// ---------------------------------------------------------------------------------------------------------------------
// executing
// ---------------------------------------------------------------------------------------------------------------------

const executePrepared = async <Outputs, Input>(
  environment: Secured,
  program: Program<Outputs, Input>,
  claim: Claim,
  { checkpoint, first, plan, carry: due, resumed }: Prepared
): Promise<E.Either<RunError, RunOutcome>> => {
  const { runId } = checkpoint
  const carry = due.map((one) => Redaction.change(environment.vault.redaction, one))
  report(environment, { _tag: 'RunPlanned', runId, resumed, plan })
  const after = replay(checkpoint, carry)
  if (E.isLeft(after)) return after
  const { scope, dispose } = scopeOf(environment, program, claim, checkpoint, first, after.right)
  try {
    const ready = await makeReady(scope, checkpoint, plan, carry)
    if (resumed && E.isRight(ready)) await removePointer(environment, runId)
    const ended = E.isLeft(ready) ? ready : await execute(scope, plan, ready.right)
    if (scope.stop()?._tag !== 'Fenced') await clearRequest(environment, runId)
    if (E.isLeft(ended) && ended.left._tag !== 'Fenced') return ended
    if (E.isRight(ended) && ended.right._tag !== 'Fenced') return ended
    report(environment, { _tag: 'RunFenced', runId })
    return E.right({ _tag: 'Fenced', runId })
  } finally {
    dispose()
  }
}

/**
 * What the parts of one execution share, from a checkpoint on. `first`: revisions made already that are to go out with the
 * first save; `after`: the checkpoint with what is to be recorded first. `dispose` takes listeners away again.
 *
 * @category constructors
 * @since 0.1.0
 */
export const scopeOf = <Outputs, Input>(
  environment: Secured,
  program: Program<Outputs, Input>,
  claim: Claim,
  checkpoint: Checkpoint,
  first: ReadonlyArray<Revision> = [],
  after: Checkpoint = checkpoint
): { readonly scope: RunScope; readonly dispose: () => void } => {
  const { runId } = checkpoint
  const onSaved = (reached: Checkpoint, revisions: ReadonlyArray<Revision>): void => {
    report(environment, { _tag: 'CheckpointSaved', runId, revision: reached.revision, state: reached.state })
    for (const { change } of revisions)
      for (const event of eventsOf(scope.program, runId, change)) report(environment, event)
  }
  const { redaction } = environment.vault
  const recorder = makeRecorder(environment.storage, claim, checkpoint, first, onSaved, redaction)
  const { stopping, stop, dispose } = stopOn(environment, claim)
  let known: { readonly workflow: WorkflowIdentity; readonly program: Program<unknown, never> } | undefined
  const scope: RunScope = {
    environment: { ...environment, tree: treeOf(environment, checkpoint.workspace) },
    definition: program,
    get program() {
      const { workflow } = recorder.checkpoint()
      if (known?.workflow !== workflow) known = { workflow, program: expanded<unknown, never>(program, workflow) }
      return known.program
    },
    recorder,
    values: makeValues(after),
    stopping,
    stop,
    pauses: watchFor(environment, runId)
  }
  return { scope, dispose }
}
