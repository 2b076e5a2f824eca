/** Reads the recorded changes of a run. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Change } from '../../domain/change/Change.js'
import { decode } from '../../domain/change/ChangeCodec.js'
import { callPort, readFailed, STORE } from '../callPort.js'
import type { Executor } from '../ExecutorCall.js'
import { inEnvironment } from '../arguments.js'

/**
 * Returns the changes of a run that its store still has, keyed by revision, in no order; an unknown run has none. Leaves out changes that are
 * damaged, and revision 0 (`Started`, `Forked` or `Moved`), which stores keep only as a checkpoint.
 *
 * @category looking
 */
export const runChanges = (runId: string): Executor<ReadonlyMap<number, Change>> =>
  inEnvironment(({ storage }) => async () => {
    const history = await callPort('history', () => storage.history(runId), readFailed(STORE))
    if (E.isLeft(history)) return history
    const known = new Map<number, Change>()
    // A loaded revision contains all changes since the last stored checkpoint, so each checkpoint needs one load.
    for (let revision = history.right[0]?.revision ?? -1; revision >= 0;) {
      const last = revision
      const stored = await callPort('loadRevision', () => storage.loadRevision(runId, last), readFailed(STORE))
      if (E.isLeft(stored) && stored.left._tag !== 'Corrupt') return stored
      if (E.isLeft(stored) || O.isNone(stored.right)) break
      const { changes } = stored.right.value
      const first = revision - changes.length + 1
      for (const [index, change] of changes.entries()) {
        const decoded = decode(change)
        if (E.isRight(decoded)) known.set(first + index, decoded.right)
      }
      revision = Math.min(first, revision) - 1
    }
    return E.right(known)
  })
