/** Keeps artifacts as files in the folder of their run, so that a removal deletes both (`docs/file-format.md` §13). */
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import * as ArtifactId from '../../domain/data/ArtifactId.js'
import { sha256 } from '../../domain/data/Digest.js'
import type { ArtifactError, ArtifactInfo, ArtifactStore } from '../../ports/ArtifactStore.js'
import type { Corrupt, UnsupportedFormat } from '../../ports/CheckpointStorage.js'
import type { FileSystem } from './files/FileSystem.js'
import type { FileError } from './files/Fault.js'
import { parsed } from '../../domain/data/Json.js'
import { amount, fieldsOf } from '../../domain/data/Options.js'
import { insecure, reading, writing } from './files/Fault.js'
import { areFolders, namesIn, readBetween, readWhole, replaceWhole, tidy, tooLarge, withFile } from './files/Files.js'
import { nodeFileSystem } from './files/nodeFileSystem.js'
import { refusalOf } from './files/Refusal.js'
import { ensureIn } from './files/Folders.js'
import * as Layout from './files/Layout.js'

/**
 * The options of artifacts in files. `maxBytes`: the largest artifact to put or get (default 256 MiB), because each is
 * held in memory.
 *
 * @category model
 */
export interface FileArtifactsOptions {
  readonly maxBytes?: number
  /** @internal */
  readonly fs?: FileSystem
}

interface Place {
  readonly fs: FileSystem
  readonly maxBytes: number
  readonly layout: Layout.Layout
}

/** The parsed first line of a file, and its length in bytes. */
interface Head {
  readonly info: ArtifactInfo
  readonly length: number
}

type Result<A> = Promise<E.Either<ArtifactError, A>>

const FORMAT = 1

/** Above the longest first line: an id of 512 characters has at most 1,536 bytes. */
const HEAD_BYTES = 4_096

/**
 * Artifacts below the root of a {@link jsonFileStorage}, in the folders of its runs; removing a run deletes its
 * artifacts. A put takes effect completely or not at all, even after a crash, and is durable when it resolves. Any
 * number of processes may use the same root.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import * as O from 'fp-ts/lib/Option.js'
 * import { fileArtifacts } from 'dogear/json-file'
 * import assert from 'node:assert/strict'
 * import { mkdtemp, rm } from 'node:fs/promises'
 * import { tmpdir } from 'node:os'
 * import { join } from 'node:path'
 *
 * const root = await mkdtemp(join(tmpdir(), 'dogear-'))
 * const artifacts = fileArtifacts(root)
 * await artifacts.put('release-42', 'reports/unit.txt', '12 passed')()
 *
 * const found = await fileArtifacts(root).get('release-42', 'reports/unit.txt')()
 * assert.ok(E.isRight(found) && O.isSome(found.right))
 * assert.equal(Buffer.from(found.right.value).toString(), '12 passed')
 * await rm(root, { recursive: true })
 *
 * @category constructors
 */
export const fileArtifacts = (root: string, options: FileArtifactsOptions = {}): ArtifactStore =>
  refusalOf('fileArtifacts', root, options, { maxBytes: amount })?.calls(
    'put',
    'get',
    'has',
    'remove',
    'list',
    'clear'
  ) ?? artifactsIn(root, options)

const artifactsIn = (root: string, options: FileArtifactsOptions): ArtifactStore => {
  const { maxBytes = 256 * 1_048_576, fs = nodeFileSystem } = options
  const tidied = new Set<string>()

  const on = <A>(runId: string, act: (place: Place) => Result<A>): TaskEither<ArtifactError, A> =>
    Layout.call(root, runId, (layout) => act({ fs, maxBytes, layout }))
  const at =
    <A>(runId: string, id: string, act: (place: Place) => Result<A>): TaskEither<ArtifactError, A> =>
    () => {
      const valid = ArtifactId.parse(id)
      return E.isLeft(valid) ? Promise.resolve(valid) : on(runId, act)()
    }

  return {
    put: (runId, id, data) =>
      at(runId, id, async (place) => {
        const result = await put(place, id, Buffer.from(data))
        if (E.isRight(result) && !tidied.has(runId)) {
          tidied.add(runId)
          await tidyIn(place)
        }
        return result
      }),
    get: (runId, id) => at(runId, id, (place) => get(place, id)),
    has: (runId, id) => at(runId, id, (place) => has(place, id)),
    remove: (runId, id) => at(runId, id, (place) => remove(place, [Layout.artifact(place.layout, id)])),
    list: (runId) => on(runId, list),
    clear: (runId) => on(runId, clear)
  }
}

const put = async (place: Place, id: string, bytes: Buffer): Result<ArtifactInfo> => {
  const { fs, maxBytes, layout } = place
  const path = Layout.artifact(layout, id)
  if (bytes.length > maxBytes) return E.left(tooLarge(layout.runId, path, bytes.length, maxBytes))
  const info = { id, size: bytes.length, sha256: sha256(bytes) }
  const made = await ensureIn(fs, layout, Layout.artifacts(layout))
  if (E.isLeft(made)) return made
  const unfinished = Layout.unfinishedArtifact(layout, Layout.newToken())
  const content = Buffer.concat([headOf(info), bytes])
  return E.map(() => info)(await replaceWhole(fs, path, unfinished, content))
}

const syncNames = ({ fs, layout }: Place): Promise<E.Either<FileError, void>> =>
  writing(Layout.artifacts(layout), 'fsync', () => fs.fsyncFolder(Layout.artifacts(layout)))

