/** Keeps requests to runs, and the pointer to the run that paused last, in files (`docs/file-format.md` §15). */
import { dirname } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ContinueHere } from '../../domain/request/Pause.js'
import type { Request } from '../../domain/request/Request.js'
import { byTime, isSameRequest, REQUEST_BYTES, VALUE_BYTES } from '../../domain/request/Request.js'
import { decodePointer, decodeRequest, encode } from '../../domain/request/RequestCodec.js'
import { describe } from '../../domain/data/Malformed.js'
import * as RunId from '../../domain/checkpoint/RunId.js'
import type { WriteFailed } from '../../ports/CheckpointStorage.js'
import type { FileSystem, FileSystemOption } from './files/FileSystem.js'
import type { AlreadyAnswered, PointerError, RequestError, Requests } from '../../ports/Requests.js'
import type { FileError } from './files/Fault.js'
import { beforeWriting, quietly, writing } from './files/Fault.js'
import { areFolders, isFolder, namesIn, readWhole, replaceWhole, tidy, tooLarge, writeNew } from './files/Files.js'
import { nodeFileSystem } from './files/nodeFileSystem.js'
import type { Refusal } from './files/Refusal.js'
import { refusalOf } from './files/Refusal.js'
import * as Layout from './files/Layout.js'

const POINTER_BYTES = 16_777_216

/**
 * The inboxes of the runs of a {@link jsonFileStorage}, and the pointer `continue-here.json`, below the same root. Any process that
 * may write there can leave a request.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { pause } from 'dogear'
 * import { fileRequests, jsonFileStorage } from 'dogear/json-file'
 * import { nodeEnvironment } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * const environment = nodeEnvironment(jsonFileStorage('state'), { requests: fileRequests('state') })
 * const asked = await pause('nightly-1')(environment)()
 * assert.ok(E.isLeft(asked) && asked.left._tag === 'NoSuchRun')
 *
 * @category constructors
 */
export const fileRequests = (root: string, options: FileSystemOption = {}): Requests => {
  const refused = refusalOf('fileRequests', root, options)
  return refused === undefined ? requestsIn(root, options.fs ?? nodeFileSystem) : refusing(refused)
}

const refusing = ({ call, calls }: Refusal): Requests => ({
  ...calls('leave', 'list', 'withdraw', 'clearPause', 'point', 'unpoint'),
  // The caller then lists the requests, which fails with the reason.
  isAny: () => true,
  pointer: call
})

const requestsIn = (root: string, fs: FileSystem): Requests => {
  /** Acts on the inbox; returns `fallback` if it does not exist. */
  const inInbox = <A>(
    runId: string,
    fallback: A,
    act: (layout: Layout.Layout) => Promise<E.Either<RequestError, A>>
  ): TaskEither<RequestError, A> =>
    Layout.call(root, runId, async (layout) => {
      const there = areFolders(fs, layout.runs, layout.run, Layout.requests(layout))
      if (E.isLeft(there)) return there
      return there.right ? act(layout) : E.right(fallback)
    })
  const pointer = Layout.pointer(root)
  return {
    leave: (request) => Layout.call(root, request.runId, (layout) => leave(fs, layout, request)),
    isAny: (runId) => E.isRight(RunId.parse(runId)) && isAny(fs, Layout.of(root, runId)),
    list: (runId) => inInbox<ReadonlyArray<Request>>(runId, [], (layout) => list(fs, layout)),
    withdraw: (request) => inInbox<void>(request.runId, undefined, (layout) => withdraw(fs, layout, request)),
    clearPause: (runId) =>
      inInbox<void>(runId, undefined, (layout) =>
        ofName(fs, layout, Layout.PAUSE, (file) => remove(fs, Layout.request(layout, file)))
      ),
    point: (to) => async () => {
      const bytes = Buffer.from(`${JSON.stringify(encode(to), null, 2)}\n`)
      const written = await replaceWhole(fs, pointer, Layout.unfinishedPointer(root, Layout.newToken()), bytes)
      await tidy(fs, dirname(pointer), Layout.isUnfinishedRequest)
      return E.map(() => pointer)(asPointerError(pointer, written))
    },
    pointer: () => pointerAt(fs, pointer),
    unpoint: (runId) => async () => {
      const found = await pointerAt(fs, pointer)
      if (E.isLeft(found)) return found
      if (O.isNone(found.right) || found.right.value.runId !== runId) return E.right(undefined)
      return asPointerError(pointer, await remove(fs, pointer))
    }
  }
}

/** Costs one `lstat`. A link or a file in place of the folder holds no requests, and neither does an unreadable folder. */
const isAny = (fs: FileSystem, layout: Layout.Layout): boolean => {
  try {
    return fs.lstatSync(Layout.requests(layout))?.kind === 'folder'
  } catch {
    return false
  }
}

