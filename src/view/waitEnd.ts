/** Describes how the wait of a unit has ended. */
import { overAt } from '../domain/checkpoint/Due.js'
import { ANSWERED, describeOver } from '../domain/explain/Explain.js'
import type { UnitView } from '../domain/explain/UnitView.js'

/** A unit may be answered before it waits. */
export const waitEnd = ({ pending, answered }: UnitView, now: string | undefined): string | undefined => {
  const over = overAt(pending, answered === true, now)
  if (over !== undefined) return describeOver(over)
  return answered === true ? ANSWERED : undefined
}
