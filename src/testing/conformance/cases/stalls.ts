/** Cases that stall one call below the store while others proceed. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Json } from '../../../domain/data/Json.js'
import type { StorageError, Stored } from '../../../ports/CheckpointStorage.js'
import type { CaseContext, With } from '../Case.js'
import { lawsOf } from '../Case.js'
import { assertSuccessorContinues, continued } from '../concurrency.js'
import { assertSame, inWords } from '../difference.js'
import type { Client, ClientClaim } from '../fixtures.js'
import { assertHolds, LATER, newest, OTHER, OWNER, pause } from '../fixtures.js'
import type { Stalling } from '../Spec.js'

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
const atEachPlace = async (
  { stall, reopen, isOver }: Pick<CaseContext, 'stall' | 'reopen' | 'isOver'>,
  attempt: (stall: Stall) => Promise<void>,
  name = 'run'
): Promise<void> => {
  for (let place = 0; place < PLACES && !isOver(); place++) {
    const stalling = await stall()
    const stalled = stallAt(stalling, place)
    const { storage: former, letGo } = stalling
    const runId = `${name}-${place}`
    try {
      await attempt({ ...stalled, former, runId, reopen, whileClaimed: whileClaimed(stalled, reopen, runId) })
    } finally {
      await letGo()
    }
    assert.ok(
      stalled.wasHeld() || place > 0,
      'a call while every call below the store is held: expected it to wait, found that it ended; check `stall` of the spec'
    )
    if (!stalled.wasHeld()) return
  }
}

/** A store with one call held below it (`former`). `reopen` opens another one on the same state; `runId` differs at each place. */
interface Stall extends ReturnType<typeof stallAt>, Pick<CaseContext, 'reopen'> {
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
      try {
        await Promise.race([done, pause(patience)])
      } finally {
        await letGo()
      }
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

const oneStallLaw = lawsOf({ needs: ['stalls'] })

/** Makes a law that stalls one call, at each place below the store, once for each variant. */
const stallLawsOf =
  <Variant extends string>(...variants: ReadonlyArray<Variant>) =>
  (id: string, title: string, holds: (stall: Stall, variant: Variant) => Promise<void>) =>
    oneStallLaw(id, title, async (context) => {
      for (const variant of variants) await atEachPlace(context, (stall) => holds(stall, variant), variant)
    })

const stallLaw = stallLawsOf('run')

const OLD = ['old', 'old, second', 'old, third']
const NEW = ['new', 'new, second', 'new, third', 'new, fourth', 'new, fifth']

export const stallCases = [
  stallLaw(
    'CS-STALL-01',
    'a save that stalls in transit during a takeover is found by the new owner, or refused',
    async ({ former, runId, whileClaimed }) => {
      const zombie = await former.begin(runId, ['first'])
      const { restarted, claim, result } = await whileClaimed(zombie.saving(['first', 'late']))
      const payloads = await assertSuccessorContinues(restarted, claim, result)
      await zombie.assertFenced([...payloads, 'zombie'])
    }
  ),

  stallLawsOf('load', 'revision')(
    'CS-STALL-02',
    'a load that stalls in transit while its run is removed and recreated never mixes the old and the new run',
    async ({ former, runId, reopen, hold, meanwhile }, call) => {
      await former.seed(runId, OLD)
      const load = await hold(call === 'load' ? former.raw.load(runId) : former.raw.loadRevision(runId, 1))
      const other = await reopen()
      await meanwhile(async (retrying) => {
        await retrying(other.raw.remove(runId))
        await other.seed(runId, NEW)
      })
      const result = await load.outcome
      if (E.isLeft(result))
        assert.fail(`a load during a removal: expected a run or none, found ${inWords(result.left)}`)
      if (O.isSome(result.right)) assertIsOneOf(result.right.value, [OLD, NEW])
      await other.assertLoads(runId, NEW)
    }
  ),

  stallLawsOf('released', 'held')(
    'CS-STALL-03',
    'a claim that stalls in transit while another one is granted is refused, granted later, or superseded',
    async ({ former, runId, whileClaimed }, other) => {
      await former.seed(runId, ['first'])
      const { claim, result } = await whileClaimed(former.claiming(runId), async (granted) => {
        await granted.save(['first', 'second'])
        if (other === 'released') await granted.release()
      })
      if (E.isLeft(result)) assertSame(result.left._tag, 'HeldBy', 'the error of the stalled claim')
      else await assertIsBeforeOrAfter(result.right, claim.epoch, other)
      if (other === 'held') await claim.save(['first', 'second', 'third'])
      else await claim.assertFenced(['first', 'second', 'late'])
    }
  ),

  stallLaw(
    'CS-STALL-04',
    'a removal that stalls in transit while its run is claimed affects neither the new claim nor its saves',
    async ({ former, runId, whileClaimed }) => {
      await former.seed(runId, ['old'])
      const { restarted, claim } = await whileClaimed(former.raw.remove(runId), (granted) =>
        granted.save(continued(granted))
      )
      await restarted.assertLoads(runId, continued(claim), 'the run that the new owner saved during a removal')
      await claim.save([...continued(claim), 'newer'])
    }
  ),

  stallLaw(
    'CS-STALL-05',
    'a release that stalls in transit during a takeover frees nothing',
    async ({ former, runId, whileClaimed }) => {
      const zombie = await former.begin(runId, ['first'])
      const { restarted, claim } = await whileClaimed(zombie.releasing())
      await restarted.assertHeld(runId, OWNER, 'a claim after the late release of the former owner')
      await claim.save(['first', 'second'])
      claim.assertNotLost('the new owner')
    }
  ),

  stallLaw(
    'CS-STALL-06',
    'if a removal on condition of the newest revision stalls in transit, it deletes no save of a process that claims and releases the run meanwhile',
    async ({ former, runId, whileClaimed }) => {
      await former.seed(runId, ['old'])
      const { restarted, claim } = await whileClaimed(former.raw.remove(runId, newest(0)), async (granted) => {
        await granted.saveAt(LATER, continued(granted))
        await granted.release()
      })
      const { revision } = await restarted.stored(runId, 'the run that was resumed and released during a removal')
      assertSame(revision, continued(claim).length - 1, 'the revision of the run that was resumed during a removal')
    }
  ),

  oneStallLaw(
    'CS-STALL-07',
    'if a removal on condition of the newest revision stalls in transit, it deletes no save of an owner that was taken for dead',
    ({ stall, ...context }) => {
      let zombie: ClientClaim | undefined
      let runs = 0
      const stallAfterBegin = async () => {
        zombie = await (await context.reopen()).begin(`run-${runs++}`, ['first'])
        return stall()
      }
      return atEachPlace(
        { ...context, stall: stallAfterBegin },
        async ({ former: storage, runId, hold, meanwhile }) => {
          const removal = await hold(storage.raw.remove(runId, newest(0)))
          const save = (zombie as ClientClaim).savingAt(LATER, ['first', 'late'])
          const late = await meanwhile(save)
          await removal.outcome
          if (E.isLeft(late)) return
          const { revision } = await storage.stored(runId, 'the run that its former owner saved during a removal')
          assertSame(revision, 1, 'the revision of the run that its former owner saved during a removal')
        }
      )
    }
  ),

  stallLawsOf('saved', 'claimed')(
    'CS-STALL-08',
    'if a removal on condition of the newest revision stalls in transit, it affects no claim or save of a later run with the same id',
    async ({ former, runId, reopen, hold, meanwhile }, laterRun) => {
      await former.seed(runId, ['old'])
      const removal = await hold(former.raw.remove(runId, newest(0)))
      const restarted = await reopen()
      const save = async (claim: ClientClaim): Promise<void> => {
        await claim.saveAt(LATER, ['new'])
        await claim.release()
      }
      const claim = await meanwhile(async (retrying) => {
        const replaced = await restarted.raw.remove(runId)()
        if (E.isLeft(replaced)) return undefined
        const granted = await retrying(restarted.claiming(runId, OTHER))
        if (laterRun === 'saved') await save(granted)
        return granted
      })
      await removal.outcome
      if (claim === undefined) return
      if (laterRun === 'claimed') await save(claim)
      await restarted.assertLoads(runId, ['new'])
    }
  )
]

/** The load may fall after any save of the new run. */
const assertIsOneOf = (stored: Stored, runs: ReadonlyArray<ReadonlyArray<Json>>): void => {
  const isOf = (payloads: ReadonlyArray<Json>): boolean =>
    E.isRight(E.tryCatch(() => assertHolds(stored, payloads.slice(0, stored.revision + 1)), E.toError))
  if (!runs.some(isOf))
    assert.fail(`the loaded run: expected the old run or the new one, found ${inWords({ ...stored, heldBy: null })}`)
}

/** Asserts that the stalled claim was granted before the other one, which then superseded it, or after the other one's release. */
const assertIsBeforeOrAfter = async (claim: ClientClaim, epoch: number, other: 'released' | 'held'): Promise<void> => {
  assert.notEqual(claim.epoch, epoch, `the epochs of two claims: expected different ones, found ${epoch} twice`)
  if (claim.epoch < epoch) return void (await claim.assertFenced(['first', 'second', 'zombie']))
  assertSame(other, 'released', 'the other claim when the stalled claim was granted')
  claim.assertFound(['first', 'second'], 'the run that the stalled claim found')
  // Its process counts as dead, so the claim may be lost as soon as it is granted.
  const saved = await claim.saving(['first', 'second', 'third'])()
  if (E.isLeft(saved))
    assert.ok(claim.lost.aborted, `a save of a granted claim: expected success, found ${inWords(saved.left)}`)
}
