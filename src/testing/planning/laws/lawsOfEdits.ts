/** Laws about plans of edited workflows and damaged checkpoints. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { apply } from '../../../domain/change/Transition.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { decode } from '../../../domain/checkpoint/CheckpointCodec.js'
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import * as Units from '../../../domain/checkpoint/Units.js'
import type { PlanOptions, ResumePlan } from '../../../domain/plan/Plan.js'
import type { PlanProblem } from '../../../domain/plan/PlanProblem.js'
import { openQuestions } from '../../../domain/plan/Plan.js'
import { planResume } from '../../../domain/plan/planResume.js'
import { find, partNames, taskAround } from '../../../domain/checkpoint/Tree.js'
import { hasCode } from '../../../domain/workflow/Node.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { ancestors, isWithin, join, names, parent, top } from '../../../domain/workflow/Unit.js'
import type { Step, Task, Workflow } from '../../../domain/workflow/Workflow.js'
import type { StepIdentity } from '../../../domain/workflow/WorkflowIdentity.js'
import { recordedFingerprint } from '../../../domain/workflow/WorkflowIdentity.js'
import { damagedMoment } from '../arbitrary/damage.js'
import {
  acceptedPlan,
  given,
  law,
  lawOfEdits,
  assertNamesAbandoned,
  planOf,
  recorded,
  recordedBy,
  scheduled,
  unitsOf,
  waiting
} from './PlanLaw.js'
import type { RunsOf } from '../arbitrary/runs.js'
import { moment } from '../arbitrary/runs.js'
import type { Moment } from '../arbitrary/RunRecorder.js'
import { isSubStep, positionOf, unitsIn } from '../arbitrary/tree.js'

export const lawsOfEdits = [
  lawOfEdits(
    'PL-EDIT-03',
    'a plan for an edited workflow keeps the order of all recorded units and accepts no new unit before a completed one',
    (edited) => {
      const { checkpoint, workflow, was } = edited
      given(acceptedPlan(edited))
      const fingerprints = fingerprintsIn(edited)
      const accepted = fingerprintsIn({ checkpoint, workflow: was })
      for (const { unit, fingerprint, subStep } of checkpoint.completedSteps)
        if (subStep === undefined)
          assert.ok(
            [fingerprint, accepted.get(unit)].includes(fingerprints.get(unit)),
            `${unit} is completed, and its edit is accepted`
          )
      // A task with recorded sub-steps is in progress, and a step may be added before it.
      const done = [...recorded(checkpoint)].filter((unit) => !isSubStep(unit))
      const begun = (unit: Unit): boolean => done.some((one) => isWithin(one, unit))
      for (const { parent, namesBefore, namesAfter } of sequencesIn(edited)) {
        const kept = namesBefore.filter((name) => begun(join(parent, name)))
        assert.deepEqual(
          namesAfter.filter((name) => kept.includes(name)),
          kept
        )
        const last = kept.at(-1)
        const before = last === undefined ? [] : namesAfter.slice(0, namesAfter.indexOf(last))
        for (const name of before)
          assert.ok(namesBefore.includes(name), `${join(parent, name)} is new before what is recorded`)
      }
      for (const { unit } of unitsIn(workflow, checkpoint.items)) {
        if (find(checkpoint.workflow, checkpoint.items, unit) !== undefined || !isAdded(edited, unit)) continue
        const after = done.filter((one) => positionOf(edited, unit, one) === 'before')
        assert.deepEqual(after, [], `${unit} is new before what is recorded`)
      }
    }
  ),
  lawOfEdits(
    'PL-EDIT-04',
    'a strict plan accepts no edit: each step has its recorded name and fingerprint',
    (edited) => {
      given(acceptedPlan(edited, { changes: 'strict' }))
      const named = ({ steps }: { readonly steps: ReadonlyArray<Named> }) =>
        steps.map(({ name, fingerprint }) => [name, fingerprint])
      assert.deepEqual(named(edited.workflow), named(edited.checkpoint.workflow))
    }
  ),
  lawOfEdits(
    'PL-EDIT-05',
    'a plan with `changes: ignore` alone schedules exactly the units whose path has neither a record nor a wait of the same kind',
    (edited) => {
      const plan = given(acceptedPlan(edited, { changes: 'ignore' }))
      const settled = new Set([...recorded(edited.checkpoint), ...waiting(edited)])
      const due = [...unitsOf(edited).keys()].filter((name) => !settled.has(name))
      assert.deepEqual([...scheduled(plan)].sort(), due.sort())
    }
  ),
  lawOfEdits(
    'PL-EDIT-06',
    'after an edit, a plan asks about each remaining unit that may have taken effect and does not wait, if it is a sub-step, or was or became non-idempotent',
    (edited) => {
      const { checkpoint, workflow } = edited
      const [units, waits] = [unitsOf(edited), waiting(edited)]
      const doubts = inDoubt(checkpoint, workflow)
      const assertAsked = (plan: ResumePlan, due: ReadonlyArray<Unit>, what: string): void => {
        const unasked = due.filter((name) => !waits.has(name) && !asksAbout(edited, plan, name))
        assert.deepEqual(unasked, [], what)
      }
      const { workflow: before, items, state } = checkpoint
      const taskOf = (unit: Unit): Unit => taskAround(before, items, unit, state.stepIndex)?.unit ?? unit
      // A plan that ignores changes also ignores that a unit in doubt was removed.
      const kept = doubts.filter((unit) => units.has(taskOf(unit)))
      for (const changes of ['completed', 'ignore'] as const) {
        const plan = acceptedPlan(edited, { changes })
        if (plan === undefined) continue
        assertAsked(plan, changes === 'ignore' ? kept : doubts, 'a unit is in doubt, and gets no question')
      }
      // Missing evidence runs later steps again, and so a map with all its items.
      const first = given([...checkpoint.completedSteps].find(({ evidence }) => evidence.length > 0))
      const [head, ...more] = first.evidence
      const missing = head && ([head, ...more] as const)
      const plan = given(missing && acceptedPlan(edited, { evidence: [{ unit: first.unit, missing }] }))
      const isMap = (one: Unit): boolean =>
        [before, workflow].every((tree) => find<Step | StepIdentity>(tree, items, one)?.definition._tag === 'Map')
      const ofMaps = doubts.filter((name) => top(name) !== top(first.unit) && [...ancestors(name)].some(isMap))
      assertAsked(plan, ofMaps, 'a unit of a map is in doubt, and gets no question when the map runs again')
    }
  ),
  lawOfEdits(
    'PL-EDIT-07',
    'no plan for an edited workflow silently drops a job: it waits for each pending job or lists it as abandoned',
    (edited) => {
      for (const changes of ['completed', 'ignore'] as const) {
        const plan = acceptedPlan(edited, { changes })
        if (plan === undefined) continue
        const { decisions, abandons = [] } = plan
        const listed = [...decisions.filter(({ reason }) => reason._tag === 'JobPending'), ...abandons]
        for (const { unit, _tag } of edited.checkpoint.pending) {
          const count = listed.filter((one) => one.unit === unit).length
          if (_tag === 'Job') assert.equal(count, 1, `the plan lists the job of ${unit} ${count} times`)
        }
      }
    }
  ),
  lawOfEdits(
    'PL-EDIT-08',
    'each change that a plan for an edited workflow records names exactly the pending jobs that it abandons',
    (edited) => assertNamesAbandoned(edited, { changes: 'ignore' })
  ),
  lawOfEdits(
    'PL-EDIT-09',
    'once an accepted edit is recorded, the next plan accepts it by default and decides the same',
    (edited) => {
      const plan = acceptedPlan(edited, { changes: 'ignore' })
      if (plan === undefined || openQuestions(plan).length > 0) return
      const [first] = recordedBy(edited, plan, {})
      if (first?._tag !== 'WorkflowEdited') return
      const next = apply(edited.checkpoint, first)
      if (E.isLeft(next)) return assert.fail(`the edit cannot be recorded: ${JSON.stringify(next.left)}`)
      const again = planOf({ ...edited, checkpoint: next.right })
      assert.deepEqual(again.decisions, plan.decisions)
    }
  ),
  lawOfEdits(
    'PL-EDIT-10',
    'by default, no edit is accepted that drops a completed sub-step of an unfinished task, unless it is idempotent',
    (edited) => {
      given(acceptedPlan(edited))
      const { checkpoint, workflow } = edited
      const { completedSteps, items, workflow: before } = checkpoint
      for (const { unit, stepIndex, subStep } of completedSteps) {
        if (subStep?.idempotent !== false) continue
        const task = taskAround(before, items, unit, stepIndex)?.unit
        if (task === undefined || Units.has(completedSteps, task)) continue
        const now = find<Step>(workflow, items, task, stepIndex)?.definition
        assert.ok(hasCode(now), `${unit} completed, and ${task} has no code any more`)
      }
    }
  ),
  lawOfEdits(
    'PL-WHY-01',
    'a plan with `changes: ignore` says why it skips a recorded unit: completed, assumed, or accepted despite a change',
    (edited) => {
      const plan = given(acceptedPlan(edited, { changes: 'ignore' }))
      const fingerprints = fingerprintsIn(edited)
      for (const decision of plan.decisions) {
        const record = Units.get(edited.checkpoint.completedSteps, decision.unit)
        if (decision._tag !== 'Skip' || record === undefined) continue
        const { unit, fingerprint } = record
        const same = { _tag: record.assumed === true ? 'Assumed' : 'Completed' }
        const other = { _tag: 'AcceptedDespiteChange', recorded: fingerprint }
        const isSame = (fingerprints.get(unit) ?? decision.fingerprint) === fingerprint
        assert.deepEqual({ unit, reason: decision.reason }, { unit, reason: isSame ? same : other })
      }
    }
  ),
  law(
    'PL-FIT-01',
    'a unit whose recorded output its task rejects is never skipped: the plan is refused and names the unit',
    (of) => momentAndIndex(of),
    ([moment, index]) => {
      const name = given(recordedAt(moment, index))
      const refusing = redeclared(moment.workflow, name, (task) => ({
        ...task,
        accepts: () => E.left({ path: '$', expected: 'something else' })
      }))
      const problems = refusedUnits(moment.checkpoint, refusing, 'OutputNotDecodable')
      assert.ok(problems.includes(name), `the task of ${name} rejects its output, and no problem of the plan says so`)
    }
  ),
  law(
    'PL-FIT-02',
    'a unit that never set a variable it now captures is never skipped: the plan is refused and names the unit',
    (of) => momentAndIndex(of),
    ([moment, index]) => {
      const name = recordedAt(moment, index)
      // The task of a map's item captures nothing.
      if (name === undefined || moment.checkpoint.items.has(parent(name) ?? '')) return
      const capturing = redeclared(moment.workflow, name, (task) => ({
        ...task,
        fingerprint: `${task.fingerprint} `,
        captures: [...task.captures, 'never-set']
      }))
      const problems = refusedUnits(moment.checkpoint, capturing, 'AssumedOutputMissing', { changes: 'ignore' })
      assert.ok(problems.includes(name), `${name} never set a variable, and no problem of the plan says so`)
    }
  ),
  law(
    'PL-DAMAGE-01',
    'a checkpoint that contradicts itself has no plan, and planning never throws',
    damagedMoment,
    ({ damaged, workflow }) => {
      const decoded = decode(damaged.content)
      if (E.isLeft(decoded)) return
      const checkpoint = decoded.right
      given(acceptedPlan({ checkpoint, workflow }))
      const { state, completedSteps } = checkpoint
      const { steps } = checkpoint.workflow
      const done = recorded(checkpoint)
      assert.equal(done.size, [...completedSteps].length, 'a unit is recorded twice')
      assert.equal(steps[state.stepIndex]?.name, state.step, 'the run stands at another step')
      if (state._tag !== 'Interrupted')
        assert.equal(
          done.has(state.step),
          state._tag === 'Completed',
          `the record of ${state.step} contradicts the state`
        )
      for (const { stepIndex, unit, subStep } of completedSteps) {
        assert.equal(steps[stepIndex]?.name, top(unit), `${unit} is recorded for another step`)
        const found = find(checkpoint.workflow, checkpoint.items, unit, stepIndex)?.definition
        if (subStep !== undefined) {
          const task = taskAround(checkpoint.workflow, checkpoint.items, unit, stepIndex)
          assert.ok(found === undefined && task !== undefined, `${unit} is recorded as a sub-step`)
          continue
        }
        if (found === undefined) return assert.fail(`${unit} is recorded, and does not exist`)
        for (const part of partNames(found, unit, checkpoint.items) ?? [])
          assert.ok(done.has(join(unit, part)), `${unit} is recorded, and its part ${part} is not`)
      }
    }
  )
]

interface Named {
  readonly name: string
  readonly fingerprint: string
}

const fingerprintsIn = ({ checkpoint, workflow }: Moment): ReadonlyMap<string, string> =>
  new Map(unitsIn(workflow, checkpoint.items).map(({ unit, step }) => [unit, recordedFingerprint(step)]))

/** The step names of each sequence before and after the edit. */
const sequencesIn = ({ checkpoint: { workflow, items }, workflow: edited }: Moment) => {
  const names = (all: ReadonlyArray<Named>): ReadonlyArray<string> => all.map(({ name }) => name)
  const inside = unitsIn(edited, items).flatMap(({ unit, step, stepIndex }) => {
    const was = find(workflow, items, unit, stepIndex)?.definition
    return step._tag === 'Sequence' && was?._tag === 'Sequence'
      ? [{ parent: unit, namesBefore: names(was.steps), namesAfter: names(step.steps) }]
      : []
  })
  const root: Unit | undefined = undefined
  return [{ parent: root, namesBefore: names(workflow.steps), namesAfter: names(edited.steps) }, ...inside]
}

