/** Collects evidence when a unit completes, and checks it before a run continues. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { CompletedStep, Evidence, ExpectedEvidence } from '../../domain/checkpoint/CompletedStep.js'
import { afterIntact } from '../../domain/plan/evidenceToCheck.js'
import type { Changed, FoundEvidence } from '../../domain/plan/Plan.js'
import * as StepError from '../../domain/data/StepError.js'
import type { Workspace } from '../../domain/workflow/Workspace.js'
import type { ArtifactStore } from '../../ports/ArtifactStore.js'
import type { Content, TreeUnreadable, WorkingTree } from '../../ports/WorkingTree.js'
import { ARTIFACTS, callPort, readFailed } from '../callPort.js'
import type { Executor } from '../ExecutorCall.js'
import { checkpointProblems, unless } from '../arguments.js'
import { describeArtifact } from '../errors/portErrors.js'
import { workingTreeOf } from './workspace.js'

/** A checkpoint, or some of its records. `workspace`: where the files are, if not in the tree of the environment. */
export interface CompletedUnits {
  readonly runId: string
  readonly completedSteps: Iterable<CompletedStep>
  readonly workspace?: Workspace
}

/**
 * Checks the evidence of all completed units of a run and returns what is missing or changed, for the `evidence` option of the
 * planner. A commit that HEAD no longer contains counts as changed; one that the repository no longer has counts as missing.
 * `resume` and `planRun` do this themselves; call it before `planResume`.
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
 * const found = await collectEvidence(view.right.value.checkpoint)(environment)()
 * assert.ok(E.isRight(found))
 * assert.deepEqual(found.right.map((one) => [one.unit, 'missing' in one]), [['pack', true]])
 *
 * @category looking
 */
export const collectEvidence = (
  checkpoint: CompletedUnits,
  signal?: AbortSignal
): Executor<ReadonlyArray<FoundEvidence>> =>
  unless(checkpointProblems(checkpoint), () => (environment) => async () => {
    const { runId, completedSteps, workspace } = checkpoint
    const records = [...completedSteps].filter(({ evidence }) => evidence.length > 0)
    if (records.length === 0) return E.right([])
    const evidence = records.flatMap((record) => record.evidence)
    const diff: Diff = { missing: new Set(), changed: new Map() }
    const inTree = await scanTree(workingTreeOf(environment, workspace), evidence, diff, signal)
    if (E.isLeft(inTree)) return inTree
    const inStore = await scanStore(environment.artifacts, runId, evidence, diff)
    if (E.isLeft(inStore)) return inStore
    return E.right(records.flatMap((record) => foundOf(record, diff)))
  })

interface Diff {
  readonly missing: Set<Evidence>
  readonly changed: Map<Evidence, Changed>
}

const foundOf = ({ unit, evidence }: CompletedStep, { missing, changed }: Diff): ReadonlyArray<FoundEvidence> => {
  const [lost, ...moreLost] = evidence.filter((one) => missing.has(one))
  const [edited, ...moreEdited] = evidence.flatMap((one) => changed.get(one) ?? [])
  return [
    ...(lost === undefined ? [] : [{ unit, missing: [lost, ...moreLost] as const }]),
    ...(edited === undefined ? [] : [{ unit, changed: [edited, ...moreEdited] as const }])
  ]
}

export const callTree = <A>(call: () => TaskEither<TreeUnreadable, A>): Promise<E.Either<TreeUnreadable, A>> =>
  callPort('look', call, (_, cause) => {
    const { message } = StepError.fromUnknown(cause)
    return { _tag: 'TreeUnreadable', where: 'the working tree', code: 'THREW', why: message, cause }
  })

type Scan = Promise<E.Either<TreeUnreadable, void>>

const SCANNED: E.Either<TreeUnreadable, void> = E.right(undefined)

/** Collects the evidence that is missing or changed in the working tree: all commits together, and each path once. */
const scanTree = async (
  tree: WorkingTree,
  evidence: ReadonlyArray<Evidence>,
  diff: Diff,
  signal: AbortSignal | undefined
): Scan => {
  const commits = await scanCommits(
    tree,
    evidence.filter((one) => one._tag === 'Commit'),
    diff
  )
  if (E.isLeft(commits)) return commits
  for (const files of byPlace(evidence.filter((one) => one._tag === 'File'))) {
    const exists = await callTree(() => tree.has(files[0].path))
    if (E.isLeft(exists)) return exists
    if (!exists.right) for (const one of files) diff.missing.add(one)
  }
  for (const artifacts of byPlace(evidence.filter((one) => one._tag === 'Artifact'))) {
    const { path } = artifacts[0]
    const found = await callTree(() => tree.content(path, signal))
    if (E.isLeft(found)) return found
    const content = O.toUndefined(found.right)
    addDiff(artifacts, content && { _tag: 'Artifact', path, size: content.size, sha256: content.sha256 }, diff)
  }
  return SCANNED
}

