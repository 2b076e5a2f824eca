/** The result of an attempt: how it is judged, redacted, and retried. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Suspended } from '../../domain/change/Change.js'
import type { Evidence } from '../../domain/checkpoint/CompletedStep.js'
import type { Json } from '../../domain/data/Json.js'
import { redactedEvidence } from '../../domain/change/redacted.js'
import * as Redaction from '../../domain/data/Redaction.js'
import * as StepError from '../../domain/data/StepError.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import * as Failure from '../../domain/data/StepFailure.js'
import { atPath } from '../../domain/data/Malformed.js'
import type { RetryPolicy } from '../../domain/workflow/RetryPolicy.js'
import { delay } from '../../domain/workflow/RetryPolicy.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import type { ProgramTask } from '../program/Program.js'
import type { SecuredEnvironment } from '../secrets.js'
import { notAwaited } from '../subSteps/subStepFailures.js'
import type { AttemptTimes, RunScope } from '../RunScope.js'
import { randomOf } from '../sleep.js'
import type { Attempt } from './Attempt.js'
import { timeoutError } from './Attempt.js'
import { CHECK_FAILED } from './unitChecks.js'

/**
 * `Stopped` has a failure if the code failed. `settled`: no code of the attempt still runs, and no sub-step is in doubt. `again`: a user asked for
 * another attempt.
 */
export type AttemptResult =
  | { readonly _tag: 'Done'; readonly output: Json | undefined; readonly evidence: ReadonlyArray<Evidence> }
  | { readonly _tag: 'Failed'; readonly failure: StepFailure; readonly settled: boolean; readonly again?: boolean }
  | { readonly _tag: 'Stopped'; readonly failure: StepFailure | undefined }
  | ({ readonly _tag: 'Suspended' } & Pick<Suspended, 'waits' | 'dropped'>)

/** How the code of an attempt ended. `GraceExpired`: not within the grace after a stop or timeout. */
export type CodeEnd =
  | { readonly _tag: 'Value'; readonly value: unknown; readonly evidence: ReadonlyArray<Evidence> }
  | { readonly _tag: 'Error'; readonly error: unknown; readonly again?: boolean }
  | { readonly _tag: 'GraceExpired' }

/** Judges how code ended; success counts despite a stop. `refused`: why the attempt fails anyway; `open`: sub-steps that were not awaited. */
export const judge = (
  end: CodeEnd,
  attempt: Attempt,
  {
    timeoutMillis,
    refused,
    open,
    encode,
    put
  }: {
    readonly timeoutMillis: number | undefined
    readonly refused?: StepFailure | undefined
    readonly open: ReadonlyArray<Unit>
    readonly encode: (value: unknown) => E.Either<StepFailure, Json | undefined>
    readonly put: ReadonlyArray<Evidence>
  }
): AttemptResult => {
  const settled = end._tag !== 'GraceExpired'
  const wrong = refused ?? (end._tag === 'Value' && open.length > 0 ? notAwaited(open) : undefined)
  if (wrong === undefined && end._tag === 'Value') {
    const output = encode(end.value)
    if (E.isLeft(output)) return { _tag: 'Failed', failure: output.left, settled }
    const evidence = put.length === 0 ? end.evidence : [...end.evidence, ...put]
    return { _tag: 'Done', output: output.right, evidence }
  }
  const halted = attempt.halt?.why
  const failed = end._tag === 'Error' ? Failure.fromUnknown(end.error) : undefined
  // The timeout replaces the error of the code, but not what the code says about its effects.
  const timedOut = halted === 'timeout' ? Failure.transient(timeout(timeoutMillis), failed?.outcome) : undefined
  const failure = wrong ?? timedOut ?? failed
  if (halted === 'stop' || failure === undefined) return { _tag: 'Stopped', failure: settled ? failure : undefined }
  const again = end._tag === 'Error' && end.again === true && wrong === undefined && halted === undefined
  return { _tag: 'Failed', failure, settled, again }
}

const timeout = (millis: number | undefined): StepError.StepError =>
  StepError.make('TimeoutError', timeoutError(millis).message, { code: 'TIMEOUT' })

/** Redacts a result, before it is recorded, reported or read by later steps. The attempt fails if the redacted output is invalid. */
export const redacted = (
  { vault: { redaction } }: SecuredEnvironment,
  { job, accepts }: Pick<ProgramTask, 'job' | 'accepts'>,
  result: AttemptResult
): AttemptResult => {
  if (Redaction.isNone(redaction)) return result
  const without = <F extends StepFailure>(failure: F): F => ({
    ...failure,
    error: Redaction.error(redaction, failure.error)
  })
  switch (result._tag) {
    case 'Suspended':
      return result
    case 'Stopped':
      return result.failure === undefined ? result : { ...result, failure: without(result.failure) }
    case 'Failed':
      return { ...result, failure: without(result.failure) }
    case 'Done': {
      if (result.evidence.some((one) => redactedEvidence(redaction, one) !== one)) return unusable(IN_EVIDENCE)
      if (result.output === undefined) return result
      const output = Redaction.json(redaction, result.output)
      const accepted = output === result.output || job !== undefined ? E.right(undefined) : accepts(output)
      return E.isRight(accepted)
        ? { ...result, output }
        : unusable(
            `without the value of a secret the output${atPath(accepted.left.path)} would no longer be ${accepted.left.expected}`
          )
    }
  }
}

const IN_EVIDENCE = 'an evidence path or artifact id contains a secret; rename it'

/** The step ran, so its outcome is unknown. */
const unusable = (message: string): AttemptResult => ({
  _tag: 'Failed',
  failure: Failure.permanent(StepError.make('SecretInOutput', message, { code: 'SECRET_IN_OUTPUT' })),
  settled: true
})

/**
 * Returns the delay before the next attempt of a failed unit; none if there is no next one. Unless a user asked for another attempt, a unit that
 * is not idempotent is retried only if it is known to have done nothing. Also adds the unit to `notRetried` if it has retries left but its error
 * is permanent. A failed check is not an error of the unit.
 */
export const nextDelay = (
  { environment, notRetried }: RunScope,
  unit: Unit,
  { failure, settled, again }: AttemptResult & { readonly _tag: 'Failed' },
  { attempt, endedAt }: AttemptTimes,
  { retry, idempotent, firstStartedAt }: Retried
): O.Option<number> => {
  const isRuledOut = failure._tag === 'Permanent' && failure.error.code !== CHECK_FAILED
  if (isRuledOut && attempt < retry.attempts) notRetried.add(unit)
  else notRetried.delete(unit)
  if (again === true) return O.some(0)
  const mayRetry = settled && failure._tag === 'Transient' && (idempotent || failure.outcome === 'notApplied')
  return mayRetry
    ? delay(retry, { attempt, elapsedMillis: endedAt - firstStartedAt, random: randomOf(environment) })
    : O.none
}

/** `firstStartedAt`: the start of the first attempt, from which `withinMillis` counts. */
interface Retried {
  readonly retry: RetryPolicy
  readonly idempotent: boolean
  readonly firstStartedAt: number
}
