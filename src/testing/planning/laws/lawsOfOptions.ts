/** Laws about plan options, and about evidence that is missing or changed. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import type { CompletedStep, Evidence } from '../../../domain/checkpoint/CompletedStep.js'
import * as Units from '../../../domain/checkpoint/Units.js'
import type { Json } from '../../../domain/data/Json.js'
import type {
  Answer,
  Confirm,
  Decision,
  MissingEvidence,
  PlanOptions,
  Changed,
  ChangedEvidence
} from '../../../domain/plan/Plan.js'
import { answersTo, openQuestions } from '../../../domain/plan/Plan.js'
import type { PlanProblem } from '../../../domain/plan/PlanProblem.js'
import { planResume } from '../../../domain/plan/planResume.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { isWithin } from '../../../domain/workflow/Unit.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { defined } from '../../../domain/data/defined.js'
import { afterIntact } from '../../../domain/plan/evidenceToCheck.js'
import type { Choices } from '../arbitrary/Choices.js'
import { pick, choicesOf, numbers } from '../arbitrary/Choices.js'
import {
  chooseChanged,
  chooseMissing,
  chooseOutputs,
  chooseRestart,
  chooseUnit,
  changedIn
} from '../arbitrary/options.js'
import type { RunsOf } from '../arbitrary/runs.js'
import { moment, momentWithOptions } from '../arbitrary/runs.js'
import type { Moment } from '../arbitrary/RunRecorder.js'
import { isSubStep, positionOf, isOwnChange } from '../arbitrary/tree.js'
import { answerAndCrash, overrideOnly } from '../arbitrary/simulate.js'
import { keyOf } from '../arbitrary/records.js'
import {
  acceptedPlan,
  checkDecision,
  given,
  law,
  lawOfChoices,
  planOf,
  recorded,
  unitsOf,
  waiting,
  works,
  scheduled
} from './PlanLaw.js'

const momentAndChange = (of: RunsOf): fc.Arbitrary<[Moment, ReadonlyArray<ChangedEvidence>]> =>
  fc.tuple(moment(of), numbers).map(([found, chance]) => [found, chooseChanged(choicesOf(chance), found.checkpoint)])

export const lawsOfOptions = [
  lawOfChoices(
    'PL-FORCE-01',
    'fromStep skips all units before its own and runs the others; restartWave runs its unit, and each later unit runs or raises a question; a forced unit raises a question only for a pending job that must not run twice; all other units follow their records',
    moment,
    (moment, choices) => {
      const options = chooseStart(choices, moment)
      const plan = given(acceptedPlan(moment, options))
      const done = recorded(moment.checkpoint)
      const waits = waiting(moment)
      const jobs = [...moment.checkpoint.pending].filter(({ _tag }) => _tag === 'Job')
      for (const decision of works(plan)) {
        const { unit } = decision
        // A map that is expanded again raises one question for the jobs of all its items.
        const mayAsk = jobs.some((job) => isWithin(job.unit, unit))
        const expected = demanded(moment, options, unit)
        if (expected === 'none') {
          checkDecision(decision, 'Skip', done.has(unit))
          checkDecision(decision, 'Poll', waits.has(unit))
        } else if (expected === 'again') checkDecision(decision, 'Skip', false)
        else if (expected === 'Skip' || decision._tag !== 'Confirm' || !mayAsk) checkDecision(decision, expected)
      }
    }
  ),
  lawOfChoices(
    'PL-GONE-01',
    'if evidence of a completed unit is missing, exactly that unit, its dependents in the wave and all later units run again',
    moment,
    (moment, choices) => {
      const evidence = chooseMissing(choices, moment.checkpoint)
      const again = runsAgainAfter(moment, evidence)
      const done = recorded(moment.checkpoint)
      for (const decision of works(planOf(moment, { evidence }))) {
        checkDecision(decision, 'Skip', done.has(decision.unit) && !again(decision))
        const isLost = evidence.some(({ unit }) => unit === decision.unit)
        const isFirst = evidence.every(
          ({ unit }) => !['within', 'after'].includes(positionOf(moment, decision.unit, unit)) || unit === decision.unit
        )
        const { _tag: reason } = decision.reason
        if (isLost && decision._tag === 'Run' && isFirst)
          assert.equal(reason, 'EvidenceMissing', `${decision.unit} lacks evidence, and runs because of ${reason}`)
      }
    }
  ),
  lawOfChoices(
    'PL-ASSUME-01',
    'an assumed unit has its evidence, an output that its task accepts, and a value for each captured variable',
    moment,
    (moment, choices) => {
      const evidence = chooseMissing(choices, moment.checkpoint)
      // Outputs that are not passed come from the records, or are missing.
      const outputs = choices.below(2) === 1 ? { outputs: chooseOutputs(choices, moment) } : {}
      const options = { fromStep: chooseUnit(choices, moment), evidence, ...outputs }
      const plan = given(acceptedPlan(moment, options))
      const lost = new Set(evidence.map(({ unit }) => unit))
      const tasks = unitsOf(moment)
      for (const decision of plan.decisions) {
        const task = tasks.get(decision.unit)
        if (decision._tag !== 'Skip' || task === undefined) continue
        const record = Units.get(moment.checkpoint.completedSteps, decision.unit)
        if (record !== undefined) assert.ok(!lost.has(decision.unit), `${decision.unit} has lost its evidence`)
        const output = outputIn(decision, record)
        assert.ok(E.isRight(task.accepts(output)), `${decision.unit} rejects the output ${JSON.stringify(output)}`)
        const isSet = task.captures.length === 0 || output !== undefined || record !== undefined
        assert.ok(isSet, `${decision.unit} is assumed done without an output for the variables that it captures`)
      }
    }
  ),
  law(
    'PL-DOUBT-04',
    'a completed non-idempotent unit that is to run again gets a question, unless it is forced or answered',
    momentWithOptions,
    ({ moment, options: { confirm: _, ...options } }) => {
      const plan = given(acceptedPlan(moment, options))
      const done = recorded(moment.checkpoint)
      const tasks = unitsOf(moment)
      for (const decision of plan.decisions) {
        const { unit, _tag, reason } = decision
        if (!done.has(unit) || tasks.get(unit)?.idempotent !== false) continue
        if (_tag !== 'Skip' && reason._tag !== 'Forced') checkDecision(decision, 'Confirm')
      }
    }
  ),
  lawOfChoices(
    'PL-DOUBT-05',
    'the answer Done is refused for a unit that runs or is retried without a question',
    moment,
    (moment, choices) => {
      const outputs = chooseOutputs(choices, moment)
      const due = works(planOf(moment)).filter(({ _tag }) => _tag === 'Run' || _tag === 'Retry')
      if (due.length === 0) return
      const name = pick(choices, due).unit
      const output = outputs.get(name)
      const answer = { _tag: 'Done', ...(output === undefined ? {} : { output }) } as const
      const plan = acceptedPlan(moment, { confirm: new Map([[name, answer]]) })
      assert.ok(plan === undefined, `${name} is due to run and not in doubt, and an answer declares it done`)
    }
  ),
  lawOfChoices(
    'PL-ANSWER-01',
    'a question takes exactly the answers that answersTo lists',
    momentWithOptions,
    ({ moment, options: wanted }, choices) => {
      // Half of the questions are about changed evidence.
      const evidence = [...chooseMissing(choices, moment.checkpoint), ...chooseChanged(choices, moment.checkpoint)]
      const options = choices.below(2) === 0 ? wanted : { ...wanted, evidence }
      const plan = given(acceptedPlan(moment, options))
      for (const question of openQuestions(plan)) {
        const takes = answersTo(question)
        for (const _tag of ['Again', 'Keep', 'Done'] as const) {
          const isLegal = takes.includes(_tag)
          const what = `the question about ${question.unit} ${isLegal ? 'does not take' : 'takes'} the answer ${_tag}`
          assert.equal(takesAnswer(moment, options, question, { _tag }), isLegal, what)
        }
      }
    }
  ),
  law(
    'PL-CHANGED-01',
    'changed evidence raises a question at the last unit that recorded it, unless a unit that started later explains it; an open question changes no other decision',
    momentAndChange,
    ([found, evidence]) => {
      const plain = planOf(found)
      const plan = planOf(found, { evidence })
      const asked = new Set(questionedChanges(found, evidence).keys())
      const questions = asked.size > 0 ? [...asked] : openQuestions(plain).map(({ unit }) => unit)
      assert.deepEqual(
        openQuestions(plan)
          .map(({ unit }) => unit)
          .sort(),
        questions.sort()
      )
      const others = (all: ReadonlyArray<Decision>) => all.filter((one) => !asked.has(one.unit))
      assert.deepEqual(others(works(plan)), others(works(plain)))
    }
  ),
  law(
    'PL-CHANGED-02',
    'keeping changed evidence runs nothing and is recorded: the last record then equals the current state',
    momentAndChange,
    ([found, evidence]) => {
      const asked = questionedChanges(found, evidence)
      const confirm = new Map<string, Answer>([...asked.keys()].map((name) => [name, { _tag: 'Keep' }]))
      const plain = planOf(found)
      for (const options of [
        { evidence, confirm },
        { evidence, onChanged: 'keep' as const }
      ]) {
        const plan = planOf(found, options)
        assert.deepEqual(scheduled(plan), scheduled(plain))
        const saved = overrideOnly(found, { plan, options })
        const now = newestByPlace(saved.checkpoint)
        for (const changes of asked.values())
          for (const { was, is } of changes)
            if (is?._tag === 'Artifact') assert.deepEqual(now.get(keyOf(was))?.was, is)
            else assert.ok(!now.has(keyOf(was)), `${keyOf(was)} is recorded although it changed`)
      }
    }
  ),
  law(
    'PL-CHANGED-03',
    'the answer Again to changed evidence runs what missing evidence would run: all units that recorded it and all later ones, and nothing else',
    momentAndChange,
    ([found, evidence]) => {
      const [first] = questionedChanges(found, evidence)
      if (first === undefined) return
      const [name, changes] = first
      const places = new Set(changes.map(({ was }) => keyOf(was)))
      const recordings = recordedEvidence(found.checkpoint).filter(({ was }) => places.has(keyOf(was)))
      const only = evidence.flatMap(({ changed, ...one }): ReadonlyArray<ChangedEvidence> => {
        const [head, ...more] = changed.filter(({ was }) => places.has(keyOf(was)))
        return head === undefined ? [] : [{ ...one, changed: [head, ...more] }]
      })
      const confirm = new Map([[name, { _tag: 'Again' } as const]])
      const lost = recordings.map(({ record: { unit }, was }) => ({ unit, missing: [was] as const }))
      const again = runsAgainAfter(found, lost)
      const done = recorded(found.checkpoint)
      for (const decision of works(planOf(found, { evidence: only, confirm }))) {
        checkDecision(decision, 'Skip', done.has(decision.unit) && !again(decision))
      }
    }
  ),
  lawOfChoices(
    'PL-CHANGED-04',
    'an answer about changed evidence survives a crash: a resume without options asks nothing while the content stays the same',
    momentAndChange,
    ([found, evidence], choices) => {
      const decided = given(answerAndCrash(found, choices, { evidence }))
      const { plan, saved } = decided
      const changes = [...questionedChanges(found, evidence).values()].flat()
      const now = new Map(changes.map(({ was, is }) => [keyOf(was), is]))
      const again = planOf(saved, { evidence: changedAt(saved.checkpoint, now) })
      assert.deepEqual(
        openQuestions(again).map(({ unit }) => unit),
        []
      )
      assert.deepEqual(scheduled(again), scheduled(plan))
    }
  ),
  lawOfChoices(
    'PL-CHANGED-05',
    'an answer that accepts changed evidence holds for that content alone; other content raises a new question',
    momentAndChange,
    ([found, evidence], choices) => {
      const decided = given(answerAndCrash(found, choices, { evidence }))
      const { plan, options, saved } = decided
      // An item of a map that is expanded again has no record to keep an answer in.
      const units = new Set(plan.decisions.map(({ unit }) => unit))
      const accepted = [...questionedChanges(found, evidence)].filter(
        ([name]) => units.has(name) && options.confirm?.get(name)?._tag !== 'Again'
      )
      const other = new Map(accepted.flatMap(([, changes]) => changes).flatMap(({ is }) => differentContent(is)))
      const looked = changedAt(saved.checkpoint, other)
      const places = looked.flatMap(({ changed }) => changed).map(({ was }) => keyOf(was))
      assert.deepEqual(new Set(places), new Set(other.keys()))
      const questions = openQuestions(planOf(saved, { evidence: looked }))
      assert.deepEqual(questions.map(({ unit }) => unit).sort(), [...questionedChanges(saved, looked).keys()].sort())
    }
  )
]

/** Returns whether a plan takes an answer: it does not refuse the answer, and asks nothing else about the unit. */
const takesAnswer = (moment: Moment, options: PlanOptions, { unit }: Confirm, answer: Answer): boolean => {
  const confirm = new Map([...(options.confirm ?? []), [unit, answer]])
  const plan = planResume(moment.checkpoint, moment.workflow, { ...options, confirm })
  return E.isRight(plan)
    ? openQuestions(plan.right).every((one) => one.unit !== unit)
    : plan.left.problems.every((problem) => !isRefusal(problem, unit))
}

