/** Checks the attempts of tasks and sub-steps: none starts before its start is recorded, after its record, or again without an answer. */
import type { Unit } from '../../../domain/workflow/Unit.js'
import { fromTop, isWithin } from '../../../domain/workflow/Unit.js'
import { ifTag } from '../../byTag.js'
import { isForced } from '../Intervention.js'
import type { Call, ChangeLog, Entry, Report } from './ChangeLog.js'
import { forget, isRewound } from './ChangeLog.js'

export type AttemptOracle = ReturnType<typeof makeAttemptOracle>

export const makeAttemptOracle = (report: Report, changeLog: ChangeLog) => {
  const calls = new Map<number, Call>()
  /** The units, not idempotent, that may have taken effect. */
  const acted = new Set<Unit>()
  /** The recorded failures of sub-steps that a repeated attempt must return again. */
  const failed = new Set<Unit>()
  /** The attempts that started and have no recorded end. */
  const begun = new Map<Unit, number>()
  let current: Call | undefined
  /** The attempts whose start this process recorded. */
  let started = new Map<Unit, number>()
  /** The units whose answer is used up. */
  let answered = new Set<Unit>()
  const isAnswered = (call: Call | undefined, unit: Unit): boolean =>
    fromTop(unit).some((one) => call?.answers.has(one))
  const mayRunAgain = (call: Call | undefined, unit: Unit): boolean =>
    isAnswered(call, unit) || isForced(unit, call?.override)
  const settles = ({ unit: settled }: { readonly unit: Unit }): void =>
    forget([acted, failed], (unit) => isWithin(unit, settled))
  return {
    begins: (call: Call): void => {
      calls.set(call.life, call)
      current = call
      started = new Map()
      answered = new Set()
    },
    /** `attempt`: of a task; the code of a sub-step does not know it. */
    starts: (unit: Unit, idempotent: boolean, attempt?: number): void => {
      const { records, jobs } = changeLog.recorded()
      if (records.has(unit)) report('NothingTwice', `${unit} was recorded completed, and ran again`, unit)
      if (jobs.has(unit)) report('NothingTwice', `the job of ${unit} is pending, and it was submitted again`, unit)
      if (failed.has(unit)) report('NothingTwice', `the failure of ${unit} was recorded, and it ran again`, unit)
      const isRecorded = attempt === undefined ? idempotent || started.has(unit) : started.get(unit) === attempt
      if (!isRecorded) {
        const what = attempt === undefined ? unit : `attempt ${attempt} of ${unit}`
        report('DurableFirst', `${what} started before its start was recorded`, unit)
      }
      if (idempotent) return
      const hasNewAnswer = isAnswered(current, unit) && !answered.has(unit)
      if (acted.has(unit) && !hasNewAnswer)
        report('AtMostOnce', `${unit} is not idempotent, may have taken effect, and ran again without an answer`, unit)
      answered.add(unit)
      acted.add(unit)
    },
    didNothing: (unit: Unit): void => void acted.delete(unit),
    recorded: ({ life, change }: Entry): void =>
      void ifTag(change, {
        AttemptStarted: ({ attempts }) => {
          for (const { unit, attempt } of attempts) {
            if (current?.life === life) started.set(unit, attempt)
            if (begun.get(unit) !== attempt) forget([failed], (one) => one !== unit && isWithin(one, unit))
            begun.set(unit, attempt)
          }
        },
        AttemptFailed: ({ unit }) => begun.delete(unit),
        UnitFailed: ({ unit, subStep }) => {
          begun.delete(unit)
          if (subStep !== undefined) failed.add(unit)
        },
        UnitCompleted: ({ unit }) => begun.delete(unit),
        JobEnded: ({ unit, outcome }) => outcome === 'notApplied' && acted.delete(unit),
        Rewound: (rewind) => {
          forget([begun, failed], (unit) => isRewound(rewind, unit))
          forget([acted], (unit) => isRewound(rewind, unit) && mayRunAgain(calls.get(life), unit))
        },
        Confirmed: settles,
        Assumed: settles
      })
  }
}
