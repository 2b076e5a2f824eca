/**
 * Restores a checkpoint from a stored one and the changes after it.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'
import type { Change } from './Change.js'
import { decode as decodeChange } from './ChangeCodec.js'
import type { TransitionError } from './Transition.js'
import { replay } from './Transition.js'
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import { decode } from '../checkpoint/CheckpointCodec.js'
import type { Malformed, NewerFormat } from '../data/Malformed.js'
import { describe as describeJson } from '../data/Malformed.js'

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
  const changes: Array<Change> = []
  for (const one of content.changes) {
    const change = decodeChange(one)
    if (E.isLeft(change)) return E.left({ ...change.left, path: `changes[${changes.length}] ${change.left.path}` })
    changes.push(change.right)
  }
  return replay(base.right, changes)
}

/**
 * Describes why stored content cannot be restored.
 *
 * @category destructors
 */
export const describe = (error: CodecError): string =>
  error._tag === 'TransitionError'
    ? `change ${error.change} of "${error.unit}" cannot follow revision ${error.revision}: ${error.why}`
    : describeJson(error)
