/** Laws about plans that find changed evidence. */
import { strict as assert } from 'node:assert'
import * as fc from 'fast-check'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import type { CompletedStep, Evidence } from '../../../domain/checkpoint/CompletedStep.js'
import { defined } from '../../../domain/data/defined.js'
import { afterIntact } from '../../../domain/plan/evidenceToCheck.js'
import type { Answer, Changed, ChangedEvidence, Decision } from '../../../domain/plan/Plan.js'
import { openQuestions } from '../../../domain/plan/Plan.js'
import { choicesOf, numbers } from '../arbitrary/Choices.js'
import { runsAgainAfter } from './lawsOfOptions.js'
import { changedIn, chooseChanged } from '../arbitrary/options.js'
import type { PlanLaw } from './PlanLaw.js'
import { checkDecision, law, lawOfChoices, planOf, recorded, scheduled, works } from './PlanLaw.js'
import type { RunsOf } from '../arbitrary/runs.js'
import { moment } from '../arbitrary/runs.js'
import { answerAndCrash, overrideOnly } from '../arbitrary/simulate.js'
import { keyOf } from '../arbitrary/records.js'
import type { Moment } from '../arbitrary/RunRecorder.js'
import { isOwnChange } from '../arbitrary/tree.js'

const momentAndChange = (of: RunsOf): fc.Arbitrary<[Moment, ReadonlyArray<ChangedEvidence>]> =>
  fc.tuple(moment(of), numbers).map(([found, chance]) => [found, chooseChanged(choicesOf(chance), found.checkpoint)])

export const lawsOfEvidence: ReadonlyArray<PlanLaw> = [
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
    ([found, evidence], samples) => {
      const asked = questionedChanges(found, evidence)
      const confirm = new Map<string, Answer>([...asked.keys()].map((name) => [name, { _tag: 'Keep' }]))
      const plain = planOf(found)
      for (const options of [
        { evidence, confirm },
        { evidence, onChanged: 'keep' as const }
      ]) {
        const plan = planOf(found, options)
        assert.deepEqual(scheduled(plan), scheduled(plain))
        const saved = overrideOnly(found, { plan, options }, samples)
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
    ([found, evidence], choices, samples) => {
      const decided = answerAndCrash(found, choices, { evidence }, samples)
      if (decided === undefined) return
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
    ([found, evidence], choices, samples) => {
      const decided = answerAndCrash(found, choices, { evidence }, samples)
      if (decided === undefined) return
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
    if (
      left === undefined ||
      (left.was._tag === 'Artifact' && isOwnChange(found.workflow, found.checkpoint, left.record, place))
    )
      continue
    const { unit } = left.record
    asked.set(unit, [...(asked.get(unit) ?? []), { was: left.was, ...defined({ is }) }])
  }
  return asked
}
