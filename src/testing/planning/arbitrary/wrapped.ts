/** A workflow wrapped in a sequence, with its run and plan options. */
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { make } from '../../../domain/checkpoint/Checkpoint.js'
import type { CheckpointState } from '../../../domain/checkpoint/CheckpointState.js'
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import * as Units from '../../../domain/checkpoint/Units.js'
import { defined } from '../../../domain/data/defined.js'
import type { Decision, PlanOptions } from '../../../domain/plan/Plan.js'
import type { PlanProblem } from '../../../domain/plan/PlanProblem.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { sequence } from '../../../domain/workflow/Workflow.js'
import type { WorkflowIdentity } from '../../../domain/workflow/WorkflowIdentity.js'
import type { Moment } from './RunRecorder.js'

const NAME = 'whole'

const inside = (unit: Unit): Unit => `${NAME}/${unit}`

const unitsInside = <A extends Units.OfUnit>(all: Iterable<A>): ReadonlyArray<A> =>
  Array.from(all, (one) => ({ ...one, unit: inside(one.unit) }))

const keysInside = <A>(all: ReadonlyMap<string, A>): ReadonlyMap<string, A> =>
  new Map([...all].map(([unit, value]) => [inside(unit), value]))

const stateInside = (state: CheckpointState): CheckpointState => {
  const [inFlight, failures] = [unitsInside(State.inFlight(state)), unitsInside(State.failures(state))]
  if (state._tag === 'Failed') return State.failed(0, NAME, failures, state.retryable, inFlight)
  return state._tag === 'Interrupted'
    ? State.interrupted(0, NAME, state.reason, { inProgress: state.inProgress, inFlight, failures })
    : State.beforeStep(0, NAME, inFlight, failures)
}

const identityInside = (of: WorkflowIdentity): WorkflowIdentity => ({
  ...of,
  steps: [
    {
      _tag: 'Sequence',
      name: NAME,
      fingerprint: of.fingerprint,
      ownFingerprint: sequence(NAME, []).ownFingerprint,
      steps: of.steps
    }
  ]
})

const runInside = (run: Checkpoint): Checkpoint =>
  make({
    ...run,
    workflow: identityInside(run.workflow),
    state: stateInside(run.state),
    completedSteps: Units.from(
      unitsInside(run.completedSteps).map(({ inDoubt, ...one }) => ({
        ...one,
        stepIndex: 0,
        ...(inDoubt === undefined ? {} : { inDoubt: inDoubt.map(inside) })
      }))
    ),
    items: keysInside(run.items),
    pending: Units.from(unitsInside(run.pending)),
    answers: Units.from(unitsInside(run.answers)),
    submissions: Units.from(unitsInside(run.submissions)),
    renewals: keysInside(run.renewals)
  })

const optionsInside = ({ fromStep, restartWave, confirm, outputs, evidence, ...rest }: PlanOptions): PlanOptions => ({
  ...rest,
  ...defined({
    fromStep: fromStep && inside(fromStep),
    restartWave: restartWave && inside(restartWave),
    confirm: confirm && keysInside(confirm),
    outputs: outputs && keysInside(outputs),
    evidence: evidence && unitsInside(evidence)
  })
})

export const decisionInside = ({ reason, ...decision }: Decision): unknown => ({
  ...decision,
  unit: inside(decision.unit),
  stepIndex: 0,
  reason: reason._tag === 'EarlierStepRunsAgain' ? { ...reason, step: inside(reason.step) } : reason
})

export const problemInside = (problem: PlanProblem): string => {
  const names = (of: object): object =>
    Object.fromEntries(
      Object.entries(of).map(([key, value]: [string, unknown]) => [
        key,
        key === 'unit' || key === 'step'
          ? inside(String(value))
          : key === 'available'
            ? (value as ReadonlyArray<string>).map(inside)
            : value
      ])
    )
  return JSON.stringify(names(problem))
}

export const wrapped = (
  { checkpoint, workflow }: Moment,
  options: PlanOptions
): Moment & { readonly options: PlanOptions } => ({
  checkpoint: runInside(checkpoint),
  workflow: { ...workflow, steps: [sequence(NAME, workflow.steps)] },
  options: optionsInside(options)
})
