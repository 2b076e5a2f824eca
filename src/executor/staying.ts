/**
 * Staying with a run that only waits, until a wait is over. Meanwhile the run is released: any process may answer it, or take it over.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Environment } from '../ports/Environment.js'
import type { RunError } from './RunError.js'
import type { Pending, RunOutcome } from './RunOutcome.js'
import { sleepUnless } from './sleep.js'
import { answering } from './stored.js'

type Ended<Outputs> = E.Either<RunError, RunOutcome<Outputs>>

/** Resumes a run whenever a wait is over, until it does more than wait, or is to stop. Jobs alone wake nobody. */
export const staying = async <Outputs>(
  environment: Environment,
  first: Ended<Outputs>,
  resume: () => Promise<Ended<Outputs>>
): Promise<Ended<Outputs>> => {
  let ended = first
  while (E.isRight(ended) && ended.right._tag === 'Pending' && isWoken(ended.right)) {
    if (!(await woken(environment, ended.right))) return ended
    const again = await unlessHeld(environment, resume)
    if (E.isLeft(again) && environment.interrupt.signal.aborted) return ended
    ended = again
  }
  return ended
}

const isWoken = ({ units }: Pending): boolean => units.some(({ _tag }) => _tag !== 'Job')

/** Waits until the run may go on: at its time, or when its record has changed. False: the process is to stop. */
const woken = async (environment: Environment, { runId, checkpoint, wakeAt, units }: Pending): Promise<boolean> => {
  const { clock, interrupt, storage } = environment
  const due = wakeAt === undefined ? Infinity : Date.parse(wakeAt)
  const isAsked = units.some(({ _tag }) => _tag !== 'Timer')
  let pause = LOOK_MILLIS
  for (;;) {
    const left = due - clock.now()
    if (left <= 0) return true
    await sleepUnless(clock, isAsked ? Math.min(left, pause) : left, interrupt.signal)
    if (interrupt.signal.aborted) return false
    if (!isAsked) continue
    const before = clock.now()
    const stored = await answering('load', () => storage.load(runId))
    if (E.isRight(stored) && (O.isNone(stored.right) || stored.right.value.revision !== checkpoint.revision))
      return true
    pause = Math.max(LOOK_MILLIS, MOST_SHARE * (clock.now() - before))
  }
}

/** How often the record is looked at, at most. */
const LOOK_MILLIS = 1_000

/** Looks take at most a twentieth of the time. */
const MOST_SHARE = 20

/** Resumes; who records an answer holds the run for a moment. */
const unlessHeld = async <Outputs>(
  { clock, interrupt }: Environment,
  resume: () => Promise<Ended<Outputs>>
): Promise<Ended<Outputs>> => {
  for (let tries = 1; ; tries++) {
    const ended = await resume()
    if (E.isRight(ended) || ended.left._tag !== 'HeldBy' || tries === MOST_TRIES) return ended
    await sleepUnless(clock, LOOK_MILLIS, interrupt.signal)
    if (interrupt.signal.aborted) return ended
  }
}

const MOST_TRIES = 10
