/**
 * Requests to pause, and the pointer to the run that paused last, in files. `docs/file-format.md` §15 is the norm.
 *
 * @since 0.1.0
 */
import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Json } from '../../domain/Json.js'
import type { ContinueHere, PauseRequest } from '../../domain/Pause.js'
import { decodePointer, decodeRequest, describe, encode } from '../../domain/PauseCodec.js'
import { isSame } from '../../domain/Pause.js'
import * as RunId from '../../domain/RunId.js'
import type { WriteFailed } from '../../ports/CheckpointStorage.js'
import type { FileSystem } from '../../ports/FileSystem.js'
import type { PauseError, Pauses, PointerError } from '../../ports/Pauses.js'
import type { FileError } from './Fault.js'
import { writing } from './Fault.js'
import { isFolder, readWhole, replaceWhole, tidy } from './Files.js'
import { nodeFileSystem } from './FileSystem.js'
import * as Layout from './Layout.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * How requests are kept. `fs`: the outside world, for tests.
 *
 * @category model
 * @since 0.1.0
 */
export interface FilePausesOptions {
  readonly fs?: FileSystem
}

/** What a file may have. A request is small; a pointer has the commits of a run, 43 bytes each. */
const REQUEST_BYTES = 65_536

const POINTER_BYTES = 16_777_216

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Requests to pause the runs of a {@link jsonFileStorage}, and the pointer `continue-here.json`, below the same root. Any process
 * that may write there can ask.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { pause } from 'dogear'
 * import { filePauses, jsonFileStorage } from 'dogear/json-file'
 * import { nodeEnvironment } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * const environment = nodeEnvironment(jsonFileStorage('state'), { pauses: filePauses('state') })
 * const asked = await pause('nightly-1')(environment)()
 * assert.ok(E.isLeft(asked) && asked.left._tag === 'NoSuchRun')
 *
 * @category constructors
 * @since 0.1.0
 */