const leave = async (
  fs: FileSystem,
  layout: Layout.Layout,
  request: Request
): Promise<E.Either<RequestError | AlreadyAnswered, void>> => {
  const { runId, runs, run } = layout
  const there = areFolders(fs, runs, run)
  if (E.isLeft(there)) return there
  const name = Layout.requestName(request)
  const bytes = Buffer.from(`${JSON.stringify(encode(request))}\n`)
  const limitBytes = limitOf(name)
  if (bytes.length > limitBytes) return E.left(tooLarge(runId, Layout.request(layout, name), bytes.length, limitBytes))
  const unfinished = Layout.unfinishedRequest(layout, Layout.newToken())
  const written = await writeNew(fs, unfinished, bytes)
  const how = request._tag === 'Answer' ? 'link' : 'rename'
  const named = E.isLeft(written) ? written : await giveName(fs, layout, name, how, unfinished)
  const result = E.isLeft(named) ? named : await syncInbox(fs, layout)
  if (how === 'link' || E.isLeft(result)) await quietly(() => fs.unlinkSync(unfinished))
  if (E.isLeft(result)) await removeEmptyInbox(fs, layout)
  await tidy(fs, run, Layout.isUnfinishedRequest)
  const isTaken = E.isLeft(result) && result.left._tag === 'WriteFailed' && result.left.code === 'EEXIST'
  return isTaken && request._tag === 'Answer' ? E.left({ _tag: 'AlreadyAnswered', runId, unit: request.unit }) : result
}

const limitOf = (name: string): number => REQUEST_BYTES + (name.startsWith('answer-') ? VALUE_BYTES : 0)

/** How often to recreate an inbox that owners remove with its last request. */
const MOST_ATTEMPTS = 100

/** Renames or links a finished request into the inbox and creates the inbox if needed. A link fails with `EEXIST` if the name is taken. */
const giveName = async (
  fs: FileSystem,
  layout: Layout.Layout,
  name: string,
  how: 'link' | 'rename',
  from: string
): Promise<E.Either<FileError, void>> => {
  const folder = Layout.requests(layout)
  const path = Layout.request(layout, name)
  for (let attempt = 1; ; attempt++) {
    const made = await beforeWriting(folder, 'mkdir', () => fs.mkdir(folder))
    if (E.isLeft(made) && made.left.code !== 'EEXIST') return made
    const there = isFolder(fs, folder)
    if (E.isLeft(there)) return there
    const named = await writing(path, how, () => (how === 'link' ? fs.link(from, path) : fs.renameSync(from, path)))
    if (E.isRight(named) || named.left.code !== 'ENOENT' || attempt === MOST_ATTEMPTS) return named
  }
}

/** Syncs the inbox and the folder of its run. The inbox may be missing, because an owner removes it with its last request. */
const syncInbox = async (fs: FileSystem, layout: Layout.Layout): Promise<E.Either<WriteFailed, void>> => {
  for (const folder of [Layout.requests(layout), layout.run]) {
    const synced = await writing(folder, 'fsync', () => fs.fsyncFolder(folder))
    if (E.isLeft(synced) && synced.left.code !== 'ENOENT') return synced
  }
  return E.right(undefined)
}

const list = async (fs: FileSystem, layout: Layout.Layout): Promise<E.Either<RequestError, ReadonlyArray<Request>>> => {
  const names = await namesIn(fs, Layout.requests(layout))
  if (E.isLeft(names)) return names
  const found: Array<Request> = []
  for (const file of [...names.right].sort()) {
    const name = Layout.nameOfRequest(file)
    if (name === undefined) continue
    const request = await requestAt(fs, layout, Layout.request(layout, file), name)
    if (E.isLeft(request)) return request
    const { right } = request
    if (right !== undefined && !found.some((one) => isSameRequest(one, right))) found.push(right)
  }
  return E.right(found.sort(byTime))
}

/** Acts on the files of one name in the inbox: the request, and those that killed processes took to withdraw them. */
const ofName = async (
  fs: FileSystem,
  layout: Layout.Layout,
  name: string,
  act: (file: string) => Promise<E.Either<RequestError, void>>
): Promise<E.Either<RequestError, void>> => {
  const names = await namesIn(fs, Layout.requests(layout))
  if (E.isLeft(names)) return names
  for (const file of names.right) {
    const acted = Layout.nameOfRequest(file) === name ? await act(file) : E.right(undefined)
    if (E.isLeft(acted)) return acted
  }
  await removeEmptyInbox(fs, layout)
  return syncInbox(fs, layout)
}

