/** Holds a call at each place below the store, for cases that stall it. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { StorageError } from '../../ports/CheckpointStorage.js'
import type { Stalling } from './Spec.js'
import type { CaseContext, With } from './Case.js'
import type { Client, ClientClaim } from './Client.js'
import { inWords } from './difference.js'
import { OTHER, pause } from './fixtures.js'

/** The maximum number of places to hold a call at. */
const PLACES = 40

/** Other calls count as waiting for the stalled one after this time, or after three times the time since the place was set up, if that is longer. */
const PATIENCE_MILLIS = 300

/** The maximum time that a call may take from one place to the next. */
const REACH_MILLIS = 5_000

type Retrying = <A>(task: TaskEither<StorageError, A>) => Promise<A>

/**
 * Runs `attempt` for each place where a call can be held: before its first operation below the store, its second, and so on,
 * until the call ends before the place.
 */
export const atEachPlace = async (
  { stall, reopen, isOver }: Pick<CaseContext, 'stall' | 'reopen' | 'isOver'>,
  attempt: (stall: Stall) => Promise<void>,
  name = 'run'
): Promise<void> => {
  for (let place = 0; place < PLACES && !isOver(); place++) {
    const stalling = await stall()
    const stalled = stallAt(stalling, place)
    const { storage: former, letGo } = stalling
    const runId = `${name}-${place}`
    await attempt({ ...stalled, former, runId, reopen, whileClaimed: whileClaimed(stalled, reopen, runId) }).finally(
      letGo
    )
    assert.ok(
      stalled.wasHeld() || place > 0,
      'a call while every call below the store is held: expected it to wait, found that it ended; check `stall` of the spec'
    )
    if (!stalled.wasHeld()) return
  }
}

/** A store with one call held below it (`former`). `reopen` opens another one on the same state; `runId` differs at each place. */
export interface Stall extends ReturnType<typeof stallAt>, Pick<CaseContext, 'reopen'> {
  readonly former: Client
  readonly runId: string
  readonly whileClaimed: ReturnType<typeof whileClaimed>
}

/** Returns the function that stalls a call while a new instance claims the run and uses the claim. */
const whileClaimed =
  ({ hold, meanwhile }: ReturnType<typeof stallAt>, reopen: CaseContext['reopen'], runId: string) =>
  async <A>(
    task: TaskEither<StorageError, A>,
    use: (claim: ClientClaim) => Promise<void> = () => Promise.resolve()
  ) => {
    const { outcome } = await hold(task)
    const restarted = await reopen()
    const claim = await meanwhile(async (retrying) => {
      const granted = await retrying(restarted.claiming(runId, OTHER))
      await use(granted)
      return granted
    })
    return { restarted, claim, result: await outcome }
  }

const stallAt = (stalling: With<Stalling>, place: number) => {
  const start = performance.now()
  let isHeld = false
  let wasHeld = false
  const letGo = async (): Promise<void> => {
    isHeld = false
    await stalling.letGo()
  }
  return {
    wasHeld: (): boolean => wasHeld,
    /** Starts a call, holds it at the place if it gets there, and returns its outcome, which is not awaited. */
    hold: async <A>(task: TaskEither<StorageError, A>) => {
      await stalling.hold()
      const outcome = task()
      isHeld = wasHeld = await reaches(stalling, outcome, place)
      if (!isHeld) await stalling.letGo()
      return { outcome }
    },
    /**
     * Runs other calls while the call is held, then releases it. If the store makes them wait, they end afterwards. `retrying`
     * repeats a call that fails only because of the stalled one.
     */
    meanwhile: async <A>(act: (retrying: Retrying) => Promise<A>): Promise<A> => {
      const retrying: Retrying = async (task) => {
        for (;;) {
          const wasHeld = isHeld
          const result = await task()
          if (E.isRight(result)) return result.right
          if (!wasHeld || !isBusy(result.left))
            assert.fail(`a call to the stalled store: expected success, found ${inWords(result.left)}`)
          await pause(20)
        }
      }
      const patience = Math.max(PATIENCE_MILLIS, 3 * (performance.now() - start))
      const done = act(retrying)
      await Promise.race([done, pause(patience)]).finally(letGo)
      return done
    }
  }
}

/** A store may fail like this if it times out waiting for another call. */
const isBusy = ({ _tag }: StorageError): boolean => _tag === 'ReadFailed' || _tag === 'WriteFailed'

/** Advances a call to a place; returns false if the call ends before it. */
const reaches = async (stalling: With<Stalling>, outcome: Promise<unknown>, place: number): Promise<boolean> => {
  let ended = false
  const end = (): void => void (ended = true)
  outcome.then(end, end)
  for (let passed = 0; ; passed++) {
    const limit = Date.now() + REACH_MILLIS
    while (!ended && (await stalling.held()) === 0) {
      if (Date.now() > limit)
        assert.fail(
          'a call to the stalled store: expected it to end or to be held, found neither; check `stall` of the spec'
        )
      await pause(0)
    }
    if (ended) return false
    if (passed === place) return true
    await stalling.step()
    await pause(0)
  }
}
