/** A working tree in memory, for tests of evidence. */
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { sha256 } from '../domain/data/Digest.js'
import type { WorkingTree } from '../ports/WorkingTree.js'

/**
 * The content of a working tree in memory, which tests may change.
 *
 * - `files`: content by path.
 * - `commits`: the history of HEAD, oldest first.
 * - `otherCommits`: other commits in the repository.
 * - `changed`: paths that differ from HEAD.
 *
 * @category model
 */
export interface TreeData {
  readonly files: Map<string, string>
  commits: ReadonlyArray<string>
  otherCommits: ReadonlyArray<string>
  readonly changed: Set<string>
}

/**
 * Creates an empty tree.
 *
 * @category constructors
 */
export const treeData = (): TreeData => ({
  files: new Map(),
  commits: [],
  otherCommits: [],
  changed: new Set()
})

/**
 * A working tree that reads this data at each call.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { memoryTree, treeData } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const data = treeData()
 * data.files.set('dist/app.js', 'run()')
 * assert.deepEqual(await memoryTree(data).has('dist/app.js')(), E.right(true))
 *
 * @category constructors
 */
export const memoryTree = (data: TreeData): WorkingTree => {
  const now = <A>(read: () => A): TE.TaskEither<never, A> => TE.fromIO(read)
  return {
    content: (path) =>
      now(() => {
        const text = data.files.get(path)
        return text === undefined ? O.none : O.some({ size: Buffer.byteLength(text), sha256: sha256(text) })
      }),
    has: (path) => now(() => data.files.has(path)),
    head: now(() => O.fromNullable(data.commits.at(-1))),
    fullHash: (hash) => now(() => O.fromNullable(data.commits.find((one) => one.startsWith(hash)))),
    missingCommits: (hashes) => now(() => hashes.filter((hash) => !data.commits.includes(hash))),
    storedCommits: (hashes) =>
      now(() => hashes.filter((hash) => data.commits.includes(hash) || data.otherCommits.includes(hash))),
    commitsSince: (hash) => now(() => data.commits.slice(O.isSome(hash) ? data.commits.indexOf(hash.value) + 1 : 0)),
    changed: now(() => [...data.changed])
  }
}
