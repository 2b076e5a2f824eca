/**
 * What happens with one step, and why.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { Edited, Kept } from './changedEvidence.js'
import { evidenceWith } from './changedEvidence.js'
import type { CompletedStep, Evidence } from './CompletedStep.js'
import { placeOf } from './CompletedStep.js'
import { describeEvidence } from './Explain.js'
import type { Json } from './Json.js'
import { fromUnknown } from './Json.js'
import { indexOfStep } from './indexed.js'
import type { PendingJob } from './PendingJob.js'
import type { Decision, PlanProblem, Poll, PollReason, RetryReason, Run, RunReason, Skip, SkipReason } from './Plan.js'
import type { PlanContext } from './PlanContext.js'
import { isAssumed, recordOf } from './PlanContext.js'
import { fromUnknown as fromThrown } from './StepError.js'
import type { Unit } from './Unit.js'
import { isTop, isWithin, join, top } from './Unit.js'
import type { MapWave, Step, Task, Wave } from './Workflow.js'
import { find } from './WorkflowIdentity.js'

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
    case 'Task': {
      const { name } = step
      return decideTask(context, { unit: name, stepIndex, task: step, record: recordOf(context, name, stepIndex) }, out)
    }
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
export const decideItems = ({ stepIndex, unit, ...decision }: Decision, wave: Wave): ReadonlyArray<Run> => {
  const reason: RunReason = decision._tag === 'Run' ? decision.reason : { _tag: 'NotStarted' }
  return wave.groups.map((task) => run({ unit: join(unit, task.name), stepIndex, task, record: undefined }, reason))
}

// ---------------------------------------------------------------------------------------------------------------------
// maps
// ---------------------------------------------------------------------------------------------------------------------

/** A map of items that are not known yet is one thing to do. What was begun of it with other items may have acted. */
const decideMap = (context: PlanContext, map: MapWave, stepIndex: number, out: Planned): void => {
  const { name, summary, fingerprint, each } = map
  const task: Task = { ...each, name, summary, fingerprint, captures: [], numbered: false, accepts: hasNoOutput }
  const isInDoubt = context.checkpoint.state.step === name && context.inDoubt.size > 0
  const job = context.checkpoint.pending.find(({ unit }) => top(unit) === name)
  const edited = editedIn(context, name)
  const begun = {
    hasBegun:
      isInDoubt || context.begun[indexOfStep(context.checkpoint.workflow.steps, name, stepIndex) ?? -1] === true,
    ...(job === undefined ? {} : { job }),
    ...(edited === undefined ? {} : { edited })
  }
  decideTask(context, { unit: name, stepIndex, task, record: recordOf(context, name), ...begun }, out)
}

/** The user's changes to evidence of a map's groups, which running the whole map again would overwrite. */
const editedIn = ({ evidence: { edited } }: PlanContext, map: string): Edited | undefined => {
  const [first, ...more] = [...edited].flatMap(([unit, reason]) =>
    unit !== map && isWithin(unit, map) ? [reason] : []
  )
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
  const [first] = wave.groups
  const place =
    first === undefined ? undefined : placeOf(context.checkpoint.completedSteps, join(wave.name, first.name))
  for (const [index, group] of wave.groups.entries()) {
    const unit = join(wave.name, group.name)
    const record = recordOf(context, unit, place === undefined ? undefined : place + index)
    const placed = { unit, record, stepIndex, task: group, again, whole }
    isDone &&= record !== undefined && repeats(context, placed) === undefined && (open.size === 0 || !open.has(unit))
    decideTask(context, placed, { decisions, problems })
  }
  const record = recordOf(context, wave.name)
  const placed = { unit: wave.name, stepIndex, task: wave, record }
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
  return { _tag: 'Confirm', ...aboutOf(placed), reason: edited }
}

