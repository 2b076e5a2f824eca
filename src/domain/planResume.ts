/**
 * The planner: from what is recorded and what is wanted to what happens next.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Checkpoint } from './Checkpoint.js'
import { variablesOf } from './Checkpoint.js'
import type { Failure, InFlight } from './CheckpointState.js'
import * as State from './CheckpointState.js'
import type { CompletedStep } from './CompletedStep.js'
import { describeEvidence } from './Explain.js'
import type { Json } from './Json.js'
import type {
  Answer,
  Confirm,
  Decision,
  PlanError,
  PlanOptions,
  PlanProblem,
  ResumePlan,
  Retry,
  RetryReason,
  Run,
  RunReason,
  Skip,
  SkipReason
} from './Plan.js'
import { unitName } from './Plan.js'
import { compare, inconsistencies } from './PlanCheck.js'
import type { Group, Step, Task, Wave, Workflow } from './Workflow.js'
import { groupNamed, problems as problemsOf } from './Workflow.js'

/**
 * Plans a resume: what is skipped, run, retried or asked about, and why. Pure, total and deterministic, in time linear
 * in the steps and records.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { Checkpoint, planResume, Workflow, WorkflowIdentity } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const workflow = { name: 'release', steps: [Workflow.task('build'), Workflow.task('publish')] }
 * const checkpoint = Checkpoint.start({
 *   _tag: 'Started',
 *   at: '2026-01-02T03:04:05.000Z',
 *   runId: 'release-1',
 *   workflow: WorkflowIdentity.of(workflow),
 *   input: {}
 * })
 * const plan = planResume(checkpoint, workflow)
 * assert.ok(E.isRight(plan))
 * assert.equal(plan.right.startIndex, 0)
 * assert.deepEqual(plan.right.decisions.map((decision) => decision._tag), ['Run', 'Run'])
 *
 * @category planning
 * @since 0.1.0
 */
export const planResume = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  options: PlanOptions = {}
): E.Either<PlanError, ResumePlan> => {
  const unfit = [
    ...problemsOf(workflow).map((problem): PlanProblem => ({ _tag: 'InvalidWorkflow', problem })),
    ...inconsistencies(checkpoint)
  ]
  if (isNonEmpty(unfit)) return refuse(unfit)
  const refused = [...compare(checkpoint, workflow, options.changes ?? 'completed'), ...unknownNames(workflow, options)]
  const context = contextOf(checkpoint, workflow, options)
  const planned = workflow.steps.map((step, stepIndex) => decideStep(context, step, stepIndex))
  const problems = [...refused, ...planned.flatMap((step) => step.problems)]
  if (isNonEmpty(problems)) return refuse(problems)
  const decisions = planned.flatMap((step) => step.decisions)
  return E.right(read(checkpoint, workflow, decisions, context))
}

const refuse = (problems: ReadonlyNonEmptyArray<PlanProblem>): E.Either<PlanError, never> =>
  E.left({ _tag: 'PlanError', problems })

const isNonEmpty = <A>(all: ReadonlyArray<A>): all is ReadonlyNonEmptyArray<A> => all.length > 0

// ---------------------------------------------------------------------------------------------------------------------
// what the decisions are made from
// ---------------------------------------------------------------------------------------------------------------------

/** Everything a decision looks at, found by name in constant time. */
interface Context {
  readonly checkpoint: Checkpoint
  readonly records: ReadonlyMap<string, CompletedStep>
  readonly inFlight: ReadonlyMap<string | undefined, InFlight>
  readonly failures: ReadonlyMap<string | undefined, Failure>
  readonly inDoubt: ReadonlySet<string | undefined>
  readonly confirm: ReadonlyMap<string, Answer>
  readonly outputs: ReadonlyMap<string, Json>
  readonly missing: ReadonlyMap<string, RunReason & { readonly _tag: 'EvidenceMissing' }>
  /** The step from which `fromStep` makes everything run, or infinity. */
  readonly from: number
  /** The earliest step of which completed work runs again, or infinity. */
  readonly rewound: number
  readonly rewoundStep: string
  readonly restartWave: string | undefined
}

