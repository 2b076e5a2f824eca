/** Describes the errors of storage, artifacts, requests and workspaces for people. */
import * as O from 'fp-ts/lib/Option.js'
import type { RunChanged } from '../../domain/checkpoint/RunChanged.js'
import type { ArtifactError } from '../../ports/ArtifactStore.js'
import type { Fenced, HeldBy, ReadFailed, StorageError, TooLarge, WriteFailed } from '../../ports/CheckpointStorage.js'
import type { NoWorktree, WorkspaceError } from '../../ports/Workspaces.js'

/** Describes a storage error for people. */
export const describeStorage = (error: StorageError): string => {
  switch (error._tag) {
    case 'HeldBy':
      return describeHeld(error)
    case 'Fenced':
      return describeFenced(error)
    case 'RevisionConflict':
      return `Run ${error.runId} cannot be saved: the store expects revision ${error.expected}, but got revision ${error.found}. Either the store lost acknowledged saves (a failover to a stale replica), or the caller of \`save\` has a bug. Nothing was written. Check what the last steps did, then resume the run; it continues from the stored state`
    case 'RunChanged':
      return describeChanged(error)
    case 'Corrupt':
      if (NO_DATABASE.test(error.why))
        return `${error.where} is not a SQLite database; pass another file, or restore it from a backup`
      return `Run ${error.runId} cannot be read: ${error.where}: ${error.why}. The stored state was not changed; restore it from a backup, or do its work in a new run`
    case 'UnsupportedFormat':
      return `${error.where} has format ${error.found}, but this version of Dogear reads only up to ${error.supported}; upgrade Dogear`
    case 'TooLarge':
      return describeTooLarge(error, 'Store large outputs as artifacts, or raise limits.checkpointBytes')
    case 'InvalidRunId':
      return `"${error.runId}" is not a valid run id: ${error.why}`
    case 'Insecure':
      return `Cannot use ${error.where}: ${error.why}; ${error.remedy ?? 'move it away'}`
    case 'ReadFailed':
      return isUnusable(error) ? describeUnusable(error) : `Reading ${error.where} failed: ${callOf(error)}`
    case 'WriteFailed':
      if (isUnusable(error)) return describeUnusable(error)
      if (error.operation === 'mkdir') return `Cannot create ${error.where}: ${reasonOf(error)}; nothing was written`
      return `${describeWrite(error)}. Earlier saves are intact${COMMITTED[error.committed]}`
  }
}

const describeChanged = ({ runId, expected, found }: RunChanged): string =>
  `Run ${runId} was not removed: it changed after it was checked (revision ${expected} then, ${found === expected ? 'that of another run with the id' : found} now); look at it, and repeat the removal if it may be deleted`

/** SQLite's message for a file that is not a SQLite database, or whose header is damaged. */
const NO_DATABASE = /\bnot a database$/

/** The codes of stores that were opened with invalid arguments or settings. Their messages contain the remedy. */
const UNUSABLE: ReadonlySet<string> = new Set([
  ...['INVALID_OPTIONS', 'NO_FOLDER', 'NO_DATABASE'],
  ...['NO_WAL', 'WEAK_SYNCHRONOUS', 'FILE_DELETED', 'FILE_REPLACED'],
  ...['NO_POOL', 'NO_CLIENT', 'NO_TABLES']
])

const isUnusable = ({ code }: ReadFailed | WriteFailed): boolean => UNUSABLE.has(code)

const describeUnusable = (error: ReadFailed | WriteFailed): string =>
  `Cannot use ${error.where}: ${error.cause instanceof Error ? error.cause.message : String(error.cause)}${orOption(error)}`

const orOption = ({ option }: ReadFailed | WriteFailed): string =>
  option === undefined ? '' : `, or pass \`${option}\``

const describeWrite = (error: WriteFailed): string => `Writing ${error.where} failed: ${callOf(error)}`

const callOf = (error: ReadFailed | WriteFailed): string =>
  `${error.operation}${error.code === 'THREW' ? ' ' : ': '}${reasonOf(error)}${orOption(error)}`

const COMMITTED: Readonly<Record<WriteFailed['committed'], string>> = {
  no: '; nothing of this write is stored',
  unknown: '. It is unknown whether this write took effect; the next resume determines it'
}

/** Describes how a process lost a run. An outcome has no `by` and `epoch`; the error of a store has. */
export const describeFenced = ({
  runId,
  files,
  by = O.none,
  epoch
}: Pick<Fenced, 'runId' | 'files'> & Partial<Fenced>): string => {
  const claims = O.isSome(by) ? ` (claim ${by.value}, this one was ${epoch})` : ''
  switch (files?.what) {
    case undefined:
      return `Run ${runId} was taken over by another process${claims}. This process wrote nothing since`
    case 'Removed':
      return `Run ${runId} was removed while it was active. Nothing was written since. Start it again if you still need it`
    case 'Deleted':
      return `Run ${runId} stopped: ${files.where} was deleted or moved while the run was active. Put it back and resume, or start the run again`
    case 'Replaced':
      return `Run ${runId} stopped: ${files.where} was replaced by another file while the run was active. Resume the run to continue from the current files`
  }
}

const reasonOf = ({ code, cause }: ReadFailed | WriteFailed): string => {
  const { message: own = cause, errors } = Object(cause) as { readonly message?: unknown; readonly errors?: unknown }
  // The message of an AggregateError may be empty.
  const full: unknown = own === '' && Array.isArray(errors) ? (Object(errors[0]) as Error).message : own
  const [message = ''] = typeof full === 'string' ? full.trim().split('\n') : []
  if (code === 'NO_TASK_EITHER') return message
  if (code === 'THREW' && message !== '') return `threw: ${message}`
  if (message === '' || message === code) return withHint(code, code)
  return withHint(code, message.startsWith(`${code}:`) ? message : `${code}: ${message}`)
}

