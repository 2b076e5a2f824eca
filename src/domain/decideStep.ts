/**
 * What happens with one step, and why.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { Edited, Kept } from './changedEvidence.js'
import { evidenceWith } from './changedEvidence.js'
import type { CompletedStep, Evidence } from './CompletedStep.js'
import { describeEvidence } from './Explain.js'
import type { Json } from './Json.js'
import { fromUnknown } from './Json.js'
import type { PendingJob } from './PendingJob.js'
import type {
  Decision,
  PlanProblem,
  Poll,
  PollReason,
  RetryReason,
  Run,
  RunReason,
  Skip,
  SkipReason,
  Unit
} from './Plan.js'
import { unitName } from './Plan.js'
import type { PlanContext } from './PlanContext.js'
import { isAssumed, recordOf } from './PlanContext.js'
import { fromUnknown as fromThrown } from './StepError.js'
import { hasBegun } from './Records.js'
import type { MapWave, Step, Task, Wave } from './Workflow.js'
import { groupNamed } from './Workflow.js'
import type { TaskIdentity, WaveIdentity } from './WorkflowIdentity.js'

/**
 * The decisions so far, and what stands against them. Steps add theirs: 100,000 short lists would cost more than the
 * decisions.
 *
 * @category model
 * @since 0.1.0
 */
export interface Planned {
  readonly decisions: Array<Decision>
  readonly problems: Array<PlanProblem>
}

/**
 * Decides about a step: adds its decision, and if it is a wave one for each of its groups.
 *
 * @category deciding
 * @since 0.1.0
 */
export const decideStep = (context: PlanContext, step: Step, stepIndex: number, out: Planned): void => {
  switch (step._tag) {
    case 'Task':
      return decideTask(context, { step: step.name, stepIndex, task: step }, out)
    case 'Wave':
      return decideWave(context, step, stepIndex, out)
    case 'Map':
      return decideMap(context, step, stepIndex, out)
  }
}

/**
 * What happens with the groups of a map of which only now is known what they are: what was decided about all of it.
 *
 * @category deciding
 * @since 0.1.0
 */
export const decideItems = ({ stepIndex, step, ...decision }: Decision, wave: Wave): ReadonlyArray<Run> => {
  const reason: RunReason = decision._tag === 'Run' ? decision.reason : { _tag: 'NotStarted' }
  return wave.groups.map((task) => run({ stepIndex, step, task, group: task.name }, reason))
}

// ---------------------------------------------------------------------------------------------------------------------
// maps
// ---------------------------------------------------------------------------------------------------------------------

/** A map of items that are not known yet is one thing to do. What was begun of it with other items may have acted. */
const decideMap = (context: PlanContext, map: MapWave, stepIndex: number, out: Planned): void => {
  const { name, summary, fingerprint, each } = map
  const task: Task = { ...each, name, summary, fingerprint, captures: [], numbered: false, accepts: hasNoOutput }
  const was = context.was(name, stepIndex)
  const isInDoubt = context.checkpoint.state.step === name && context.inDoubt.size > 0
  const job = context.checkpoint.pending.find(({ step }) => step === name)
  const edited = editedIn(context, name)
  const begun = {
    hasBegun: isInDoubt || hasBegun(context.records, was),
    ...(job === undefined ? {} : { job }),
    ...(edited === undefined ? {} : { edited })
  }
  decideTask(context, { step: name, stepIndex, task, ...begun }, out)
}

/** The user's changes to evidence of a map's groups, which running the whole map again would overwrite. */
const editedIn = ({ evidence: { edited } }: PlanContext, map: string): Edited | undefined => {
  const [first, ...more] = [...edited].flatMap(([unit, reason]) => (unit.startsWith(`${map}/`) ? [reason] : []))
  if (first === undefined) return undefined
  return { _tag: 'EvidenceChanged', changed: [first, ...more].flatMap(({ changed }) => changed) }
}

/** Outputs are what its groups give. */
const hasNoOutput: Task['accepts'] = (output) =>
  output === undefined ? E.right(undefined) : E.left({ path: '$', expected: 'no output, as a map has none of its own' })

