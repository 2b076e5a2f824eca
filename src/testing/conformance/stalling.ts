/** What the cases are written with in which a call waits below the store. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { CheckpointStorage, StorageError } from '../../ports/CheckpointStorage.js'
import type { Bench } from './Case.js'
import { inWords } from './difference.js'
import { answerOf, pause } from './fixtures.js'
import type { Stalling } from './Spec.js'

/** At how many places a call is held, at most. */
const PLACES = 40

/** How long others may take before they count as waiting for the call that is held. */
const PATIENCE_MILLIS = 300

/** How long a call may take from one place to the next. */
const REACH_MILLIS = 5_000

/** A call of a store that is held, or has ended before it came to the place. */
interface Begun<A> {
  readonly outcome: Promise<A>
  readonly isHeld: boolean
}

/** A store, and one call of it that waits at a place below the store. */
export interface Stall {
  readonly storage: CheckpointStorage
  /** Starts a call, and holds it at the place. */
  readonly hold: <A>(task: TaskEither<StorageError, A>) => Promise<Begun<E.Either<StorageError, A>>>
  /**
   * What others do while the call is held; then it goes on. Where the store makes them wait for it, they end after it. `first`
   * is for their first call: what it is refused for only because of the call that is held, is tried again.
   */
  readonly meanwhile: <A>(act: (first: First) => Promise<A>) => Promise<A>
}

type First = <A>(task: TaskEither<StorageError, A>) => Promise<A>

/**
 * Tries something at each place at which a call can be held: before the first thing that it does below the store, before the
 * second one, and so on. `attempt` says whether the call was held; if not, there are no more places.
 */
export const atEachPlace = async (
  { stall, isOver }: Pick<Bench, 'stall' | 'isOver'>,
  attempt: (stall: Stall, place: number) => Promise<boolean>
): Promise<void> => {
  for (let place = 0; place < PLACES && !isOver(); place++) {
    const stalling = await stall()
    const isHeld = await attempt(stallAt(stalling, place), place).finally(() => stalling.letGo())
    assert.ok(isHeld || place > 0, 'a call ended though every call below the store was held')
    if (!isHeld) return
  }
}

const stallAt = (stalling: Stalling, place: number): Stall => {
  let isHeld = false
  const letGo = async (): Promise<void> => {
    isHeld = false
    await stalling.letGo()
  }
  return {
    storage: stalling.storage,
    hold: async (task) => {
      await stalling.hold()
      const outcome = answerOf(task)
      isHeld = await comesTo(stalling, outcome, place)
      if (!isHeld) await stalling.letGo()
      return { outcome, isHeld }
    },
    meanwhile: async (act) => {
      const first: First = async (task) => {
        for (;;) {
          const wasHeld = isHeld
          const result = await answerOf(task)
          if (E.isRight(result)) return result.right
          if (!wasHeld || !isBusy(result.left)) assert.fail(`it was refused: ${inWords(result.left)}`)
          await pause(20)
        }
      }
      const done = act(first)
      await Promise.race([done, pause(PATIENCE_MILLIS)]).finally(letGo)
      return done
    }
  }
}

/** What a store may answer that gives up waiting for another one's call. */
const isBusy = ({ _tag }: StorageError): boolean => _tag === 'ReadFailed' || _tag === 'WriteFailed'

/** Lets a call go on until it waits at a place; false if it ends before. */
const comesTo = async (stalling: Stalling, outcome: Promise<unknown>, place: number): Promise<boolean> => {
  let ended = false
  const end = (): void => void (ended = true)
  outcome.then(end, end)
  for (let passed = 0; ; passed++) {
    const limit = Date.now() + REACH_MILLIS
    while (!ended && (await stalling.held()) === 0) {
      if (Date.now() > limit) assert.fail('a call has neither ended nor is it held: see `stall` of the spec')
      await pause(0)
    }
    if (ended) return false
    if (passed === place) return true
    await stalling.step()
    await pause(0)
  }
}
