/**
 * Folders and files, as all processes see them, and beside it what of that is durable.
 *
 * A new name, a taken one and one that was given away are durable after a sync of their folder; before, a power cut may
 * leave any of these changes and lose any other. A rename is one change, also between two folders. After a sync of the
 * folder that it led to it is durable in both. After a sync of nothing but the one that it came from it may be in neither:
 * POSIX promises no more, though file systems with a journal do.
 */
import * as Content from './Content.js'

/** A file. */
export interface FileNode {
  readonly kind: 'file'
  readonly ino: number
  readonly content: Content.Content
  modifiedMillis: number
}

/**
 * A folder. `names` is what is in it, `durable` what is in it for sure after a power cut unless a change that is not
 * durable says otherwise. `beats`: somebody keeps a heartbeat in it.
 */
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

/** A change of names that is not durable yet: to what each of its places leads after it, if to anything. */
export interface Naming {
  readonly what: string
  readonly time: number
  readonly parts: ReadonlyArray<Part>
}

/** One place of a change of names. */
export interface Part extends Place {
  readonly ino: number | undefined
}

/** All that a disk has. `time` is how many operations there were. */
export interface Volume {
  readonly nodes: Map<number, FileNode | FolderNode>
  namings: Array<Naming>
  nextIno: number
  time: number
}

/**
 * What is done to a volume: the smallest steps between which a power cut can come. `what` is for people. A sync covers what
 * was done `until` then.
 */
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

/** The number of the folder that everything is in. */
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

/** The folder with a number that is known to be one. */
export const folderOf = (self: Volume, ino: number): FolderNode => self.nodes.get(ino) as FolderNode

const fileOf = (self: Volume, ino: number): FileNode => self.nodes.get(ino) as FileNode

/** The path of a place. */
export const pathOf = (self: Volume, { folder, name }: Place): string => {
  const { above } = folderOf(self, folder)
  return `${above === undefined ? '' : pathOf(self, above)}/${name}`
}

/** Does what an operation says; that it can be done was checked before. */
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
  // A rename that led here is durable where it came from, too, and then so is that nothing older is there.
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

/** What a folder has to make durable is kept for the next sync; what a file has is forgotten. */
const failSync = (self: Volume, ino: number, until: number): void => {
  const node = self.nodes.get(ino)
  if (node?.kind === 'file') Content.failSync(node.content, until)
}
