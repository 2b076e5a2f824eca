/** Laws about plans that find changed evidence. */
import { strict as assert } from 'node:assert'
import * as fc from 'fast-check'
import type { Checkpoint } from '../../domain/Checkpoint.js'
import * as State from '../../domain/CheckpointState.js'
import type { CompletedStep, Evidence } from '../../domain/CompletedStep.js'
import { itemOf } from '../../domain/Expansion.js'
import type { Answer, Changed, ChangedEvidence, Decision } from '../../domain/Plan.js'
import { openQuestions, unitName } from '../../domain/Plan.js'
import { diceOf, numbers } from './Dice.js'
import { runAgain } from './lawsOfRequests.js'
import { chooseChanged } from './options.js'
import type { PlanLaw } from './PlanLaw.js'
import { law, planOf, scheduled, unit, unitsOf, works } from './PlanLaw.js'
import type { RunsOf } from './runs.js'
import { moment } from './runs.js'
import { overrideOnly } from './simulate.js'
import type { Moment } from './Tape.js'

export const lawsOfEvidence: ReadonlyArray<PlanLaw> = [
  law(
    'PL-CHANGED-01',
    'changed evidence raises a question at the last unit that recorded it, unless a unit that started since explains it; until it is answered all other decisions stay the same',
    (of) => momentAndChange(of),
    ([found, evidence]) => {
      const plain = planOf(found)
      const plan = planOf(found, { evidence })
      const asked = new Set(askedAbout(found, evidence).keys())
      const questions = asked.size > 0 ? [...asked] : openQuestions(plain).map(unitName)
      assert.deepEqual(openQuestions(plan).map(unitName).sort(), questions.sort())
      const others = (all: ReadonlyArray<Decision>) => all.filter((one) => !asked.has(unitName(one)))
      assert.deepEqual(others(works(plan, found.workflow)), others(works(plain, found.workflow)))
    }
  ),
  law(
    'PL-CHANGED-02',
    'keeping changed evidence runs nothing and is recorded: the last record then equals the current state',
    (of) => momentAndChange(of),
    ([found, evidence]) => {
      const asked = askedAbout(found, evidence)
      const confirm = new Map<string, Answer>([...asked.keys()].map((name) => [name, { _tag: 'Keep' }]))
      const plain = planOf(found)
      for (const options of [
        { evidence, confirm },
        { evidence, onChanged: 'keep' as const }
      ]) {
        const plan = planOf(found, options)
        assert.deepEqual(scheduled(plan, found.workflow), scheduled(plain, found.workflow))
        const saved = overrideOnly(found, plan, options)
        const now = lastAt(saved.checkpoint)
        for (const changes of asked.values())
          for (const { was, is } of changes)
            if (is?._tag === 'Artifact') assert.deepEqual(now.get(placeOf(was))?.was, is, placeOf(was))
            else assert.ok(!now.has(placeOf(was)), `${placeOf(was)} is recorded although it changed`)
      }
    }
  ),
  law(
    'PL-CHANGED-03',
    'running a unit again for its changed evidence runs all units that recorded it and all later ones, as if it were missing, and nothing else',
    (of) => momentAndChange(of),
    ([found, evidence]) => {
      const [first] = askedAbout(found, evidence)
      if (first === undefined) return
      const [name, changes] = first
      const places = new Set(changes.map(({ was }) => placeOf(was)))
      const these = recorders(found.checkpoint).filter(({ was }) => places.has(placeOf(was)))
      const only = evidence.flatMap(({ changed, ...one }): ReadonlyArray<ChangedEvidence> => {
        const [head, ...more] = changed.filter(({ was }) => places.has(placeOf(was)))
        return head === undefined ? [] : [{ ...one, changed: [head, ...more] }]
      })
      const confirm = new Map([[name, { _tag: 'Again' } as const]])
      const lost = these.map(({ record, was }) => ({ ...unit(record.step, record.group), missing: [was] as const }))
      const again = runAgain(found, lost)
      const done = new Set([...found.checkpoint.completedSteps].map(unitName))
      for (const decision of works(planOf(found, { evidence: only, confirm }), found.workflow)) {
        const due = again(decision) || !done.has(unitName(decision))
        assert.equal(decision._tag !== 'Skip', due, unitName(decision))
      }
    }
  )
]

const momentAndChange = (of: RunsOf): fc.Arbitrary<[Moment, ReadonlyArray<ChangedEvidence>]> =>
  fc.tuple(moment(of), numbers).map(([found, chance]) => [found, chooseChanged(diceOf(chance), found.checkpoint)])

const placeOf = (one: Evidence): string => ('path' in one ? one.path : 'hash' in one ? one.hash : one.id)

/** A unit's record of a place whose content may change. */
interface Left {
  readonly record: CompletedStep
  readonly was: Evidence
}

const recorders = ({ completedSteps }: Checkpoint): ReadonlyArray<Left> =>
  [...completedSteps].flatMap((record) =>
    record.evidence.filter(({ _tag }) => _tag !== 'File').map((was) => ({ record, was }))
  )

const lastAt = (checkpoint: Checkpoint): ReadonlyMap<string, Left> =>
  new Map(recorders(checkpoint).map((one) => [placeOf(one.was), one]))

/** The units that need an answer, each with the changes at the places that it recorded last. */
const askedAbout = (
  found: Moment,
  evidence: ReadonlyArray<ChangedEvidence>
): ReadonlyMap<string, ReadonlyArray<Changed>> => {
  const asked = new Map<string, ReadonlyArray<Changed>>()
  const changes = new Map(evidence.flatMap(({ changed }) => changed).map((one) => [placeOf(one.was), one]))
  const last = lastAt(found.checkpoint)
  for (const [place, { is }] of changes) {
    const left = last.get(place)
    if (left === undefined || (left.was._tag === 'Artifact' && isBegunAt(found, place, left.record))) continue
    const name = unitName(left.record)
    asked.set(name, [...(asked.get(name) ?? []), { was: left.was, ...(is === undefined ? {} : { is }) }])
  }
  return asked
}

/** Whether a unit that leaves an artifact at this path started after the record and has not completed. */
const isBegunAt = ({ checkpoint, workflow }: Moment, path: string, record: CompletedStep): boolean => {
  const { state, pending, variables } = checkpoint
  const tasks = unitsOf({ checkpoint, workflow })
  const leaves = (step: string, group: string | undefined): boolean => {
    const identity = checkpoint.workflow.steps.find(({ name }) => name === step)
    const item = itemOf(identity, group)
    const known = item === undefined ? { variables } : { variables, item: item.value }
    return (
      tasks
        .get(unitName(unit(step, group)))
        ?.leaves?.(known)
        .includes(path) === true
    )
  }
  const failedSince = ({ attempts }: State.Failure): boolean =>
    record.step !== state.step || (attempts.at(-1)?.failedAt ?? '') >= record.completedAt
  return (
    pending.some(({ step, group }) => leaves(step, group)) ||
    State.inFlight(state).some(({ group }) => leaves(state.step, group)) ||
    State.failures(state).some((failure) => failedSince(failure) && leaves(state.step, failure.group)) ||
    (state._tag === 'Interrupted' && state.inProgress && leaves(state.step, undefined))
  )
}
