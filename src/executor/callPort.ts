/** Calls ports. A port that throws, or returns no TaskEither, counts as failed. */
import * as E from 'fp-ts/lib/Either.js'
import type * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ReadFailed, StorageError, Stored, WriteFailed } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'
import { fieldsOf, isText, kindOf } from '../domain/data/Options.js'

/** The code of a port that returned something else than its type says. */
const NO_EITHER = 'NO_TASK_EITHER'

type OnThrow<Thrown> = (operation: string, cause: unknown, code?: string) => Thrown

export const callPort = async <A, Failure, Thrown>(
  operation: string,
  ask: () => TaskEither<Failure, A>,
  onThrow: OnThrow<Thrown>
): Promise<E.Either<Failure | Thrown, A>> => {
  try {
    const task: unknown = ask()
    if (typeof task !== 'function') return E.left(onThrow(operation, notTask(task), NO_EITHER))
    const result: unknown = await (task as TaskEither<Failure, A>)()
    return isEither(result)
      ? (result as E.Either<Failure, A>)
      : E.left(onThrow(operation, notEither(result), NO_EITHER))
  } catch (cause) {
    return E.left(onThrow(operation, cause))
  }
}

/** Ports may be written in plain JavaScript, so their types may not hold. */
const isEither = (result: unknown): boolean => {
  const { _tag, left } = fieldsOf(result)
  return _tag === 'Right' || (_tag === 'Left' && isText(fieldsOf(left)['_tag']))
}

const notTask = (given: unknown): Error => {
  if (given instanceof Promise) given.catch(() => undefined)
  return new Error(`it must return a TaskEither, not ${given instanceof Promise ? 'a promise' : kindOf(given)}`)
}

const notEither = (result: unknown): Error => {
  const { _tag, left } = fieldsOf(result)
  const found = _tag === 'Left' ? `a left that is ${kindOf(left)}` : kindOf(result)
  return new Error(`it must return a TaskEither of a Right, or a Left of an error with a "_tag", not ${found}`)
}

export const readFailed =
  (where: string): OnThrow<ReadFailed> =>
  (operation, cause, code = 'THREW') => ({ _tag: 'ReadFailed', where, operation, code, cause })

export const writeFailed =
  (where: string): OnThrow<WriteFailed> =>
  (operation, cause, code = 'THREW') => ({ _tag: 'WriteFailed', committed: 'unknown', where, operation, code, cause })

export const STORE = 'the store'

export const INBOX = 'the requests'

export const load = (
  { storage }: Pick<Environment, 'storage'>,
  runId: string
): Promise<E.Either<StorageError, O.Option<Stored>>> => callPort('load', () => storage.load(runId), readFailed(STORE))