// ---------------------------------------------------------------------------------------------------------------------
// waves
// ---------------------------------------------------------------------------------------------------------------------

const decideWave = (context: PlanContext, wave: Wave, stepIndex: number, out: Planned): void => {
  const again = groupsToRepeat(context, wave, stepIndex)
  const decisions: Array<Decision> = []
  let isDone = true
  const problems: Array<PlanProblem> = []
  const { open } = context.evidence
  const whole = wholeOf(context, wave.name)
  for (const group of wave.groups) {
    const placed = { step: wave.name, stepIndex, task: group, group: group.name, again, whole }
    isDone &&=
      recordOf(context, placed) !== undefined &&
      repeats(context, placed) === undefined &&
      (open.size === 0 || !open.has(unitName(placed)))
    decideTask(context, placed, { decisions, problems })
  }
  const placed = { step: wave.name, stepIndex, task: wave }
  out.decisions.push(ofWhole(placed, whole, decisions) ?? waveDecision(context, placed, decisions, isDone))
  for (const decision of decisions) out.decisions.push(decision)
  if (isDone) missingBefore(context, placed, out)
  for (const problem of problems) out.problems.push(problem)
}

/** The evidence of a wave as a whole, if it changed: kept, in need of an answer, or in question. */
interface Whole {
  readonly kept: Kept | undefined
  readonly edited: Edited | undefined
  readonly isOpen: boolean
}

const wholeOf = ({ confirm, evidence }: PlanContext, wave: string): Whole => ({
  kept: evidence.kept.get(wave),
  edited: confirm.get(wave)?._tag === 'Again' ? undefined : evidence.edited.get(wave),
  isOpen: evidence.open.has(wave)
})

/** The decision for the evidence of a wave as a whole, unless its groups decide. */
const ofWhole = (
  placed: Placed,
  { kept, edited, isOpen }: Whole,
  groups: ReadonlyArray<Decision>
): Decision | undefined => {
  const runs = groups.some(({ _tag }) => _tag !== 'Skip')
  if (kept !== undefined) return runs ? undefined : skip(placed, keptReason(kept))
  if (groups.some(({ _tag }) => _tag === 'Confirm') || edited === undefined || !(isOpen || runs)) return undefined
  return { _tag: 'Confirm', ...unitOf(placed), reason: edited }
}

/** The recorded groups that run again although the wave does not: their evidence, or that of a group they need, is missing or changed. */
const groupsToRepeat = (context: PlanContext, wave: Wave, stepIndex: number): ReadonlySet<string> => {
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
    .filter((group) => context.evidence.due.has(unitName({ step: wave.name, group: group.name })))
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
  context: PlanContext,
  placed: Placed,
  groups: ReadonlyArray<Decision>,
  isDone: boolean
): Decision => {
  const asked = groups.find((group) => group._tag === 'Confirm')
  if (asked !== undefined) return { _tag: 'Confirm', ...unitOf(placed), reason: asked.reason }
  const retried = groups.find((group) => group._tag === 'Retry')
  if (retried !== undefined)
    return { _tag: 'Retry', ...unitOf(placed), attempt: retried.attempt, reason: retried.reason }
  const started = groups.find((group) => group._tag === 'Run')
  const failed = trace(context, placed)
  if (started?.reason._tag === 'NotStarted' && failed?.reason._tag === 'Failed')
    return { _tag: 'Retry', ...unitOf(placed), attempt: failed.attempt, reason: failed.reason }
  if (started !== undefined) return run(placed, started.reason)
  const waiting = groups.find((group) => group._tag === 'Poll')
  if (waiting !== undefined) return { _tag: 'Poll', ...unitOf(placed), reason: waiting.reason }
  const record = isDone ? recordOf(context, placed) : undefined
  if (record !== undefined) return skip(placed, skipReasonOf(placed.task, record))
  if (isDone && failed?.reason._tag === 'Failed')
    return { _tag: 'Retry', ...unitOf(placed), attempt: failed.attempt, reason: failed.reason }
  if (isDone && !isAssumed(context, placed.stepIndex)) return run(placed, { _tag: 'NotStarted' })
  const evidence = isDone ? undefined : evidenceNow(context, placed, recordOf(context, placed))
  return skip(placed, evidence === undefined ? ASSUMED : { _tag: 'Assumed', evidence })
}

