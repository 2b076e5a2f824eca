/**
 * What completed steps left behind, looked for where the run works.
 *
 * @since 0.1.0
 */
import { relative } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { workingTree } from '../../adapters/node/index.js'
import type { Checkpoint } from '../../domain/Checkpoint.js'
import { unitsInNeed } from '../../domain/evidenceOf.js'
import type { FoundEvidence, PlanOptions, ResumePlan } from '../../domain/Plan.js'
import type { Workflow } from '../../domain/Workflow.js'
import { collectEvidence } from '../../executor/evidence.js'
import type { RunError } from '../../executor/RunError.js'
import { hasWorkspace, unlessGone } from '../../executor/workspace.js'
import type { WorkingTree } from '../../ports/WorkingTree.js'
import type { CliError } from '../CliError.js'
import { notDone } from '../CliError.js'
import type { Context } from './Context.js'
import { environmentFor } from './Context.js'
import { ofGone } from './hints.js'

/**
 * The tree of a run. Our own state is none of it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const treeAt = ({ home }: Pick<Context, 'home'>, folder: string): WorkingTree => {
  const inside = relative(folder, home)
  return workingTree(folder, inside === '' || inside.startsWith('..') ? [] : [inside])
}

/**
 * The state of a run's evidence: whether its workspace is `there`, and what is missing or changed in it. `tree` caches what it
 * has read.
 */
export interface Remains {
  readonly tree: WorkingTree
  readonly there: boolean
  readonly evidence: ReadonlyArray<FoundEvidence>
}

/**
 * What there is of what the completed steps of a run left; with options, of those whose evidence such a plan needs. Where the
 * workspace is gone nothing in it is looked for.
 *
 * @category effects
 * @since 0.1.0
 */
export const remainsOf = async (
  context: Context,
  checkpoint: Checkpoint,
  workflow: Pick<Workflow, 'steps'> = { steps: [] },
  options: PlanOptions = {},
  tree = treeAt(context, checkpoint.workspace?.path ?? context.folder)
): Promise<E.Either<CliError, Remains>> => {
  const environment = environmentFor(context, { tree })
  const told = (error: RunError): CliError => notDone(error, [], checkpoint.runId)
  const there = await hasWorkspace(checkpoint)(environment)()
  if (E.isLeft(there)) return E.left(told(there.left))
  if (!there.right) return E.right({ tree, there: false, evidence: [] })
  const evidence = await collectEvidence(unitsInNeed(checkpoint, workflow, options))(environment)()
  return E.isLeft(evidence) ? E.left(told(evidence.left)) : E.right({ tree, there: true, evidence: evidence.right })
}

/**
 * Nothing if a plan can be executed with what there is; else that the workspace is gone, and what to do.
 *
 * @category validation
 * @since 0.1.0
 */
export const unlessWorkspaceGone = (
  context: Context,
  checkpoint: Checkpoint,
  plan: ResumePlan,
  { there }: Remains
): E.Either<CliError, void> => {
  const missed = unlessGone(checkpoint, plan, there)
  if (E.isRight(missed)) return missed
  const hints = missed.left._tag === 'WorkspaceGone' ? ofGone(context, missed.left) : []
  return E.left(notDone(missed.left, hints, checkpoint.runId))
}
