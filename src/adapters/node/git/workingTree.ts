/** Reads evidence from a folder and its git repository. */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import type { BigIntStats, Stats } from 'node:fs'
import { access, lstat, open, readdir, readlink, stat } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Content, TreeUnreadable, WorkingTree } from '../../../ports/WorkingTree.js'
import { git } from './git.js'

type Reading<A> = Promise<E.Either<TreeUnreadable, A>>

/** The greatest size of the read buffer. */
const CHUNK_BYTES = 1_048_576

/** The least size of the read buffer, because a file may grow and files in /proc report the size 0. */
const LEAST_BYTES = 2_048

const HASH = /^[0-9a-f]{4,64}$/i

/**
 * The working tree at a folder. It finds commits with `git cat-file` and `git rev-list`, never by parsing a log.
 * `except`: paths inside it that do not belong to it; `ceiling`: a parent folder at which the search for a repository
 * stops.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { workingTree } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * assert.deepEqual(await workingTree('.').has('no such file')(), E.right(false))
 *
 * @category constructors
 */
export const workingTree = (folder: string, except: ReadonlyArray<string> = [], ceiling?: string): WorkingTree => {
  const at = (path: string): string => resolve(folder, path)
  const excluded = new Set(except.map((path) => key(Buffer.from(at(path)))))
  const digests = new Map<string, Digest>()
  const query = (args: ReadonlyArray<string>, input?: string): Reading<GitOutput> =>
    queryGit(resolve(folder), args, input, ceiling)
  return {
    content: (path, signal) => () =>
      ifPresent(at(path), async () => {
        const scan = { excluded, digests, signal }
        return O.some(await contentOf(scan, Buffer.from(at(path)), await stat(at(path))))
      }),
    has: (path) => async () => {
      const found = await ifPresent(at(path), async () => O.some(await access(at(path), constants.R_OK)))
      return E.isLeft(found) ? found : E.right(O.isSome(found.right))
    },
    head: async () => E.map(firstLine)(await query(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'])),
    fullHash: (hash) => () => fullHash(query, resolve(folder), hash),
    missingCommits: (hashes) => () => missingCommits(query, resolve(folder), hashes),
    storedCommits: (hashes) => async () =>
      E.map((known: ReadonlyMap<string, string>) => hashes.filter((hash) => known.has(hash)))(
        await fullHashes(query, hashes)
      ),
    commitsSince: (hash) => async () => {
      const head = await query(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'])
      if (E.isLeft(head) || O.isNone(firstLine(head.right))) return E.map(() => [])(head)
      return E.map(linesOf)(
        await query(['rev-list', '--reverse', 'HEAD', ...(O.isSome(hash) ? [`^${hash.value}`] : [])])
      )
    },
    changed: async () => {
      const others = except.length === 0 ? [] : ['--', ':/', ...except.map((path) => `:(exclude,literal)${path}`)]
      const status = await query(['status', '--porcelain=v1', '-z', '--untracked-files=all', ...others])
      return E.chain((output: GitOutput) =>
        O.isNone(output) ? E.left(noRepository(folder)) : E.right(pathsOf(output))
      )(status)
    }
  }
}

const MISSING: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP'])

/** Reads a path; returns none if it is missing. */
const ifPresent = async <A>(where: string, read: () => Promise<O.Option<A>>): Reading<O.Option<A>> => {
  try {
    return E.right(await read())
  } catch (cause) {
    const { code = 'UNKNOWN', message } = cause as NodeJS.ErrnoException
    return MISSING.has(code) ? E.right(O.none) : E.left(unreadable(where, code, message, cause))
  }
}

const unreadable = (where: string, code: string, why: string, cause: unknown): TreeUnreadable => ({
  _tag: 'TreeUnreadable',
  where,
  code,
  why,
  cause
})

/** Outside a repository, no file has a committed version to compare with. */
const noRepository = (folder: string): TreeUnreadable =>
  unreadable(resolve(folder), 'GIT', 'there is no git repository', undefined)

/** `latin1` keeps all bytes, because not all names are UTF-8. */
const key = (path: Buffer): string => path.toString('latin1')

/** The digest of a file, and the stamp (size, times, inode) that it had when it was read. */
interface Digest {
  readonly stamp: string
  readonly content: Content
}

/** What a scan needs: excluded paths, cached digests and the signal that stops it. */
interface Scan {
  readonly excluded: ReadonlySet<string>
  readonly digests: Map<string, Digest>
  readonly signal: AbortSignal | undefined
}

/** Describes a path: a link in a folder by its target; pipes, sockets and devices without content, because reading it may never end. */
const contentOf = async (scan: Scan, path: Buffer, stats: Stats): Promise<Content> => {
  if (stats.isDirectory()) return await contentOfFolder(scan, path)
  if (stats.isFile()) return await contentOfFile(scan, path)
  const target = stats.isSymbolicLink() ? await readlink(path, { encoding: 'buffer' }) : Buffer.alloc(0)
  return { size: target.length, sha256: createHash('sha256').update(target).digest('hex') }
}

/** Caches the digest by stamp, unless the file changed recently: no program can set `ctime`, but two changes within one clock tick share it. */
const contentOfFile = async ({ digests, signal }: Scan, path: Buffer): Promise<Content> => {
  // Without NONBLOCK, opening a file that became a pipe would wait for a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const [stats, now] = [await file.stat({ bigint: true }), Date.now()]
    const stamp = stampOf(stats)
    const known = digests.get(key(path))
    if (known?.stamp === stamp) return known.content
    const hash = createHash('sha256')
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(LEAST_BYTES, Number(stats.size))))
    for (let size = 0; ;) {
      if (signal?.aborted === true) return await Promise.reject(STOPPED)
      const { bytesRead } = await file.read(buffer, 0, buffer.length)
      if (bytesRead === 0) {
        const content: Content = { size, sha256: hash.digest('hex') }
        const newest = Number(stats.ctimeMs > stats.mtimeMs ? stats.ctimeMs : stats.mtimeMs)
        if (newest + SETTLED_MILLIS < now && stampOf(await file.stat({ bigint: true })) === stamp)
          digests.set(key(path), { stamp, content })
        return content
      }
      hash.update(buffer.subarray(0, bytesRead))
      size += bytesRead
    }
  } finally {
    await file.close()
  }
}

