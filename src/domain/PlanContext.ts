/**
 * What the decisions of a plan are made from.
 *
 * @since 0.1.0
 */
import type { Checkpoint } from './Checkpoint.js'
import type { Failure, InFlight } from './CheckpointState.js'
import * as State from './CheckpointState.js'
import type { EvidencePlan } from './changedEvidence.js'
import { planEvidence } from './changedEvidence.js'
import type { CompletedStep } from './CompletedStep.js'
import * as Steps from './CompletedStep.js'
import type { Json } from './Json.js'
import type { Answer, PlanOptions, PlanProblem } from './Plan.js'
import type { PendingJob } from './PendingJob.js'
import type { Unit } from './Unit.js'
import { join } from './Unit.js'
import type { Workflow } from './Workflow.js'
import { groupsOf } from './Workflow.js'

/**
 * Everything a decision looks at, found in constant time.
 *
 * - `jobs`: the pending jobs by unit.
 * - `begun`: whether a step of the workflow that ran, or a part of it, has a record.
 * - `evidence`: the plan's decisions about missing and changed evidence.
 * - `from`: the step from which `fromStep` makes everything run, or infinity.
 * - `rewound`: the earliest step of which completed work runs again, or infinity.
 * - `redoneFrom`: the step from which all completed work runs again, or infinity.
 *
 * @category model
 * @since 0.1.0
 */
export interface PlanContext {
  readonly checkpoint: Checkpoint
  readonly jobs: ReadonlyMap<Unit, PendingJob>
  readonly begun: ReadonlyArray<boolean>
  readonly inFlight: ReadonlyMap<Unit, InFlight>
  readonly failures: ReadonlyMap<Unit, Failure>
  readonly inDoubt: ReadonlySet<Unit>
  readonly confirm: ReadonlyMap<string, Answer>
  readonly outputs: ReadonlyMap<string, Json>
  readonly evidence: EvidencePlan
  readonly from: number
  readonly rewound: number
  readonly redoneFrom: number
  readonly rewoundStep: string
  readonly restartWave: string | undefined
  readonly recovered: boolean
}

/**
 * The context of a plan.
 *
 * @category constructors
 * @since 0.1.0
 */
export const contextOf = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  options: PlanOptions,
  begun: ReadonlyArray<boolean>
): PlanContext => {
  const { state } = checkpoint
  const from = startOf(workflow, options)
  const evidence = planEvidence(checkpoint, workflow, options, from)
  const forced = Math.min(from, indexOf(workflow, options.restartWave))
  const rewound = Math.min(forced, evidence.first)
  return {
    checkpoint,
    jobs: byUnit(checkpoint.pending),
    begun,
    inFlight: byUnit(State.inFlight(state)),
    failures: byUnit(State.failures(state)),
    inDoubt: State.inDoubt(state),
    confirm: options.confirm ?? new Map(),
    outputs: options.outputs ?? new Map(),
    evidence,
    from,
    rewound,
    redoneFrom: Math.min(forced, rewound + 1),
    rewoundStep: workflow.steps[rewound]?.name ?? '',
    restartWave: options.restartWave,
    recovered: options.recovered ?? false
  }
}

const indexOf = ({ steps }: Workflow, name: string | undefined): number => {
  const index = name === undefined ? -1 : steps.findIndex((step) => step.name === name)
  return index === -1 ? Infinity : index
}

/** The step from which everything runs, or infinity. A wave that is restarted is not taken as done. */
const startOf = (workflow: Workflow, { fromStep, restartWave }: PlanOptions): number => {
  const start = indexOf(workflow, fromStep)
  return start === Infinity ? Infinity : Math.min(start, indexOf(workflow, restartWave))
}

const byUnit = <A extends { readonly unit: Unit }>(all: ReadonlyArray<A>): ReadonlyMap<Unit, A> =>
  new Map(all.map((one) => [one.unit, one]))

/**
 * The record of a unit, if it has one. `expected`: its usual place among the records.
 *
 * @category destructors
 * @since 0.1.0
 */
export const recordOf = ({ checkpoint }: PlanContext, unit: Unit, expected?: number): CompletedStep | undefined =>
  Steps.get(checkpoint.completedSteps, unit, expected)

/**
 * Whether a step, or a part of it, has a record, for each step of the workflow that ran.
 *
 * @category destructors
 * @since 0.1.0
 */
export const begunSteps = ({ completedSteps, workflow }: Checkpoint): ReadonlyArray<boolean> => {
  const begun = new Array<boolean>(workflow.steps.length).fill(false)
  for (const { stepIndex } of completedSteps) begun[stepIndex] = true
  return begun
}

/**
 * Whether a step is before the one that everything is to run from.
 *
 * @category destructors
 * @since 0.1.0
 */
export const isAssumed = ({ from }: PlanContext, stepIndex: number): boolean => stepIndex < from && from !== Infinity

/**
 * Whether all of a step is done anew, whatever it is made of: it was asked for, or comes after something that runs again.
 *
 * @category destructors
 * @since 0.1.0
 */
export const isDoneAnew = ({ from, rewound, restartWave }: PlanContext, step: string, stepIndex: number): boolean =>
  stepIndex >= from || stepIndex > rewound || step === restartWave

/**
 * The names in a plan's options that the workflow does not have. `due`: includes the known groups of maps that resume, which
 * are answered by group. `changed`: units that may be answered in any case.
 *
 * @category validation
 * @since 0.1.0
 */
export const unknownNames = (
  workflow: Workflow,
  due: Workflow,
  options: PlanOptions,
  changed: Pick<ReadonlySet<string>, 'has'> = new Set()
): ReadonlyArray<PlanProblem> => {
  const asked = [options.fromStep, options.restartWave].filter((name) => name !== undefined)
  const confirmed = [...new Set([...(options.confirm?.keys() ?? []), ...(options.outputs?.keys() ?? [])])]
  if (asked.length === 0 && confirmed.length === 0) return []
  const steps = workflow.steps.map((step) => step.name)
  const waves = workflow.steps.filter((step) => step._tag !== 'Task')
  const units = new Set(
    due.steps.flatMap((step) => [
      ...(step._tag === 'Wave' ? [] : [step.name]),
      ...groupsOf(step).map(({ name }) => join(step.name, name))
    ])
  )
  const unknown = (step: string, available: ReadonlyArray<string>): PlanProblem => ({
    _tag: 'UnknownStep',
    step,
    available
  })
  const waveNames = waves.map((wave) => wave.name)
  return [
    ...(options.fromStep === undefined || steps.includes(options.fromStep) ? [] : [unknown(options.fromStep, steps)]),
    ...(options.restartWave === undefined || waveNames.includes(options.restartWave)
      ? []
      : [{ _tag: 'NotAWave', step: options.restartWave, available: waveNames, steps } as const]),
    ...confirmed.filter((name) => !units.has(name) && !changed.has(name)).map((name) => unknown(name, [...units]))
  ]
}