/** Collects the commits that HEAD does not contain: they are changed if the repository still has them, else missing. */
const scanCommits = async (
  tree: WorkingTree,
  commits: ReadonlyArray<Evidence & { readonly _tag: 'Commit' }>,
  diff: Diff
): Scan => {
  if (commits.length === 0) return SCANNED
  const outside = await callTree(() => tree.missingCommits(commits.map(({ hash }) => hash)))
  if (E.isLeft(outside)) return outside
  if (outside.right.length === 0) return SCANNED
  const stored = await callTree(() => tree.storedCommits(outside.right))
  if (E.isLeft(stored)) return stored
  const head = stored.right.length === 0 ? E.right(O.none) : await callTree(() => tree.head)
  if (E.isLeft(head)) return head
  const [lost, kept] = [new Set(outside.right), new Set(stored.right)]
  const is: Pick<Changed, 'is'> = O.isSome(head.right) ? { is: { _tag: 'Commit', hash: head.right.value } } : {}
  for (const one of commits) {
    if (kept.has(one.hash)) diff.changed.set(one, { was: one, ...is })
    else if (lost.has(one.hash)) diff.missing.add(one)
  }
  return SCANNED
}

/** Adds the evidence recorded at one path or id (oldest first) that differs from `is`, if no later record matches. */
const addDiff = (
  recorded: ReadonlyArray<Evidence & Content>,
  is: (Evidence & Content) | undefined,
  { missing, changed }: Diff
): void => {
  for (const was of afterIntact(recorded, (one) => is !== undefined && isContent(is, one))) {
    if (is === undefined) missing.add(was)
    else changed.set(was, { was, is })
  }
}

/** Groups evidence by path or id, oldest first. */
const byPlace = <A extends { readonly path: string } | { readonly id: string }>(
  all: ReadonlyArray<A>
): Iterable<ReadonlyNonEmptyArray<A>> => {
  const groups = new Map<string, [A, ...Array<A>]>()
  for (const one of all) {
    const place = 'path' in one ? one.path : one.id
    const group = groups.get(place)
    if (group === undefined) groups.set(place, [one])
    else group.push(one)
  }
  return groups.values()
}

const isContent = (found: Content, { size, sha256 }: Content): boolean => found.size === size && found.sha256 === sha256

/** Collects the evidence that is missing or changed in the artifact store, with one query. */
const scanStore = async (
  artifacts: ArtifactStore | undefined,
  runId: string,
  evidence: ReadonlyArray<Evidence>,
  diff: Diff
): Scan => {
  const stored = evidence.filter((one) => one._tag === 'Stored')
  if (stored.length === 0) return SCANNED
  const unreadable = (code: string, why: string, cause?: unknown): E.Either<TreeUnreadable, never> =>
    E.left({ _tag: 'TreeUnreadable', where: `the artifacts of run ${runId}`, code, why, cause })
  if (artifacts === undefined) return unreadable('NO_STORE', 'the run has no store for artifacts')
  const listed = await callPort('list', () => artifacts.list(runId), readFailed(ARTIFACTS))
  if (E.isLeft(listed)) return unreadable(listed.left._tag, describeArtifact(listed.left), listed.left)
  const infos = new Map(listed.right.map((one) => [one.id, one]))
  for (const recorded of byPlace(stored)) {
    const found = infos.get(recorded[0].id)
    addDiff(recorded, found && { _tag: 'Stored', id: found.id, size: found.size, sha256: found.sha256 }, diff)
  }
  return SCANNED
}

export interface CollectedEvidence {
  readonly evidence: ReadonlyArray<Evidence>
  readonly missing: ReadonlyArray<ExpectedEvidence>
}

const NONE: E.Either<TreeUnreadable, O.Option<Evidence>> = E.right(O.none)

export const collectExpected = async (
  tree: WorkingTree,
  expected: ReadonlyArray<ExpectedEvidence>,
  signal: AbortSignal
): Promise<E.Either<TreeUnreadable, CollectedEvidence>> => {
  const evidence: Array<Evidence> = []
  const missing: Array<ExpectedEvidence> = []
  for (const one of expected) {
    // An empty path would name the folder itself; it is always a bug of the author.
    const found =
      one._tag !== 'Commit' && one.path === '' ? NONE : await callTree(() => () => evidenceOf(tree, one, signal))
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
      const toEvidence = ({ size, sha256 }: Content): Evidence => ({ _tag: 'Artifact', path: one.path, size, sha256 })
      return E.right(O.map(toEvidence)(content.right))
    }
    case 'File':
      return E.map((exists: boolean) => (exists ? O.some<Evidence>(one) : O.none))(await tree.has(one.path)())
    case 'Commit':
      // Records the full hash: an abbreviation may become ambiguous.
      return E.map(O.map((hash: string): Evidence => ({ _tag: 'Commit', hash })))(await tree.fullHash(one.hash)())
  }
}