/** How long ago the last change must be, because timestamps of FAT and NFS have a resolution of seconds. */
const SETTLED_MILLIS = 3_000

const stampOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  [dev, ino, size, mtimeNs, ctimeNs].join(' ')

const STOPPED = Object.assign(new Error('the read was stopped'), { code: 'ABORTED' })

/** Reads a folder again if an entry is deleted meanwhile. */
const contentOfFolder = async (scan: Scan, path: Buffer, attempt = 1): Promise<Content> => {
  try {
    return await contentOfEntries(scan, path)
  } catch (error) {
    if (attempt < MOST_ATTEMPTS && MISSING.has((error as NodeJS.ErrnoException).code ?? ''))
      return await contentOfFolder(scan, path, attempt + 1)
    return await Promise.reject(E.toError(error))
  }
}

/** A folder from which entries vanish for longer than this is in use. */
const MOST_ATTEMPTS = 3

/** Hashes the names in order, each with the kind and digest of its entry, so that different folders have different digests. */
const contentOfEntries = async (scan: Scan, path: Buffer): Promise<Content> => {
  const hash = createHash('sha256')
  let total = 0
  const names = await readdir(path, { encoding: 'buffer' })
  for (const name of names.toSorted((a, b) => a.compare(b))) {
    const inside = Buffer.concat([path, Buffer.from(sep), name])
    if (scan.excluded.has(key(inside))) continue
    const stats = await lstat(inside)
    const { size, sha256 } = await contentOf(scan, inside, stats)
    total += size
    hash.update(JSON.stringify([key(name), kindOf(stats), sha256]))
  }
  return { size: total, sha256: hash.digest('hex') }
}

const kindOf = (stats: Stats): string =>
  stats.isDirectory() ? 'folder' : stats.isSymbolicLink() ? 'link' : stats.isFile() ? 'file' : 'other'

/** Git's output; none if the repository or the commit does not exist. */
type GitOutput = O.Option<string>

type QueryGit = (args: ReadonlyArray<string>, input?: string) => Reading<GitOutput>

const NOTHING_THERE = /not a git repository|does not have any commits|(unknown|bad) revision|Needed a single revision/

