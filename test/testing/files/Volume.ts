/**
 * Folders and files as all processes see them, and which of that is durable. A created, replaced or removed name is durable after
 * a sync of its folder; before, a power cut may keep any of these changes and lose any other. A rename is one change, also
 * between two folders. A sync of the target folder makes it durable in both; after a sync of only the source folder it may be in
 * neither: POSIX promises no more, though journaling file systems do.
 */
import * as Content from './Content.js'

/** A file. */
export interface FileNode {
  readonly kind: 'file'
  readonly ino: number
  readonly content: Content.Content
  modifiedMillis: number
}

/** A folder. `names`: its entries; `durable`: those after a power cut, unless a change that is not durable applies. `beats`: it has a heartbeat. */
export interface FolderNode {
  readonly kind: 'folder'
  readonly ino: number
  readonly names: Map<string, number>
  durable: Map<string, number>
  above: Place | undefined
  beats: boolean
  modifiedMillis: number
}

/** A name in a folder. */
export interface Place {
  readonly folder: number
  readonly name: string
}

/** A name change that is not durable yet: the new target of each of its places, if any. */
export interface Naming {
  readonly what: string
  readonly time: number
  readonly parts: ReadonlyArray<Part>
}

/** One place of a change of names. */
export interface Part extends Place {
  readonly ino: number | undefined
}

/** A disk. `time`: the number of operations. */
export interface Volume {
  readonly nodes: Map<number, FileNode | FolderNode>
  namings: Array<Naming>
  nextIno: number
  time: number
}

/** An operation on a volume: the smallest unit between two power cuts. `what` is for people. A sync covers the operations before `until`. */
export type Operation = { readonly what: string } & (
  | { readonly _tag: 'Made'; readonly kind: 'file' | 'folder'; readonly ino: number; readonly at: Place }
  | { readonly _tag: 'Linked'; readonly ino: number; readonly at: Place }
  | { readonly _tag: 'Unlinked'; readonly at: Place }
  | { readonly _tag: 'Renamed'; readonly from: Place; readonly to: Place }
  | { readonly _tag: 'Written'; readonly ino: number; readonly position: number; readonly bytes: Uint8Array }
  | { readonly _tag: 'Resized'; readonly ino: number; readonly length: number }
  | { readonly _tag: 'Synced'; readonly ino: number; readonly until: number }
  | { readonly _tag: 'SyncFailed'; readonly ino: number; readonly until: number }
)

/** The number of the root folder. */
export const ROOT = 1

/** An empty volume. */
export const empty = (): Volume => ({
  nodes: new Map([[ROOT, emptyFolder(ROOT, undefined)]]),
  namings: [],
  nextIno: ROOT + 1,
  time: 0
})

/** A durable folder with nothing in it. */
export const emptyFolder = (ino: number, above: Place | undefined): FolderNode => ({
  kind: 'folder',
  ino,
  names: new Map(),
  durable: new Map(),
  above,
  beats: false,
  modifiedMillis: Date.now()
})

/** The folder with a number that is known to be a folder. */
export const folderOf = (self: Volume, ino: number): FolderNode => self.nodes.get(ino) as FolderNode

const fileOf = (self: Volume, ino: number): FileNode => self.nodes.get(ino) as FileNode

/** The path of a place. */
export const pathOf = (self: Volume, { folder, name }: Place): string => {
  const { above } = folderOf(self, folder)
  return `${above === undefined ? '' : pathOf(self, above)}/${name}`
}

/** Applies an operation whose validity was checked before. */
export const apply = (self: Volume, operation: Operation): void => {
  self.time++
  switch (operation._tag) {
    case 'Made':
      return makeNode(self, operation)
    case 'Linked':
      return rename(self, operation.what, [{ ...operation.at, ino: operation.ino }])
    case 'Unlinked':
      return rename(self, operation.what, [{ ...operation.at, ino: undefined }])
    case 'Renamed': {
      const ino = folderOf(self, operation.from.folder).names.get(operation.from.name)
      return rename(self, operation.what, [
        { ...operation.from, ino: undefined },
        { ...operation.to, ino }
      ])
    }
    case 'Written':
      fileOf(self, operation.ino).modifiedMillis = Date.now()
      return Content.write(fileOf(self, operation.ino).content, operation.position, operation.bytes, self.time)
    case 'Resized':
      fileOf(self, operation.ino).modifiedMillis = Date.now()
      return Content.resize(fileOf(self, operation.ino).content, operation.length, self.time)
    case 'Synced':
      return sync(self, operation.ino, operation.until)
    case 'SyncFailed':
      return failSync(self, operation.ino, operation.until)
  }
}

const makeNode = (self: Volume, { kind, ino, at, what }: Extract<Operation, { readonly _tag: 'Made' }>): void => {
  const content = Content.make(new Uint8Array(), 0)
  const made = kind === 'folder' ? emptyFolder(ino, at) : { kind, ino, content, modifiedMillis: Date.now() }
  self.nodes.set(ino, made)
  self.nextIno = Math.max(self.nextIno, ino + 1)
  rename(self, what, [{ ...at, ino }])
}

/** Makes names lead elsewhere. */
const rename = (self: Volume, what: string, parts: ReadonlyArray<Part>): void => {
  for (const { folder, name, ino } of parts) {
    const { names } = folderOf(self, folder)
    if (ino === undefined) names.delete(name)
    else names.set(name, ino)
    const node = ino === undefined ? undefined : self.nodes.get(ino)
    if (node?.kind === 'folder') node.above = { folder, name }
  }
  self.namings.push({ what, time: self.time, parts })
}

const sync = (self: Volume, ino: number, until: number): void => {
  const node = self.nodes.get(ino)
  if (node?.kind === 'file') return Content.sync(node.content, until)
  // A rename into this folder becomes durable in its source folder too, which then has no older name.
  const settled = new Set<string>()
  const rest: Array<Naming> = []
  for (const naming of self.namings.toReversed()) {
    if (naming.time > until) {
      rest.unshift(naming)
      continue
    }
    const ledHere = naming.parts.at(-1)?.folder === ino
    const parts = naming.parts.filter((part) => {
      const isSettled = ledHere || part.folder === ino || settled.has(keyOf(part))
      if (isSettled && !settled.has(keyOf(part))) settle(self, part)
      if (isSettled) settled.add(keyOf(part))
      return !isSettled
    })
    if (parts.length > 0) rest.unshift({ ...naming, parts })
  }
  self.namings = rest
}

const keyOf = ({ folder, name }: Place): string => `${folder}/${name}`

const settle = (self: Volume, { folder, name, ino }: Part): void => {
  const { durable } = folderOf(self, folder)
  if (ino === undefined) durable.delete(name)
  else durable.set(name, ino)
}

/** A failed sync leaves a folder's changes for the next sync, and forgets a file's. */
const failSync = (self: Volume, ino: number, until: number): void => {
  const node = self.nodes.get(ino)
  if (node?.kind === 'file') Content.failSync(node.content, until)
}
