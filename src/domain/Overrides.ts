/**
 * What a plan decides against the record, as facts. They are saved before the first effect, so that a crash in the
 * middle of an override, followed by a plain resume, keeps to it.
 *
 * @since 0.1.0
 */
import type * as Change from './Change.js'
import type { Checkpoint } from './Checkpoint.js'
import * as State from './CheckpointState.js'
import type { Decision, PlanOptions, ResumePlan } from './Plan.js'
import { unitName } from './Plan.js'
import type { Workflow } from './Workflow.js'
import { tasks } from './Workflow.js'
import type { WorkflowIdentity } from './WorkflowIdentity.js'

/**
 * The changes to make before a plan is executed: the edited workflow is adopted, completed work is taken back, answers
 * are noted, and what is assumed gets its record. Empty for a plan that only goes on. `at`: UTC, ISO 8601.
 *
 * @category planning
 * @since 0.1.0
 */
export const overrides = (
  checkpoint: Checkpoint,
  workflow: Workflow & { readonly identity: WorkflowIdentity },
  plan: ResumePlan,
  options: PlanOptions,
  at: string
): ReadonlyArray<Change.Change> => {
  const recorded = new Set<string>()
  for (const record of checkpoint.completedSteps) recorded.add(unitName(record))
  const back = rewound(plan, recorded, at)
  return [
    ...edited(checkpoint, workflow.identity, at),
    ...(back === undefined ? [] : [back]),
    ...answered(checkpoint, plan, options, back, at),
    ...assumed(workflow, plan, recorded, at)
  ]
}

const edited = (
  checkpoint: Checkpoint,
  identity: WorkflowIdentity,
  at: string
): ReadonlyArray<Change.WorkflowEdited> => {
  const same = checkpoint.workflow.fingerprint === identity.fingerprint && checkpoint.workflow.path === identity.path
  return same && recordsFit(checkpoint) ? [] : [{ _tag: 'WorkflowEdited', at, workflow: identity }]
}

/** A record may differ from the definition under which it was accepted before; adopting the workflow again aligns it. */
const recordsFit = (checkpoint: Checkpoint): boolean => {
  for (const record of checkpoint.completedSteps) {
    const step = checkpoint.workflow.steps[record.stepIndex]
    const unit =
      record.group === undefined || step?.kind !== 'wave'
        ? step
        : step.groups.find((group) => group.name === record.group)
    if (unit?.fingerprint !== record.fingerprint) return false
  }
  return true
}

const rewound = (plan: ResumePlan, recorded: ReadonlySet<string>, at: string): Change.Rewound | undefined => {
  const taken = plan.decisions.filter(
    (decision) =>
      decision._tag !== 'Skip' &&
      (recorded.has(unitName(decision)) || (decision._tag === 'Run' && decision.reason._tag === 'Forced'))
  )
  const first = taken[0]
  if (first === undefined) return undefined
  const ofStep = plan.decisions.filter((one) => one.stepIndex === first.stepIndex && one.group !== undefined)
  const stays = ofStep.some((one) => one._tag === 'Skip' && recorded.has(unitName(one)))
  const groups = ofStep.filter((one) => one._tag !== 'Skip').map((one) => one.group as string)
  return {
    _tag: 'Rewound',
    at,
    stepIndex: first.stepIndex,
    step: first.step,
    ...(stays ? { groups } : {}),
    why: first.reason._tag
  }
}

const answered = (
  checkpoint: Checkpoint,
  plan: ResumePlan,
  options: PlanOptions,
  back: Change.Rewound | undefined,
  at: string
): ReadonlyArray<Change.Confirmed> => {
  const { state } = checkpoint
  const asked = new Set(
    [...State.inFlight(state), ...State.failures(state)].map(({ group }) =>
      unitName({ step: state.step, ...(group === undefined ? {} : { group }) })
    )
  )
  return plan.decisions
    .filter((decision) => decision._tag === 'Retry' && (back === undefined || decision.stepIndex < back.stepIndex))
    .filter((decision) => {
      const name = unitName(decision)
      return asked.has(name) && options.confirm?.get(name)?._tag === 'Again'
    })
    .map((decision) => ({ _tag: 'Confirmed', at, ...placeOf(decision) }))
}

const assumed = (
  workflow: Workflow,
  plan: ResumePlan,
  recorded: ReadonlySet<string>,
  at: string
): ReadonlyArray<Change.Assumed> => {
  const found: Array<Change.Assumed> = []
  let wave: Change.Assumed | undefined
  const close = (): void => {
    if (wave !== undefined) found.push(wave)
    wave = undefined
  }
  for (const decision of plan.decisions) {
    if (decision.group === undefined) close()
    if (decision._tag !== 'Skip' || decision.reason._tag !== 'Assumed' || recorded.has(unitName(decision))) continue
    const step = workflow.steps[decision.stepIndex]
    const { output } = decision.reason
    const task =
      step === undefined ? undefined : tasks(step).find((one) => one.name === (decision.group ?? decision.step))
    const change: Change.Assumed = {
      _tag: 'Assumed',
      at,
      ...placeOf(decision),
      ...(output === undefined ? {} : { output }),
      captured: output === undefined ? [] : (task?.captures ?? [])
    }
    if (step?._tag === 'Wave' && decision.group === undefined) wave = change
    else found.push(change)
  }
  close()
  return found
}

const placeOf = (
  decision: Decision
): { readonly stepIndex: number; readonly step: string; readonly group?: string } => ({
  stepIndex: decision.stepIndex,
  step: decision.step,
  ...(decision.group === undefined ? {} : { group: decision.group })
})