const contextOf = (checkpoint: Checkpoint, workflow: Workflow, options: PlanOptions): Context => {
  const records = new Map<string, CompletedStep>()
  for (const record of checkpoint.completedSteps) records.set(unitName(record), record)
  const missing = new Map(
    (options.evidence ?? []).map(({ missing, ...unit }) => [
      unitName(unit),
      { _tag: 'EvidenceMissing', missing } as const
    ])
  )
  const from = startOf(workflow, options)
  const isGone = (name: string): boolean => records.has(name) && missing.has(name)
  const rewound = workflow.steps.findIndex(
    (step, index) =>
      index === from ||
      step.name === options.restartWave ||
      (from === Infinity &&
        missing.size > 0 &&
        (isGone(step.name) ||
          (step._tag === 'Wave' &&
            step.groups.some(({ name: group }) => isGone(unitName({ step: step.name, group }))))))
  )
  return {
    checkpoint,
    records,
    inFlight: byGroup(State.inFlight(checkpoint.state)),
    failures: byGroup(State.failures(checkpoint.state)),
    inDoubt: State.inDoubt(checkpoint.state),
    confirm: options.confirm ?? new Map(),
    outputs: options.outputs ?? new Map(),
    missing,
    from,
    rewound: rewound === -1 ? Infinity : rewound,
    rewoundStep: workflow.steps[rewound]?.name ?? '',
    restartWave: options.restartWave
  }
}

/** The step from which `fromStep` makes everything run, or infinity. A wave that is restarted is not taken as done. */
const startOf = ({ steps }: Workflow, { fromStep, restartWave }: PlanOptions): number => {
  if (fromStep === undefined) return Infinity
  const start = steps.findIndex(({ name }) => name === fromStep || name === restartWave)
  return start === -1 ? Infinity : start
}

const byGroup = <A extends { readonly group?: string }>(all: ReadonlyArray<A>): ReadonlyMap<string | undefined, A> =>
  new Map(all.map((one) => [one.group, one]))

const unknownNames = (workflow: Workflow, options: PlanOptions): ReadonlyArray<PlanProblem> => {
  const asked = [options.fromStep, options.restartWave].filter((name) => name !== undefined)
  const confirmed = [...new Set([...(options.confirm?.keys() ?? []), ...(options.outputs?.keys() ?? [])])]
  if (asked.length === 0 && confirmed.length === 0) return []
  const steps = workflow.steps.map((step) => step.name)
  const waves = workflow.steps.filter((step) => step._tag === 'Wave')
  const units = new Set([
    ...workflow.steps.filter((step) => step._tag === 'Task').map((step) => step.name),
    ...waves.flatMap((wave) => wave.groups.map((group) => unitName({ step: wave.name, group: group.name })))
  ])
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
      : [unknown(options.restartWave, waveNames)]),
    ...confirmed.filter((name) => !units.has(name)).map((name) => unknown(name, [...units]))
  ]
}

// ---------------------------------------------------------------------------------------------------------------------
// decisions
// ---------------------------------------------------------------------------------------------------------------------

/** The decisions for one step, and what stands against them. */
interface Planned {
  readonly decisions: ReadonlyArray<Decision>
  readonly problems: ReadonlyArray<PlanProblem>
}

const decideStep = (context: Context, step: Step, stepIndex: number): Planned =>
  step._tag === 'Task'
    ? decideTask(context, { step: step.name, stepIndex, task: step })
    : decideWave(context, step, stepIndex)

