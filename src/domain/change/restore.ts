/**
 * Restores a checkpoint from a stored one and the changes after it.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'
import { areChanges, decode as decodeChange } from './ChangeCodec.js'
import type { TransitionError } from './Transition.js'
import { replay } from './Transition.js'
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import { decode } from '../checkpoint/CheckpointCodec.js'
import type { Malformed, NewerFormat } from '../data/Malformed.js'
import { describe as describeContent } from '../data/Malformed.js'

/** Why stored content cannot be restored. */
export type CodecError = Malformed | NewerFormat | TransitionError

/**
 * Restores a checkpoint from a stored checkpoint and the changes after it, oldest first.
 *
 * @category decoding
 */
export const restore = (content: {
  readonly checkpoint: unknown
  readonly changes: ReadonlyArray<unknown>
}): E.Either<CodecError, Checkpoint> => {
  const base = decode(content.checkpoint)
  if (E.isLeft(base)) return base
  const { changes } = content
  return areChanges(changes) ? replay(base.right, changes) : invalidIn(changes)
}

const invalidIn = (changes: ReadonlyArray<unknown>): E.Either<CodecError, never> => {
  const index = changes.findIndex((one) => E.isLeft(decodeChange(one)))
  const invalid = decodeChange(changes[index]) as E.Left<Malformed>
  return E.left({ ...invalid.left, path: `changes[${index}] ${invalid.left.path}` })
}

/**
 * Describes why stored content cannot be restored.
 *
 * @category destructors
 */
export const describe = (error: CodecError): string =>
  error._tag === 'TransitionError'
    ? `change ${error.change} of "${error.unit}" cannot follow revision ${error.revision}: ${error.why}`
    : describeContent(error)
