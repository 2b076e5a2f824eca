/** Plans, finds, creates, merges and deletes the workspace of a run, and the own folders of its steps. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Change } from '../../domain/change/Change.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import type { Evidence } from '../../domain/checkpoint/CompletedStep.js'
import type { OptionProblem } from '../../domain/data/Options.js'
import { kindOf } from '../../domain/data/Options.js'
import type { ResumePlan } from '../../domain/plan/Plan.js'
import * as StepError from '../../domain/data/StepError.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import * as Failure from '../../domain/data/StepFailure.js'
import type { WantedWorkspace, Workspace } from '../../domain/workflow/Workspace.js'
import { isOwn } from '../../domain/workflow/Workspace.js'
import { leftIn, needOf, wasAttempted } from '../../domain/plan/WorkspaceNeed.js'
import type { Environment } from '../../ports/Environment.js'
import type { WorkingTree } from '../../ports/WorkingTree.js'
import type { MergeEnd, RemovedWorkspace, WorkspaceError, Workspaces } from '../../ports/Workspaces.js'
import { callPort, load } from '../callPort.js'
import type { Executor } from '../ExecutorCall.js'
import { checkpointProblems, inEnvironment, unless, withoutPort } from '../arguments.js'
import type { Runnable } from '../program/Program.js'
import { handleLateRequests } from '../requests/recordRequests.js'
import type { RunError } from '../errors/RunError.js'
import { describeWorkspace } from '../errors/portErrors.js'
import type { RunScope } from '../RunScope.js'
import { report } from '../RunScope.js'
import { withClaim, restoreStored } from '../storage/stored.js'
import type { Place } from '../Values.js'

export const callWorkspaces = <A>(
  operation: string,
  call: () => TaskEither<WorkspaceError, A>
): Promise<E.Either<WorkspaceError, A>> =>
  callPort(operation, call, (_, cause) => {
    const { message } = StepError.fromUnknown(cause)
    return { _tag: 'WorkspaceFailed', where: 'the workspaces', operation, code: 'THREW', why: message, cause }
  })

/** Plans the workspace of a new run, or finds the given folder, if the environment can. Creates nothing. */
export const workspaceFor = async (
  { workspaces }: Environment,
  runId: string,
  wanted: WantedWorkspace | undefined
): Promise<E.Either<RunError, Workspace | undefined>> => {
  if (typeof wanted === 'string')
    return workspaces === undefined
      ? withoutPort('NoWorkspaces', runId)
      : await callWorkspaces('plan', () => workspaces.plan(runId, wanted))
  if (wanted === undefined || workspaces === undefined) return E.right(wanted)
  const found = await callWorkspaces('find', () => workspaces.find(runId, wanted))
  if (E.isLeft(found)) return found
  return found.right.there ? E.right(wanted) : E.left({ _tag: 'InvalidOptions', problems: [noFolder(wanted.path)] })
}

const noFolder = (path: string): OptionProblem => ({
  option: 'workspace.path',
  expected: `an existing folder, not ${kindOf(path)}`
})

/**
 * Returns whether the workspace of a run exists; true for a run without one.
 *
 * @category looking
 */
export const hasWorkspace = (checkpoint: Pick<Checkpoint, 'runId' | 'workspace'>): Executor<boolean> =>
  unless(checkpointProblems(checkpoint), () => ({ workspaces }) => async () => {
    const { runId, workspace } = checkpoint
    if (workspace === undefined) return E.right(true)
    if (workspaces === undefined) return isOwn(workspace) ? withoutPort('NoWorkspaces', runId) : E.right(true)
    const found = await callWorkspaces('find', () => workspaces.find(runId, workspace))
    return E.isLeft(found) ? found : E.right(found.right.there)
  })

/** Refuses a plan that needs a missing workspace. */
export const requireWorkspace = (
  checkpoint: Checkpoint,
  plan: ResumePlan,
  exists: boolean
): E.Either<RunError, void> =>
  exists || needOf(checkpoint, plan) !== 'Find' ? E.right(undefined) : E.left(workspaceMissing(checkpoint))

export const workspaceMissing = (checkpoint: Checkpoint): RunError & { readonly _tag: 'WorkspaceMissing' } => ({
  _tag: 'WorkspaceMissing',
  runId: checkpoint.runId,
  kind: checkpoint.workspace?.kind ?? 'none',
  path: checkpoint.workspace?.path ?? '',
  missing: leftIn(checkpoint)
})

/** A run without a workspace uses the tree of the environment. */
export const workingTreeOf = ({ tree, workspaces }: Environment, workspace: Workspace | undefined): WorkingTree =>
  isOwn(workspace) && workspaces !== undefined ? workspaces.tree(workspace.path) : tree

/** Stages the overrides of a plan. If the plan needs a new workspace, saves the run, whose checkpoint names the workspace, and creates that. */
export const makeReady = async (
  { environment, recorder, stopReason }: RunScope,
  plan: ResumePlan,
  overrides: ReadonlyArray<Change>
): Promise<E.Either<RunError, void>> => {
  const checkpoint = recorder.checkpoint()
  const { runId, workspace } = checkpoint
  const needsNew = isOwn(workspace) && needOf(checkpoint, plan) === 'Make'
  // A rewind of done work is durable first: a new workspace must not be mistaken for the one where the work was done.
  const stagesFirst = !needsNew || wasAttempted(checkpoint)
  if (stagesFirst) recorder.stage(overrides)
  if (needsNew) {
    const saved = await recorder.commit()
    if (E.isLeft(saved)) return saved
    const { workspaces } = environment
    if (workspaces === undefined) return withoutPort('NoWorkspaces', runId)
    const made = await callWorkspaces('make', () => workspaces.make(runId, workspace))
    // Ctrl+C also stops git; that is an interruption, not a failure.
    if (E.isLeft(made) && stopReason() === undefined) return made
    const renamed = E.isLeft(made) || made.right === undefined ? {} : { renamed: made.right }
    if (E.isRight(made)) report(environment, { _tag: 'WorkspaceReady', runId, workspace, ...renamed })
  }
  if (!stagesFirst) recorder.stage(overrides)
  return E.right(undefined)
}