const decideWave = (context: Context, wave: Wave, stepIndex: number): Planned => {
  const again = groupsToRepeat(context, wave, stepIndex)
  const groups = wave.groups.map((group) => ({ step: wave.name, stepIndex, task: group, group: group.name, again }))
  const planned = groups.map((group) => decideTask(context, group))
  const decisions = planned.flatMap((group) => group.decisions)
  const isDone = groups.every((group) => context.records.has(unitName(group)) && repeats(context, group) === undefined)
  return {
    decisions: [waveDecision(context, wave, stepIndex, decisions, isDone), ...decisions],
    problems: [
      ...(isDone ? goneBefore(context, { stepIndex, step: wave.name }) : []),
      ...planned.flatMap((group) => group.problems)
    ]
  }
}

/** The recorded groups of a wave that run again though the wave as a whole does not: their evidence is gone, or that of a group they need. */
const groupsToRepeat = (context: Context, wave: Wave, stepIndex: number): ReadonlySet<string> => {
  const again = new Set<string>()
  if (context.rewound !== stepIndex || wave.name === context.restartWave) return again
  const needing = new Map<string, Array<string>>()
  for (const { name, needs } of wave.groups) {
    for (const need of needs) {
      const list = needing.get(need)
      if (list === undefined) needing.set(need, [name])
      else list.push(name)
    }
  }
  const due = wave.groups
    .filter((group) => context.missing.has(unitName({ step: wave.name, group: group.name })))
    .map((group) => group.name)
  for (let name = due.pop(); name !== undefined; name = due.pop()) {
    if (again.has(name)) continue
    again.add(name)
    due.push(...(needing.get(name) ?? []))
  }
  return again
}

/**
 * A wave does what its groups do: the most telling of their decisions is its own. If all of them are done it is too,
 * unless nothing but its own record is missing (`isDone`: theirs are all there and count): then it runs, to be closed.
 */
const waveDecision = (
  context: Context,
  wave: Wave,
  stepIndex: number,
  groups: ReadonlyArray<Decision>,
  isDone: boolean
): Decision => {
  const unit = { stepIndex, step: wave.name, summary: wave.summary, fingerprint: wave.fingerprint }
  const asked = groups.find((group) => group._tag === 'Confirm')
  if (asked !== undefined) return { _tag: 'Confirm', ...unit, reason: asked.reason }
  const retried = groups.find((group) => group._tag === 'Retry')
  if (retried !== undefined) return { _tag: 'Retry', ...unit, attempt: retried.attempt, reason: retried.reason }
  const run = groups.find((group) => group._tag === 'Run')
  if (run !== undefined) return { _tag: 'Run', ...unit, reason: run.reason }
  const record = isDone ? context.records.get(wave.name) : undefined
  if (record !== undefined) return { _tag: 'Skip', ...unit, reason: skipReasonOf(unit, record) }
  return !isDone || isAssumed(context, stepIndex)
    ? { _tag: 'Skip', ...unit, reason: { _tag: 'Assumed' } }
    : { _tag: 'Run', ...unit, reason: { _tag: 'NotStarted' } }
}

/** Whether a step is before the one that everything is to run from. */
const isAssumed = ({ from }: Context, stepIndex: number): boolean => stepIndex < from && from !== Infinity

/** What is taken as done needs what it left behind. */
const goneBefore = (
  context: Context,
  unit: { readonly stepIndex: number; readonly step: string; readonly group?: string }
): ReadonlyArray<PlanProblem> => {
  const gone = isAssumed(context, unit.stepIndex) ? context.missing.get(unitName(unit)) : undefined
  if (gone === undefined) return []
  const { step, group } = unit
  const expected = `${gone.missing.map(describeEvidence).join(', ')}, which is gone`
  return [{ _tag: 'AssumedOutputMissing', step, ...(group === undefined ? {} : { group }), expected }]
}

const skipReasonOf = (unit: { readonly fingerprint: string }, record: CompletedStep): SkipReason => {
  if (record.fingerprint !== unit.fingerprint) return { _tag: 'AcceptedDespiteChange', recorded: record.fingerprint }
  return { _tag: record.assumed === true ? 'Assumed' : 'Completed' }
}