/** The recorded groups that run again although the wave does not: their evidence, or that of a group they need, is missing or changed. */
const groupsToRepeat = (context: PlanContext, wave: Wave, stepIndex: number): ReadonlySet<Unit> => {
  const again = new Set<Unit>()
  if (context.rewound !== stepIndex || wave.name === context.restartWave) return again
  const unitOf = (name: string): Unit => join(wave.name, name)
  const needing = new Map<Unit, Array<Unit>>()
  for (const { name, needs } of wave.groups) {
    for (const need of needs.map(unitOf)) {
      const list = needing.get(need)
      if (list === undefined) needing.set(need, [unitOf(name)])
      else list.push(unitOf(name))
    }
  }
  const due = wave.groups.map(({ name }) => unitOf(name)).filter((unit) => context.evidence.due.has(unit))
  for (let unit = due.pop(); unit !== undefined; unit = due.pop()) {
    if (again.has(unit)) continue
    again.add(unit)
    due.push(...(needing.get(unit) ?? []))
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
  if (asked !== undefined) return { _tag: 'Confirm', ...aboutOf(placed), reason: asked.reason }
  const retried = groups.find((group) => group._tag === 'Retry')
  if (retried !== undefined)
    return { _tag: 'Retry', ...aboutOf(placed), attempt: retried.attempt, reason: retried.reason }
  const started = groups.find((group) => group._tag === 'Run')
  const failed = trace(context, placed)
  if (started?.reason._tag === 'NotStarted' && failed?.reason._tag === 'Failed')
    return { _tag: 'Retry', ...aboutOf(placed), attempt: failed.attempt, reason: failed.reason }
  if (started !== undefined) return run(placed, started.reason)
  const waiting = groups.find((group) => group._tag === 'Poll')
  if (waiting !== undefined) return { _tag: 'Poll', ...aboutOf(placed), reason: waiting.reason }
  const record = isDone ? placed.record : undefined
  if (record !== undefined) return skip(placed, skipReasonOf(placed.task, record))
  if (isDone && failed?.reason._tag === 'Failed')
    return { _tag: 'Retry', ...aboutOf(placed), attempt: failed.attempt, reason: failed.reason }
  if (isDone && !isAssumed(context, placed.stepIndex)) return run(placed, { _tag: 'NotStarted' })
  const evidence = isDone ? undefined : evidenceNow(context, placed, placed.record)
  return skip(placed, evidence === undefined ? ASSUMED : { _tag: 'Assumed', evidence })
}

// ---------------------------------------------------------------------------------------------------------------------
// tasks
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A unit, and the index of its top-level step. `again`: the groups of its wave that run again. `hasBegun`: whether a map has
 * started groups; `job`: the pending job of one of its groups; `edited`: evidence of its groups that would be overwritten.
 * `record`: its record, if it has one. `whole`: the decision about evidence of the wave as a whole.
 */
interface Placed<A extends Pick<Task, 'summary' | 'fingerprint'> = Pick<Task, 'summary' | 'fingerprint'>> {
  readonly unit: Unit
  readonly stepIndex: number
  readonly task: A
  readonly record: CompletedStep | undefined
  readonly again?: ReadonlySet<Unit>
  readonly hasBegun?: boolean
  readonly job?: PendingJob
  readonly edited?: Edited
  readonly whole?: Whole
}

const aboutOf = ({ unit, stepIndex, task: { summary, fingerprint } }: Placed): Omit<Skip, '_tag' | 'reason'> => ({
  unit,
  stepIndex,
  summary,
  fingerprint
})

const skip = ({ unit, stepIndex, task: { summary, fingerprint } }: Placed, reason: SkipReason): Skip => ({
  _tag: 'Skip',
  unit,
  stepIndex,
  summary,
  fingerprint,
  reason
})

const run = ({ unit, stepIndex, task: { summary, fingerprint } }: Placed, reason: RunReason): Run => ({
  _tag: 'Run',
  unit,
  stepIndex,
  summary,
  fingerprint,
  reason
})

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
  const { record } = placed
  const scheduled = repeats(context, placed)
  const kept = context.evidence.kept.size === 0 ? undefined : keptOf(context, placed, scheduled)
  if (record !== undefined && (kept !== undefined || (scheduled === undefined && !isOpen(context, placed)))) {
    const fits = fitsOf(task, record.output)
    missingBefore(context, placed, out)
    if (E.isLeft(fits)) out.problems.push({ _tag: 'OutputNotDecodable', unit: placed.unit, ...fits.left })
    if (record.fingerprint !== task.fingerprint) uncaptured(placed, record, out)
    out.decisions.push(skip(placed, kept === undefined ? skipReasonOf(task, record) : keptReason(kept)))
    return
  }
  const answer = context.confirm.size === 0 ? undefined : context.confirm.get(placed.unit)
  const given = answer?._tag === 'Done' ? answer.output : undefined
  if (isAssumed(context, stepIndex)) {
    assume(placed, given === undefined ? context.outputs.get(placed.unit) : given, out)
    return
  }
  const job = placed.job ?? (context.jobs.size === 0 ? undefined : context.jobs.get(placed.unit))
  if (job !== undefined && scheduled === undefined) {
    if (answer !== undefined) out.problems.push({ _tag: 'JobPending', unit: placed.unit })
    out.decisions.push(poll(placed, job))
    return
  }
  const due = schedule(context, placed, { record, scheduled, job }, answer?._tag === 'Again')
  const isCovered = record !== undefined && context.evidence.covered.has(placed.unit)
  if (answer?._tag === 'Done' && (due._tag === 'Confirm' || isCovered)) {
    assume(placed, given === undefined ? record?.output : given, out, evidenceNow(context, placed, record))
    return
  }
  // "Again" for what runs in any case is no contradiction. "Done" would leave out work that nobody did.
  if (answer?._tag === 'Done') out.problems.push({ _tag: 'NotAsked', unit: placed.unit })
  if (answer?._tag === 'Keep') out.problems.push({ _tag: 'NotAsked', unit: placed.unit, keep: true })
  out.decisions.push(due)
}