// ---------------------------------------------------------------------------------------------------------------------
// tasks
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A step, or a group of a wave, at its index. `again`: the groups of its wave that run again. `hasBegun`: whether a map has
 * started groups; `job`: the pending job of one of its groups; `edited`: evidence of its groups that would be overwritten.
 * `whole`: the decision about evidence of the wave as a whole.
 */
interface Placed<A extends Pick<Task, 'summary' | 'fingerprint'> = Pick<Task, 'summary' | 'fingerprint'>> {
  readonly step: string
  readonly stepIndex: number
  readonly task: A
  readonly group?: string
  readonly again?: ReadonlySet<string>
  readonly hasBegun?: boolean
  readonly job?: PendingJob
  readonly edited?: Edited
  readonly whole?: Whole
}

const unitOf = ({ stepIndex, step, group, task: { summary, fingerprint } }: Placed): Unit => ({
  stepIndex,
  step,
  ...(group === undefined ? {} : { group }),
  summary,
  fingerprint
})

// The two that there are many of are spelt out: spreading an object is several times slower.

const skip = ({ stepIndex, step, group, task: { summary, fingerprint } }: Placed, reason: SkipReason): Skip =>
  group === undefined
    ? { _tag: 'Skip', stepIndex, step, summary, fingerprint, reason }
    : { _tag: 'Skip', stepIndex, step, group, summary, fingerprint, reason }

const run = ({ stepIndex, step, group, task: { summary, fingerprint } }: Placed, reason: RunReason): Run =>
  group === undefined
    ? { _tag: 'Run', stepIndex, step, summary, fingerprint, reason }
    : { _tag: 'Run', stepIndex, step, group, summary, fingerprint, reason }

const nameOf = ({ step, group }: Placed): { readonly step: string; readonly group?: string } =>
  group === undefined ? { step } : { step, group }

const keptReason = ({ changed, evidence }: Kept): SkipReason => ({ _tag: 'EvidenceChanged', changed, evidence })

const skipReasonOf = ({ fingerprint }: Pick<Task, 'fingerprint'>, record: CompletedStep): SkipReason => {
  if (record.fingerprint !== fingerprint) return { _tag: 'AcceptedDespiteChange', recorded: record.fingerprint }
  return record.assumed === true ? ASSUMED : COMPLETED
}

/** One for all: a plan may have 100,000 of them. */
const COMPLETED: SkipReason = { _tag: 'Completed' }
const ASSUMED: SkipReason = { _tag: 'Assumed' }

const decideTask = (context: PlanContext, placed: Placed<Task>, out: Planned): void => {
  const { stepIndex, task } = placed
  const record = recordOf(context, placed)
  const scheduled = repeats(context, placed)
  const kept = context.evidence.kept.size === 0 ? undefined : keptOf(context, placed, scheduled)
  if (record !== undefined && (kept !== undefined || (scheduled === undefined && !isOpen(context, placed)))) {
    const fits = fitsOf(task, record.output)
    missingBefore(context, placed, out)
    if (E.isLeft(fits)) out.problems.push({ _tag: 'OutputNotDecodable', ...nameOf(placed), ...fits.left })
    if (record.fingerprint !== task.fingerprint) uncaptured(placed, record, out)
    out.decisions.push(skip(placed, kept === undefined ? skipReasonOf(task, record) : keptReason(kept)))
    return
  }
  const answer = context.confirm.size === 0 ? undefined : context.confirm.get(unitName(placed))
  const given = answer?._tag === 'Done' ? answer.output : undefined
  if (isAssumed(context, stepIndex)) {
    assume(placed, given === undefined ? context.outputs.get(unitName(placed)) : given, out)
    return
  }
  const job = placed.job ?? (context.jobs.size === 0 ? undefined : context.jobs.get(unitName(placed)))
  if (job !== undefined && scheduled === undefined) {
    if (answer !== undefined) out.problems.push({ _tag: 'JobPending', ...nameOf(placed) })
    out.decisions.push(poll(placed, job))
    return
  }
  const due = schedule(context, placed, { record, scheduled, job }, answer?._tag === 'Again')
  const isCovered = record !== undefined && context.evidence.covered.has(unitName(placed))
  if (answer?._tag === 'Done' && (due._tag === 'Confirm' || isCovered)) {
    assume(placed, given === undefined ? record?.output : given, out, evidenceNow(context, placed, record))
    return
  }
  // "Again" for what runs in any case is no contradiction. "Done" would leave out work that nobody did.
  if (answer?._tag === 'Done') out.problems.push({ _tag: 'NotAsked', ...nameOf(placed) })
  if (answer?._tag === 'Keep') out.problems.push({ _tag: 'NotAsked', ...nameOf(placed), keep: true })
  out.decisions.push(due)
}

