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
import type { MissingEvidence, PlanOptions } from '../../domain/Plan.js'
import type { Workflow } from '../../domain/Workflow.js'
import { collectEvidence } from '../../executor/evidence.js'
import type { WorkingTree } from '../../ports/WorkingTree.js'
import type { CliError } from '../CliError.js'
import { notDone } from '../CliError.js'
import type { Context } from './Context.js'
import { environmentFor } from './Context.js'

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
 * What is gone of what the completed steps of a run left; with options, of those whose evidence such a plan needs.
 *
 * @category effects
 * @since 0.1.0
 */
export const missingEvidence = async (
  context: Context,
  checkpoint: Checkpoint,
  workflow: Pick<Workflow, 'steps'> = { steps: [] },
  options: PlanOptions = {}
): Promise<E.Either<CliError, ReadonlyArray<MissingEvidence>>> => {
  const tree = treeAt(context, checkpoint.workspace?.path ?? context.folder)
  return E.mapLeft((error: Parameters<typeof notDone>[0]) => notDone(error, [], checkpoint.runId))(
    await collectEvidence(unitsInNeed(checkpoint, workflow, options))(environmentFor(context, { tree }))()
  )
}
