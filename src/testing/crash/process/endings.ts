/** How a simulated process may end, and how that is said. */
import type { RunError } from '../../../executor/RunError.js'
import type { RunOutcome } from '../../../executor/RunOutcome.js'
import type { Limits } from './drive.js'
import type { Process } from './Process.js'

/** How a process may end if something goes wrong below its store: it says so. */
export const STORE_ERRORS: ReadonlySet<RunError['_tag']> = new Set([
  'ReadFailed',
  'WriteFailed',
  'Corrupt',
  'RecoveryRefused'
])

/** How many processes in a row may end so. */
export const MAX_STORE_ERRORS = 10

/** What is wrong with a process that does not end. */
export const STUCK = {
  stuck: <World>(process: Process<World>, { patienceMillis }: Limits): string => {
    const { calls, units } = process.busy()
    const what =
      calls > 0 ? 'a call of the store does not end' : units > 0 ? 'a step does not end' : 'nothing is under way'
    return `${what}: nothing has happened for ${patienceMillis} ms, and nothing sleeps`
  },
  endless: <World>(_: Process<World>, { maxWaits }: Limits): string =>
    `time was moved on ${maxWaits} times without an end`
}

/** How a process ended, in words. */
export const describeOutcome = (outcome: RunOutcome): string => {
  switch (outcome._tag) {
    case 'Completed':
      return 'completed'
    case 'Failed':
      return `${outcome.step} failed: ${outcome.failures.map(({ error }) => error.message).join('; ')}`
    case 'Interrupted':
      return `${outcome.reason === 'aborted' || outcome.reason === 'signal' ? 'interrupted' : outcome.reason} at ${outcome.step}`
    case 'Pending':
      return `it waits for ${outcome.units.map(({ unit }) => unit).join(', ')}`
    case 'Fenced':
      return 'another process has taken the run over'
  }
}

/** Whether the run is completed or cancelled, or this process has paused or was cut short and the next is to go on, or something is wrong. */
export type ProcessEnd = 'completed' | 'paused' | 'cancelled' | 'cut short' | 'wrong'

/** What is well whatever was planned. Whether a pause was asked for the oracle says. */
export const endOf = (outcome: RunOutcome): 'completed' | 'paused' | 'cancelled' | undefined => {
  if (outcome._tag === 'Completed') return 'completed'
  const reason = outcome._tag === 'Interrupted' ? outcome.reason : undefined
  return reason === 'paused' || reason === 'cancelled' ? reason : undefined
}