const withHint = (code: string, text: string): string => {
  const limit = LIMITS[code]
  if (limit !== undefined) return `${code}: ${limit}`
  const meaning = meaningOf(code)
  return meaning === undefined ? text : `${text}${inBrackets(meaning)}`
}

/** Describes why a request is unreadable, for people. */
export const describeRequest = (error: StorageError): string => {
  switch (error._tag) {
    case 'Corrupt':
      return `${error.where} is not a valid request: ${error.why}`
    case 'TooLarge':
      return `${error.where} is not a valid request: it has ${error.bytes} bytes (limit: ${error.limitBytes})`
    default:
      return describeStorage(error)
  }
}

/** Describes an artifact error for people. */
export const describeArtifact = (error: ArtifactError): string => {
  switch (error._tag) {
    case 'InvalidArtifactId':
      return `"${error.id}" is not a valid artifact id: ${error.why}`
    case 'Corrupt':
      return `An artifact of run ${error.runId} cannot be read: ${error.where}: ${error.why}`
    case 'TooLarge':
      return `An artifact of run ${error.runId} is too large (${error.where}): ${error.bytes} bytes, the limit is ${error.limitBytes}`
    case 'WriteFailed':
      return describeWrite(error)
    default:
      return describeStorage(error)
  }
}

/** Describes a checkpoint that is too large. `remedy`: what the reader can do about it. */
export const describeTooLarge = ({ runId, where, bytes, limitBytes, biggest }: TooLarge, remedy: string): string => {
  const values = biggest.map((one) => `${one.path} (${one.bytes} bytes)`).join(', ')
  const named = values === '' ? '' : ` The biggest values are ${values}.`
  return `The checkpoint of run ${runId} is too large (${where}): ${bytes} bytes, the limit is ${limitBytes}.${named} ${remedy}`
}

/** What an error code of the system or a driver means, in words. */
export interface Meaning {
  readonly text: string
  readonly remedy?: string
}

/** Returns the meaning of a code; none if the message of the error is enough. */
export const meaningOf = (code: string): Meaning | undefined => MEANINGS[code]

const MEANINGS: Readonly<Record<string, Meaning>> = {
  ENOSPC: { text: 'the disk is full', remedy: 'free some space' },
  EDQUOT: { text: 'the quota is used up', remedy: 'free some space' },
  EACCES: { text: 'no permission' },
  EROFS: { text: 'the file system is read-only' },
  EIO: { text: 'the device reports an error' },
  ENOTDIR: { text: 'a file is where a folder should be', remedy: 'move it away, or choose another folder' },
  ECONNREFUSED: { text: 'no server listens there', remedy: 'start it, or correct the address' },
  ENOTFOUND: { text: 'no such host', remedy: 'correct the address' },
  ERR_INVALID_URL: {
    text: 'pass one like postgres://USER:PASSWORD@HOST:5432/DATABASE, special characters percent-encoded'
  },
  SQLITE_CANTOPEN: { text: 'it is a folder, or its folder is missing or not writable', remedy: 'pass another file' },
  SQLITE_FULL: { text: 'free some space' },
  SQLITE_NOTADB: { text: 'pass another file' }
}

const inBrackets = ({ text, remedy }: Meaning): string => ` (${text}${remedy === undefined ? '' : `: ${remedy}`})`

/** Codes of exceeded limits. These texts replace the message of the error. */
const LIMITS: Readonly<Record<string, string>> = {
  EMFILE: 'too many open files; raise `ulimit -n`, then try again',
  ENFILE: 'too many open files on this machine; close some, then try again',
  EFBIG: "the file exceeds this process's size limit; raise `ulimit -f`, then resume"
}

/** Describes a workspace error for people. */
export const describeWorkspace = (error: WorkspaceError): string => {
  switch (error._tag) {
    case 'NoWorktree':
      return `Cannot create a worktree from ${error.folder}: ${NO_WORKTREE[error.why]}`
    case 'WorkspaceTaken':
      return error.what === 'Folder'
        ? `${error.path} already exists; delete it, or choose another run id`
        : `Branch ${error.branch} of ${error.repository} already exists; rename or delete it, or choose another run id`
    case 'Insecure':
      return describeStorage(error)
    case 'WorkspaceFailed':
      return `${error.operation} failed in ${error.where}: ${withHint(error.code, error.why)}`
  }
}

const NO_WORKTREE: Readonly<Record<NoWorktree['why'], string>> = {
  NoGit: 'git could not be started. Install it, or choose another workspace than "worktree"',
  NoRepository:
    'it is not in a git repository. Create one ("git init") and commit, or choose another workspace than "worktree"',
  Bare: 'its git repository has no working tree. Run it in a repository that has one',
  NoCommit: 'its git repository has no commit yet. Commit something first'
}

const describeHeld = ({ runId, holder: { host, pid, since, liveness } }: HeldBy): string =>
  liveness === 'undecided'
    ? `Run ${runId} may be in progress: process ${pid} on ${host} has held it since ${since}, and its liveness is undecided; retry from this process, which keeps watching, or resume with takeOver if you know that the owner is dead`
    : `Run ${runId} is already in progress: held by process ${pid} on ${host} since ${since}; wait until it ends, or pause it`
