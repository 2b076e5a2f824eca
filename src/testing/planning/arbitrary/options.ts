/** Arbitrary plan options. */
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
import type { Choices } from './Choices.js'
import { pick } from './Choices.js'
import type { Samples } from './Samples.js'
import { defaultSamples, doneAnswer, taskUnits } from './Samples.js'
import type { Moment } from './RunRecorder.js'
import { unitsIn } from './tree.js'

/** Plan options that the choices select; mostly none. */
export const chooseOptions = (choices: Choices, moment: Moment, samples: Samples = defaultSamples): PlanOptions => {
  const isFrom = choices.below(5) === 4
  const options: PlanOptions = {
    ...(isFrom ? { fromStep: chooseUnit(choices, moment) } : {}),
    ...(choices.below(isFrom ? 3 : 5) === 2 ? chooseRestart(choices, moment) : {}),
    ...(choices.below(4) === 3 ? { changes: pick(choices, ['ignore', 'ignore', 'strict', 'completed'] as const) } : {}),
    ...(choices.below(4) === 3 ? { confirm: chooseAnswers(choices, moment, samples) } : {}),
    ...(choices.below(3) === 2 ? { outputs: chooseOutputs(choices, moment, samples) } : {}),
    ...(choices.below(4) === 3 ? { evidence: chooseFound(choices, moment.checkpoint) } : {}),
    ...(choices.below(8) === 7 ? { onChanged: 'keep' as const } : {})
  }
  return options.fromStep !== undefined && choices.below(2) === 1
    ? { ...options, input: pick(choices, INPUTS) }
    : options
}

const INPUTS: ReadonlyArray<Json> = [{ channel: 'stable' }, { replaced: 1 }, {}, 'text', null]

const chooseFound = (choices: Choices, checkpoint: Checkpoint): ReadonlyArray<FoundEvidence> => [
  ...(choices.below(2) === 0 ? chooseMissing(choices, checkpoint) : []),
  ...(choices.below(2) === 0 ? chooseChanged(choices, checkpoint) : [])
]

export const chooseUnit = (choices: Choices, { checkpoint, workflow }: Moment): Unit =>
  pick(choices, unitsIn(workflow, checkpoint.items)).unit

export const chooseRestart = (choices: Choices, { checkpoint, workflow }: Moment): Pick<PlanOptions, 'restartWave'> => {
  const waves = unitsIn(workflow, checkpoint.items).filter(({ step: { _tag } }) => _tag === 'Wave' || _tag === 'Map')
  return waves.length === 0 ? {} : { restartWave: pick(choices, waves).unit }
}

const chooseAnswers = (
  choices: Choices,
  { checkpoint, workflow }: Moment,
  samples: Samples
): ReadonlyMap<string, Answer> => {
  const answers = new Map<string, Answer>()
  for (const [name, task] of taskUnits(workflow, checkpoint.items)) {
    const below = choices.below(6)
    if (below === 4) answers.set(name, { _tag: 'Again' })
    if (below === 5) answers.set(name, doneAnswer(samples, task, name, choices))
  }
  return answers
}

/** An output for each unit that has samples. */
export const chooseOutputs = (
  choices: Choices,
  { checkpoint, workflow }: Moment,
  samples: Samples
): ReadonlyMap<string, Json> => {
  const outputs = new Map<string, Json>()
  for (const [name, task] of taskUnits(workflow, checkpoint.items)) {
    const answer = doneAnswer(samples, task, name, choices)
    if (answer._tag === 'Done' && answer.output !== undefined) outputs.set(name, answer.output)
  }
  return outputs
}

/** Missing evidence of some recorded units. */
export const chooseMissing = (choices: Choices, { completedSteps }: Checkpoint): ReadonlyArray<MissingEvidence> =>
  [...completedSteps]
    .filter(() => choices.below(3) === 2)
    .map(({ unit }) => ({ unit, missing: [{ _tag: 'File', path: `${top(unit)}.txt` }] }))

/** Changed evidence at some recorded places: the record and the current state. */
export const chooseChanged = (
  choices: Choices,
  { completedSteps, revision }: Checkpoint
): ReadonlyArray<ChangedEvidence> => {
  const now = new Map<string, Evidence | undefined>()
  return [...completedSteps].flatMap(({ unit, evidence }): ReadonlyArray<ChangedEvidence> => {
    const [first, ...more] = evidence.flatMap((was): ReadonlyArray<Changed> => {
      const place = placeOf(was)
      if (place === undefined) return []
      if (!now.has(place)) now.set(place, choices.below(2) === 0 ? otherThan(was, revision) : undefined)
      const is = now.get(place)
      return is === undefined ? [] : [{ was, is }]
    })
    return first === undefined ? [] : [{ unit, changed: [first, ...more] }]
  })
}

/** A file is identified by its existence only. */
const placeOf = (one: Evidence): string | undefined =>
  one._tag === 'Commit' ? one.hash : one._tag === 'Artifact' ? one.path : undefined

/** Content that no earlier revision recorded. */
const otherThan = (was: Evidence, revision: number): Evidence =>
  was._tag === 'Artifact' ? { ...was, size: 1000 + revision } : { _tag: 'Commit', hash: `decade${revision}` }
