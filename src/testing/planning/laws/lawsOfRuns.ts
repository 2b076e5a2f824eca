/** Laws about runs that obey their plans. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import type { Change } from '../../../domain/change/Change.js'
import type { Outcome } from '../../../domain/data/StepFailure.js'
import * as IdempotencyKey from '../../../domain/checkpoint/IdempotencyKey.js'
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import type { PlanOptions, ResumePlan } from '../../../domain/plan/Plan.js'
import { openQuestions } from '../../../domain/plan/Plan.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { find, partNames } from '../../../domain/checkpoint/Tree.js'
import type { OfUnit } from '../../../domain/checkpoint/Units.js'
import * as Units from '../../../domain/checkpoint/Units.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { isWithin, top } from '../../../domain/workflow/Unit.js'
import { ifTag } from '../../byTag.js'
import type { Choices } from '../arbitrary/Choices.js'
import type { Moment, SimulatedRun } from '../arbitrary/RunRecorder.js'
import { momentWithOptions, run, undisturbedRun } from '../arbitrary/runs.js'
import { answered, answerAndCrash, finish, follow, withoutPending } from '../arbitrary/simulate.js'
import { isSubStep } from '../arbitrary/tree.js'
import {
  acceptedPlan,
  checkDecision,
  given,
  law,
  lawOfChoices,
  assertNamesAbandoned,
  planOf,
  recorded,
  scheduled,
  transitions,
  unitsOf,
  waiting,
  withoutSubSteps,
  works
} from './PlanLaw.js'

export const lawsOfRuns = [
  law(
    'PL-END-01',
    'following a plan to its end leaves nothing to schedule, whatever its options',
    momentWithOptions,
    ({ moment, options }, calm) => {
      const done = given(followed(moment, options, calm)?.done)
      const after = planOf(done)
      assert.deepEqual(scheduled(after), [])
      assert.equal(after.startIndex, done.workflow.steps.length)
      assert.equal(done.checkpoint.completedSteps.steps, done.workflow.steps.length)
      assert.equal(done.checkpoint.state._tag, 'Completed')
    }
  ),
  law(
    'PL-END-02',
    'following a plan runs exactly what it schedules',
    momentWithOptions,
    ({ moment, options }, calm) => {
      const way = given(followed(moment, options, calm))
      const { plan, done } = way
      const maps = done.changes.flatMap((change) => (change._tag === 'Expanded' ? [change.unit] : []))
      const started = done.changes
        .flatMap((change): ReadonlyArray<OfUnit> =>
          change._tag === 'AttemptStarted' ? change.attempts : change._tag === 'WaitStarted' ? [change] : []
        )
        .flatMap(({ unit }) => (isSubStep(unit) ? [] : [unit]))
      const isFound = (unit: Unit): boolean => maps.some((map) => unit !== map && isWithin(unit, map))
      const begun = [...maps, ...started].filter((unit) => !isFound(unit))
      assert.deepEqual(begun.sort(), [...scheduled(plan)].sort())
    }
  ),
  law('PL-PREFIX-01', 'each checkpoint that a run saves can be planned and resumed to completion', run, (run, calm) => {
    for (const moment of run.trail) {
      if (moment.within === true) continue
      planOf(moment)
      assert.deepEqual(scheduled(planOf(finish(moment, calm))), [])
    }
  }),
  lawOfChoices(
    'PL-KEEP-01',
    'recorded overrides bind a resume without options, even after a crash: assumed units are skipped, and forced units run',
    momentWithOptions,
    ({ moment, options: wanted }, choices) => {
      const decided = given(answerAndCrash(moment, choices, wanted))
      const { plan, options, saved } = decided
      const again = planOf(saved)
      const tags = (plan: ResumePlan) =>
        withoutSubSteps(plan).map((one) => [
          one.unit,
          one._tag === 'Skip' ? 'skipped' : one._tag === 'Poll' ? 'waits' : 'scheduled'
        ])
      assert.deepEqual(tags(again), tags(plan))
      assert.deepEqual(openQuestions(again), [], 'an answer was forgotten')
      const work = new Set(works(plan))
      const rewound = saved.changes.flatMap((change) => (change._tag === 'Rewound' ? change.units.map(top) : []))
      const first = moment.workflow.steps.find(({ name }) => rewound.includes(name))
      const end = first === undefined ? Infinity : moment.workflow.steps.indexOf(first)
      const decisions = new Map(again.decisions.map((one) => [one.unit, one]))
      for (const one of plan.decisions) {
        const untouched = one.stepIndex < end && !options.confirm?.has(one.unit)
        if (one._tag === 'Retry' && untouched && work.has(one)) {
          assert.deepEqual(decisions.get(one.unit), one, 'what was in flight was forgotten')
        }
      }
      assert.deepEqual(new Map(again.variables), new Map(plan.variables))
    }
  ),
  law(
    'PL-TRY-01',
    'a started unit gets a question if it is non-idempotent and may have taken effect; otherwise it continues with its attempt in flight, its next attempt, or attempt 1',
    undisturbedRun,
    (run) => {
      for (const [index, moment] of run.trail.entries()) {
        const tasks = unitsOf(moment)
        const started = startedBy(run.changes.slice(0, index + 1))
        for (const decision of planOf(moment).decisions) {
          const task = tasks.get(decision.unit)
          if (decision._tag === 'Skip' || task === undefined) continue
          const begun = started.get(decision.unit)
          checkDecision(decision, 'Poll', begun?.waits === true)
          if (decision._tag === 'Poll') continue
          const isAsked = begun?.mayHaveActed === true && !task.idempotent
          checkDecision(decision, 'Confirm', isAsked)
          const [is, due] = [decision._tag === 'Retry' ? decision.attempt : 1, begun?.next ?? 1]
          if (!isAsked) assert.equal(is, due, `${decision.unit} continues with attempt ${is} instead of ${due}`)
        }
      }
    }
  ),
  law(
    'PL-KEY-01',
    'a unit gets another idempotency key if and only if a rewind covers it, its job fails, or an edit drops what it had recorded',
    run,
    (run) => {
      for (const { change, before, after } of transitions(run)) {
        const [was, is] = [before.checkpoint, after.checkpoint]
        const renewed = renewedBy(change, was, is)
        assert.equal(is.generation - was.generation, change._tag === 'Rewound' ? 1 : 0)
        if (is.renewals === was.renewals) assert.deepEqual(renewed, [])
        else
          for (const unit of unitsOf(before).keys()) {
            // An edit may change the kind of the unit.
            if (!unitsOf(after).has(unit)) continue
            const isSame = IdempotencyKey.of(is, unit) === IdempotencyKey.of(was, unit)
            const isKept = !renewed.some((one) => isWithin(unit, one))
            assert.equal(isSame, isKept, `${unit} ${isSame ? 'keeps its' : 'gets another'} key at ${change._tag}`)
          }
      }
    }
  ),
  law(
    'PL-DOUBT-01',
    'in a run without edits and options, a non-idempotent unit that may have taken effect keeps its question until it is answered',
    undisturbedRun,
    (run) => {
      for (const { checkpoint, workflow } of run.trail) {
        const asked = new Set(openQuestions(planOf({ checkpoint, workflow })).map(({ unit }) => unit))
        const expected = new Set<string>()
        const { state } = checkpoint
        for (const { unit } of State.inFlight(state)) expected.add(unit)
        for (const { unit, outcome, subStep } of State.failures(state)) {
          // A repeated attempt throws the recorded failure of a sub-step again, so nothing is asked yet.
          const isThrown = subStep !== undefined && [...State.inFlight(state)].some((one) => isWithin(unit, one.unit))
          const isHarmless = subStep !== undefined && subStep.idempotent !== false
          if (outcome === 'unknown' && !isThrown && !isHarmless) expected.add(unit)
        }
        for (const [name, task] of unitsOf({ checkpoint, workflow })) if (task.idempotent) expected.delete(name)
        assert.deepEqual([...asked].sort(), [...expected].sort())
      }
    }
  ),
  law(
    'PL-DOUBT-02',
    'a non-idempotent unit that never started gets no question, unless the newest state is damaged',
    momentWithOptions,
    ({ moment, options: { recovered: _, ...options } }) => {
      const { state } = moment.checkpoint
      const known = new Set([
        ...recorded(moment.checkpoint),
        ...waiting(moment),
        ...[...State.inFlight(state), ...State.failures(state)].map(({ unit }) => unit),
        ...[...moment.checkpoint.completedSteps].flatMap(({ inDoubt = [] }) => inDoubt)
      ])
      const plan = given(acceptedPlan(moment, options))
      for (const { unit } of openQuestions(plan)) {
        const isBegun = [...known].some((name) => isWithin(name, unit))
        assert.ok(isBegun, `${unit} never started, and gets a question`)
      }
    }
  ),
  law(
    'PL-DOUBT-03',
    'a non-idempotent unit starts a second time only if its question was answered, it was forced, or it failed without effect',
    undisturbedRun,
    (run) => {
      const inDoubt = new Set<string>()
      const tasks = unitsOf(run)
      const answers = ({ unit }: { readonly unit: Unit }): void => void inDoubt.delete(unit)
      const fails = ({ unit, outcome }: { readonly unit: Unit; readonly outcome?: Outcome | undefined }): void => {
        if (outcome === 'notApplied') inDoubt.delete(unit)
      }
      for (const change of run.changes)
        ifTag(change, {
          AttemptStarted: ({ attempts }) => {
            for (const { unit } of attempts) {
              if (tasks.get(unit)?.idempotent === false || isSubStep(unit))
                assert.ok(!inDoubt.has(unit), `${unit} is in doubt, and starts without an answer`)
              inDoubt.add(unit)
            }
          },
          AttemptFailed: fails,
          JobEnded: fails,
          UnitFailed: ({ unit, last }) => fails({ unit, outcome: last?.outcome }),
          Confirmed: answers,
          Assumed: answers
        })
    }
  ),
  law('PL-JOB-01', 'a unit with a pending job never starts again unless the job was abandoned', run, (run) => {
    for (const { change, before } of transitions(run)) {
      if (change._tag !== 'AttemptStarted') continue
      for (const { unit } of change.attempts)
        assert.ok(!Units.has(before.checkpoint.pending, unit), `the job of ${unit} is pending, and it starts again`)
    }
  }),
  law(
    'PL-JOB-02',
    'in a run without edits and options, a unit submits under one key until the outcome of its job is known',
    undisturbedRun,
    ({ changes }) => {
      const open = new Map<string, string>()
      for (const change of changes) {
        if (change._tag === 'AttemptStarted') {
          for (const { unit, key } of change.submissions ?? []) {
            assert.equal(key, open.get(unit) ?? key, `${unit} submits under another key`)
            open.set(unit, key)
          }
        } else if (change._tag === 'JobEnded' || change._tag === 'UnitCompleted' || change._tag === 'Assumed') {
          open.delete(change.unit)
        }
      }
    }
  ),
  law('PL-JOB-03', 'no unit submits under the key of a job that failed', run, (run) => {
    const ended = new Set<string>()
    for (const { change, before } of transitions(run)) {
      if (change._tag === 'JobEnded')
        for (const one of before.checkpoint.pending)
          if (one._tag === 'Job' && one.unit === change.unit) ended.add(one.key)
      if (change._tag === 'AttemptStarted')
        for (const { unit, key } of change.submissions ?? [])
          assert.ok(!ended.has(key), `${unit} submits under the key of its failed job`)
    }
  }),
  law(
    'PL-JOB-04',
    'a plan lists each pending job that it abandons once, and each recorded change names exactly the jobs that this change abandons',
    momentWithOptions,
    ({ moment, options }) => assertNamesAbandoned(moment, options)
  )
]

/** Continues a run by a plan with these options, and nothing fails. */
const followed = (
  found: Moment,
  options: PlanOptions,
  calm: Choices
): { readonly plan: ResumePlan; readonly done: SimulatedRun } | undefined => {
  const moment = withoutPending(found, calm)
  const chosen = answered(moment, calm, options)
  return E.isLeft(chosen) ? undefined : { ...chosen.right, done: follow(moment, chosen.right, calm) }
}