/** A task at its place: a step of its own, or a group of a wave. */
interface Placed {
  readonly step: string
  readonly stepIndex: number
  readonly task: Task | Group
  readonly group?: string
  readonly again?: ReadonlySet<string>
}

const decideTask = (context: Context, placed: Placed): Planned => {
  const { step, stepIndex, task, group } = placed
  const name = { step, ...(group === undefined ? {} : { group }) }
  const unit = { stepIndex, ...name, summary: task.summary, fingerprint: task.fingerprint }
  const record = context.records.get(unitName(name))
  const skip = (reason: SkipReason): Skip => ({ _tag: 'Skip', ...unit, reason })
  const done = (decision: Decision): Planned => ({ decisions: [decision], problems: [] })
  const scheduled = repeats(context, placed)
  if (record !== undefined && scheduled === undefined) {
    const kept = skip(skipReasonOf(unit, record))
    const fits = task.accepts(record.output)
    const gone = goneBefore(context, placed)
    const unfit: ReadonlyArray<PlanProblem> = E.isRight(fits)
      ? []
      : [{ _tag: 'OutputNotDecodable', ...name, ...fits.left }]
    return { decisions: [kept], problems: [...gone, ...unfit] }
  }
  const answer = context.confirm.get(unitName(name))
  if (answer?._tag === 'Done') return assume(task, name, skip, answer.output ?? record?.output)
  if (isAssumed(context, stepIndex)) {
    return assume(task, name, skip, context.outputs.get(unitName(name)))
  }
  return done(schedule(context, placed, unit, record, scheduled, answer))
}

/** A unit that somebody says is done needs the output that it would have given. */
const assume = (
  task: Task,
  name: { readonly step: string; readonly group?: string },
  skip: (reason: SkipReason) => Skip,
  output: Json | undefined
): Planned => {
  const fits = task.accepts(output)
  const expected = E.isLeft(fits)
    ? `${fits.left.path}: ${fits.left.expected}`
    : output === undefined && task.captures.length > 0
      ? `a value for ${task.captures.join(', ')}`
      : undefined
  return {
    decisions: [skip(output === undefined ? { _tag: 'Assumed' } : { _tag: 'Assumed', output })],
    problems: expected === undefined ? [] : [{ _tag: 'AssumedOutputMissing', ...name, expected }]
  }
}

/** Why completed work, or work that would be due in any case, is asked for again; undefined if it is not. */
const repeats = (context: Context, placed: Placed): RunReason | undefined => {
  const { stepIndex, step, group } = placed
  if (stepIndex >= context.from || step === context.restartWave) return { _tag: 'Forced' }
  if (stepIndex < context.rewound) return undefined
  if (stepIndex > context.rewound) return { _tag: 'EarlierStepRunsAgain', step: context.rewoundStep }
  const gone =
    context.missing.get(unitName({ step, ...(group === undefined ? {} : { group }) })) ??
    (context.records.has(step) ? context.missing.get(step) : undefined)
  if (gone !== undefined) return gone
  return group !== undefined && placed.again?.has(group) === true ? { _tag: 'EarlierStepRunsAgain', step } : undefined
}

/** A unit without a record that counts: it runs, runs once more, or is asked about. */
const schedule = (
  context: Context,
  placed: Placed,
  unit: Omit<Run, '_tag' | 'reason'>,
  record: CompletedStep | undefined,
  scheduled: RunReason | undefined,
  answer: Answer | undefined
): Decision => {
  const begun = trace(context, placed)
  const mayHaveActed = record !== undefined || begun?.mayHaveActed === true
  const asked = scheduled?._tag === 'Forced' || answer?._tag === 'Again'
  if (mayHaveActed && !placed.task.idempotent && !asked) {
    const reason: Confirm['reason'] = begun?.reason ?? scheduled ?? { _tag: 'NotStarted' }
    return { _tag: 'Confirm', ...unit, reason }
  }
  if (scheduled !== undefined) return { _tag: 'Run', ...unit, reason: scheduled }
  if (begun === undefined) return { _tag: 'Run', ...unit, reason: { _tag: 'NotStarted' } }
  return { _tag: 'Retry', ...unit, attempt: begun.attempt, reason: begun.reason } satisfies Retry
}

