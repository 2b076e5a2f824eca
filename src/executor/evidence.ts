/**
 * Evidence: taken when a unit has ended well, and looked for before a run goes on.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { CompletedStep, Evidence, ExpectedEvidence } from '../domain/CompletedStep.js'
import { goneAt } from '../domain/evidenceOf.js'
import type { MissingEvidence } from '../domain/Plan.js'
import * as StepError from '../domain/StepError.js'
import type { Workspace } from '../domain/Workspace.js'
import type { ArtifactStore } from '../ports/ArtifactStore.js'
import type { Content, TreeUnreadable, WorkingTree } from '../ports/WorkingTree.js'
import type { Executor } from './Executor.js'
import { describeArtifact } from './RunError.js'
import { treeOf } from './workspace.js'

// ---------------------------------------------------------------------------------------------------------------------
// looking
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Completed units of a run: a checkpoint, or some of its records. `workspace`: where it works, if that is not the tree of the
 * environment.
 *
 * @category model
 * @since 0.1.0
 */
export interface CompletedUnits {
  readonly runId: string
  readonly completedSteps: Iterable<CompletedStep>
  readonly workspace?: Workspace
}

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
  (
    { runId, completedSteps, workspace }: CompletedUnits,
    signal?: AbortSignal
  ): Executor<ReadonlyArray<MissingEvidence>> =>
  (environment) =>
  async () => {
    const records = [...completedSteps].filter(({ evidence }) => evidence.length > 0)
    if (records.length === 0) return E.right([])
    const evidence = records.flatMap((record) => record.evidence)
    const inTree = await goneFromTree(treeOf(environment, workspace), evidence, signal)
    if (E.isLeft(inTree)) return inTree
    const inStore = await goneFromStore(environment.artifacts, runId, evidence)
    if (E.isLeft(inStore)) return inStore
    const gone = new Set([...inTree.right, ...inStore.right])
    return E.right(records.flatMap((record) => missingOf(record, gone)))
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

/**
 * Asks a tree. One that throws where it should answer can't be looked at.
 *
 * @category effects
 * @since 0.1.0
 */
export const looking = async <A>(
  ask: () => Promise<E.Either<TreeUnreadable, A>>
): Promise<E.Either<TreeUnreadable, A>> => {
  try {
    return await ask()
  } catch (cause) {
    const { message } = StepError.fromUnknown(cause)
    return E.left({ _tag: 'TreeUnreadable', where: 'the working tree', code: 'THREW', why: message, cause })
  }
}

/** Those that are gone, or are not what they were. All commits are one question, and so is each path. */
const goneFromTree = async (
  tree: WorkingTree,
  evidence: ReadonlyArray<Evidence>,
  signal: AbortSignal | undefined
): Promise<E.Either<TreeUnreadable, ReadonlyArray<Evidence>>> => {
  const commits = evidence.filter((one) => one._tag === 'Commit')
  const missing =
    commits.length === 0 ? E.right([]) : await looking(() => tree.missingCommits(commits.map(({ hash }) => hash))())
  if (E.isLeft(missing)) return missing
  const missingHashes = new Set(missing.right)
  const gone: Array<Evidence> = commits.filter(({ hash }) => missingHashes.has(hash))
  for (const files of byPlace(evidence.filter((one) => one._tag === 'File'))) {
    const there = await looking(() => tree.has(files[0].path)())
    if (E.isLeft(there)) return there
    if (!there.right) gone.push(...files)
  }
  for (const artifacts of byPlace(evidence.filter((one) => one._tag === 'Artifact'))) {
    const found = await looking(() => tree.content(artifacts[0].path, signal)())
    if (E.isLeft(found)) return found
    gone.push(...goneAt(artifacts, (one) => O.isSome(found.right) && isContent(found.right.value, one)))
  }
  return E.right(gone)
}

/** What several units left, by its path or id: for each place, oldest first. */
const byPlace = <A extends { readonly path: string } | { readonly id: string }>(
  all: ReadonlyArray<A>
): Iterable<ReadonlyNonEmptyArray<A>> => {
  const places = new Map<string, [A, ...Array<A>]>()
  for (const one of all) {
    const place = 'path' in one ? one.path : one.id
    const there = places.get(place)
    if (there === undefined) places.set(place, [one])
    else there.push(one)
  }
  return places.values()
}

const isContent = (found: Content, { size, sha256 }: Content): boolean => found.size === size && found.sha256 === sha256

/** Those that the store of artifacts has no more, or not as they were put. All of them are one question. */
const goneFromStore = async (
  artifacts: ArtifactStore | undefined,
  runId: string,
  evidence: ReadonlyArray<Evidence>
): Promise<E.Either<TreeUnreadable, ReadonlyArray<Evidence>>> => {
  const stored = evidence.filter((one) => one._tag === 'Stored')
  if (stored.length === 0) return E.right([])
  const unreadable = (code: string, why: string, cause?: unknown): E.Either<TreeUnreadable, never> =>
    E.left({ _tag: 'TreeUnreadable', where: `the artifacts of run ${runId}`, code, why, cause })
  if (artifacts === undefined) return unreadable('NO_STORE', 'the run has no store for artifacts')
  const listed = await artifacts.list(runId)()
  if (E.isLeft(listed)) return unreadable(listed.left._tag, describeArtifact(listed.left), listed.left)
  const there = new Map(listed.right.map((one) => [one.id, one]))
  const gone = [...byPlace(stored)].flatMap((left) => {
    const found = there.get(left[0].id)
    return goneAt(left, (one) => found !== undefined && isContent(found, one))
  })
  return E.right(gone)
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

const NONE: E.Either<TreeUnreadable, O.Option<Evidence>> = E.right(O.none)

/**
 * Takes the evidence that a unit is to have left.
 *
 * @category effects
 * @since 0.1.0
 */
export const take = async (
  tree: WorkingTree,
  expected: ReadonlyArray<ExpectedEvidence>,
  signal: AbortSignal
): Promise<E.Either<TreeUnreadable, Taken>> => {
  const evidence: Array<Evidence> = []
  const missing: Array<ExpectedEvidence> = []
  for (const one of expected) {
    // The folder itself would be meant by an empty path: what makes it up has gone wrong.
    const found = one._tag !== 'Commit' && one.path === '' ? NONE : await looking(() => evidenceOf(tree, one, signal))
    if (E.isLeft(found)) return found
    if (O.isSome(found.right)) evidence.push(found.right.value)
    else missing.push(one)
  }
  return E.right({ evidence, missing })
}

const evidenceOf = async (
  tree: WorkingTree,
  one: ExpectedEvidence,
  signal: AbortSignal
): Promise<E.Either<TreeUnreadable, O.Option<Evidence>>> => {
  switch (one._tag) {
    case 'Artifact': {
      const content = await tree.content(one.path, signal)()
      if (E.isLeft(content)) return content
      const withPlace = ({ size, sha256 }: Content): Evidence => ({ _tag: 'Artifact', path: one.path, size, sha256 })
      return E.right(O.map(withPlace)(content.right))
    }
    case 'File':
      return E.map((there: boolean) => (there ? O.some<Evidence>(one) : O.none))(await tree.has(one.path)())
    case 'Commit':
      // What is short today may be short of two tomorrow.
      return E.map(O.map((hash: string): Evidence => ({ _tag: 'Commit', hash })))(await tree.fullHash(one.hash)())
  }
}
