/** A law of the planner, and helpers to state laws. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import * as Units from '../../../domain/checkpoint/Units.js'
import type { Change } from '../../../domain/change/Change.js'
import { apply } from '../../../domain/change/Transition.js'
import { overrides } from '../../../domain/plan/Overrides.js'
import { openQuestions } from '../../../domain/plan/Plan.js'
import type { Decision, PlanOptions, ResumePlan } from '../../../domain/plan/Plan.js'
import { planResume } from '../../../domain/plan/planResume.js'
import { find } from '../../../domain/checkpoint/Tree.js'
import { hasCode } from '../../../domain/workflow/Node.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { isWithin } from '../../../domain/workflow/Unit.js'
import type { Step, Task, Workflow } from '../../../domain/workflow/Workflow.js'
import { of as identityOf } from '../../../domain/workflow/WorkflowIdentity.js'
import type { Choices } from '../arbitrary/Choices.js'
import { choicesOf, numbers } from '../arbitrary/Choices.js'
import { edit, workflowEdit } from '../arbitrary/edits.js'
import type { RunsOf } from '../arbitrary/runs.js'
import { moment } from '../arbitrary/runs.js'
import { samplesOf } from '../arbitrary/Samples.js'
import type { Moment, SimulatedRun } from '../arbitrary/RunRecorder.js'
import { isSubStep, taskUnits } from '../arbitrary/tree.js'

/**
 * How to check a law: `numRuns` cases (default 100) from `seed`; `path` repeats the counterexample of a result.
 *
 * @category model
 */
export interface LawOptions {
  readonly numRuns?: number
  readonly seed?: number
  readonly path?: string
}

/**
 * The result of checking a law, as plain data. If the law does not hold: `counterexample` is the smallest case found,
 * as text, `why` the reason, and `seed` and `path` repeat it.
 *
 * @category model
 */
export interface LawResult {
  readonly id: string
  readonly title: string
  readonly holds: boolean
  readonly numRuns: number
  readonly seed: number
  readonly path?: string
  readonly counterexample?: string
  readonly why?: string
}

/**
 * A law of the planner. `id` never changes its meaning; `title` states the law.
 *
 * @category model
 */
export interface PlanLaw {
  readonly id: string
  readonly title: string
  /** Checks the law on random runs of a workflow. Never throws. */
  readonly check: (of: RunsOf, options?: LawOptions) => LawResult
}

/** `calm`: choices without faults. */
export const law = <A>(
  id: string,
  title: string,
  cases: (of: RunsOf) => fc.Arbitrary<A>,
  holds: (one: A, calm: Choices) => void
): PlanLaw => ({
  id,
  title,
  check: (of, options = {}) => {
    try {
      const calm = choicesOf([], samplesOf(of.outputs))
      const property = fc.property(cases(of), (one) => {
        try {
          holds(one, calm)
        } catch (error) {
          if (error !== NOT_APPLICABLE) assert.fail(error as Error)
        }
      })
      return resultOf({ id, title }, fc.check(property, options))
    } catch (error) {
      // The workflow's own functions threw while a case was generated.
      return { id, title, holds: false, numRuns: 0, seed: options.seed ?? 0, why: E.toError(error).message }
    }
  }
})

const NOT_APPLICABLE = new Error('the law does not apply to this case')

/** Returns a value. Without one the case ends, because the law does not apply to it. */
export const given = <A>(value: A | undefined): A => value ?? assert.fail(NOT_APPLICABLE)

/** A moment whose workflow was edited. `was`: the workflow before; `first`: the index of the first step that changed. */
interface EditedMoment extends Moment {
  readonly was: Workflow
  readonly first: number
}

/** A law about a moment whose workflow is edited. */
export const lawOfEdits = (id: string, title: string, holds: (edited: EditedMoment) => void): PlanLaw =>
  law(
    id,
    title,
    (of) => fc.tuple(moment(of), workflowEdit),
    ([{ checkpoint, workflow: was }, change]) => holds({ checkpoint, was, ...edit(was, change) })
  )

/** A law that also makes random choices. */
export const lawOfChoices = <A>(
  id: string,
  title: string,
  cases: (of: RunsOf) => fc.Arbitrary<A>,
  holds: (one: A, choices: Choices) => void
): PlanLaw =>
  law(
    id,
    title,
    (of) => fc.tuple(cases(of), numbers),
    ([one, chance], { samples }) => holds(one, choicesOf(chance, samples))
  )

const resultOf = <A>(named: { readonly id: string; readonly title: string }, run: fc.RunDetails<[A]>): LawResult => {
  const { failed, numRuns, seed, counterexamplePath: path, counterexample, errorInstance } = run
  const tried = { ...named, holds: !failed, numRuns, seed }
  if (!failed) return tried
  return {
    ...tried,
    ...(path === null ? {} : { path }),
    ...(counterexample === null ? {} : { counterexample: fc.stringify(counterexample[0]) }),
    why: E.toError(errorInstance).message
  }
}

/** Fails if there is no plan. */
export const planOf = ({ checkpoint, workflow }: Moment, options?: PlanOptions): ResumePlan => {
  const plan = planResume(checkpoint, workflow, options)
  return E.isRight(plan) ? plan.right : assert.fail(`there is no plan: ${JSON.stringify(plan.left.problems)}`)
}