/** Queries git without taking a lock. */
const queryGit = async (
  folder: string,
  args: ReadonlyArray<string>,
  input = '',
  ceiling?: string
): Reading<GitOutput> => {
  const below = ceiling === undefined ? {} : { GIT_CEILING_DIRECTORIES: ceiling }
  const ended = await git(folder, args, { GIT_OPTIONAL_LOCKS: '0', ...below }, input)
  if (E.isLeft(ended)) {
    const { code, message, cause } = ended.left
    if (code.startsWith('SIG')) return E.left(unreadable(folder, 'GIT', `git ${args[0]}: ${message}`, cause))
    return E.left(unreadable(folder, code, code === 'ENOENT' ? 'git could not be started' : message, cause))
  }
  const { code, stdout, stderr, cause } = ended.right
  if (code === 0) return E.right(O.some(stdout))
  if ((code === 1 && stderr === '') || NOTHING_THERE.test(stderr)) return E.right(O.none)
  const [reason = ''] = stderr.trim().split('\n')
  return E.left(unreadable(folder, 'GIT', `git ${args[0]}: ${reason}`, cause))
}

const linesOf = (output: GitOutput): ReadonlyArray<string> =>
  O.isNone(output) ? [] : output.value.split('\n').filter((line) => line !== '')

const firstLine = (output: GitOutput): O.Option<string> => O.fromNullable(linesOf(output)[0])

/** Resolves commit hashes and prefixes to full hashes; branch and tag names do not count. */
const fullHashes = async (query: QueryGit, hashes: ReadonlyArray<string>): Reading<ReadonlyMap<string, string>> => {
  const valid = [...new Set(hashes)].filter((hash) => HASH.test(hash))
  if (valid.length === 0) return E.right(new Map())
  const known = await query(['cat-file', '--batch-check=%(objectname) %(objecttype)'], `${valid.join('\n')}\n`)
  if (E.isLeft(known)) return known
  const lines = linesOf(known.right)
  const full = valid.flatMap((hash, index) => {
    const [name = '', kind] = (lines[index] ?? '').split(' ')
    return kind === 'commit' && name.startsWith(hash.toLowerCase()) ? [[hash, name] as const] : []
  })
  return E.right(new Map(full))
}

/** Calls git twice for any number of commits, and once more if one is missing. */
const missingCommits = async (
  query: QueryGit,
  folder: string,
  hashes: ReadonlyArray<string>
): Reading<ReadonlyArray<string>> => {
  const known = await fullHashes(query, hashes)
  if (E.isLeft(known)) return known
  const full = known.right
  const notInHead =
    full.size === 0
      ? E.right(O.none)
      : await query(['rev-list', '--stdin', '^HEAD'], `${[...full.values()].join('\n')}\n`)
  if (E.isLeft(notInHead)) return notInHead
  const outside = new Set(O.isNone(notInHead.right) ? full.values() : linesOf(notInHead.right))
  const missing = hashes.filter((hash) => {
    const name = full.get(hash)
    return name === undefined || outside.has(name)
  })
  return missing.some((hash) => HASH.test(hash)) ? await unlessShallow(query, folder, missing) : E.right(missing)
}

/** Fails in a shallow clone, whose history may lack a commit that HEAD contains. */
const unlessShallow = async <A>(query: QueryGit, folder: string, missing: A): Reading<A> => {
  const shallow = await query(['rev-parse', '--is-shallow-repository'])
  if (E.isLeft(shallow)) return shallow
  if (!O.toNullable(firstLine(shallow.right))?.startsWith('true')) return E.right(missing)
  const why = 'the clone is shallow and may lack a commit; run: git fetch --unshallow'
  return E.left(unreadable(folder, 'SHALLOW', why, undefined))
}

const fullHash = async (query: QueryGit, folder: string, hash: string): Reading<O.Option<string>> => {
  const missing = await missingCommits(query, folder, [hash])
  if (E.isLeft(missing)) return missing
  if (missing.right.length > 0) return E.right(O.none)
  return E.map((full: ReadonlyMap<string, string>) => O.fromNullable(full.get(hash)))(await fullHashes(query, [hash]))
}

/** Returns one path for each change; skips the old path that follows a rename. */
const pathsOf = (output: GitOutput): ReadonlyArray<string> => {
  const paths: Array<string> = []
  const parts = O.isNone(output) ? [] : output.value.split('\0')
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] as string
    if (part === '') continue
    paths.push(part.slice(3))
    if (/^.?[RC]/.test(part)) index += 1
  }
  return paths
}
