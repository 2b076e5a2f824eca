/** How a simulated process may end. */
import type { RunError } from '../../../executor/errors/RunError.js'
import type { RunOutcome } from '../../../executor/RunOutcome.js'
import { byTag } from '../../byTag.js'
import type { Limits } from './drive.js'
import { isWorking, patienceWith } from './drive.js'
import type { Activity } from './Life.js'

/** The errors that a process may end with if its store is faulty. */
export const STORE_ERRORS: ReadonlySet<RunError['_tag']> = new Set([
  'ReadFailed',
  'WriteFailed',
  'Corrupt',
  'RecoveryRefused'
])

export const MAX_STORE_ERRORS = 10

/** Why a process that does not end is a violation. */
export const STUCK = {
  stuck: (state: Activity, limits: Limits): string => {
    const inFlight = isWorking(state) ? 'a step does not end' : 'nothing is in flight'
    const what = state.calls > 0 ? 'a call of the store does not end' : inFlight
    return `${what}: nothing has happened for ${patienceWith(state, limits)} ms, and nothing sleeps`
  },
  endless: (_: Activity, { maxWaits }: Limits): string =>
    `the clock was advanced ${maxWaits} times, and the process did not end`
}

export const describeOutcome = (outcome: RunOutcome): string =>
  byTag(outcome, {
    Completed: () => 'completed',
    Failed: ({ step, failures }) => `${step} failed: ${failures.map(({ error }) => error.message).join('; ')}`,
    Interrupted: ({ reason, step }) =>
      `${reason === 'aborted' || reason === 'signal' ? 'interrupted' : reason} at ${step}`,
    Pending: ({ units }) => `waits for ${units.map(({ unit }) => unit).join(', ')}`,
    Fenced: () => 'superseded by another process'
  })

/** `cut short`: the next process continues the run. */
export type ProcessEnd = 'completed' | 'paused' | 'cancelled' | 'cut short' | 'wrong'

export const endOf = (outcome: RunOutcome): 'completed' | 'paused' | 'cancelled' | undefined => {
  if (outcome._tag === 'Completed') return 'completed'
  const reason = outcome._tag === 'Interrupted' ? outcome.reason : undefined
  return reason === 'paused' || reason === 'cancelled' ? reason : undefined
}