/**
 * Deletes the workspace of a run and the folders of its steps, and nothing of its state. A run that a live process holds
 * is refused with `HeldBy`. A resume that needs the workspace is refused from then on with `WorkspaceMissing`.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { cleanWorkspace } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment, workspaces } from 'dogear/node'
 * import { run, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const environment = nodeEnvironment(memoryStorage(), { workspaces: workspaces('state') })
 * const { storage } = environment
 * await run(workflow('pack').step('one', () => 1), { id: 'pack-1', storage, environment, workspace: 'directory' })
 * const cleaned = await cleanWorkspace('pack-1')(environment)()
 * assert.ok(E.isRight(cleaned) && cleaned.right.folders.length === 1)
 *
 * @category running
 */
export const cleanWorkspace = (runId: string): Executor<RemovedWorkspace> =>
  inEnvironment(
    (environment) => () =>
      withClaimedWorkspace(environment, runId, (workspaces, { workspace }) =>
        callWorkspaces('remove', () => workspaces.remove(runId, workspace))
      )
  )

/**
 * Merges the worktree of a run into the branch that it was made from, then removes the worktree. `None` if the run has no worktree.
 * A run that a live process holds is refused with `HeldBy`.
 *
 * @category running
 */
export const mergeWorkspace = (runId: string): Executor<O.Option<MergeEnd>> =>
  inEnvironment(
    (environment) => () =>
      withClaimedWorkspace<O.Option<MergeEnd>>(environment, runId, async (workspaces, { workspace }) => {
        if (workspace?.kind !== 'worktree') return E.right(O.none)
        const found = await callWorkspaces('find', () => workspaces.find(runId, workspace))
        if (E.isLeft(found) || !found.right.there) return E.map(() => O.none)(found)
        const merged = await callWorkspaces('merge', () => workspaces.merge(runId, workspace))
        return E.map((ended: MergeEnd) => O.some(ended))(merged)
      })
  )

/** Uses the workspace of a run under a claim, so that no other process resumes the run meanwhile. */
const withClaimedWorkspace = async <A>(
  environment: Environment,
  runId: string,
  act: (workspaces: Workspaces, checkpoint: Checkpoint) => Promise<E.Either<RunError, A>>
): Promise<E.Either<RunError, A>> => {
  const { workspaces } = environment
  if (workspaces === undefined) return withoutPort('NoWorkspaces', runId)
  // Read before the claim, which would leave a trace of a missing run.
  const found = await load(environment, runId)
  if (E.isLeft(found)) return found
  if (O.isNone(found.right)) return E.left({ _tag: 'NoSuchRun', runId })
  const acted = await withClaim<A>(environment, runId, async (_, stored) => {
    if (O.isNone(stored)) return E.left({ _tag: 'NoSuchRun', runId })
    const checkpoint = restoreStored(stored.value, runId)
    return E.isLeft(checkpoint) ? checkpoint : await act(workspaces, checkpoint.right)
  })
  await handleLateRequests(environment, runId)
  return acted
}

/** The own folder of a step, and the scope with the tree of that folder. */
export interface StepFolder {
  readonly folder: string
  readonly scope: RunScope
}

/** Makes the own folder of a step: empty for an attempt (`fresh`), kept for a poll (`kept`). On the left: why the attempt could not begin. */
export const stepFolder = async (
  scope: RunScope,
  { unit }: Place,
  kind: NonNullable<Runnable['workspace']>
): Promise<E.Either<StepFailure, StepFolder>> => {
  const { environment, recorder } = scope
  const { workspaces } = environment
  const { runId } = recorder.checkpoint()
  if (workspaces === undefined) return E.left(notBegun('NO_WORKSPACES', NO_WORKSPACES))
  const folder = { runId, unit }
  const made = await callWorkspaces('stepFolder', () => workspaces.stepFolder(folder, kind === 'fresh'))
  if (E.isRight(made)) return E.right({ folder: made.right, scope: scopeIn(scope, workspaces, made.right) })
  const { left } = made
  return E.left(notBegun(left._tag === 'WorkspaceFailed' ? left.code : left._tag, describeWorkspace(left)))
}

const scopeIn = (scope: RunScope, workspaces: Workspaces, folder: string): RunScope => ({
  ...scope,
  environment: { ...scope.environment, tree: workspaces.tree(folder) }
})

const NO_WORKSPACES = 'the step needs its own folder; set `workspaces` in the environment'

const notBegun = (code: string, message: string): StepFailure =>
  Failure.permanent(StepError.make('WorkspaceError', message, { code }), 'notApplied')

/** Prefixes the relative paths of evidence with the own folder of its step. */
export const withFolder = (folder: string, evidence: ReadonlyArray<Evidence>): ReadonlyArray<Evidence> =>
  evidence.map((one) => ('path' in one && !isAbsolute(one.path) ? { ...one, path: `${folder}/${one.path}` } : one))

const isAbsolute = (path: string): boolean => /^([/\\]|[A-Za-z]:)/.test(path)