/** Syncs even if the names are already missing, because the process that deleted them may have been killed before its sync. */
const remove = async (place: Place, paths: ReadonlyArray<string>): Result<void> => {
  const there = isThere(place)
  if (E.isLeft(there)) return there
  if (!there.right) return E.right(undefined)
  for (const path of paths) {
    const unlinked = await writing(path, 'unlink', () => place.fs.unlinkSync(path))
    if (E.isLeft(unlinked) && unlinked.left.code !== 'ENOENT') return unlinked
  }
  return syncNames(place)
}

const tidyIn = ({ fs, layout }: Place): Promise<void> =>
  tidy(fs, Layout.artifacts(layout), (name) => Layout.kindOfArtifact(name) === 'unfinished')

const clear = async (place: Place): Result<void> => {
  const names = await namesOf(place)
  if (E.isLeft(names)) return names
  const ofSteps = names.right.filter((name) => Layout.kindOfArtifact(name) === 'artifact')
  const result = await remove(
    place,
    ofSteps.map((name) => join(Layout.artifacts(place.layout), name))
  )
  if (E.isRight(result)) await tidyIn(place)
  return result
}

const get = async (place: Place, id: string): Result<O.Option<Uint8Array>> => {
  const { fs, maxBytes, layout } = place
  const there = isThere(place)
  if (E.isLeft(there)) return there
  if (!there.right) return E.right(O.none)
  const path = Layout.artifact(layout, id)
  const whole = await readWhole(fs, path, maxBytes + HEAD_BYTES, layout.runId)
  if (E.isLeft(whole)) return whole
  return whole.right === undefined
    ? E.right(O.none)
    : E.map(O.some<Uint8Array>)(contentOf(place, path, id, whole.right))
}

const contentOf = (place: Place, path: string, id: string, whole: Buffer): E.Either<ArtifactError, Uint8Array> => {
  const head = headIn(place, path, whole)
  if (E.isLeft(head)) return head
  const { info, length } = head.right
  if (info.id !== id) return E.left(corrupt(place, path, `it is the artifact "${info.id}"`))
  const bytes = whole.subarray(length)
  if (bytes.length !== info.size) return E.left(corrupt(place, path, `${bytes.length} bytes instead of ${info.size}`))
  return sha256(bytes) === info.sha256
    ? E.right(new Uint8Array(bytes))
    : E.left(corrupt(place, path, 'its content does not match its SHA-256'))
}

const has = async (place: Place, id: string): Result<boolean> => {
  const there = isThere(place)
  if (E.isLeft(there) || !there.right) return there
  const path = Layout.artifact(place.layout, id)
  const stats = await reading(path, 'lstat', () => place.fs.lstatSync(path))
  if (E.isLeft(stats)) return stats
  if (stats.right === undefined) return E.right(false)
  return stats.right.kind === 'file' ? E.right(true) : E.left(insecure(path, 'it is not a regular file'))
}

/** Skips a file that is deleted during the listing. */
const list = async (place: Place): Result<ReadonlyArray<ArtifactInfo>> => {
  const names = await namesOf(place)
  if (E.isLeft(names)) return names
  const found: Array<ArtifactInfo> = []
  for (const name of names.right) {
    const kind = Layout.kindOfArtifact(name)
    if (kind !== 'artifact' && kind !== 'system') continue
    const path = join(Layout.artifacts(place.layout), name)
    const head = await withFile<Head, ArtifactError>(place.fs, path, async (fd) => {
      const bytes = await readBetween(place.fs, path, fd, 0, HEAD_BYTES)
      return E.isLeft(bytes) ? bytes : headIn(place, path, bytes.right)
    })
    if (E.isLeft(head)) return head
    if (head.right !== undefined) found.push(head.right.info)
  }
  return E.right(found.sort((a, b) => (a.id < b.id ? -1 : 1)))
}

const isThere = ({ fs, layout }: Place): E.Either<FileError, boolean> =>
  areFolders(fs, layout.runs, layout.run, Layout.artifacts(layout))

const namesOf = async (place: Place): Promise<E.Either<FileError, ReadonlyArray<string>>> => {
  const there = isThere(place)
  if (E.isLeft(there)) return there
  return there.right ? namesIn(place.fs, Layout.artifacts(place.layout)) : E.right([])
}

const headOf = (info: ArtifactInfo): Buffer => Buffer.from(`${JSON.stringify({ format: FORMAT, ...info })}\n`)

const headIn = (place: Place, path: string, bytes: Buffer): E.Either<Corrupt | UnsupportedFormat, Head> => {
  const length = bytes.subarray(0, HEAD_BYTES).indexOf(0x0a) + 1
  const { format, id, size, sha256: digest } = fieldsOf(parsed(bytes.toString('utf8', 0, length)))
  if (typeof format === 'number' && format > FORMAT) {
    const { runId } = place.layout
    return E.left({ _tag: 'UnsupportedFormat', runId, where: path, found: format, supported: FORMAT })
  }
  return format === FORMAT && typeof id === 'string' && typeof size === 'number' && typeof digest === 'string'
    ? E.right({ info: { id, size, sha256: digest }, length })
    : E.left(corrupt(place, path, 'its first line is invalid'))
}

const corrupt = ({ layout: { runId } }: Place, where: string, why: string): Corrupt => ({
  _tag: 'Corrupt',
  runId,
  where,
  why
})