const isRefusal = (problem: PlanProblem, unit: Unit): boolean =>
  problem._tag === 'UnknownStep'
    ? problem.option === 'confirm' && problem.step === unit
    : problem._tag === 'UnitPending' || (problem._tag === 'NothingToConfirm' && problem.unit === unit)

const chooseStart = (choices: Choices, moment: Moment): PlanOptions => {
  const outputs = chooseOutputs(choices, moment)
  const restart = choices.below(2) === 0 ? {} : chooseRestart(choices, moment)
  if (restart.restartWave !== undefined && choices.below(2) === 0) return { ...restart, outputs }
  return { fromStep: chooseUnit(choices, moment), ...restart, outputs }
}

/** What options demand of a unit, whatever is recorded of it. `again`: if a question may be asked first. */
const demanded = (
  moment: Moment,
  { fromStep: from, restartWave: restart }: PlanOptions,
  unit: Unit
): 'Run' | 'Skip' | 'again' | 'none' => {
  const toFrom = from === undefined ? undefined : positionOf(moment, unit, from)
  const toRestart = restart === undefined ? undefined : positionOf(moment, unit, restart)
  if (toFrom === 'within' || toRestart === 'within' || toFrom === 'after') return 'Run'
  if (toRestart === 'after') {
    const isBefore = from !== undefined && restart !== undefined && positionOf(moment, restart, from) === 'before'
    return isBefore ? 'Run' : 'again'
  }
  return toFrom === 'before' ? 'Skip' : 'none'
}

