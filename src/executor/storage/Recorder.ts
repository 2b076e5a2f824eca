/**
 * The only writer of a run: applies changes to its checkpoint and saves them in order, one save at a time. Changes that are
 * staged during a save share the next one.
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Change } from '../../domain/change/Change.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { encode } from '../../domain/checkpoint/CheckpointCodec.js'
import * as Summary from '../../domain/checkpoint/Summary.js'
import { redactedChange } from '../../domain/change/redacted.js'
import * as Redaction from '../../domain/data/Redaction.js'
import type { TransitionError } from '../../domain/change/Transition.js'
import { apply } from '../../domain/change/Transition.js'
import type { CheckpointStorage, Claim, Revision, StorageError } from '../../ports/CheckpointStorage.js'
import { callPort, STORE, writeFailed } from '../callPort.js'

export interface Recorder {
  /** The checkpoint with everything staged so far, durable or not. */
  readonly checkpoint: () => Checkpoint
  /** Applies changes at once. They are saved by the next `commit`, which also reports a change that could not be applied. */
  readonly stage: (changes: ReadonlyArray<Change>) => void
  /** Resolves when everything staged is durable. After a failure every further call fails the same way. */
  readonly commit: TaskEither<RecordError, Checkpoint>
}

export type RecordError = StorageError | TransitionError

type Saved = E.Either<RecordError, Checkpoint>

/** `unsaved`: revisions that the first save includes. */
export const make = (
  storage: CheckpointStorage,
  claim: Claim,
  from: Checkpoint,
  unsaved: ReadonlyArray<Revision>,
  onSaved: (checkpoint: Checkpoint, revisions: ReadonlyArray<Revision>) => void,
  redaction: Redaction.Redaction = Redaction.none
): Recorder => {
  let checkpoint = from
  let staged: Array<Revision> = [...unsaved]
  let invalid: E.Left<TransitionError> | undefined
  let failure: E.Left<StorageError> | undefined
  let saving: Promise<Saved> | undefined
  let nextSave: Promise<Saved> | undefined

  const flush = async (): Promise<Saved> => {
    // A return before the save leaves a settled promise in `saving`: the next commit only waits for it first.
    if (failure !== undefined) return failure
    const revisions = staged
    const reached = checkpoint
    staged = []
    if (!isNonEmpty(revisions)) return invalid ?? E.right(reached)
    const saved = claim.lost.aborted
      ? fencedOff(claim)
      : await callPort('save', () => storage.save(claim, revisions), writeFailed(STORE))
    saving = undefined
    if (E.isLeft(saved)) {
      failure = saved
      return saved
    }
    onSaved(reached, revisions)
    return invalid ?? E.right(reached)
  }

  const start = (): Promise<Saved> => {
    nextSave = undefined
    return (saving = flush())
  }

  const commit = (): Promise<Saved> => {
    if (nextSave !== undefined) return nextSave
    return saving === undefined ? start() : (nextSave = saving.then(start))
  }

  return {
    checkpoint: () => checkpoint,
    stage: (changes) => {
      for (const one of changes) {
        const change = Redaction.isNone(redaction) ? one : redactedChange(redaction, one)
        const next = invalid ?? apply(checkpoint, change)
        if (E.isLeft(next)) {
          invalid = next
          return
        }
        checkpoint = next.right
        staged.push(revisionOf(checkpoint, change))
      }
    },
    commit
  }
}

/** A lost claim saves nothing, even if the store would accept it. */
const fencedOff = ({ runId, epoch }: Claim): E.Left<StorageError> => ({
  _tag: 'Left',
  left: { _tag: 'Fenced', runId, epoch, by: O.none }
})

const isNonEmpty = <A>(all: ReadonlyArray<A>): all is ReadonlyNonEmptyArray<A> => all.length > 0

export const revisionOf = (checkpoint: Checkpoint, change: Change): Revision => ({
  revision: checkpoint.revision,
  change,
  checkpoint: () => encode(checkpoint),
  summary: () => Summary.of(checkpoint)
})