const renewedBy = (change: Change, before: Checkpoint, after: Checkpoint): ReadonlyArray<Unit> => {
  if (change._tag === 'Rewound') return change.units
  if (change._tag === 'JobEnded') return [change.unit]
  return change._tag === 'WorkflowEdited' ? droppedBetween(before, after) : []
}

/** The units with a record, a wait or a submission that an edit dropped. Reopened composites lose their own. */
const droppedBetween = (before: Checkpoint, after: Checkpoint): ReadonlyArray<Unit> =>
  [before.completedSteps, before.pending, before.submissions].flatMap((all, index) => {
    const remaining = [after.completedSteps, after.pending, after.submissions][index] ?? []
    const kept = new Set(Array.from<OfUnit, Unit>(remaining, ({ unit }) => unit))
    return Array.from<OfUnit, Unit>(all, ({ unit }) => unit).filter(
      (unit) => !kept.has(unit) && partNamesOf(after, unit) === undefined
    )
  })

const partNamesOf = ({ workflow, items }: Checkpoint, unit: Unit): ReadonlyArray<string> | undefined => {
  const found = find(workflow, items, unit)?.definition
  return found === undefined || found._tag === 'Task' ? undefined : partNames(found, unit, items)
}

interface StartedUnit {
  readonly next: number
  readonly mayHaveActed: boolean
  readonly waits?: true
}

