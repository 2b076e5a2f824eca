/** Arbitrary plan options. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import type { Evidence } from '../../../domain/checkpoint/CompletedStep.js'
import type { Json } from '../../../domain/data/Json.js'
import type {
  Answer,
  Changed,
  ChangedEvidence,
  Confirm,
  FoundEvidence,
  MissingEvidence,
  PlanOptions
} from '../../../domain/plan/Plan.js'
import { answersTo, openQuestions } from '../../../domain/plan/Plan.js'
import { planResume } from '../../../domain/plan/planResume.js'
import { find } from '../../../domain/checkpoint/Tree.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { nameOf, top } from '../../../domain/workflow/Unit.js'
import type { Step, Task } from '../../../domain/workflow/Workflow.js'
import { task } from '../../../domain/workflow/Workflow.js'
import type { Choices } from './Choices.js'
import { doneAnswer, pick } from './Choices.js'
import { keyOf } from './records.js'
import type { Moment } from './RunRecorder.js'
import { isSubStep, taskUnits, unitsIn, wholeOf } from './tree.js'

/** Plan options that the choices select; mostly none. */
export const chooseOptions = (choices: Choices, moment: Moment): PlanOptions => {
  const isFrom = choices.below(5) === 4
  const options: PlanOptions = {
    ...(isFrom ? { fromStep: chooseUnit(choices, moment) } : {}),
    ...(choices.below(isFrom ? 3 : 5) === 2 ? chooseRestart(choices, moment) : {}),
    ...(choices.below(4) === 3 ? { changes: pick(choices, ['ignore', 'ignore', 'strict', 'completed'] as const) } : {}),
    ...(choices.below(3) === 2 ? { outputs: chooseOutputs(choices, moment) } : {}),
    ...(choices.below(4) === 3 ? { evidence: chooseEvidence(choices, moment.checkpoint) } : {}),
    ...(choices.below(8) === 7 ? { onChanged: 'keep' as const } : {}),
    ...(choices.below(8) === 7 ? { recovered: true } : {}),
    ...(isFrom && choices.below(2) === 1 ? { input: pick(choices, INPUTS) } : {})
  }
  const isAnswered = choices.below(options.evidence === undefined ? 4 : 2) === 1
  return isAnswered ? { ...options, confirm: chooseAnswers(choices, moment, options) } : options
}

const INPUTS: ReadonlyArray<Json> = [{ channel: 'stable' }, { replaced: 1 }, {}, 'text', null]

const chooseEvidence = (choices: Choices, checkpoint: Checkpoint): ReadonlyArray<FoundEvidence> => [
  ...(choices.below(2) === 0 ? chooseMissing(choices, checkpoint) : []),
  ...(choices.below(2) === 0 ? chooseChanged(choices, checkpoint) : [])
]

export const chooseUnit = (choices: Choices, { checkpoint, workflow }: Moment): Unit =>
  pick(choices, unitsIn(workflow, checkpoint.items)).unit

export const chooseRestart = (choices: Choices, { checkpoint, workflow }: Moment): Pick<PlanOptions, 'restartWave'> => {
  const composites = unitsIn(workflow, checkpoint.items).filter(({ step }) => step._tag !== 'Task')
  return composites.length === 0 ? {} : { restartWave: pick(choices, composites).unit }
}

/** Answers to the questions that a plan with these options asks, or to any tasks. */
const chooseAnswers = (choices: Choices, moment: Moment, options: PlanOptions): ReadonlyMap<string, Answer> => {
  const { checkpoint, workflow } = moment
  const plan = planResume(checkpoint, workflow, options)
  const asked = E.isRight(plan) && choices.below(4) > 0 ? openQuestions(plan.right) : []
  const answers = new Map(asked.map((one) => [one.unit, chooseAnswer(choices, moment, one)]))
  if (answers.size > 0) return answers
  for (const [name, task] of taskUnits(workflow, checkpoint.items)) {
    const below = choices.below(6)
    if (below === 4) answers.set(name, { _tag: 'Again' })
    if (below === 5) answers.set(name, doneAnswer(choices, task, name))
  }
  return answers
}

/** An answer that the question takes. */
export const chooseAnswer = (choices: Choices, { checkpoint, workflow }: Moment, question: Confirm): Answer => {
  const { unit } = question
  const step = find<Step>(workflow, checkpoint.items, unit)?.definition
  if (answersTo(question).includes('Keep') && choices.below(3) === 2) return { _tag: 'Keep' }
  if (choices.below(2) === 0) return { _tag: 'Again' }
  return doneAnswer(choices, taskOf(step, unit), unit)
}

const taskOf = (step: Step | undefined, unit: Unit): Task => {
  if (step === undefined && isSubStep(unit)) return task(nameOf(unit))
  if (step === undefined) return assert.fail(`nothing at ${unit}`)
  return step._tag === 'Task' ? step : wholeOf(step)
}

/** An output for each unit that has samples. */
export const chooseOutputs = (choices: Choices, { checkpoint, workflow }: Moment): ReadonlyMap<string, Json> => {
  const outputs = new Map<string, Json>()
  for (const [name, task] of taskUnits(workflow, checkpoint.items)) {
    const answer = doneAnswer(choices, task, name)
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
export const chooseChanged = (choices: Choices, checkpoint: Checkpoint): ReadonlyArray<ChangedEvidence> => {
  const now = new Map<string, Evidence | undefined>()
  return changedIn(checkpoint, (was) => {
    // A file is identified by its existence only.
    if (was._tag !== 'Commit' && was._tag !== 'Artifact') return []
    const key = keyOf(was)
    if (!now.has(key)) now.set(key, choices.below(2) === 0 ? otherThan(was, checkpoint.revision) : undefined)
    const is = now.get(key)
    return is === undefined ? [] : [{ was, is }]
  })
}

/** The records with changed evidence. */
export const changedIn = (
  { completedSteps }: Checkpoint,
  changeOf: (was: Evidence) => ReadonlyArray<Changed>
): ReadonlyArray<ChangedEvidence> =>
  [...completedSteps].flatMap(({ unit, evidence }): ReadonlyArray<ChangedEvidence> => {
    const [first, ...more] = evidence.flatMap(changeOf)
    return first === undefined ? [] : [{ unit, changed: [first, ...more] }]
  })

/** Content that no earlier revision recorded. */
const otherThan = (was: Evidence, revision: number): Evidence =>
  was._tag === 'Artifact' ? { ...was, size: 1000 + revision } : { _tag: 'Commit', hash: `decade${revision}` }
