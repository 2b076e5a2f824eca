/**
 * What a plan decides against the record, as facts. They are saved before the first effect, so that a crash in the
 * middle of an override, followed by a plain resume, keeps to it.
 *
 * @since 0.1.0
 */
import type * as Change from './Change.js'
import type { Checkpoint } from './Checkpoint.js'
import * as State from './CheckpointState.js'
import type { CompletedStep, CompletedSteps, Evidence } from './CompletedStep.js'
import * as Steps from './CompletedStep.js'
import { expand } from './Expansion.js'
import { equals } from './Json.js'
import type { Decision, PlanOptions, ResumePlan, Skip, SkipReason } from './Plan.js'
import type { Unit } from './Unit.js'
import { isTop, join, nameOf, top } from './Unit.js'
import type { Step, Task, Workflow } from './Workflow.js'
import { groupNamed } from './Workflow.js'
import type { WorkflowIdentity } from './WorkflowIdentity.js'

/**
 * Computes the changes to save before a plan is executed: adopt the edited workflow, rewind completed work, record answers, add
 * assumed records, update accepted evidence and replace the input. Returns none for a plan without overrides. `at`: UTC, ISO
 * 8601.
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
  const { completedSteps: records } = checkpoint
  const steps = expand(workflow.steps, checkpoint.workflow)
  const back = rewound(checkpoint, workflow, plan, records, at)
  const taken = takenBack(back)
  return [
    ...edited(checkpoint, workflow.identity, at),
    ...(back === undefined ? [] : [back]),
    ...answered(checkpoint, steps, plan, options, taken, at),
    ...assumed(steps, plan, records, taken, at),
    ...kept(plan, at),
    // The input changes last, when no open attempt can have seen the old one.
    ...(plan.input === undefined ? [] : [{ _tag: 'InputReplaced', at, input: plan.input } as const])
  ]
}

const edited = (
  checkpoint: Checkpoint,
  identity: WorkflowIdentity,
  at: string
): ReadonlyArray<Change.WorkflowEdited> => {
  const same = checkpoint.workflow.fingerprint === identity.fingerprint && checkpoint.workflow.path === identity.path
  return same ? [] : [{ _tag: 'WorkflowEdited', at, workflow: identity }]
}

/** Taken back is the record of whatever runs again, and of what somebody says has another outcome than the recorded one. */
const rewound = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  plan: ResumePlan,
  records: CompletedSteps,
  at: string
): Change.Rewound | undefined => {
  const kindOf = (decision: Decision): Step['_tag'] | undefined => workflow.steps[decision.stepIndex]?._tag
  const isWhole = (decision: Decision, index: number): boolean =>
    kindOf(decision) === 'Map' && isTop(decision.unit) && isTop(plan.decisions[index + 1]?.unit ?? '')
  const isWork = (decision: Decision, index: number): boolean =>
    !isTop(decision.unit) || kindOf(decision) === 'Task' || isWhole(decision, index)
  const keeps = (decision: Decision): boolean => {
    // What waits for its job goes on to, and what was begun goes on as it was left: in its attempt, and under its key.
    if (decision._tag === 'Poll' || decision._tag === 'Retry') return true
    const record = Steps.get(records, decision.unit)
    return decision._tag === 'Skip' && record !== undefined && !isReplaced(decision, record)
  }
  const asIs = asItIs(plan)
  const first = plan.decisions.find(
    (decision, index) =>
      isWork(decision, index) &&
      !keeps(decision) &&
      (Steps.has(records, decision.unit) ||
        (isWhole(decision, index) && hasItems(checkpoint, decision)) ||
        (decision._tag === 'Run' && (isAsked(decision, asIs) || decision.givesUp !== undefined)))
  )
  if (first === undefined) return undefined
  const ofStep = plan.decisions.filter((one) => one.stepIndex === first.stepIndex && !isTop(one.unit))
  const groups = ofStep.filter((one) => !keeps(one)).map(({ unit }) => unit)
  // A map of which groups are decided about goes on with the items that it has.
  const isPartial = ofStep.some(keeps) || (groups.length > 0 && kindOf(first) === 'Map')
  const held = heldSteps(checkpoint)
  const later = workflow.steps.slice(first.stepIndex + 1).filter(({ name }) => held.has(name))
  return {
    _tag: 'Rewound',
    at,
    units: [...(isPartial ? groups : [top(first.unit)]), ...later.map(({ name }) => name)],
    why: `${first.reason._tag}${givenUp(plan)}`
  }
}

/** The steps of which something is recorded. */
const heldSteps = ({ workflow, state, completedSteps, pending, submissions }: Checkpoint): ReadonlySet<string> => {
  const held = new Set([state.step])
  for (const { unit } of completedSteps) held.add(top(unit))
  for (const { unit } of [...pending, ...submissions]) held.add(top(unit))
  for (const { kind, name } of workflow.steps) if (kind === 'expanded') held.add(name)
  return held
}

/** The steps with a unit whose current evidence is accepted. */
const asItIs = ({ decisions }: ResumePlan): ReadonlySet<string> =>
  new Set(
    decisions.flatMap((one) => (one._tag === 'Skip' && evidenceIn(one.reason) !== undefined ? [top(one.unit)] : []))
  )

const evidenceIn = (reason: SkipReason): ReadonlyArray<Evidence> | undefined =>
  'evidence' in reason ? reason.evidence : undefined