const isOpen = ({ evidence: { open } }: PlanContext, placed: Placed): boolean => open.size > 0 && open.has(placed.unit)

/** The accepted evidence of a unit: if nothing schedules the unit, or if an answer names it or its wave. */
const keptOf = (context: PlanContext, placed: Placed, scheduled: RunReason | undefined): Kept | undefined => {
  const { kept, missing } = context.evidence
  const there = kept.get(placed.unit)
  if (there !== undefined && (scheduled === undefined || there.own)) return there
  const record = scheduled === undefined || placed.whole?.kept === undefined ? undefined : placed.record
  if (record === undefined) return undefined
  return { changed: [], evidence: evidenceWith(record, [], missing.get(placed.unit)?.missing ?? []), own: true }
}

/** The current evidence of a unit that the user declared done, so that the next resume does not raise the same question. */
const evidenceNow = (
  { evidence }: PlanContext,
  placed: Placed,
  record: CompletedStep | undefined
): ReadonlyArray<Evidence> | undefined => {
  if (record === undefined || record.evidence.length === 0) return undefined
  const name = placed.unit
  return evidenceWith(record, evidence.changed.get(name) ?? [], evidence.missing.get(name)?.missing ?? [])
}

/** What was accepted in spite of a change may by now be said to set a variable that it never set. */
const uncaptured = (placed: Placed<Task>, { captured }: CompletedStep, out: Planned): void => {
  const missing = placed.task.captures.filter((name) => !captured.includes(name))
  if (missing.length === 0) return
  const expected = `a value for ${missing.join(', ')}`
  out.problems.push({ _tag: 'AssumedOutputMissing', unit: placed.unit, expected })
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
  const lost = missing.get(placed.unit)
  if (lost === undefined) return
  const expected = `${lost.missing.map(describeEvidence).join(', ')}, which is missing`
  out.problems.push({ _tag: 'AssumedOutputMissing', unit: placed.unit, expected })
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
  if (expected !== undefined) out.problems.push({ _tag: 'AssumedOutputMissing', unit: placed.unit, expected })
  const reason: SkipReason = output === undefined ? { _tag: 'Assumed' } : { _tag: 'Assumed', output }
  out.decisions.push(skip(placed, evidence === undefined ? reason : { ...reason, evidence }))
}

