/** Runs calls concurrently, and checks what they return. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Json } from '../../domain/data/Json.js'
import type { StorageError } from '../../ports/CheckpointStorage.js'
import type { CaseContext } from './Case.js'
import { assertAtLeast, assertSame } from './difference.js'
import type { Client, ClientClaim } from './fixtures.js'
import { assertCarries, assertHolds, pause, some, upTo } from './fixtures.js'

export const atOnce = <Failure extends { readonly _tag: string }, A>(
  tasks: ReadonlyArray<TaskEither<Failure, A>>
): Promise<ReadonlyArray<E.Either<Failure, A>>> => Promise.all(tasks.map((task) => task()))

export const tally = <A>(results: ReadonlyArray<E.Either<StorageError, A>>): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const result of results) {
    const outcome = E.isRight(result) ? 'success' : result.left._tag
    counts[outcome] = (counts[outcome] ?? 0) + 1
  }
  return counts
}

/** Yields to other work `count` times. */
export const turns = async (count: number): Promise<void> => {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve))
}

/** Runs two functions at nearly the same time: the second starts three turns before the first in round 0, with it in round 3, later after it. */
export const overlapping = async <A, B>(
  round: number,
  first: () => Promise<A>,
  second: () => Promise<B>
): Promise<[A, B]> => {
  const late = async <C>(count: number, act: () => Promise<C>): Promise<C> => {
    await turns(Math.max(0, count))
    return act()
  }
  return Promise.all([late(3 - round, first), late(round - 3, second)])
}

/**
 * Asserts that a run stays whole if its former owner saves `late` during a change of owners: the new owner finds that save if it resolved, and
 * continues from what it found.
 */
export const assertSuccessorContinues = async (
  storage: Client,
  claim: ClientClaim,
  saved: E.Either<StorageError, void>
): Promise<ReadonlyArray<Json>> => {
  const found = some(claim.stored, 'the first revision')
  const payloads = found.revision === 1 ? ['first', 'late'] : ['first']
  assertHolds(found, payloads, 'the run that the new owner found')
  if (E.isRight(saved))
    assertSame(found.revision, 1, 'the revision that the new owner found, after a save of revision 1 resolved')
  else assertSame(saved.left._tag, 'Fenced', 'the error of the save in flight')
  const all = [...payloads, 'next']
  await claim.save(all)
  await storage.assertLoads(claim.runId, all)
  return all
}

/** The payloads that the next owner saves of a run that may have been removed. */
export const continued = ({ stored }: ClientClaim): ReadonlyArray<string> =>
  O.isSome(stored) ? ['old', 'new'] : ['new']

/** Saves in batches while others load. A load must return complete saves and nothing older than was acknowledged before it. */
export const assertLoadsWhileSaving = async (
  { storage: writer, isOver }: Pick<CaseContext, 'storage' | 'isOver'>,
  readers: ReadonlyArray<Client>,
  { count, atATime }: { readonly count: number; readonly atATime: number }
): Promise<void> => {
  const claim = await writer.claim('a')
  let acknowledged = 0
  let over = false
  const read = async (reader: Client): Promise<void> => {
    while (!over && !isOver()) {
      const before = acknowledged
      const stored = await reader.load('a')
      const seen = O.isSome(stored) ? stored.value.revision + 1 : 0
      assertAtLeast(seen, before, 'a load during saves', ' acknowledged revisions')
      assertSame(seen % atATime, 0, `the revisions of an incomplete save (of ${atATime}) in a load that found ${seen}`)
      if (O.isSome(stored)) assertCarries(stored.value, upTo(seen))
      await pause(0)
    }
  }
  const write = async (): Promise<void> => {
    for (let n = atATime; n <= count && !over; n += atATime) {
      await claim.save(upTo(n), atATime)
      acknowledged = n
      await pause(0)
    }
  }
  const ending = (work: Promise<void>): Promise<void> => work.finally(() => (over = true))
  await Promise.all([write(), ...readers.map(read)].map(ending))
  for (const reader of readers) await reader.assertLoads('a', upTo(count))
}
