/** The units that a resume skips. */
import type { ResumePlan } from '../../domain/plan/Plan.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { parent } from '../../domain/workflow/Unit.js'

/** Leaves out the parts of a skipped unit, and what the user assumed done. */
export const skippedBy = ({ decisions }: ResumePlan): ReadonlyArray<Unit> => {
  const all = new Set(decisions.flatMap((one) => (one._tag === 'Skip' && DONE.has(one.reason._tag) ? [one.unit] : [])))
  return [...all].filter((unit) => !all.has(parent(unit) ?? ''))
}

/** The units that the user assumed done, without those that have parts. */
export const assumedIn = ({ decisions }: ResumePlan): ReadonlyArray<Unit> =>
  decisions.flatMap(({ reason, unit }, index) =>
    reason._tag === 'Assumed' && parent(decisions[index + 1]?.unit ?? '') !== unit ? [unit] : []
  )

const DONE: ReadonlySet<string> = new Set(['Completed', 'AcceptedDespiteChange', 'EvidenceChanged'])