/** Whether a unit runs because it was forced, or because it follows a step whose current evidence is accepted. */
const isAsked = ({ reason }: Decision, asIs: ReadonlySet<string>): boolean =>
  reason._tag === 'Forced' || (reason._tag === 'EarlierStepRunsAgain' && asIs.has(reason.step))

/** Whether a step is a map of items that are on record. */
const hasItems = ({ workflow: { steps } }: Checkpoint, { unit }: Decision): boolean =>
  steps.some((one) => one.kind === 'expanded' && one.name === unit && one.items.length > 0)

/** Which jobs nobody will ask for any more. */
const givenUp = ({ decisions }: ResumePlan): string => {
  const units = decisions.filter((one) => one._tag === 'Run' && one.givesUp !== undefined).map(({ unit }) => unit)
  return units.length === 0 ? '' : `; gives up the pending job of ${units.join(', ')}`
}

/** Whether the user's answer replaces the record. Accepting changed evidence alone keeps it. */
const isReplaced = ({ reason }: Skip, record: CompletedStep): boolean =>
  reason._tag === 'Assumed' &&
  ((record.assumed !== true && reason.evidence === undefined) ||
    (reason.output !== undefined && (record.output === undefined || !equals(reason.output, record.output))))

/** The units that a rewind names, and those that they are part of. */
interface TakenBack {
  readonly named: ReadonlySet<Unit>
  readonly above: ReadonlySet<Unit>
}

const takenBack = (back: Change.Rewound | undefined): TakenBack => {
  const named = new Set(back?.units)
  return { named, above: new Set([...named].map(top)) }
}

const isTakenBack = ({ unit }: Decision, { named, above }: TakenBack): boolean =>
  isTop(unit) ? above.has(unit) : named.has(top(unit)) || named.has(unit)

/** The answers "again" to what is asked: a unit in doubt that is not idempotent. */
const answered = (
  { state }: Checkpoint,
  steps: ReadonlyArray<Step>,
  plan: ResumePlan,
  options: PlanOptions,
  back: TakenBack,
  at: string
): ReadonlyArray<Change.Confirmed> => {
  if (options.confirm === undefined) return []
  const inDoubt = State.inDoubt(state)
  return plan.decisions
    .filter(
      (decision) =>
        (decision._tag === 'Retry' || decision._tag === 'Run') &&
        inDoubt.has(decision.unit) &&
        taskOf(steps, decision)?.idempotent === false &&
        options.confirm?.get(decision.unit)?._tag === 'Again' &&
        !isTakenBack(decision, back)
    )
    .map((decision) => ({ _tag: 'Confirmed', at, unit: decision.unit }))
}

/** A `Confirmed` change for each unit whose changed evidence is accepted. */
const kept = ({ decisions }: ResumePlan, at: string): ReadonlyArray<Change.Confirmed> =>
  decisions.flatMap((decision): ReadonlyArray<Change.Confirmed> => {
    const evidence = decision._tag === 'Skip' ? evidenceIn(decision.reason) : undefined
    return evidence === undefined ? [] : [{ _tag: 'Confirmed', at, unit: decision.unit, evidence }]
  })

/** What is taken as done and has no record, or none that stays. A wave follows its groups. */
const assumed = (
  steps: ReadonlyArray<Step>,
  plan: ResumePlan,
  records: CompletedSteps,
  back: TakenBack,
  at: string
): ReadonlyArray<Change.Assumed> => {
  const found: Array<Change.Assumed> = []
  let wave: Change.Assumed | undefined
  const close = (): void => {
    if (wave !== undefined) found.push(wave)
    wave = undefined
  }
  for (const decision of plan.decisions) {
    if (isTop(decision.unit)) close()
    if (decision._tag !== 'Skip' || !isGiven(decision.reason)) continue
    const name = decision.unit
    const record = Steps.get(records, name)
    const task = taskOf(steps, decision)
    if (task === undefined) {
      if (record === undefined || isTakenBack(decision, back) || !hasAllGroups(steps, decision, records))
        wave = { _tag: 'Assumed', at, unit: name, captured: [] }
      continue
    }
    if (record !== undefined && !isTakenBack(decision, back)) continue
    const output = 'output' in decision.reason ? decision.reason.output : record?.output
    found.push({
      _tag: 'Assumed',
      at,
      unit: name,
      ...(output === undefined ? {} : { output }),
      captured: output === undefined ? [] : task.captures
    })
  }
  close()
  return found
}

const isGiven = ({ _tag }: SkipReason): boolean => _tag === 'Assumed' || _tag === 'EvidenceChanged'

const hasAllGroups = (steps: ReadonlyArray<Step>, { stepIndex, unit }: Decision, records: CompletedSteps): boolean => {
  const wave = steps[stepIndex]
  return wave?._tag !== 'Wave' || wave.groups.every(({ name }) => Steps.has(records, join(unit, name)))
}

/** The task that a decision is about; none for that of a wave or map. */
const taskOf = (steps: ReadonlyArray<Step>, { stepIndex, unit }: Decision): Task | undefined => {
  const step = steps[stepIndex]
  if (step?._tag === 'Task') return step
  return step?._tag === 'Wave' && !isTop(unit) ? groupNamed(step, nameOf(unit)) : undefined
}