/** Whether a unit was added to an existing composite, and not by a change of kind. */
const isAdded = ({ checkpoint: { workflow, items }, workflow: edited }: Moment, unit: Unit): boolean => {
  for (const above of ancestors(unit)) {
    const was = find(workflow, items, above)?.definition
    if (was !== undefined) return was._tag === find<Step>(edited, items, above)?.definition._tag
  }
  return true
}

/**
 * A question about a sub-step counts as one about its unit, because the unit's own question comes later; so does one about a map around the unit,
 * while the items of the map are not computed.
 */
const asksAbout = ({ workflow, checkpoint: { items } }: Moment, plan: ResumePlan, name: Unit): boolean =>
  openQuestions(plan).some(
    ({ unit }) =>
      isWithin(unit, name) || (isWithin(name, unit) && find<Step>(workflow, items, unit)?.definition._tag === 'Map')
  )

/** The units that may have taken effect, if they were non-idempotent when they started or are so after the edit; and all sub-steps in flight. */
const inDoubt = ({ state, workflow, items }: Checkpoint, edited: Workflow): ReadonlyArray<Unit> =>
  [...State.inDoubt(state)].filter((unit) => {
    const begun = find(workflow, items, unit, state.stepIndex)?.definition
    if (begun === undefined) return Units.has(State.inFlight(state), unit)
    const now = find<Step>(edited, items, unit, state.stepIndex)?.definition
    return begun._tag === 'Task' && (!begun.idempotent || (hasCode(now) && !now.idempotent))
  })

