/**
 * What completed steps left behind, looked for where the run works.
 *
 * @since 0.1.0
 */
import { relative } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { workingTree } from '../../adapters/node/index.js'
import type { Checkpoint } from '../../domain/Checkpoint.js'
import type { MissingEvidence } from '../../domain/Plan.js'
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
 * What is gone of what the completed steps of a run left.
 *
 * @category effects
 * @since 0.1.0
 */
export const missingEvidence = async (
  context: Context,
  checkpoint: Checkpoint
): Promise<E.Either<CliError, ReadonlyArray<MissingEvidence>>> => {
  const tree = treeAt(context, checkpoint.workspace?.path ?? context.folder)
  return E.mapLeft((error: Parameters<typeof notDone>[0]) => notDone(error, [], checkpoint.runId))(
    await collectEvidence(checkpoint)(environmentFor(context, { tree }))()
  )
}