/** The units that started and did not complete in these changes, computed independently of the checkpoint. */
const startedBy = (changes: ReadonlyArray<Change>): ReadonlyMap<string, StartedUnit> => {
  const started = new Map<string, StartedUnit>()
  const failed = (unit: Unit, next: number, outcome: Outcome): void =>
    void started.set(unit, { next, mayHaveActed: outcome === 'unknown' })
  const waits = ({ unit }: OfUnit): void => void started.set(unit, { next: 1, mayHaveActed: true, waits: true })
  const ends = ({ unit }: OfUnit): void => void started.delete(unit)
  for (const change of changes)
    ifTag<Change, void>(change, {
      AttemptStarted: ({ attempts }) => {
        for (const { unit, attempt } of attempts) started.set(unit, { next: attempt, mayHaveActed: true })
      },
      AttemptFailed: ({ unit, attempt, outcome }) => failed(unit, attempt + 1, outcome),
      JobEnded: ({ unit, outcome }) => failed(unit, 1, outcome),
      UnitFailed: ({ unit, last }) => last && failed(unit, 1, last.outcome),
      JobSubmitted: waits,
      WaitStarted: waits,
      Suspended: waits,
      UnitCompleted: ends,
      Assumed: ends,
      Confirmed: ends
    })
  return started
}