const momentAndIndex = (of: RunsOf): fc.Arbitrary<[Moment, number]> => fc.tuple(moment(of), fc.nat({ max: 99 }))

const recordedAt = ({ checkpoint, workflow }: Moment, index: number): string | undefined => {
  const done = recorded(checkpoint)
  const names = unitsIn(workflow, checkpoint.items).flatMap(({ unit, step }) =>
    step._tag === 'Task' && done.has(unit) ? [unit] : []
  )
  return names[index % Math.max(1, names.length)]
}

const redeclared = (workflow: Workflow, unit: Unit, change: (task: Task) => Task): Workflow => {
  const redeclare = <S extends Step>(step: S, [next, ...more]: ReadonlyArray<string>): S => {
    if (step._tag === 'Task') return { ...step, ...change(step) }
    if (step._tag === 'Map') return { ...step, each: redeclare(step.each, more) }
    const part = <P extends Step>(one: P): P => (one.name === next ? redeclare(one, more) : one)
    return step._tag === 'Wave' ? { ...step, groups: step.groups.map(part) } : { ...step, steps: step.steps.map(part) }
  }
  const [first, ...more] = names(unit)
  return { ...workflow, steps: workflow.steps.map((step) => (step.name === first ? redeclare(step, more) : step)) }
}

const refusedUnits = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  why: PlanProblem['_tag'],
  options: PlanOptions = {}
): ReadonlyArray<string> => {
  const plan = planResume(checkpoint, workflow, options)
  if (E.isRight(plan)) return []
  return plan.left.problems.flatMap((problem) => (problem._tag === why && 'unit' in problem ? [problem.unit] : []))
}
