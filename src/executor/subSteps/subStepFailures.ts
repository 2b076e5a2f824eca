/** The errors of sub-step calls. */
import type { SubStep } from '../../domain/checkpoint/SubStep.js'
import type { Json } from '../../domain/data/Json.js'
import type { OptionProblem } from '../../domain/data/Options.js'
import { describeOption } from '../../domain/data/Options.js'
import * as StepError from '../../domain/data/StepError.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import * as Failure from '../../domain/data/StepFailure.js'
import { atPath, expectedAt } from '../../domain/data/Malformed.js'
import { IN_DOUBT } from '../../domain/plan/subSteps.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import type { OutputMismatch } from '../../domain/workflow/Workflow.js'

/** Makes an `Error` that is a `StepFailure` as well, so that a task that rejects with it fails in the same way. */
export const errorOf = (failure: StepFailure): Error => {
  const { name, message, code, data } = failure.error
  const error = Object.assign(new Error(message), code === undefined ? {} : { code })
  const fields = { name, ...(data === undefined ? {} : { data }), ...failure }
  for (const [key, value] of Object.entries(fields))
    Object.defineProperty(error, key, { value, configurable: true, writable: true })
  return error
}

/** Returns a rejected promise. A rejection that code does not await must not end the process. */
export const rejected = (error: Error): Promise<never> => {
  const promise = Promise.reject<never>(error)
  promise.catch(() => undefined)
  return promise
}

const wrong = (name: string, message: string, code: string): StepFailure =>
  Failure.permanent(StepError.make(name, message, { code }))

export const NO_NAME = wrong(
  'SubStepName',
  'the call needs a name, as in step(name, run), sleep(name, options) or waitFor(name, options)',
  'SUB_STEP_NAME'
)

export const HAS_SECRET = wrong(
  'SecretInSubStep',
  'the name of a sub-step contains a secret; rename it, because names are recorded',
  'SECRET_IN_SUB_STEP'
)

export const noRun = (name: string): StepFailure =>
  wrong('SubStepRun', `sub-step "${name}" has no function to run: step(name, options?, run)`, 'SUB_STEP_RUN')

const notHere = (unit: Unit, name: string): StepFailure =>
  wrong(
    'SubStepNotAllowed',
    `"${unit}" is not idempotent, so it can't call sub-step "${name}"; declare "idempotent: false" at "${name}", not at "${unit}"`,
    'SUB_STEP_NOT_ALLOWED'
  )

const noWait = (why: string): StepFailure => wrong('SubStepNotAllowed', why, 'SUB_STEP_NOT_ALLOWED')

const noWaitHere = (unit: Unit): StepFailure =>
  noWait(`"${unit}" is not idempotent, so its code cannot wait; make the wait a step of the workflow`)

export const noWaitInside = (unit: Unit): StepFailure => noWait(cannotWait(unit))

const cannotWait = (unit: Unit): string =>
  `sub-step "${unit}" cannot wait; call "sleep" or "waitFor" of its task, outside of the sub-step`

const outside = (why: string): StepFailure => wrong('SubStepOutside', why, 'SUB_STEP_OUTSIDE')

const outerStep = (unit: Unit, name: string): StepFailure =>
  outside(
    `sub-step "${name}" was called inside sub-step "${unit}" with the "step" of the outer code; call the "step" of the context that "${unit}" receives`
  )

/** Why a call is refused: `here` in code that is not idempotent; `outer` if the code of a sub-step makes a call of the code around it. */
export interface Refusals {
  readonly here: (unit: Unit, name: string) => StepFailure
  readonly outer: (unit: Unit, name: string) => StepFailure
}

export const OF_SUB_STEP: Refusals = { here: notHere, outer: outerStep }

export const OF_WAIT: Refusals = { here: noWaitHere, outer: (unit) => outside(cannotWait(unit)) }

export const afterEnd = (unit: Unit, name: string): StepFailure =>
  outside(`"${name}" was called after "${unit}" had ended; await each call before the code of "${unit}" returns`)

