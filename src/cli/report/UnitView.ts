/** The units of a run as text and JSON. */
import * as O from 'fp-ts/lib/Option.js'
import { presentOf } from '../../domain/checkpoint/Due.js'
import type { JsonObject } from '../../domain/data/Json.js'
import { describeReason } from '../../domain/explain/Explain.js'
import { printable } from '../../domain/explain/printable.js'
import type { UnitView } from '../../domain/explain/UnitView.js'
import type { Decision } from '../../domain/plan/Plan.js'
import { openReason } from '../../domain/plan/decideTask.js'
import type { RunView } from '../../executor/storage/runs.js'
import { waitText } from './pending.js'
import { duration, grouped } from '../../view/text.js'
import { waitEnd } from '../../view/waitEnd.js'

const PARTS = { task: 'parts', 'sub-step': 'parts', sequence: 'steps', wave: 'groups', map: 'groups' } as const

export const describe = (run: RunView, view: UnitView, now: string): string => {
  const { kind, status, assumed, parts, attempts, durationMillis, pending } = view
  const stopped = stopOf(run, view)
  const wait = waitEnd(view, presentOf(run, now)) ?? (pending === undefined ? undefined : printable(waitText(pending)))
  return [
    assumed ? 'assumed done' : (stopped ?? status),
    ...(parts === undefined ? [] : [`${grouped(parts.completed)}/${grouped(parts.total)} ${PARTS[kind]}`]),
    ...(wait === undefined ? [] : [wait]),
    ...(attempts > 1 && stopped === undefined ? [`attempt ${attempts}`] : []),
    ...(durationMillis === undefined || assumed ? [] : [duration(durationMillis)])
  ].join(', ')
}

/** Why a unit that is recorded as in flight does not run any more, in the words of the plan. */
const stopOf = (
  { checkpoint: { state }, heldBy }: RunView,
  { unit, status, attempts, parts }: UnitView
): string | undefined => {
  if (status !== 'in flight' || O.isSome(heldBy)) return undefined
  const reason = openReason(state, { unit, attempt: Math.max(1, attempts) })
  return parts === undefined || reason._tag === 'Interrupted' ? describeReason({ reason } as Decision) : 'interrupted'
}

export const toJson = ({ index, unit, status, assumed, attempts, durationMillis, output }: UnitView): JsonObject => ({
  step_index: index,
  unit,
  status: status.replace(' ', '_'),
  assumed,
  attempts,
  duration_millis: durationMillis ?? null,
  output: output ?? null
})