/** Returns the test for the units that run again because of missing evidence. */
export const runsAgainAfter =
  (moment: Moment, evidence: ReadonlyArray<MissingEvidence>): ((one: Decision) => boolean) =>
  ({ unit }) =>
    evidence.some(
      (lost) =>
        ['within', 'after'].includes(positionOf(moment, unit, lost.unit)) ||
        // A task runs again to repeat a sub-step.
        (isSubStep(lost.unit) && isWithin(lost.unit, unit))
    )

const outputIn = (
  decision: Decision & { readonly _tag: 'Skip' },
  record: CompletedStep | undefined
): Json | undefined =>
  decision.reason._tag === 'Assumed' && decision.reason.output !== undefined ? decision.reason.output : record?.output

const differentContent = (is: Evidence | undefined): ReadonlyArray<readonly [place: string, other: Evidence]> => {
  if (is?._tag === 'Artifact') return [[is.path, { ...is, size: is.size + 1 }]]
  return is === undefined ? [] : [[keyOf(is), { _tag: 'Commit', hash: 'facade' }]]
}

/** Evidence with changed content at these places, and the recorded content elsewhere. */
const changedAt = (
  checkpoint: Checkpoint,
  now: ReadonlyMap<string, Evidence | undefined>
): ReadonlyArray<ChangedEvidence> => {
  const places = new Map<string, Array<Evidence>>()
  for (const { was } of recordedEvidence(checkpoint)) places.set(keyOf(was), [...(places.get(keyOf(was)) ?? []), was])
  const other = new Set<Evidence>()
  for (const [place, left] of places) {
    if (!now.has(place)) continue
    const is = now.get(place)
    for (const was of afterIntact(left, (one) => isSameArtifact(one, is))) other.add(was)
  }
  return changedIn(checkpoint, (was) => (other.has(was) ? [{ was, ...defined({ is: now.get(keyOf(was)) }) }] : []))
}