export const ambiguous = (name: string): StepFailure =>
  wrong(
    'SubStepAmbiguous',
    `another sub-step or wait is open, so a second one named "${name}" can't be numbered; give each its own name`,
    'SUB_STEP_AMBIGUOUS'
  )

export const wrongOption = (unit: Unit, problem: OptionProblem): StepFailure =>
  wrong('SubStepOption', describeOption(problem, unit), 'SUB_STEP_OPTION')

const callName = (wait: SubStep['wait']): string => {
  if (wait === undefined) return 'step'
  return wait === 'Timer' ? 'sleep' : 'waitFor'
}

export const changedKind = (unit: Unit, was: SubStep['wait'], now: SubStep['wait']): StepFailure =>
  wrong(
    'SubStepChanged',
    `"${unit}" is recorded as a call of ${callName(was)}, and is now one of ${callName(now)}; use another name, or resume with fromStep "${unit}"`,
    'SUB_STEP_CHANGED'
  )

export const changedInput = (unit: Unit): StepFailure =>
  wrong(
    'SubStepChanged',
    `"${unit}" is recorded with another input; give it a new name or another "version", or resume with fromStep "${unit}"`,
    'SUB_STEP_CHANGED'
  )

/** The failure of a task whose sub-step, which is not idempotent, needs an answer. `because`: the sub-step that has another version, or `unit`. */
export const taskInDoubt = (unit: Unit, because: Unit): StepFailure =>
  wrong(
    'SubStepInDoubt',
    unit === because
      ? `"${unit}" is not idempotent and may have run; resume, and answer whether it runs again`
      : `"${because}" has another version, so "${unit}", which is not idempotent, would run again; resume, and answer whether it does`,
    IN_DOUBT
  )

/** The recorded failure of a sub-step that needs an answer. */
export const subStepInDoubt = (unit: Unit, because: Unit): StepFailure =>
  Failure.permanent(
    StepError.make(
      'SubStepInDoubt',
      unit === because
        ? 'an earlier attempt may have run it'
        : `an earlier attempt ran it, and it would run again because "${because}" has another version`,
      { code: IN_DOUBT }
    )
  )

export const usedAlready = (unit: Unit): StepFailure =>
  wrong(
    'SubStepVersion',
    `"${unit}" has another version, and this attempt has used what was recorded after it; resume`,
    'SUB_STEP_VERSION'
  )

export const notAwaited = (left: ReadonlyArray<Unit>): StepFailure =>
  Failure.permanent(
    StepError.make(
      'SubStepNotAwaited',
      `it returned while ${left.map((unit) => `"${unit}"`).join(', ')} ran; await each sub-step`,
      {
        code: 'SUB_STEP_NOT_AWAITED'
      }
    )
  )

/** The code has run, so it may have taken effect: a permanent failure with an unknown outcome. */
export const notStorable = (what: string, { path, expected }: OutputMismatch): StepFailure =>
  Failure.permanent(
    StepError.make('OutputNotStorable', `${what}${atPath(path)} must be ${expected}`, {
      code: 'OUTPUT_NOT_STORABLE'
    })
  )

export interface OutputRecord {
  readonly unit: Unit
  readonly output?: Json | undefined
  readonly assumed?: true
}

export const notDecodable = ({ unit, assumed }: OutputRecord, mismatch: OutputMismatch): StepFailure =>
  wrong(
    'OutputNotDecodable',
    assumed === true
      ? `"${unit}" was declared done without an output that it accepts: ${expectedAt(mismatch)}; resume with the answer done and that output`
      : `the recorded output of "${unit}"${atPath(mismatch.path)} must be ${mismatch.expected}; give it another "version", or resume with fromStep "${unit}"`,
    'OUTPUT_NOT_DECODABLE'
  )

export const notSaved = (why: string): StepFailure =>
  Failure.permanent(
    StepError.make('NotSaved', `the state of the run could not be saved (${why})`, { code: 'NOT_SAVED' })
  )
