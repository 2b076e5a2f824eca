/** Stays in the process while a run is pending. Meanwhile the run is released: any process may answer or claim it. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { endOf, wakeAt } from '../domain/checkpoint/Pending.js'
import type { Stored } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'
import { load } from './callPort.js'
import type { RunError } from './errors/RunError.js'
import type { Failed, Interrupted, Pending, RunOutcome } from './RunOutcome.js'
import { timestamp } from './RunScope.js'
import { LOOK_MILLIS, sleepUnless, stopwatch, turn } from './sleep.js'
import { restoreStored, stoppedIn } from './storage/stored.js'

type Ended<Outputs> = E.Either<RunError, RunOutcome<Outputs>>

/** Resumes a run whenever a wait ends, until the run ends, must stop, or only waits for jobs, which nothing here polls. */
export const waitInProcess = async <Outputs>(
  environment: Environment,
  first: Ended<Outputs>,
  resume: () => Promise<Ended<Outputs>>
): Promise<Ended<Outputs>> => {
  let ended = first
  let ignoredUntil = ''
  while (E.isRight(ended) && ended.right._tag === 'Pending' && hasTimerOrAnswer(ended.right)) {
    const woken = await waitUntilDue(environment, ended.right, ignoredUntil)
    if (woken === 'over') return ended
    if (woken !== 'due') return E.right(woken)
    const at = timestamp(environment.clock.now())
    const { revision } = ended.right.checkpoint
    const again = await resumeWhenFree(environment, ended.right.runId, resume)
    // If the resume changed nothing, the run needs another wait to end: those that are over would only cause the same resume at once.
    const isUnchanged =
      E.isRight(again) && again.right._tag === 'Pending' && again.right.checkpoint.revision === revision
    ignoredUntil = isUnchanged ? at : ''
    if (E.isLeft(again) && environment.interrupt.signal.aborted) return ended
    ended = again
  }
  return ended
}

const hasTimerOrAnswer = ({ units }: Pending): boolean => units.some(({ _tag }) => _tag !== 'Job')

/**
 * Returns `due` once a wait ends after `ignoredUntil` or the record changes. `over`: nothing is left to wait for, or the process must stop.
 * An outcome: the run was paused or cancelled.
 */
const waitUntilDue = async (
  environment: Environment,
  { runId, checkpoint, units }: Pending,
  ignoredUntil: string
): Promise<'due' | 'over' | Interrupted | Failed> => {
  const { clock, interrupt } = environment
  const next = wakeAt(units.filter((one) => (endOf(one) ?? '') > ignoredUntil))
  const due = next === undefined ? Infinity : Date.parse(next)
  if (next === undefined && units.every(({ _tag }) => _tag === 'Timer')) return 'over'
  let pause = LOOK_MILLIS
  for (;;) {
    const left = due - clock.now()
    if (left <= 0) return 'due'
    await sleepUnless(clock, Math.min(left, pause), interrupt.signal)
    await turn()
    if (interrupt.signal.aborted) return 'over'
    const elapsed = stopwatch(clock)
    const stored = await load(environment, runId)
    if (E.isRight(stored)) {
      if (O.isNone(stored.right)) return 'due'
      if (stored.right.value.revision !== checkpoint.revision) return stoppedElsewhere(stored.right.value) ?? 'due'
    }
    pause = Math.max(LOOK_MILLIS, READ_PAUSE_FACTOR * elapsed())
  }
}

/** Returns the outcome of a run that another process paused or cancelled, or that failed there. */
const stoppedElsewhere = (stored: Stored): Interrupted | Failed | undefined => {
  const restored = restoreStored(stored)
  return E.isLeft(restored) ? undefined : stoppedIn(restored.right)
}

/** The time between two reads of the record is at least this many times that of the last read. */
const READ_PAUSE_FACTOR = 20

/** Resumes, also after `HeldBy`: a process that records an answer holds the run for a moment. */
const resumeWhenFree = async <Outputs>(
  environment: Environment,
  runId: string,
  resume: () => Promise<Ended<Outputs>>
): Promise<Ended<Outputs>> => {
  const { clock, interrupt } = environment
  for (let attempt = 1; ; attempt++) {
    const ended = await resume()
    if (E.isRight(ended) || ended.left._tag !== 'HeldBy' || attempt === MAX_ATTEMPTS) return ended
    await sleepUnless(clock, LOOK_MILLIS, interrupt.signal)
    if (interrupt.signal.aborted) return ended
    const stored = await load(environment, runId)
    const end = E.isRight(stored) && O.isSome(stored.right) ? stoppedElsewhere(stored.right.value) : undefined
    if (end !== undefined) return E.right(end)
  }
}

const MAX_ATTEMPTS = 10