const isOpen = ({ evidence: { open } }: PlanContext, placed: Placed): boolean =>
  open.size > 0 && open.has(unitName(placed))

/** The accepted evidence of a unit: if nothing schedules the unit, or if an answer names it or its wave. */
const keptOf = (context: PlanContext, placed: Placed, scheduled: RunReason | undefined): Kept | undefined => {
  const { kept, missing } = context.evidence
  const there = kept.get(unitName(placed))
  if (there !== undefined && (scheduled === undefined || there.own)) return there
  const record = scheduled === undefined || placed.whole?.kept === undefined ? undefined : recordOf(context, placed)
  if (record === undefined) return undefined
  return { changed: [], evidence: evidenceWith(record, [], missing.get(unitName(placed))?.missing ?? []), own: true }
}

/** The current evidence of a unit that the user declared done, so that the next resume does not raise the same question. */
const evidenceNow = (
  { evidence }: PlanContext,
  placed: Placed,
  record: CompletedStep | undefined
): ReadonlyArray<Evidence> | undefined => {
  if (record === undefined || record.evidence.length === 0) return undefined
  const name = unitName(placed)
  return evidenceWith(record, evidence.changed.get(name) ?? [], evidence.missing.get(name)?.missing ?? [])
}

/** What was accepted in spite of a change may by now be said to set a variable that it never set. */
const uncaptured = (placed: Placed<Task>, { captured }: CompletedStep, out: Planned): void => {
  const missing = placed.task.captures.filter((name) => !captured.includes(name))
  if (missing.length === 0) return
  const expected = `a value for ${missing.join(', ')}`
  out.problems.push({ _tag: 'AssumedOutputMissing', ...nameOf(placed), expected })
}

const fitsOf = ({ accepts }: Task, output: Json | undefined): ReturnType<Task['accepts']> => {
  try {
    return accepts(output)
  } catch (error) {
    return E.left({ path: '$', expected: `something that its check takes: ${fromThrown(error).message.slice(0, 200)}` })
  }
}

/** What is taken as done needs what it left behind. */
const missingBefore = (context: PlanContext, placed: Placed, out: Planned): void => {
  const { missing } = context.evidence
  if (missing.size === 0 || !isAssumed(context, placed.stepIndex)) return
  const gone = missing.get(unitName(placed))
  if (gone === undefined) return
  const expected = `${gone.missing.map(describeEvidence).join(', ')}, which is missing`
  out.problems.push({ _tag: 'AssumedOutputMissing', ...nameOf(placed), expected })
}

/** A unit that somebody says is done needs the output that it would have given, as plain JSON like any other. */
const assume = (
  placed: Placed<Task>,
  given: Json | undefined,
  out: Planned,
  evidence?: ReadonlyArray<Evidence>
): void => {
  const { captures } = placed.task
  const json = given === undefined ? E.right(undefined) : fromUnknown(given)
  const output = E.isRight(json) ? json.right : undefined
  const fits = fitsOf(placed.task, output)
  const expected = E.isLeft(json)
    ? `${json.left.path}: plain JSON, not ${json.left.found}`
    : E.isLeft(fits)
      ? `${fits.left.path}: ${fits.left.expected}`
      : output === undefined && captures.length > 0
        ? `a value for ${captures.join(', ')}`
        : undefined
  if (expected !== undefined) out.problems.push({ _tag: 'AssumedOutputMissing', ...nameOf(placed), expected })
  const reason: SkipReason = output === undefined ? { _tag: 'Assumed' } : { _tag: 'Assumed', output }
  out.decisions.push(skip(placed, evidence === undefined ? reason : { ...reason, evidence }))
}

