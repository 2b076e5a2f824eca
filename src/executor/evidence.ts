/**
 * Evidence: taken when a unit has ended well, and looked for before a run goes on.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { CompletedStep, Evidence, ExpectedEvidence } from '../domain/CompletedStep.js'
import type { MissingEvidence } from '../domain/Plan.js'
import type { Content, TreeUnreadable, WorkingTree } from '../ports/WorkingTree.js'
import type { Executor } from './Executor.js'

// ---------------------------------------------------------------------------------------------------------------------
// looking
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Looks for the evidence of all completed units of a run, and gives what is gone or is not what it was: the `evidence` of the
 * planner's options. Resuming does this by itself; who shows a plan before does it too, so that both see the same.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import * as O from 'fp-ts/lib/Option.js'
 * import { collectEvidence, viewRun } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import { runOrResume, workflow } from 'dogear/promise'
 * import { writeFileSync, rmSync } from 'node:fs'
 * import assert from 'node:assert/strict'
 *
 * const storage = memoryStorage()
 * const pack = workflow('pack').step('pack', {
 *   evidence: [{ _tag: 'Artifact', path: 'app.tgz' }],
 *   run: () => writeFileSync('app.tgz', 'all of it')
 * })
 * await runOrResume(pack, { id: 'pack-1', storage })
 * rmSync('app.tgz')
 *
 * const environment = nodeEnvironment(storage)
 * const view = await viewRun('pack-1')(environment)()
 * assert.ok(E.isRight(view) && O.isSome(view.right))
 * const missing = await collectEvidence(view.right.value.checkpoint)(environment)()
 * assert.ok(E.isRight(missing))
 * assert.equal(missing.right[0]?.step, 'pack')
 *
 * @category looking
 * @since 0.1.0
 */
export const collectEvidence =
  ({
    completedSteps
  }: {
    readonly completedSteps: Iterable<CompletedStep>
  }): Executor<ReadonlyArray<MissingEvidence>> =>
  ({ tree }) =>
  async () => {
    const records = [...completedSteps].filter(({ evidence }) => evidence.length > 0)
    if (records.length === 0) return E.right([])
    const gone = await goneOf(
      tree,
      records.flatMap(({ evidence }) => evidence)
    )
    return E.isLeft(gone) ? gone : E.right(records.flatMap((record) => missingOf(record, gone.right)))
  }

const missingOf = (
  { step, group, evidence }: CompletedStep,
  gone: ReadonlySet<Evidence>
): ReadonlyArray<MissingEvidence> => {
  const [first, ...more] = evidence.filter((one) => gone.has(one))
  if (first === undefined) return []
  const missing: ReadonlyNonEmptyArray<Evidence> = [first, ...more]
  return [{ step, ...(group === undefined ? {} : { group }), missing }]
}

/** Those that are gone, or are not what they were. All commits are one question. */
const goneOf = async (
  tree: WorkingTree,
  evidence: ReadonlyArray<Evidence>
): Promise<E.Either<TreeUnreadable, ReadonlySet<Evidence>>> => {
  const hashes = evidence.flatMap((one) => (one._tag === 'Commit' ? [one.hash] : []))
  const missing = hashes.length === 0 ? E.right([]) : await tree.missingCommits(hashes)()
  if (E.isLeft(missing)) return missing
  const missingHashes = new Set(missing.right)
  const gone = new Set<Evidence>()
  for (const one of evidence) {
    const stands = one._tag === 'Commit' ? E.right(!missingHashes.has(one.hash)) : await standsAt(tree, one)
    if (E.isLeft(stands)) return stands
    if (!stands.right) gone.add(one)
  }
  return E.right(gone)
}

const standsAt = async (
  tree: WorkingTree,
  one: Exclude<Evidence, { readonly _tag: 'Commit' }>
): Promise<E.Either<TreeUnreadable, boolean>> => {
  if (one._tag === 'File') return await tree.has(one.path)()
  const found = await tree.content(one.path)()
  if (E.isLeft(found) || O.isNone(found.right)) return E.map(() => false)(found)
  const { size, sha256 } = found.right.value
  return E.right(size === one.size && sha256 === one.sha256)
}

// ---------------------------------------------------------------------------------------------------------------------
// taking
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What was found of the evidence that a unit is to leave.
 *
 * @category model
 * @since 0.1.0
 */
export interface Taken {
  readonly evidence: ReadonlyArray<Evidence>
  readonly missing: ReadonlyArray<ExpectedEvidence>
}

/**
 * Takes the evidence that a unit is to have left.
 *
 * @category effects
 * @since 0.1.0
 */
export const take = async (
  tree: WorkingTree,
  expected: ReadonlyArray<ExpectedEvidence>
): Promise<E.Either<TreeUnreadable, Taken>> => {
  const evidence: Array<Evidence> = []
  const missing: Array<ExpectedEvidence> = []
  for (const one of expected) {
    const found = await evidenceOf(tree, one)
    if (E.isLeft(found)) return found
    if (O.isSome(found.right)) evidence.push(found.right.value)
    else missing.push(one)
  }
  return E.right({ evidence, missing })
}

const evidenceOf = async (
  tree: WorkingTree,
  one: ExpectedEvidence
): Promise<E.Either<TreeUnreadable, O.Option<Evidence>>> => {
  switch (one._tag) {
    case 'Artifact': {
      const content = await tree.content(one.path)()
      if (E.isLeft(content)) return content
      const withPlace = ({ size, sha256 }: Content): Evidence => ({ _tag: 'Artifact', path: one.path, size, sha256 })
      return E.right(O.map(withPlace)(content.right))
    }
    case 'File':
      return E.map((there: boolean) => (there ? O.some<Evidence>(one) : O.none))(await tree.has(one.path)())
    case 'Commit': {
      const missing = await tree.missingCommits([one.hash])()
      return E.map((gone: ReadonlyArray<string>) => (gone.length === 0 ? O.some<Evidence>(one) : O.none))(missing)
    }
  }
}