/** Why completed work, or work that would be due in any case, is asked for again; undefined if it is not. */
const repeats = (context: PlanContext, placed: Placed): RunReason | undefined => {
  const { stepIndex, unit } = placed
  const step = top(unit)
  if (stepIndex >= context.from || step === context.restartWave) return { _tag: 'Forced' }
  if (stepIndex < context.rewound) return undefined
  if (stepIndex > context.rewound) return { _tag: 'EarlierStepRunsAgain', step: context.rewoundStep }
  const { due } = context.evidence
  const ofWave = due.get(step)
  const lost =
    due.get(placed.unit) ?? (ofWave === undefined || recordOf(context, step) === undefined ? undefined : ofWave)
  if (lost !== undefined) return lost
  return placed.again?.has(unit) === true ? { _tag: 'EarlierStepRunsAgain', step } : undefined
}

const poll = (placed: Placed, job: PendingJob): Poll => ({ _tag: 'Poll', ...aboutOf(placed), reason: pollReason(job) })

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
  const edited = placed.edited ?? context.evidence.edited.get(placed.unit)
  if (edited !== undefined && !again) return { _tag: 'Confirm', ...aboutOf(placed), reason: edited }
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
    return { _tag: 'Confirm', ...aboutOf(placed), reason }
  }
  if (scheduled !== undefined) {
    const due = run(placed, scheduled)
    return job === undefined ? due : { ...due, givesUp: pollReason(job) }
  }
  if (begun === undefined) return run(placed, { _tag: 'NotStarted' })
  return { _tag: 'Retry', ...aboutOf(placed), attempt: begun.attempt, reason: begun.reason }
}

/** What was not idempotent when it began does not become so by an edit. */
const isIdempotent = ({ checkpoint }: PlanContext, { unit, stepIndex, task }: Placed<Task>): boolean => {
  if (!task.idempotent) return false
  const whole = find(checkpoint.workflow, top(unit), stepIndex)?.definition
  if (whole?.kind === 'map' || whole?.kind === 'expanded') return whole.each.idempotent
  const before = find(checkpoint.workflow, unit, stepIndex)?.definition
  return before?.kind !== 'task' || before.idempotent
}

/** What the state says of a unit: how it ended or was cut short, and which attempt comes next. */
const trace = (
  context: PlanContext,
  placed: Placed
): { readonly reason: RetryReason; readonly attempt: number; readonly mayHaveActed: boolean } | undefined => {
  const { state } = context.checkpoint
  if (state.step !== top(placed.unit)) return undefined
  const mayHaveActed = context.inDoubt.has(placed.unit)
  const running = context.inFlight.get(placed.unit)
  if (running !== undefined) {
    const reason: RetryReason =
      state._tag === 'Interrupted'
        ? { _tag: 'Interrupted', reason: state.reason }
        : { _tag: 'InFlight', attempt: running.attempt }
    return { reason, attempt: running.attempt, mayHaveActed }
  }
  const failure = context.failures.get(placed.unit)
  if (failure !== undefined) {
    const newest = failure.attempts.at(-1)
    const goesOn = newest?.delayBeforeNextMillis !== undefined
    const attempts = newest?.attempt ?? 1
    const reason: RetryReason = { _tag: 'Failed', message: failure.error.message, attempts }
    return { reason, attempt: goesOn ? attempts + 1 : 1, mayHaveActed }
  }
  const stopped = state._tag === 'Interrupted' && state.inProgress && isTop(placed.unit)
  return stopped ? { reason: { _tag: 'Interrupted', reason: state.reason }, attempt: 1, mayHaveActed } : undefined
}