/** What the state says of a unit: how it ended or was cut short, and which attempt comes next. */
const trace = (
  context: Context,
  placed: Placed
): { readonly reason: RetryReason; readonly attempt: number; readonly mayHaveActed: boolean } | undefined => {
  const { state } = context.checkpoint
  if (state.step !== placed.step) return undefined
  const mayHaveActed = context.inDoubt.has(placed.group)
  const running = context.inFlight.get(placed.group)
  if (running !== undefined) {
    const reason: RetryReason =
      state._tag === 'Interrupted'
        ? { _tag: 'Interrupted', reason: state.reason }
        : { _tag: 'InFlight', attempt: running.attempt }
    return { reason, attempt: running.attempt, mayHaveActed }
  }
  const failure = context.failures.get(placed.group)
  if (failure !== undefined) {
    const newest = failure.attempts.at(-1)
    const goesOn = newest?.delayBeforeNextMillis !== undefined
    const attempts = newest?.attempt ?? 1
    const reason: RetryReason = { _tag: 'Failed', message: failure.error.message, attempts }
    return { reason, attempt: goesOn ? attempts + 1 : 1, mayHaveActed }
  }
  const stopped = state._tag === 'Interrupted' && state.inProgress && placed.group === undefined
  return stopped ? { reason: { _tag: 'Interrupted', reason: state.reason }, attempt: 1, mayHaveActed } : undefined
}

// ---------------------------------------------------------------------------------------------------------------------
// what is read off the decisions
// ---------------------------------------------------------------------------------------------------------------------

const read = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  decisions: ReadonlyArray<Decision>,
  context: Context
): ResumePlan => {
  const steps = decisions.filter((decision) => decision.group === undefined)
  const first = steps.find((decision) => decision._tag !== 'Skip')
  const skipSteps = new Set(steps.filter((decision) => decision._tag === 'Skip').map((decision) => decision.stepIndex))
  return {
    decisions,
    startIndex: first?.stepIndex ?? workflow.steps.length,
    retryCurrent: first !== undefined && first.step === checkpoint.state.step && isTriedAgain(checkpoint),
    skipSteps,
    variables: variablesOf(checkpoint.input, kept(workflow, decisions, context))
  }
}

const isTriedAgain = ({ state }: Checkpoint): boolean =>
  State.match({
    BeforeStep: () => true,
    Completed: () => false,
    Failed: ({ retryable }) => retryable,
    Interrupted: ({ inProgress }) => inProgress
  })(state)

/** The records that still count, and those that the plan assumes. */
function* kept(workflow: Workflow, decisions: ReadonlyArray<Decision>, context: Context): Iterable<CompletedStep> {
  for (const decision of decisions) {
    if (decision._tag !== 'Skip') continue
    if (decision.reason._tag === 'Assumed' && decision.reason.output !== undefined) {
      const step = workflow.steps[decision.stepIndex] as Step
      const task = step._tag === 'Task' ? step : groupNamed(step, decision.group ?? '')
      yield assumedRecord(decision, decision.reason.output, task?.captures ?? [], context.checkpoint.updatedAt)
      continue
    }
    const record = context.records.get(unitName(decision))
    if (record !== undefined) yield record
  }
}

const assumedRecord = (unit: Skip, output: Json, captured: ReadonlyArray<string>, at: string): CompletedStep => ({
  stepIndex: unit.stepIndex,
  step: unit.step,
  fingerprint: unit.fingerprint,
  output,
  captured,
  attempts: 0,
  startedAt: at,
  completedAt: at,
  durationMillis: 0,
  evidence: [],
  assumed: true
})