/** Why completed work, or work that would be due in any case, is asked for again; undefined if it is not. */
const repeats = (context: PlanContext, placed: Placed): RunReason | undefined => {
  const { stepIndex, step, group } = placed
  if (stepIndex >= context.from || step === context.restartWave) return { _tag: 'Forced' }
  if (stepIndex < context.rewound) return undefined
  if (stepIndex > context.rewound) return { _tag: 'EarlierStepRunsAgain', step: context.rewoundStep }
  const { due } = context.evidence
  const ofWave = recordOf(context, { stepIndex, step }) === undefined ? undefined : due.get(step)
  const lost = due.get(unitName(placed)) ?? ofWave
  if (lost !== undefined) return lost
  return group !== undefined && placed.again?.has(group) === true ? { _tag: 'EarlierStepRunsAgain', step } : undefined
}

const poll = (placed: Placed, job: PendingJob): Poll => ({ _tag: 'Poll', ...unitOf(placed), reason: pollReason(job) })

const pollReason = ({ submittedAt, job }: PendingJob): PollReason => ({
  _tag: 'JobPending',
  submittedAt,
  ...(job === undefined ? {} : { job })
})

/** What is known of a unit that is due. */
interface Known {
  readonly record: CompletedStep | undefined
  readonly scheduled: RunReason | undefined
  readonly job: PendingJob | undefined
}

/**
 * A unit without a record that counts: it runs, runs once more, or is asked about. To force what waits for a job does not
 * say that the job may be there twice.
 */
const schedule = (
  context: PlanContext,
  placed: Placed<Task>,
  { record, scheduled, job }: Known,
  again: boolean
): Decision => {
  const begun = job === undefined ? trace(context, placed) : undefined
  const edited = placed.edited ?? context.evidence.edited.get(unitName(placed))
  if (edited !== undefined && !again) return { _tag: 'Confirm', ...unitOf(placed), reason: edited }
  const mayHaveActed =
    record !== undefined ||
    job !== undefined ||
    begun?.mayHaveActed === true ||
    placed.hasBegun === true ||
    context.recovered
  const asked = again || (scheduled?._tag === 'Forced' && job === undefined)
  if (mayHaveActed && !asked && !isIdempotent(context, placed)) {
    const known = job === undefined ? (begun?.reason ?? scheduled) : pollReason(job)
    const reason = known ?? ({ _tag: 'MaybeLost' } as const)
    return { _tag: 'Confirm', ...unitOf(placed), reason }
  }
  if (scheduled !== undefined) {
    const due = run(placed, scheduled)
    return job === undefined ? due : { ...due, givesUp: pollReason(job) }
  }
  if (begun === undefined) return run(placed, { _tag: 'NotStarted' })
  return { _tag: 'Retry', ...unitOf(placed), attempt: begun.attempt, reason: begun.reason }
}

/** What was not idempotent when it began does not become so by an edit. */
const isIdempotent = ({ checkpoint, was }: PlanContext, { step, stepIndex, group, task }: Placed<Task>): boolean => {
  const before = checkpoint.workflow.steps[was(step, stepIndex) ?? -1]
  if (!task.idempotent || before === undefined) return task.idempotent
  const unit = before.kind === 'map' || before.kind === 'expanded' ? before.each : ofGroup(before, group)
  return unit?.idempotent !== false
}

const ofGroup = (step: TaskIdentity | WaveIdentity, group: string | undefined): TaskIdentity | undefined =>
  step.kind === 'task' ? step : groupNamed(step, group ?? '')

/** What the state says of a unit: how it ended or was cut short, and which attempt comes next. */
const trace = (
  context: PlanContext,
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
