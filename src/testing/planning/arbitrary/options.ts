/** What may be asked of a plan. */
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import type { Evidence } from '../../../domain/checkpoint/CompletedStep.js'
import type { Json } from '../../../domain/data/Json.js'
import type {
  Answer,
  Changed,
  ChangedEvidence,
  FoundEvidence,
  MissingEvidence,
  PlanOptions
} from '../../../domain/plan/Plan.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { top } from '../../../domain/workflow/Unit.js'
import type { Dice } from './Dice.js'
import { pick } from './Dice.js'
import type { Samples } from './Samples.js'
import { defaultSamples, doneAnswer, taskUnits } from './Samples.js'
import type { Moment } from './Tape.js'
import { unitsIn } from './tree.js'

/** What may be asked of a plan, as the dice say: mostly nothing. */
export const chooseOptions = (dice: Dice, moment: Moment, samples: Samples = defaultSamples): PlanOptions => {
  const isFrom = dice.roll(5) === 4
  const options: PlanOptions = {
    ...(isFrom ? { fromStep: chooseUnit(dice, moment) } : {}),
    ...(dice.roll(isFrom ? 3 : 5) === 2 ? chooseRestart(dice, moment) : {}),
    ...(dice.roll(4) === 3 ? { changes: pick(dice, ['ignore', 'ignore', 'strict', 'completed'] as const) } : {}),
    ...(dice.roll(4) === 3 ? { confirm: chooseAnswers(dice, moment, samples) } : {}),
    ...(dice.roll(3) === 2 ? { outputs: chooseOutputs(dice, moment, samples) } : {}),
    ...(dice.roll(4) === 3 ? { evidence: chooseFound(dice, moment.checkpoint) } : {}),
    ...(dice.roll(8) === 7 ? { onChanged: 'keep' as const } : {})
  }
  return options.fromStep !== undefined && dice.roll(2) === 1 ? { ...options, input: pick(dice, INPUTS) } : options
}

/** Inputs that may replace the recorded one. */
const INPUTS: ReadonlyArray<Json> = [{ channel: 'stable' }, { replaced: 1 }, {}, 'text', null]

const chooseFound = (dice: Dice, checkpoint: Checkpoint): ReadonlyArray<FoundEvidence> => [
  ...(dice.roll(2) === 0 ? chooseMissing(dice, checkpoint) : []),
  ...(dice.roll(2) === 0 ? chooseChanged(dice, checkpoint) : [])
]

/** Any unit, on any level. */
export const chooseUnit = (dice: Dice, { checkpoint, workflow }: Moment): Unit =>
  pick(dice, unitsIn(workflow, checkpoint.items)).unit

/** A wave or a map to restart, if there is one. */
export const chooseRestart = (dice: Dice, { checkpoint, workflow }: Moment): Pick<PlanOptions, 'restartWave'> => {
  const waves = unitsIn(workflow, checkpoint.items).filter(({ step: { _tag } }) => _tag === 'Wave' || _tag === 'Map')
  return waves.length === 0 ? {} : { restartWave: pick(dice, waves).unit }
}

const chooseAnswers = (dice: Dice, { checkpoint, workflow }: Moment, samples: Samples): ReadonlyMap<string, Answer> => {
  const answers = new Map<string, Answer>()
  for (const [name, task] of taskUnits(workflow, checkpoint.items)) {
    const roll = dice.roll(6)
    if (roll === 4) answers.set(name, { _tag: 'Again' })
    if (roll === 5) answers.set(name, doneAnswer(samples, task, name, dice))
  }
  return answers
}

/** An output for each unit of which one is known. */
export const chooseOutputs = (
  dice: Dice,
  { checkpoint, workflow }: Moment,
  samples: Samples
): ReadonlyMap<string, Json> => {
  const outputs = new Map<string, Json>()
  for (const [name, task] of taskUnits(workflow, checkpoint.items)) {
    const answer = doneAnswer(samples, task, name, dice)
    if (answer._tag === 'Done' && answer.output !== undefined) outputs.set(name, answer.output)
  }
  return outputs
}

/** Evidence that is gone, of some of the units that are recorded. */
export const chooseMissing = (dice: Dice, { completedSteps }: Checkpoint): ReadonlyArray<MissingEvidence> =>
  [...completedSteps]
    .filter(() => dice.roll(3) === 2)
    .map(({ unit }) => ({ unit, missing: [{ _tag: 'File', path: `${top(unit)}.txt` }] }))

/** Arbitrary changed evidence, at some of the places that units have recorded: the record, and the current state. */
export const chooseChanged = (dice: Dice, { completedSteps, revision }: Checkpoint): ReadonlyArray<ChangedEvidence> => {
  const now = new Map<string, Evidence | undefined>()
  return [...completedSteps].flatMap(({ unit, evidence }): ReadonlyArray<ChangedEvidence> => {
    const [first, ...more] = evidence.flatMap((was): ReadonlyArray<Changed> => {
      const place = placeOf(was)
      if (place === undefined) return []
      if (!now.has(place)) now.set(place, dice.roll(2) === 0 ? otherThan(was, revision) : undefined)
      const is = now.get(place)
      return is === undefined ? [] : [{ was, is }]
    })
    return first === undefined ? [] : [{ unit, changed: [first, ...more] }]
  })
}

/** The place of evidence that may change; for a file only its existence counts. */
const placeOf = (one: Evidence): string | undefined =>
  one._tag === 'Commit' ? one.hash : one._tag === 'Artifact' ? one.path : undefined

/** Content that no earlier revision can have recorded. */
const otherThan = (was: Evidence, revision: number): Evidence =>
  was._tag === 'Artifact' ? { ...was, size: 1000 + revision } : { _tag: 'Commit', hash: `decade${revision}` }
