/**
 * The only writer of a run: applies changes to its checkpoint and saves them, in order, one save at a time. What comes
 * in while a save is under way shares the next one.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Change } from '../domain/Change.js'
import type { Checkpoint } from '../domain/Checkpoint.js'
import { encode } from '../domain/CheckpointCodec.js'
import * as Redaction from '../domain/Redaction.js'
import type { TransitionError } from '../domain/Transition.js'
import { apply } from '../domain/Transition.js'
import type { CheckpointStorage, Claim, Revision, StorageError } from '../ports/CheckpointStorage.js'

/**
 * Writes one run.
 *
 * @category model
 * @since 0.1.0
 */
export interface Recorder {
  /** The checkpoint with everything recorded so far, durable or about to be. */
  readonly checkpoint: () => Checkpoint
  /** Records changes as one: resolves when they are durable. After a failure every further call fails the same way. */
  readonly record: (changes: ReadonlyArray<Change>) => TaskEither<StorageError | TransitionError, Checkpoint>
}

type Saved = E.Either<StorageError | TransitionError, Checkpoint>

/**
 * A recorder that goes on from a checkpoint. `first`: revisions made already that are to go out with the first save;
 * `redaction`: what no change that is recorded may have in it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  storage: CheckpointStorage,
  claim: Claim,
  from: Checkpoint,
  first: ReadonlyArray<Revision>,
  onSaved: (checkpoint: Checkpoint, revisions: ReadonlyArray<Revision>) => void,
  redaction: Redaction.Redaction = Redaction.none
): Recorder => {
  const recordable = (changes: ReadonlyArray<Change>): ReadonlyArray<Change> =>
    Redaction.isNone(redaction) ? changes : changes.map((one) => Redaction.change(redaction, one))
  let checkpoint = from
  let waiting: Array<Revision> = [...first]
  let failure: E.Left<StorageError | TransitionError> | undefined
  let saving: Promise<Saved> | undefined
  let nextSave: Promise<Saved> | undefined

  const flush = async (): Promise<Saved> => {
    if (failure !== undefined) return failure
    const revisions = waiting
    const reached = checkpoint
    waiting = []
    if (!isNonEmpty(revisions)) return E.right(reached)
    let saved: E.Either<StorageError, void>
    try {
      saved = claim.lost.aborted ? fencedOff(claim) : await storage.save(claim, revisions)()
    } catch (cause) {
      // A store that throws where it should tell has failed as well.
      saved = E.left({ _tag: 'WriteFailed', where: 'the store', operation: 'save', code: 'THREW', cause })
    }
    saving = undefined
    if (E.isLeft(saved)) {
      failure = saved
      return saved
    }
    onSaved(reached, revisions)
    return E.right(reached)
  }

  const start = (): Promise<Saved> => {
    nextSave = undefined
    return (saving = flush())
  }

  const enqueue = (): Promise<Saved> => {
    if (nextSave !== undefined) return nextSave
    return saving === undefined ? start() : (nextSave = saving.then(start))
  }

  return {
    checkpoint: () => checkpoint,
    record: (changes) => () => {
      if (failure !== undefined) return Promise.resolve(failure)
      const applied = applyAll(checkpoint, recordable(changes))
      if (E.isLeft(applied)) return Promise.resolve(applied)
      checkpoint = applied.right.checkpoint
      for (const revision of applied.right.revisions) waiting.push(revision)
      return enqueue()
    }
  }
}

/** Who has lost the claim writes nothing, whether or not the store would still take it. */
const fencedOff = ({ runId, epoch }: Claim): E.Left<StorageError> => ({
  _tag: 'Left',
  left: { _tag: 'Fenced', runId, epoch, by: O.none }
})

const isNonEmpty = <A>(all: ReadonlyArray<A>): all is ReadonlyNonEmptyArray<A> => all.length > 0

/**
 * A revision of a checkpoint, for a store.
 *
 * @category constructors
 * @since 0.1.0
 */
export const revisionOf = (checkpoint: Checkpoint, change: Change): Revision => ({
  revision: checkpoint.revision,
  change,
  checkpoint: () => encode(checkpoint)
})

const applyAll = (
  from: Checkpoint,
  changes: ReadonlyArray<Change>
): E.Either<TransitionError, { readonly checkpoint: Checkpoint; readonly revisions: ReadonlyArray<Revision> }> => {
  let checkpoint = from
  const revisions: Array<Revision> = []
  for (const change of changes) {
    const next = apply(checkpoint, change)
    if (E.isLeft(next)) return next
    checkpoint = next.right
    revisions.push(revisionOf(checkpoint, change))
  }
  return E.right({ checkpoint, revisions })
}