const requestAt = async (
  fs: FileSystem,
  { runId }: Layout.Layout,
  where: string,
  name: string
): Promise<E.Either<RequestError, Request | undefined>> => {
  const bytes = await readWhole(fs, where, limitOf(name), runId)
  if (E.isLeft(bytes)) return bytes
  if (bytes.right === undefined) return E.right(undefined)
  const found = decodeRequest(parsed(bytes.right))
  if (E.isLeft(found))
    return found.left._tag === 'NewerFormat'
      ? E.left({ ...found.left, _tag: 'UnsupportedFormat', runId, where })
      : E.left({ _tag: 'Corrupt', runId, where, why: describe(found.left) })
  const request = found.right
  if (request.runId === runId && Layout.requestName(request) === name) return found
  const why = request.runId === runId ? `its name belongs to another request` : `it is for run ${request.runId}`
  return E.left({ _tag: 'Corrupt', runId, where, why })
}

const withdraw = (fs: FileSystem, layout: Layout.Layout, request: Request): Promise<E.Either<RequestError, void>> =>
  ofName(fs, layout, Layout.requestName(request), (file) => withdrawFile(fs, layout, request, file))

/** Renames the file before it compares, because comparing and removing are not atomic; links it back if it holds another request. */
const withdrawFile = async (
  fs: FileSystem,
  layout: Layout.Layout,
  request: Request,
  file: string
): Promise<E.Either<RequestError, void>> => {
  const name = Layout.requestName(request)
  const path = Layout.request(layout, file)
  const taken = file === name ? Layout.request(layout, Layout.takenName(name, Layout.newToken())) : path
  const moved = taken === path ? E.right(undefined) : await writing(path, 'rename', () => fs.renameSync(path, taken))
  if (E.isLeft(moved)) return ignoreMissing(moved)
  const found = await requestAt(fs, layout, taken, name)
  const isExpected = E.isRight(found) && found.right !== undefined && isSameRequest(found.right, request)
  const isMissing = E.isRight(found) && found.right === undefined
  if (isMissing || (!isExpected && taken === path)) return E.right(undefined)
  const back = isExpected ? E.right(undefined) : await giveName(fs, layout, name, 'link', taken)
  return E.isLeft(back) && !isSettled(back.left) ? back : remove(fs, taken)
}

/** A newer request has the name (`EEXIST`), or another process has withdrawn the one to link back (`ENOENT`). */
const isSettled = (error: RequestError): boolean =>
  error._tag === 'WriteFailed' && (error.code === 'EEXIST' || error.code === 'ENOENT')

/** An empty inbox would cost its run a listing of the folder before each step and group. */
const removeEmptyInbox = (fs: FileSystem, layout: Layout.Layout): Promise<void> =>
  quietly(() => fs.rmdirSync(Layout.requests(layout)))

const pointerAt = async (fs: FileSystem, where: string): Promise<E.Either<PointerError, O.Option<ContinueHere>>> => {
  const bytes = asPointerError(where, await readWhole(fs, where, POINTER_BYTES, ''))
  if (E.isLeft(bytes)) return bytes
  if (bytes.right === undefined) return E.right(O.none)
  const found = decodePointer(parsed(bytes.right))
  return E.isRight(found)
    ? E.right(O.some(found.right))
    : E.left({ _tag: 'InvalidPointer', where, why: describe(found.left) })
}

const asPointerError = <A>(where: string, result: E.Either<FileError, A>): E.Either<PointerError, A> => {
  if (E.isRight(result)) return result
  switch (result.left._tag) {
    case 'TooLarge':
      return E.left({
        _tag: 'InvalidPointer',
        where,
        why: `it has ${result.left.bytes} bytes (limit: ${result.left.limitBytes})`
      })
    case 'Insecure':
      return E.left({ _tag: 'InvalidPointer', where, why: result.left.why })
    default:
      return E.left(result.left)
  }
}

/** Returns undefined, which no codec accepts, for bytes that are not JSON in UTF-8. */
const parsed = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown
  } catch {
    return undefined
  }
}

const remove = async (fs: FileSystem, path: string): Promise<E.Either<FileError, void>> => {
  const unlinked = await writing(path, 'unlink', () => fs.unlinkSync(path))
  if (E.isLeft(unlinked)) return ignoreMissing(unlinked)
  const synced = await writing(dirname(path), 'fsync', () => fs.fsyncFolder(dirname(path)))
  // Another process has removed the folder, because it was empty.
  return E.isLeft(synced) ? ignoreMissing(synced) : synced
}

const ignoreMissing = (failed: E.Left<WriteFailed>): E.Either<WriteFailed, void> =>
  failed.left.code === 'ENOENT' ? E.right(undefined) : failed