export const filePauses = (root: string, { fs = nodeFileSystem }: FilePausesOptions = {}): Pauses => {
  /** Nothing touches a file before the run id is known to be one. */
  const on =
    <A>(runId: string, act: (layout: Layout.Layout) => Promise<E.Either<PauseError, A>>): TaskEither<PauseError, A> =>
    () => {
      const valid = RunId.parse(runId)
      return E.isLeft(valid) ? Promise.resolve(valid) : act(Layout.of(root, runId))
    }
  const pointer = Layout.pointer(root)
  return {
    request: (request) => on(request.runId, (layout) => leaveRequest(fs, layout, request)),
    isRequested: (runId) => E.isRight(RunId.parse(runId)) && isFile(fs, Layout.pauseRequest(Layout.of(root, runId))),
    requested: (runId) => on(runId, (layout) => requestIn(fs, layout)),
    withdraw: (runId, only) =>
      on(runId, async (layout) => {
        const there = isThere(fs, layout)
        if (E.isLeft(there) || !there.right) return E.map(() => undefined)(there)
        return only === undefined ? remove(fs, Layout.pauseRequest(layout)) : removeOnly(fs, layout, only)
      }),
    point: (to) => async () => E.map(() => pointer)(pointed(pointer, await replace(fs, pointer, encode(to)))),
    pointer: () => pointerAt(fs, pointer),
    unpoint: (runId) => async () => {
      const found = await pointerAt(fs, pointer)
      if (E.isLeft(found)) return found
      if (O.isNone(found.right) || found.right.value.runId !== runId) return E.right(undefined)
      return pointed(pointer, await remove(fs, pointer))
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// requests
// ---------------------------------------------------------------------------------------------------------------------

/** One look. A link, or whatever else is no file, is no request; nor is what can't be looked at. */
const isFile = (fs: FileSystem, path: string): boolean => {
  try {
    return fs.lstatSync(path)?.kind === 'file'
  } catch {
    return false
  }
}

/** A link in the place of a folder would lead somewhere else. */
const isThere = (fs: FileSystem, { runs, run }: Layout.Layout): E.Either<FileError, boolean> => {
  const above = isFolder(fs, runs)
  return E.isLeft(above) || !above.right ? above : isFolder(fs, run)
}

const leaveRequest = async (
  fs: FileSystem,
  layout: Layout.Layout,
  request: PauseRequest
): Promise<E.Either<PauseError, void>> => {
  const there = isThere(fs, layout)
  return E.isLeft(there) ? there : replace(fs, Layout.pauseRequest(layout), encode(request))
}

const requestIn = async (
  fs: FileSystem,
  layout: Layout.Layout
): Promise<E.Either<PauseError, O.Option<PauseRequest>>> => {
  const there = isThere(fs, layout)
  if (E.isLeft(there)) return there
  return there.right ? requestAt(fs, layout, Layout.pauseRequest(layout)) : E.right(O.none)
}

const requestAt = async (
  fs: FileSystem,
  { runId }: Layout.Layout,
  where: string
): Promise<E.Either<PauseError, O.Option<PauseRequest>>> => {
  const bytes = await readWhole(fs, where, REQUEST_BYTES, runId)
  if (E.isLeft(bytes)) return bytes
  if (O.isNone(bytes.right)) return E.right(O.none)
  const found = decodeRequest(parsed(bytes.right.value))
  if (E.isRight(found) && found.right.runId === runId) return E.right(O.some(found.right))
  if (E.isLeft(found) && found.left._tag === 'NewerFormat')
    return E.left({ ...found.left, _tag: 'UnsupportedFormat', runId, where })
  const why = E.isLeft(found) ? describe(found.left) : `it is for run ${found.right.runId}`
  return E.left({ _tag: 'Corrupt', runId, where, why })
}

/** A name can't be looked at and taken away at once. So it is taken first, and put back if it is that of another request. */
const removeOnly = async (
  fs: FileSystem,
  layout: Layout.Layout,
  only: PauseRequest
): Promise<E.Either<PauseError, void>> => {
  const path = Layout.pauseRequest(layout)
  const taken = Layout.pauseInTheMaking(path, newToken())
  const moved = await writing(path, 'rename', () => fs.renameSync(path, taken))
  if (E.isLeft(moved)) return unlessGone(moved)
  const found = await requestAt(fs, layout, taken)
  const isIt = E.isRight(found) && O.isSome(found.right) && isSame(found.right.value, only)
  // One that was left meanwhile has the name, and is newer still.
  const back = isIt ? E.right(undefined) : await writing(path, 'link', () => fs.link(taken, path))
  if (E.isLeft(back) && back.left.code !== 'EEXIST') return back
  return remove(fs, taken)
}

// ---------------------------------------------------------------------------------------------------------------------
// the pointer
// ---------------------------------------------------------------------------------------------------------------------

const pointerAt = async (fs: FileSystem, where: string): Promise<E.Either<PointerError, O.Option<ContinueHere>>> => {
  const bytes = pointed(where, await readWhole(fs, where, POINTER_BYTES, ''))
  if (E.isLeft(bytes)) return bytes
  if (O.isNone(bytes.right)) return E.right(O.none)
  const found = decodePointer(parsed(bytes.right.value))
  return E.isRight(found)
    ? E.right(O.some(found.right))
    : E.left({ _tag: 'InvalidPointer', where, why: describe(found.left) })
}

const pointed = <A>(where: string, result: E.Either<FileError, A>): E.Either<PointerError, A> => {
  if (E.isRight(result)) return result
  switch (result.left._tag) {
    case 'TooLarge':
      return E.left({ _tag: 'InvalidPointer', where, why: `it has ${result.left.bytes} bytes` })
    case 'Insecure':
      return E.left({ _tag: 'InvalidPointer', where, why: result.left.why })
    default:
      return E.left(result.left)
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// files
// ---------------------------------------------------------------------------------------------------------------------

/** What is no JSON in UTF-8 is nothing that a codec takes. */
const parsed = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown
  } catch {
    return undefined
  }
}

/** A link that has the name is replaced. What others have left unfinished beside it is tidied up. */
const replace = async (fs: FileSystem, path: string, content: Json): Promise<E.Either<FileError, void>> => {
  const unfinished = Layout.pauseInTheMaking(path, newToken())
  const replaced = await replaceWhole(fs, path, unfinished, Buffer.from(`${JSON.stringify(content, null, 2)}\n`))
  await tidy(fs, dirname(path), Layout.isPauseInTheMaking)
  return replaced
}

const remove = async (fs: FileSystem, path: string): Promise<E.Either<FileError, void>> => {
  const gone = await writing(path, 'unlink', () => fs.unlinkSync(path))
  if (E.isLeft(gone)) return unlessGone(gone)
  return writing(dirname(path), 'fsync', () => fs.fsyncFolder(dirname(path)))
}

const unlessGone = (failed: E.Left<WriteFailed>): E.Either<WriteFailed, void> =>
  failed.left.code === 'ENOENT' ? E.right(undefined) : failed

const newToken = (): string => randomBytes(16).toString('hex')
