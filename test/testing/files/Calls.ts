/** The file system calls on a volume in memory: their results and the system's errors (as on Linux). */
import assert from 'node:assert'
import type { FileStats, FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'
import * as Content from './Content.js'
import { systemError } from './Intercept.js'
import type { FileNode, FolderNode, Operation, Place, Volume } from './Volume.js'
import { folderOf, pathOf, ROOT } from './Volume.js'

/** A volume, and how to apply an operation to it. */
export interface Disk {
  readonly volume: Volume
  readonly perform: (operation: Operation) => void
  readonly handles: Map<number, Handle>
}

/** An open file: where it was opened, unless that name now leads elsewhere. */
export interface Handle {
  readonly node: FileNode | FolderNode
  readonly isWritable: boolean
  place: Place
  isDeleted: boolean
}

/** The target of a path: a place, and what is there. */
interface Found {
  readonly path: string
  readonly at: Place
  readonly node: FileNode | FolderNode | undefined
}

const refuse = (code: string, what: string): never => assert.fail(systemError(code, what))

/** `node:path` writes backslashes on Windows. */
const namesIn = (path: string): ReadonlyArray<string> =>
  path.split(/[/\\]/).filter((name) => name !== '' && name !== '.')

/** The folder in which a path through a file descriptor starts, and the names below it. */
const opening = (
  handles: Disk['handles'],
  names: ReadonlyArray<string>
): readonly [FolderNode | undefined, ReadonlyArray<string>] => {
  const node = names.slice(0, 3).join('/') === 'proc/self/fd' ? handles.get(Number(names[3]))?.node : undefined
  return node?.kind === 'folder' ? [node, names.slice(4)] : [undefined, names]
}

const find = ({ volume, handles }: Disk, path: string): Found => {
  const [opened, names] = opening(handles, namesIn(path))
  let folder = opened ?? folderOf(volume, ROOT)
  if (names.length === 0) return { path, at: folder.above ?? { folder: ROOT, name: '' }, node: folder }
  for (const name of names.slice(0, -1)) {
    const below = volume.nodes.get(folder.names.get(name) ?? 0)
    if (below === undefined) return refuse('ENOENT', path)
    if (below.kind !== 'folder') return refuse('ENOTDIR', path)
    folder = below
  }
  const name = names.at(-1) as string
  return { path, at: { folder: folder.ino, name }, node: volume.nodes.get(folder.names.get(name) ?? 0) }
}

const findIfThere = (disk: Disk, path: string): Found | undefined => {
  try {
    return find(disk, path)
  } catch (error) {
    return (error as { code?: unknown }).code === 'ENOENT' ? undefined : assert.fail(error as Error)
  }
}

const findNode = (disk: Disk, path: string): FileNode | FolderNode => find(disk, path).node ?? refuse('ENOENT', path)

const findFree = (disk: Disk, path: string): Found => {
  const found = find(disk, path)
  return found.node === undefined ? found : refuse('EEXIST', path)
}

const findFolder = (disk: Disk, path: string): FolderNode => {
  const node = findNode(disk, path)
  return node.kind === 'folder' ? node : refuse('ENOTDIR', path)
}

const makeNode = ({ volume, perform }: Disk, kind: 'file' | 'folder', { path, at }: Found): FileNode | FolderNode => {
  const ino = volume.nextIno
  perform({ _tag: 'Made', kind, ino, at, what: `${kind === 'file' ? 'create' : 'mkdir'} ${path}` })
  return volume.nodes.get(ino) as FileNode | FolderNode
}

const isAt = (a: Place, b: Place): boolean => a.folder === b.folder && a.name === b.name

/** An open file counts as deleted once the name by which it was opened is deleted. */
const forget = ({ handles }: Disk, at: Place): void => {
  for (const handle of handles.values()) if (isAt(handle.place, at)) handle.isDeleted = true
}

const unlink = (disk: Disk, { path, at }: Found): void => {
  forget(disk, at)
  disk.perform({ _tag: 'Unlinked', at, what: `unlink ${path}` })
}

const link = (disk: Disk, from: string, to: string): void => {
  const node = findNode(disk, from)
  const { at } = findFree(disk, to)
  if (node.kind === 'folder') return refuse('EPERM', from)
  disk.perform({ _tag: 'Linked', ino: node.ino, at, what: `link ${from} to ${to}` })
}

const rename = (disk: Disk, from: string, to: string): void => {
  const source = find(disk, from)
  const target = find(disk, to)
  const { node } = source
  if (node === undefined) return refuse('ENOENT', from)
  if (node === target.node) return
  if (node.kind === 'folder' && isWithin(disk, target.at.folder, node.ino)) return refuse('EINVAL', to)
  if (target.node !== undefined && contains(disk, target.node, source.at.folder)) return refuse('ENOTEMPTY', to)
  if (target.node !== undefined && node.kind !== target.node.kind)
    return refuse(node.kind === 'folder' ? 'ENOTDIR' : 'EISDIR', to)
  if (target.node?.kind === 'folder' && target.node.names.size > 0) return refuse('ENOTEMPTY', to)
  forget(disk, target.at)
  for (const handle of disk.handles.values()) {
    if (!handle.isDeleted && isAt(handle.place, source.at)) handle.place = target.at
  }
  disk.perform({ _tag: 'Renamed', from: source.at, to: target.at, what: `rename ${from} to ${to}` })
}

const contains = (disk: Disk, node: FileNode | FolderNode, ino: number): boolean =>
  node.kind === 'folder' && isWithin(disk, ino, node.ino)

const isWithin = (disk: Disk, ino: number, above: number): boolean => {
  if (ino === above) return true
  const place = folderOf(disk.volume, ino).above
  return place !== undefined && isWithin(disk, place.folder, above)
}

const rmdir = (disk: Disk, path: string): void => {
  const found = find(disk, path)
  if (found.node?.kind !== 'folder') return refuse(found.node === undefined ? 'ENOENT' : 'ENOTDIR', path)
  if (found.node.names.size > 0) return refuse('ENOTEMPTY', path)
  unlink(disk, found)
}

const removeTree = (disk: Disk, path: string): void => {
  const found = findIfThere(disk, path)
  if (found?.node === undefined) return
  if (found.node.kind === 'folder') {
    for (const name of [...found.node.names.keys()]) removeTree(disk, `${path}/${name}`)
  }
  unlink(disk, found)
}

const FIRST_FD = 3

const open = (disk: Disk, path: string, how: 'read' | 'write' | 'create'): number => {
  const found = how === 'create' ? findFree(disk, path) : find(disk, path)
  const node = how === 'create' ? makeNode(disk, 'file', found) : (found.node ?? refuse('ENOENT', path))
  if (node.kind === 'folder' && how === 'write') return refuse('EISDIR', path)
  let fd = FIRST_FD
  while (disk.handles.has(fd)) fd++
  disk.handles.set(fd, { node, isWritable: how !== 'read', place: found.at, isDeleted: false })
  return fd
}

const handleOf = ({ handles }: Disk, fd: number): Handle => handles.get(fd) ?? refuse('EBADF', `file ${fd}`)

const factsOf = (node: FileNode | FolderNode): FileStats => ({
  kind: node.kind,
  size: node.kind === 'file' ? node.content.size : 0,
  dev: 1n,
  ino: BigInt(node.ino),
  // A live heartbeat was touched just now.
  modifiedMillis: node.kind === 'folder' && node.beats ? Date.now() : node.modifiedMillis
})

const placeOf = (disk: Disk, fd: number): string => {
  const { place, isDeleted } = handleOf(disk, fd)
  return `${pathOf(disk.volume, place)}${isDeleted ? ' (deleted)' : ''}`
}

const read = (disk: Disk, fd: number, into: Uint8Array, position: number): number => {
  const { node } = handleOf(disk, fd)
  return node.kind === 'file' ? Content.read(node.content, into, position) : refuse('EISDIR', `file ${fd}`)
}

const write = (disk: Disk, fd: number, bytes: Uint8Array, position: number): number => {
  const handle = handleOf(disk, fd)
  if (!handle.isWritable) return refuse('EBADF', `file ${fd}`)
  const what = `write ${bytes.length} bytes at ${position} of ${placeOf(disk, fd)}`
  if (bytes.length > 0)
    disk.perform({ _tag: 'Written', ino: handle.node.ino, position, bytes: Uint8Array.from(bytes), what })
  return bytes.length
}

/** A page without content is allocated by its last byte: fewer bytes make power cuts faster. */
const extend = (disk: Disk, fd: number, from: number, to: number): void => {
  const { PAGE_BYTES } = Content
  const node = disk.handles.get(fd)?.node
  for (let at = from; ;) {
    const end = (Math.floor(at / PAGE_BYTES) + 1) * PAGE_BYTES
    if (end > to) return
    const isFresh = node?.kind !== 'file' || at >= node.content.size
    const length = isFresh ? 1 : end - at
    write(disk, fd, new Uint8Array(length), end - length)
    at = end
  }
}

const resize = (disk: Disk, fd: number, length: number): void => {
  const { node, isWritable } = handleOf(disk, fd)
  if (!isWritable) return refuse('EINVAL', `file ${fd}`)
  disk.perform({ _tag: 'Resized', ino: node.ino, length, what: `make ${placeOf(disk, fd)} ${length} bytes long` })
}

const syncing = (disk: Disk, node: FileNode | FolderNode, what: string): (() => void) => {
  const until = disk.volume.time
  return () => disk.perform({ _tag: 'Synced', ino: node.ino, until, what: `sync ${what}` })
}

const syncingFile = (disk: Disk, fd: number): (() => void) => syncing(disk, handleOf(disk, fd).node, placeOf(disk, fd))

const close = (disk: Disk, fd: number): void => {
  handleOf(disk, fd)
  disk.handles.delete(fd)
}

/** As write-file-atomic does: writes and syncs a file beside it, then renames it; does not sync the folder. */
const replace = (disk: Disk, path: string, text: string): void => {
  let nth = disk.volume.nextIno
  while (find(disk, `${path}.${nth}`).node !== undefined) nth++
  const made = `${path}.${nth}`
  const fd = open(disk, made, 'create')
  write(disk, fd, Buffer.from(text), 0)
  syncingFile(disk, fd)()
  close(disk, fd)
  try {
    rename(disk, made, path)
  } catch (error) {
    unlink(disk, find(disk, made))
    assert.fail(error as Error)
  }
}

/** As proper-lockfile does, but nothing disturbs it. */
const heartbeat = (disk: Disk, path: string, staleMillis: number): (() => void) => {
  const found = find(disk, path)
  if (found.node !== undefined && factsOf(found.node).modifiedMillis + staleMillis >= Date.now())
    return refuse('ELOCKED', path)
  if (found.node !== undefined) unlink(disk, found)
  const folder = makeNode(disk, 'folder', found) as FolderNode
  folder.beats = true
  return () => {
    folder.beats = false
    const { above } = folder
    if (above === undefined || folderOf(disk.volume, above.folder).names.get(above.name) !== folder.ino) return
    // A moved folder takes its heartbeat with it.
    if (
      pathOf(disk.volume, above) ===
      namesIn(path)
        .map((name) => `/${name}`)
        .join('')
    )
      unlink(disk, { path, at: above, node: folder })
  }
}

/** Nothing is durable before the sync has ended, so a caller that does not wait is detected. */
const later = (act: () => void): Promise<void> => new Promise((resolve) => setImmediate(() => resolve(act())))

const promised = <A>(call: () => A): Promise<A> => new Promise((resolve) => resolve(call()))

/** The calls that change a disk. */
export const callsOf = (disk: Disk): FileSystem => ({
  mkdir: (path) => promised(() => void makeNode(disk, 'folder', findFree(disk, path))),
  readdir: (path) => promised(() => [...findFolder(disk, path).names.keys()]),
  fsyncFolder: (path) => promised(() => syncing(disk, findNode(disk, path), path)).then(later),
  lstatSync: (path) => {
    const node = findIfThere(disk, path)?.node
    return node === undefined ? undefined : factsOf(node)
  },
  exposureSync: () => undefined,
  open: (path, how) => promised(() => open(disk, path, how)),
  placeSync: (fd) => (disk.handles.has(fd) ? placeOf(disk, fd) : refuse('ENOENT', `file ${fd}`)),
  folderSync: (fd) => (handleOf(disk, fd).node.kind === 'folder' ? `/proc/self/fd/${fd}/.` : undefined),
  fstat: (fd) => promised(() => factsOf(handleOf(disk, fd).node)),
  read: (fd, into, position) => promised(() => read(disk, fd, into, position)),
  write: (fd, bytes, position) => promised(() => write(disk, fd, bytes, position)),
  writeSync: (fd, bytes, position) => write(disk, fd, bytes, position),
  extendSync: (fd, from, to) => extend(disk, fd, from, to),
  ftruncateSync: (fd, length) => resize(disk, fd, length),
  fdatasync: (fd, done) =>
    void promised(() => syncingFile(disk, fd))
      .then(later)
      .then(() => done(null), done),
  close: (fd) => promised(() => close(disk, fd)),
  link: (from, to) => promised(() => link(disk, from, to)),
  renameSync: (from, to) => rename(disk, from, to),
  unlinkSync: (path) => {
    const found = find(disk, path)
    if (found.node === undefined) return refuse('ENOENT', path)
    return found.node.kind === 'folder' ? refuse('EISDIR', path) : unlink(disk, found)
  },
  rmdirSync: (path) => rmdir(disk, path),
  removeTree: (path) => promised(() => removeTree(disk, path)),
  replace: (path, text) => promised(() => replace(disk, path, text)),
  heartbeat: (path, { staleMillis }) =>
    promised(() => heartbeat(disk, path, staleMillis)).then((stop) => () => promised(stop))
})