const isSameArtifact = (one: Evidence, is: Evidence | undefined): boolean =>
  one._tag === 'Artifact' && is?._tag === 'Artifact' && one.size === is.size && one.sha256 === is.sha256

interface RecordedEvidence {
  readonly record: CompletedStep
  readonly was: Evidence
}

const recordedEvidence = ({ completedSteps }: Checkpoint): ReadonlyArray<RecordedEvidence> =>
  [...completedSteps].flatMap((record) =>
    record.evidence.filter(({ _tag }) => _tag !== 'File').map((was) => ({ record, was }))
  )

const newestByPlace = (checkpoint: Checkpoint): ReadonlyMap<string, RecordedEvidence> =>
  new Map(recordedEvidence(checkpoint).map((one) => [keyOf(one.was), one]))

/** The units that get a question about changed evidence, each with its changes. */
const questionedChanges = (
  found: Moment,
  evidence: ReadonlyArray<ChangedEvidence>
): ReadonlyMap<string, ReadonlyArray<Changed>> => {
  const asked = new Map<string, ReadonlyArray<Changed>>()
  const changes = new Map(evidence.flatMap(({ changed }) => changed).map((one) => [keyOf(one.was), one]))
  const last = newestByPlace(found.checkpoint)
  for (const [place, { is }] of changes) {
    const left = last.get(place)
    if (left === undefined || (left.was._tag === 'Artifact' && isOwnChange(found, left.record, place))) continue
    const { unit } = left.record
    asked.set(unit, [...(asked.get(unit) ?? []), { was: left.was, ...defined({ is }) }])
  }
  return asked
}
