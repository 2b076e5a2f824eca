/** Answers one question of a plan beforehand, as changes, without the code of the workflow. */
import * as E from 'fp-ts/lib/Either.js'
import type { Change } from '../change/Change.js'
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import { get } from '../checkpoint/Units.js'
import type { Unit } from '../workflow/Unit.js'
import { isWithin } from '../workflow/Unit.js'
import { toWorkflow } from '../workflow/WorkflowIdentity.js'
import { placeOf } from './changedEvidence.js'
import { overrides } from './Overrides.js'
import type { Answer, FoundEvidence, PlanError } from './Plan.js'
import { openQuestions } from './Plan.js'
import { planResume } from './planResume.js'

/** No question about the unit is open, or the answer would run units again that have one. `asked`: the units with the questions. */
export interface Unanswerable {
  readonly _tag: 'NotAsked' | 'OthersFirst'
  readonly asked: ReadonlyArray<Unit>
}

/** Returns the changes of an answer. Other questions, and missing evidence, stay for the resume. */
export const answerQuestion = (
  checkpoint: Checkpoint,
  evidence: ReadonlyArray<FoundEvidence>,
  { unit, answer, at }: { readonly unit: Unit; readonly answer: Answer; readonly at: string }
): E.Either<PlanError | Unanswerable, ReadonlyArray<Change>> => {
  const workflow = toWorkflow(checkpoint.workflow)
  const plan = planResume(checkpoint, workflow, { evidence })
  if (E.isLeft(plan)) return plan
  if (answer._tag === 'Done' && isNewlyAssumed(checkpoint, unit))
    return E.right(replacing(checkpoint, unit, answer, at))
  const asked = openQuestions(plan.right).map((one) => one.unit)
  if (!asked.includes(unit)) return E.left({ _tag: 'NotAsked', asked })
  const options = { evidence: atSamePlaces(evidence, unit), confirm: new Map([[unit, answer]]) }
  const answered = planResume(checkpoint, workflow, options)
  if (E.isLeft(answered)) return answered
  const changes = overrides(checkpoint, workflow, answered.right, options, at)
  const dropped = changes.flatMap((change) => (change._tag === 'Rewound' ? change.units : []))
  const others = asked.filter((one) => one !== unit && dropped.some((above) => isWithin(one, above)))
  return others.length > 0 ? E.left({ _tag: 'OthersFirst', asked: others }) : E.right(changes)
}

/** Nothing has run since the unit was answered as done. */
const isNewlyAssumed = ({ completedSteps }: Checkpoint, unit: Unit): boolean => {
  const records = [...completedSteps]
  const index = records.findIndex((record) => record.unit === unit)
  return index >= 0 && records.slice(index).every(({ assumed }) => assumed === true)
}

/** Replaces the output of a unit that was answered as done. */
const replacing = (
  { completedSteps }: Checkpoint,
  unit: Unit,
  { output }: Answer & { readonly _tag: 'Done' },
  at: string
): ReadonlyArray<Change> => {
  const { captured = [], subStep } = get(completedSteps, unit) ?? {}
  const given = output === undefined ? {} : { output }
  const call = subStep === undefined ? {} : { subStep }
  return [
    { _tag: 'Rewound', at, units: [unit], why: 'Answered' },
    { _tag: 'Assumed', at, unit, captured, ...given, ...call }
  ]
}

/** The changed evidence at the places where that of one unit changed. */
const atSamePlaces = (found: ReadonlyArray<FoundEvidence>, unit: Unit): ReadonlyArray<FoundEvidence> => {
  const placesOf = (one: FoundEvidence): ReadonlyArray<string> =>
    'changed' in one ? one.changed.map(({ was }) => placeOf(was)) : []
  const places = new Set(found.filter((one) => one.unit === unit).flatMap(placesOf))
  return found.filter((one) => placesOf(one).some((place) => places.has(place)))
}
