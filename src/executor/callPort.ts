/** Calls ports. A port that throws, or returns no TaskEither, counts as failed. */
import * as E from 'fp-ts/lib/Either.js'
import type * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ArtifactError } from '../ports/ArtifactStore.js'
import type { Claimed, ReadFailed, StorageError, Stored, WriteFailed } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'
import type { AlreadyAnswered, PointerError, RequestError } from '../ports/Requests.js'
import type { TreeUnreadable } from '../ports/WorkingTree.js'
import type { WorkspaceError } from '../ports/Workspaces.js'
import type { FieldTypes } from '../domain/data/notTaskEither.js'
import { notEither, notTaskEither } from '../domain/data/notTaskEither.js'
import type { Check } from '../domain/data/Options.js'
import { arrayOf, fieldsOf, isText, kindOf, signal } from '../domain/data/Options.js'

/** The error code for a port that returns no TaskEither, or one that resolves to no Either. */
const NO_EITHER = 'NO_TASK_EITHER'

type PortError =
  StorageError | ArtifactError | RequestError | AlreadyAnswered | PointerError | TreeUnreadable | WorkspaceError

/** The fields of each error that its message quotes, with their types. */
const TAGS: Readonly<Record<PortError['_tag'], FieldTypes>> = {
  HeldBy: { holder: 'object' },
  Fenced: {},
  RevisionConflict: { expected: 'number', found: 'number' },
  RunChanged: { expected: 'number', found: 'number' },
  Corrupt: { where: 'string', why: 'string' },
  UnsupportedFormat: { where: 'string', found: 'number', supported: 'number' },
  TooLarge: { where: 'string', bytes: 'number', limitBytes: 'number', biggest: 'array' },
  // The caller may have passed an id that is no string.
  InvalidRunId: { why: 'string' },
  InvalidArtifactId: { why: 'string' },
  InvalidPointer: { where: 'string', why: 'string' },
  Insecure: { where: 'string', why: 'string' },
  ReadFailed: { code: 'string', where: 'string', operation: 'string' },
  WriteFailed: { code: 'string', where: 'string', operation: 'string' },
  AlreadyAnswered: { unit: 'string' },
  TreeUnreadable: { where: 'string', why: 'string' },
  NoWorktree: { folder: 'string', why: 'string' },
  WorkspaceTaken: { what: 'string' },
  WorkspaceFailed: { where: 'string', operation: 'string', why: 'string' }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null

const isOption = (value: unknown, isValue: (value: unknown) => boolean): boolean => {
  const { _tag, value: inner } = fieldsOf(value)
  return _tag === 'None' || (_tag === 'Some' && isValue(inner))
}

const hasContent = (value: unknown): boolean => {
  const { changes, found } = fieldsOf(value)
  return Array.isArray(changes) && isText(fieldsOf(found)['_tag'])
}

const isStored = (value: unknown): boolean => hasContent(value) && isOption(fieldsOf(value)['heldBy'], isObject)

/** What is stored is checked later: until then, the claim would not be released. */
const hasClaim = (value: unknown): boolean => {
  const { epoch, lost } = fieldsOf(fieldsOf(value)['claim'])
  return typeof epoch === 'number' && signal(lost) === undefined
}

const optionOf =
  (isValue: (value: unknown) => boolean): Check =>
  (value) =>
    isOption(value, isValue) ? undefined : 'an Option of an object'

const objects = arrayOf(isObject, 'an array of objects')

const CLAIMED = 'an object with claim and stored'

/** The results that the executor reads. Untyped ports may return anything. */
const RIGHTS: Readonly<Record<string, Check>> = {
  claim: (value) => (hasClaim(value) ? undefined : CLAIMED),
  load: optionOf(isStored),
  loadRevision: optionOf(isStored),
  get: optionOf(isObject),
  history: objects,
  list: objects
}

const notRight = (operation: string, result: unknown): Error | undefined => {
  const { _tag, right } = fieldsOf(result)
  const expected = _tag === 'Right' ? RIGHTS[operation]?.(right) : undefined
  return expected === undefined ? undefined : otherRight(right, expected)
}

const otherRight = (found: unknown, expected: string): Error =>
  new Error(`it returned a Right of ${kindOf(found)}; return a Right of ${expected}`)

type OnThrow<Thrown> = (operation: string, cause: unknown, code?: string) => Thrown

export const callPort = async <A, Failure extends PortError, Thrown>(
  operation: string,
  call: () => TaskEither<Failure, A>,
  onThrow: OnThrow<Thrown>
): Promise<E.Either<Failure | Thrown, A>> => {
  try {
    const task: unknown = call()
    if (typeof task !== 'function') {
      Promise.resolve(task).catch(() => undefined)
      return E.left(onThrow(operation, notTaskEither(task), NO_EITHER))
    }
    const result: unknown = await (task as TaskEither<Failure, A>)()
    const wrong = notEither(result, TAGS) ?? notRight(operation, result)
    return wrong === undefined ? (result as E.Either<Failure, A>) : E.left(onThrow(operation, wrong, NO_EITHER))
  } catch (cause) {
    return E.left(onThrow(operation, cause))
  }
}

export const readFailed =
  (where: string): OnThrow<ReadFailed> =>
  (operation, cause, code = 'THREW') => ({ _tag: 'ReadFailed', where, operation, code, cause })

export const writeFailed =
  (where: string): OnThrow<WriteFailed> =>
  (operation, cause, code = 'THREW') => ({ _tag: 'WriteFailed', committed: 'unknown', where, operation, code, cause })

export const STORE = 'the store'

/** Returns what a claim found stored. Nothing reads its holder, who is the caller. */
export const storedIn = (claimed: Claimed): E.Either<ReadFailed, O.Option<Stored>> =>
  isOption(claimed.stored, hasContent)
    ? E.right(claimed.stored)
    : E.left(readFailed(STORE)('claim', otherRight(claimed, CLAIMED), NO_EITHER))

export const INBOX = 'the requests'

export const ARTIFACTS = 'the artifacts'

export const load = (
  { storage }: Pick<Environment, 'storage'>,
  runId: string
): Promise<E.Either<StorageError, O.Option<Stored>>> => callPort('load', () => storage.load(runId), readFailed(STORE))
