/** The error that a call rejects with, and the refusal of a call as data. */
import type { PendingUnit } from '../domain/checkpoint/Pending.js'
import { listed } from '../domain/data/listed.js'
import { expectedAt } from '../domain/data/Malformed.js'
import { nameOf, parent } from '../domain/workflow/Unit.js'
import type { RunError } from '../executor/errors/RunError.js'
import type { Pending, RunOutcome } from '../executor/RunOutcome.js'
import { describeFenced } from '../executor/errors/portErrors.js'

/**
 * A call without an outcome, and the reason: it was refused before anything ran, or the state of the run could not be read or written.
 * `message`: the error with the run, for people and logs.
 * `retryLater`: another process holds the run (`HeldBy`), so the same call may succeed later.
 *
 * @category model
 */
export interface Refused {
  readonly _tag: 'Refused'
  readonly runId: string
  readonly message: string
  readonly error: RunError
  readonly retryLater: boolean
}

const BRAND = Symbol.for('dogear.RunFailure')

/**
 * The error that a run rejects with when it does not complete, so that a host marks its job as failed. `outcome` is the data:
 * failed, interrupted, pending, fenced or refused. `retryable`: all errors of the step look transient. Detect it with
 * {@link isRunFailure}: `instanceof` fails if a bundle holds two copies of Dogear.
 *
 * @category errors
 */
export class RunFailure extends Error {
  override readonly name = 'RunFailure'
  /** Not enumerable, because Node.js prints the enumerable fields of an uncaught error, and `outcome` contains the checkpoint. */
  declare readonly outcome: Exclude<RunOutcome, { readonly _tag: 'Completed' }> | Refused
  readonly retryable: boolean

  constructor(outcome: RunFailure['outcome']) {
    super(messageOf(outcome))
    Object.defineProperty(this, 'outcome', { value: outcome })
    this.retryable = outcome._tag === 'Failed' && outcome.retryable
    Object.defineProperty(this, BRAND, { value: true })
  }
}

/**
 * Detects a {@link RunFailure}, also one of another copy of Dogear.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { isRunFailure, resume, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const missing = await resume(workflow('tidy'), { id: 'tidy-1', storage: memoryStorage() }).catch((error) => error)
 * assert.ok(isRunFailure(missing) && missing.outcome._tag === 'Refused')
 *
 * @category errors
 */
export const isRunFailure = (error: unknown): error is RunFailure =>
  typeof error === 'object' && error !== null && BRAND in error

/** Returns the calls that end the waits of a run and continue it. */
const remedyOf = (units: ReadonlyArray<PendingUnit>): string => {
  const asked = units.flatMap(({ _tag, unit }) => (_tag === 'Answer' ? [unit] : []))
  return [
    ...(units.some(({ _tag }) => _tag === 'Job') ? ['poll the run'] : []),
    ...(asked.length === 0
      ? []
      : [asked.length === 1 ? `call answer with unit "${asked.join('')}" and a value` : 'call answer for each']),
    'then resume the run'
  ].join(', ')
}

const waitingText = (one: PendingUnit): string => {
  if (one._tag === 'Timer') return `"${one.unit}" sleeps until ${one.wakeAt}`
  return `"${one.unit}" waits for ${one._tag === 'Job' ? 'its job' : 'an answer'}`
}

const rejectedText = ({ unit, ...why }: NonNullable<Pending['rejected']>[number]): string =>
  `the answer to "${unit}" was rejected: ${expectedAt(why)}; `

const messageOf = (outcome: RunFailure['outcome']): string => {
  switch (outcome._tag) {
    case 'Failed': {
      // A task that failed because of its sub-step repeats the sub-step's error, which is shown once.
      const inner = new Set(outcome.failures.map(({ unit, error }) => `${parent(unit) ?? ''} ${error.message}`))
      const causes = outcome.failures.filter(({ unit, error }) => !inner.has(`${unit} ${error.message}`))
      const why = causes.map(({ unit, error }) => `${unit === outcome.step ? '' : `${nameOf(unit)}: `}${error.message}`)
      const { notRetried = [] } = outcome
      const permanent =
        notRetried.length === 0 ? '' : `; no further retry, because the error is permanent: ${listed(notRetried)}`
      return `Run ${outcome.runId} failed in step ${outcome.stepIndex + 1} (${outcome.step}): ${why.join('; ')}${permanent}`
    }
    case 'Interrupted':
      return `Run ${outcome.runId} was stopped ${outcome.inProgress ? 'in' : 'before'} step ${outcome.stepIndex + 1} (${outcome.step}): ${outcome.reason}; ${outcome.reason === 'cancelled' ? 'resume it only with `reopen`' : 'resume it'}`
    case 'Pending': {
      const rejected = (outcome.rejected ?? []).map(rejectedText).join('')
      return `Run ${outcome.runId} is pending: ${rejected}${outcome.units.map(waitingText).join(', ')}; ${remedyOf(outcome.units)}`
    }
    case 'Fenced':
      return describeFenced(outcome)
    case 'Refused':
      return outcome.message
  }
}
