/** Checks that recorded sub-steps do not run again. */
import type { Unit } from '../../../domain/workflow/Unit.js'
import { fromTop, isWithin } from '../../../domain/workflow/Unit.js'
import { isForced } from '../Intervention.js'
import type { Call, ChangeLog, Entry, Note } from './ChangeLog.js'
import { forget, isRewound } from './ChangeLog.js'

export interface SubStepOracle {
  readonly begins: (call: Call) => void
  readonly starts: (unit: string, idempotent: boolean) => void
  readonly didNothing: (unit: string) => void
  readonly recorded: (entry: Entry) => void
}

export const makeSubStepOracle = (found: Note, changeLog: Pick<ChangeLog, 'recorded'>): SubStepOracle => {
  const calls = new Map<number, Call>()
  const acted = new Set<Unit>()
  /** The recorded failures that a repeated attempt must return again. */
  const failed = new Set<Unit>()
  const begun = new Map<Unit, number>()
  let current: Call | undefined
  let started = new Set<Unit>()
  let answered = new Set<Unit>()

  const isAnswered = (call: Call | undefined, unit: Unit): boolean =>
    fromTop(unit).some((one) => call?.answers.has(one))

  const isMeant = (call: Call | undefined, unit: Unit): boolean =>
    isAnswered(call, unit) || isForced(unit, call?.override)

  return {
    begins: (call) => {
      calls.set(call.life, call)
      current = call
      started = new Set()
      answered = new Set()
    },
    starts: (unit, idempotent) => {
      if (changeLog.recorded().records.has(unit)) found('NothingTwice', `${unit} was recorded, and ran again`, unit)
      if (failed.has(unit)) found('NothingTwice', `the failure of ${unit} was recorded, and it ran again`, unit)
      if (idempotent) return
      if (!started.has(unit)) found('DurableFirst', `${unit} started before its start was recorded`, unit)
      const isSaid = isAnswered(current, unit) && !answered.has(unit)
      if (acted.has(unit) && !isSaid)
        found('AtMostOnce', `${unit} is not idempotent, may have taken effect, and ran again without an answer`, unit)
      answered.add(unit)
      acted.add(unit)
    },
    didNothing: (unit) => void acted.delete(unit),
    recorded: ({ life, change }) => {
      switch (change._tag) {
        case 'AttemptStarted':
          for (const { unit, attempt } of change.attempts) {
            if (current?.life === life) started.add(unit)
            if (begun.get(unit) !== attempt) forget([failed], (one) => one !== unit && isWithin(one, unit))
            begun.set(unit, attempt)
          }
          break
        case 'UnitFailed':
        case 'AttemptFailed':
          begun.delete(change.unit)
          if (change._tag === 'UnitFailed' && change.subStep !== undefined) failed.add(change.unit)
          break
        case 'Rewound':
          forget([begun, failed], (unit) => isRewound(change, unit))
          forget([acted], (unit) => isRewound(change, unit) && isMeant(calls.get(life), unit))
          break
        case 'Confirmed':
        case 'Assumed':
          forget([acted, failed], (unit) => isWithin(unit, change.unit))
          break
        case 'UnitCompleted':
          begun.delete(change.unit)
          break
        default:
          break
      }
    }
  }
}