/** Returns the plan unless it is refused. */
export const acceptedPlan = ({ checkpoint, workflow }: Moment, options?: PlanOptions): ResumePlan | undefined => {
  const plan = planResume(checkpoint, workflow, options)
  return E.isRight(plan) ? plan.right : undefined
}

/** Fails unless the decision is of this kind, or of another kind if `is` is false. */
export const checkDecision = ({ unit, _tag, reason }: Decision, tag: Decision['_tag'], is = true): void => {
  const found = `${_tag} (${reason._tag})`
  assert.equal(_tag === tag, is, is ? `${unit} gets ${found} instead of ${tag}` : `${unit} must not get ${found}`)
}

/** The tasks and unexpanded maps that a plan neither skips nor polls. */
export const scheduled = (plan: ResumePlan): ReadonlyArray<string> =>
  works(plan)
    .filter((one) => one._tag !== 'Skip' && one._tag !== 'Poll')
    .map(({ unit }) => unit)

/** The decisions about tasks and unexpanded maps. */
export const works = (plan: ResumePlan): ReadonlyArray<Decision> => {
  const decisions = withoutSubSteps(plan)
  return decisions.filter(({ unit }, index) => !isWithin(decisions[index + 1]?.unit ?? '', unit))
}

/** The decisions about the units of the workflow. */
export const withoutSubSteps = ({ decisions }: ResumePlan): ReadonlyArray<Decision> =>
  decisions.filter(({ unit }) => !isSubStep(unit))

export const unitsOf = ({ checkpoint, workflow }: Moment): ReadonlyMap<string, Task> =>
  taskUnits(workflow, checkpoint.items)

export const recorded = ({ completedSteps }: Checkpoint): ReadonlySet<string> =>
  new Set([...completedSteps].map(({ unit }) => unit))

/** The pending units that were removed or kept their kind, and the suspended tasks that still have code and are idempotent. */
export const waiting = ({ checkpoint, workflow }: Moment): ReadonlySet<string> => {
  const { pending, state, items } = checkpoint
  const suspended = [...State.inFlight(state)].filter((one) => one.suspended === true)
  const stepAt = (unit: Unit): Step | undefined => find<Step>(workflow, items, unit, state.stepIndex)?.definition
  return new Set([
    ...[...pending].flatMap(({ unit, _tag }) => {
      const step = stepAt(unit)
      return step === undefined || (step._tag === 'Task' && (step.wait ?? 'Job') === _tag) ? [unit] : []
    }),
    ...suspended.flatMap(({ unit }) => {
      const step = stepAt(unit)
      return hasCode(step) && step.idempotent ? [unit] : []
    })
  ])
}

/** A change of a run, and the moments before and after it. */
export interface Transition<C extends Change = Change> {
  readonly change: C
  readonly before: Moment
  readonly after: Moment
}

/** All changes of a run but the first. */
export const transitions = ({ changes, trail }: SimulatedRun): ReadonlyArray<Transition> =>
  changes
    .slice(1)
    .map((change, index) => ({ change, before: trail[index] as Moment, after: trail[index + 1] as Moment }))

/** The comparable part of a plan. */
export const dataOf = ({ decisions, startIndex, retryCurrent, skipSteps, variables }: ResumePlan): unknown => ({
  decisions,
  startIndex,
  retryCurrent,
  skipSteps: [...skipSteps],
  variables: [...variables].sort(([a], [b]) => (a < b ? -1 : 1))
})

/** The changes that a plan records before it is executed. */
export const recordedBy = (
  { checkpoint, workflow }: Moment,
  plan: ResumePlan,
  options: PlanOptions
): ReadonlyArray<Change> =>
  overrides(checkpoint, { ...workflow, identity: identityOf(workflow) }, plan, options, checkpoint.updatedAt)

/** Checks that each change that a plan records names exactly the pending jobs that it abandons, and that the plan lists all of them. */
export const assertNamesAbandoned = (moment: Moment, options: PlanOptions): void => {
  const plan = acceptedPlan(moment, options)
  if (plan === undefined || openQuestions(plan).length > 0) return
  const named: Array<string> = []
  let { checkpoint } = moment
  for (const change of recordedBy(moment, plan, options)) {
    const next = apply(checkpoint, change)
    if (E.isLeft(next)) return assert.fail(`the plan records what cannot be applied: ${JSON.stringify(next.left)}`)
    const ended = jobsOf(checkpoint).filter((unit) => !Units.has(next.right.pending, unit))
    const abandons = 'abandons' in change ? change.abandons : []
    assert.deepEqual(abandons, ended, `${change._tag} names the jobs ${abandons.join()} and abandons ${ended.join()}`)
    named.push(...ended)
    checkpoint = next.right
  }
  assert.deepEqual(plan.abandons?.map(({ unit }) => unit).sort() ?? [], named.sort())
}

const jobsOf = ({ pending }: Checkpoint): ReadonlyArray<string> =>
  [...pending].flatMap(({ _tag, unit }) => (_tag === 'Job' ? [unit] : []))
