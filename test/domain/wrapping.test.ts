/** A workflow that is wrapped in a sequence, with its run, has the same plan one level deeper. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import type { Checkpoint } from '../../src/domain/Checkpoint.js'
import { make } from '../../src/domain/Checkpoint.js'
import type { CheckpointState } from '../../src/domain/CheckpointState.js'
import * as State from '../../src/domain/CheckpointState.js'
import * as Steps from '../../src/domain/CompletedStep.js'
import type { Decision, PlanOptions, PlanProblem } from '../../src/domain/Plan.js'
import { planResume } from '../../src/domain/planResume.js'
import type { Unit } from '../../src/domain/Unit.js'
import * as W from '../../src/domain/Workflow.js'
import type { WorkflowIdentity } from '../../src/domain/WorkflowIdentity.js'
import { momentWithOptions } from '../../src/testing/planning/runs.js'

const NAME = 'whole'

const inside = (unit: Unit): Unit => `${NAME}/${unit}`

const moved = <A extends { readonly unit: Unit }>(all: ReadonlyArray<A>): ReadonlyArray<A> =>
  all.map((one) => ({ ...one, unit: inside(one.unit) }))

const keys = <A>(all: ReadonlyMap<string, A>): ReadonlyMap<string, A> =>
  new Map([...all].map(([unit, value]) => [inside(unit), value]))

const stateInside = (state: CheckpointState): CheckpointState => {
  const [inFlight, failures] = [moved(State.inFlight(state)), moved(State.failures(state))]
  switch (state._tag) {
    case 'BeforeStep':
    case 'Completed':
      return State.beforeStep(0, NAME, inFlight, failures)
    case 'Failed':
      return State.failed(0, NAME, failures, state.retryable)
    case 'Interrupted':
      return { ...state, stepIndex: 0, step: NAME, inFlight, failures }
  }
}

const identityInside = (of: WorkflowIdentity): WorkflowIdentity => ({
  ...of,
  steps: [{ name: NAME, kind: 'sequence', fingerprint: of.fingerprint, steps: of.steps }]
})

const wrappedRun = (run: Checkpoint): Checkpoint =>
  make({
    ...run,
    workflow: identityInside(run.workflow),
    state: stateInside(run.state),
    completedSteps: Steps.from(
      [...run.completedSteps].map((one) => ({ ...one, unit: inside(one.unit), stepIndex: 0 }))
    ),
    items: keys(run.items),
    pending: moved(run.pending),
    submissions: moved(run.submissions),
    renewals: keys(run.renewals)
  })

const wrappedOptions = ({ fromStep, restartWave, confirm, outputs, evidence, ...rest }: PlanOptions): PlanOptions => ({
  ...rest,
  ...(fromStep === undefined ? {} : { fromStep: inside(fromStep) }),
  ...(restartWave === undefined ? {} : { restartWave: inside(restartWave) }),
  ...(confirm === undefined ? {} : { confirm: keys(confirm) }),
  ...(outputs === undefined ? {} : { outputs: keys(outputs) }),
  ...(evidence === undefined ? {} : { evidence: moved(evidence) })
})

const decisionInside = ({ reason, ...decision }: Decision): unknown => ({
  ...decision,
  unit: inside(decision.unit),
  stepIndex: 0,
  reason: reason._tag === 'EarlierStepRunsAgain' ? { ...reason, step: inside(reason.step) } : reason
})

const problemInside = (problem: PlanProblem): string => {
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

describe('a workflow that is wrapped in a sequence', () => {
  test('has the same decisions and problems, with paths prefixed', () => {
    let [plans, refusals] = [0, 0]
    fc.assert(
      fc.property(momentWithOptions(), ({ moment: { checkpoint, workflow }, options }) => {
        // Whether a step alone was cut short, the state says of top-level steps only.
        const { state } = checkpoint
        const isCut = state._tag === 'Interrupted' && state.inProgress && State.inFlight(state).length === 0
        fc.pre(!isCut && options.changes !== 'strict')
        const whole = { ...workflow, steps: [W.sequence(NAME, workflow.steps)] }
        const plain = planResume(checkpoint, workflow, options)
        const wrapped = planResume(wrappedRun(checkpoint), whole, wrappedOptions(options))
        if (E.isLeft(plain)) {
          assert.ok(E.isLeft(wrapped), 'the wrapped one is planned')
          refusals += 1
          const problems = plain.left.problems.filter(({ _tag }) => _tag !== 'NotAWave').map(problemInside)
          const found = new Set(wrapped.left.problems.map((one) => JSON.stringify(one)))
          for (const problem of problems) assert.ok(found.has(problem), `${problem} is not in ${[...found].join('\n')}`)
          return
        }
        assert.ok(E.isRight(wrapped), E.isLeft(wrapped) ? JSON.stringify(wrapped.left.problems) : '')
        plans += 1
        assert.deepEqual(wrapped.right.decisions.slice(1), plain.right.decisions.map(decisionInside))
      }),
      { numRuns: 1500, seed: 20261123 }
    )
    assert.ok(plans > 300 && refusals > 30, `${plans} plans, ${refusals} refusals`)
  })
})
