/** Calls an attempt inside the `around` of the environment, which must call it exactly once. */
import * as Redaction from '../../domain/data/Redaction.js'
import * as StepError from '../../domain/data/StepError.js'
import * as Failure from '../../domain/data/StepFailure.js'
import type { RunScope } from '../RunScope.js'
import { errorOf, rejected } from '../subSteps/subStepFailures.js'
import type { Place } from '../Values.js'
import type { Attempt } from './Attempt.js'
import { NOT_STARTED } from './unitChecks.js'

/** How code ended. `Left` and `Error` are failures. */
type End = { readonly _tag: string; readonly left?: unknown; readonly error?: unknown }

/** Replaces the end of code that did not run, or that `around` called twice. */
interface NoResult {
  readonly _tag: 'Error'
  readonly error: Failure.StepFailure
}

/** `rejectAct` is called when the attempt ends. If its code still runs, the promise of `act`, which `around` may await, rejects. */
export interface Wrapped<A> {
  readonly run: () => Promise<A | NoResult>
  readonly rejectAct: (end: End) => void
}

/** Once `around` has called `act` and ended, only the end of the code counts: a tracer that fails does not fail the step; one that hangs does. */
export const wrapped = <A extends End>(
  { environment, recorder }: RunScope,
  place: Place,
  attempt: Attempt,
  run: () => Promise<A>
): Wrapped<A> => {
  const { around, vault } = environment
  if (around === undefined) return { run, rejectAct: () => undefined }
  let calls = 0
  let hasEnded = false
  let code: Promise<A | NoResult> | undefined
  let reject: (reason: unknown) => void = () => undefined
  const act = (): Promise<void> => {
    calls += 1
    if (calls > 1) return rejected(new Error(CALLED_TWICE))
    if (hasEnded) return rejected(new DOMException(LATE, 'AbortError'))
    if (attempt.halt !== undefined) {
      code = Promise.resolve(STOPPED)
      return rejected(new DOMException(LATE, 'AbortError'))
    }
    const called = (code = run())
    const acted = new Promise<void>((resolve, refuse) => {
      reject = refuse
      const fail = (error: unknown): void => {
        const failure = Failure.fromUnknown(error)
        refuse(errorOf({ ...failure, error: Redaction.error(vault.redaction, failure.error) }))
      }
      called.then(
        (end) => (end._tag === 'Left' ? fail(end.left) : end._tag === 'Error' ? fail(end.error) : resolve()),
        fail
      )
    })
    // An `around` that does not await the promise must not end the process.
    acted.catch(() => undefined)
    return acted
  }
  const { runId } = recorder.checkpoint()
  return {
    run: async () => {
      let thrown: unknown
      try {
        await around({ runId, ...place }, attempt.number, act)
      } catch (error) {
        thrown = error
      }
      hasEnded = true
      if (code === undefined) return misused(NOT_CALLED, 'notApplied', thrown)
      const end = await code
      return calls > 1 ? misused(CALLED_TWICE, 'unknown') : end
    },
    rejectAct: ({ _tag }) => {
      if (_tag === 'Suspended' || _tag === 'GraceExpired') reject(new DOMException(CUT, 'AbortError'))
    }
  }
}

/** The stop or the timeout came before the code was called. */
const STOPPED: NoResult = { _tag: 'Error', error: NOT_STARTED }

const REMEDY = 'call it exactly once, and return its promise'

const NOT_CALLED = `\`around\` of the environment did not call \`act\`; ${REMEDY}`

const CALLED_TWICE = `\`around\` of the environment called \`act\` more than once; ${REMEDY}`

const LATE = 'the attempt ended before its code began'

const CUT = 'the attempt ended before its code did: it waits, or did not stop in time'

const misused = (message: string, outcome: Failure.StepFailure['outcome'], cause?: unknown): NoResult => {
  const why = cause === undefined ? message : `${message}. It failed: ${StepError.fromUnknown(cause).message}`
  return {
    _tag: 'Error',
    error: Failure.permanent(StepError.make('AroundMisused', why, { code: 'AROUND_MISUSED' }), outcome)
  }
}
