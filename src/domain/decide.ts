/**
 * What happens with the units of a workflow, and why: a fold over its tree.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { Edited, Kept } from './changedEvidence.js'
import { evidenceWith } from './changedEvidence.js'
import type { CompletedStep, Evidence } from './CompletedStep.js'
import { placeOf } from './CompletedStep.js'
import type { Demand } from './demands.js'
import { isAnew } from './demands.js'
import { describeEvidence } from './Explain.js'
import type { Item } from './Items.js'
import type { Json } from './Json.js'
import { fromUnknown } from './Json.js'
import type { Pending } from './Pending.js'
import type { Decision, PlanProblem, Poll, PollReason, RetryReason, Run, RunReason, Skip, SkipReason } from './Plan.js'
import type { PlanContext } from './PlanContext.js'
import { hasRecords, recordOf } from './PlanContext.js'
import { fromUnknown as fromThrown } from './StepError.js'
import { find } from './Tree.js'
import type { Unit } from './Unit.js'
import type { KnownSubStep } from './subSteps.js'
import { restartedBy, restartOf } from './subSteps.js'
import { isTop, isWithin, join, nameOf, top } from './Unit.js'
import type { MapStep, Sequence, Step, Task, Wave, Workflow } from './Workflow.js'
import { isIdempotent, partsOf } from './Workflow.js'
import { isIdempotent as wasIdempotent } from './WorkflowIdentity.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The decisions so far, in document order, and what stands against them. Units add theirs: 100,000 short lists would cost more than
 * the decisions.
 *
 * @category model
 * @since 0.1.0
 */
export interface Planned {
  readonly decisions: Array<Decision>
  readonly problems: Array<PlanProblem>
}

/** What was decided about a unit. `isDone`: it has a record that counts, and so have all its parts. */
interface Decided {
  readonly decision: Decision
  readonly isDone: boolean
}

/**
 * A unit, and what is known of it before its record is looked at. `expected`: the usual place of its record; `keptAbove`: the accepted
 * evidence of a unit around it.
 */
interface At {
  readonly unit: Unit
  readonly stepIndex: number
  readonly demand: Demand
  readonly expected: number | undefined
  readonly keptAbove: Kept | undefined
}

// ---------------------------------------------------------------------------------------------------------------------
// the tree
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Decides about all units of a workflow.
 *
 * @category deciding
 * @since 0.1.0
 */
export const decideAll = (context: PlanContext, workflow: Workflow, out: Planned): void => {
  const demandOf = context.demands.ofParts(undefined, workflow, 'none')
  for (const [stepIndex, step] of workflow.steps.entries()) {
    const { name } = step
    const demand = demandOf(stepIndex, name)
    decide(context, step, { unit: name, stepIndex, demand, expected: stepIndex, keptAbove: undefined }, out)
  }
}

const decide = (context: PlanContext, step: Step, at: At, out: Planned): Decided => {
  switch (step._tag) {
    case 'Task':
      return decideLeaf(context, step, at, out)
    case 'Sequence':
    case 'Wave':
      return decideComposite(context, step, at, out)
    case 'Map':
      return decideMap(context, step, at, out)
  }
}

const decideLeaf = (context: PlanContext, task: Task, at: At, out: Planned): Decided => {
  const subSteps = context.subSteps.size === 0 ? undefined : context.subSteps.get(at.unit)
  if (subSteps !== undefined) return decideWithSubSteps(context, task, at, subSteps, out)
  const { unit, stepIndex, demand, expected, keptAbove } = at
  const record = recordOf(context, unit, expected)
  const placed: Placed<Task> = { unit, stepIndex, demand, expected, keptAbove, task, record }
  const { open } = context.evidence
  const isDone =
    record !== undefined && repeats(context, placed) === undefined && (open.size === 0 || !open.has(at.unit))
  const decision = decideTask(context, placed, out)
  out.decisions.push(decision)
  return { decision, isDone }
}

/** Decides about a task with recorded sub-steps. If one of these has to run again, so has the task. */
const decideWithSubSteps = (
  context: PlanContext,
  task: Task,
  at: At,
  all: ReadonlyArray<KnownSubStep>,
  out: Planned
): Decided => {
  const { evidence, from } = context
  const { unit, stepIndex } = at
  const record = recordOf(context, unit, at.expected)
  const whole = repeats(context, at)
  const restart = whole === undefined && at.demand !== 'assumed' ? restartOf(all, from, evidence.due) : undefined
  const restarted = restart === undefined ? undefined : restartedBy(all, restart)
  const demand = restart?.reason ?? at.demand
  const wait = demand === 'none' ? suspendedBy(context, at, all) : undefined
  const placed: Placed<Task> = { ...at, demand, task, record, ...(wait === undefined ? {} : { pending: wait }) }
  const decision = decideTask(context, placed, out)
  out.decisions.push(decision)
  // A question about the task may be answered together with those about its sub-steps.
  if (context.answerable !== undefined) for (const known of all) context.answerable.add(known.unit)
  // A skipped task needs no lines for its sub-steps.
  if (decision._tag !== 'Skip')
    for (const known of all) {
      const again = whole ?? restarted?.get(known.unit)
      const isRepeated = again === undefined && context.inFlight.has(unit)
      out.decisions.push(decideSubStep(context, known, { stepIndex, task, again, isRepeated }, out))
    }
  const isDone = record !== undefined && whole === undefined && restart === undefined && !evidence.open.has(unit)
  return { decision, isDone }
}

/** Finds the first wait of a suspended task. */
const suspendedBy = ({ inFlight, pending }: PlanContext, { unit }: At, all: ReadonlyArray<KnownSubStep>) => {
  if (inFlight.get(unit)?.suspended !== true) return undefined
  const first = all.find((known) => pending.has(known.unit))
  return first === undefined ? undefined : pending.get(first.unit)
}

/** `again`: why the sub-step runs again, if it does; `isRepeated`: its task repeats an attempt that was cut short. */
const decideSubStep = (
  context: PlanContext,
  { unit, call }: KnownSubStep,
  about: {
    readonly stepIndex: number
    readonly task: Task
    readonly again: RunReason | undefined
    readonly isRepeated: boolean
  },
  out: Planned
): Decision => {
  const { stepIndex, again, isRepeated } = about
  const record = recordOf(context, unit)
  const name = nameOf(unit)
  const task: Task = {
    _tag: 'Task',
    name,
    summary: name,
    fingerprint: record?.fingerprint ?? about.task.fingerprint,
    idempotent: call.idempotent !== false,
    captures: [],
    numbered: false,
    accepts: () => E.right(undefined)
  }
  const placed: Placed<Task> = {
    unit,
    stepIndex,
    demand: again ?? 'none',
    expected: undefined,
    keptAbove: undefined,
    task,
    record,
    // Only the record of its completed task names a sub-step in doubt that has neither record nor state.
    hasBegun: record === undefined && !context.failures.has(unit) && !context.inFlight.has(unit)
  }
  const failure = isRepeated ? context.failures.get(unit) : undefined
  return failure === undefined
    ? decideTask(context, placed, out)
    : skip(placed, { _tag: 'FailedBefore', message: failure.error.message })
}

/**
 * What happens with the parts of a map of which only now is known what they are: what was decided about all of it.
 *
 * @category deciding
 * @since 0.1.0
 */
export const decideItems = (
  { stepIndex, unit, ...decision }: Decision,
  { each }: MapStep,
  items: ReadonlyArray<Item>
): ReadonlyArray<Run> => {
  const reason: RunReason = decision._tag === 'Run' ? decision.reason : { _tag: 'NotStarted' }
  const found: Array<Run> = []
  const visit = (step: Step, unit: Unit, task: Described): void => {
    found.push(run({ unit, stepIndex, task }, reason))
    if (step._tag === 'Sequence' || step._tag === 'Wave')
      for (const part of partsOf(step)) visit(part, join(unit, part.name), part)
  }
  for (const { key } of items) visit(each, join(unit, key), ofItem(each, key))
  return found
}

/** What a body does for an item, under the name of the item. Spelt out: there may be 100,000, and to spread takes many times as long. */
const ofItem = <S extends Step>(each: S, key: string): S => {
  const summary = each.summary === each.name ? key : each.summary
  if (each._tag !== 'Task') return { ...each, name: key, summary }
  const { fingerprint, idempotent, captures, numbered, accepts, leaves } = each
  return { _tag: 'Task', name: key, summary, fingerprint, idempotent, captures, numbered, accepts, leaves } as Step as S
}

// ---------------------------------------------------------------------------------------------------------------------
// maps
// ---------------------------------------------------------------------------------------------------------------------

const decideMap = (context: PlanContext, map: MapStep, at: At, out: Planned): Decided => {
  const items = itemsDue(context, at)
  if (items === undefined) return decideUnknown(context, map, at, out)
  return decideParts(context, map, at, items.length, (index) => ofItem(map.each, items[index]?.key ?? ''), out)
}

/** The items that a plan uses: undefined if the map computes them again. A map of no items that runs again does nothing else. */
const itemsDue = ({ checkpoint, evidence }: PlanContext, { unit, demand }: At): ReadonlyArray<Item> | undefined => {
  const items = checkpoint.items.get(unit)
  const isAgain = evidence.again.has(unit) || typeof demand === 'object'
  return isAnew(demand) || (items?.length === 0 && isAgain) ? undefined : items
}

/** A map of items that are not known yet is one thing to do. What was begun of it with other items may have acted. */
const decideUnknown = (context: PlanContext, map: MapStep, at: At, out: Planned): Decided => {
  const { name, summary, fingerprint } = map
  const { unit } = at
  const task: Task = {
    _tag: 'Task',
    name,
    summary,
    fingerprint,
    idempotent: isIdempotent(map) && !hasHarmfulSubSteps(context, unit),
    captures: [],
    numbered: false,
    accepts: hasNoOutput
  }
  const isInside = (one: Unit): boolean => isWithin(one, unit)
  const pending = context.checkpoint.pending.find((one) => isInside(one.unit))
  const edited = editedIn(context, unit)
  const placed: Placed<Task> = {
    ...at,
    task,
    own: map.own,
    record: recordOf(context, unit),
    hasBegun: hasRecords(context, unit) || [...context.inDoubt].some(isInside),
    ...(pending === undefined ? {} : { pending }),
    ...(edited === undefined ? {} : { edited })
  }
  const isDone = placed.record !== undefined && repeats(context, placed) === undefined
  const decision = decideTask(context, placed, out)
  out.decisions.push(decision)
  return { decision, isDone }
}

/** Detects sub-steps of a map's items that are not idempotent. */
const hasHarmfulSubSteps = ({ subSteps }: PlanContext, map: Unit): boolean => {
  for (const [task, all] of subSteps)
    if (isWithin(task, map) && all.some(({ call }) => call.idempotent === false)) return true
  return false
}

/** The user's changes to evidence of a map's parts, which running the whole map again would overwrite. */
const editedIn = ({ evidence: { edited } }: PlanContext, map: Unit): Edited | undefined => {
  const [first, ...more] = [...edited].flatMap(([unit, reason]) =>
    unit !== map && isWithin(unit, map) ? [reason] : []
  )
  if (first === undefined) return undefined
  return { _tag: 'EvidenceChanged', changed: [first, ...more].flatMap(({ changed }) => changed) }
}

/** Outputs are what its parts give. */
const hasNoOutput: Task['accepts'] = (output) =>
  output === undefined ? E.right(undefined) : E.left({ path: '$', expected: 'no output, as a map has none of its own' })

// ---------------------------------------------------------------------------------------------------------------------
// composites
// ---------------------------------------------------------------------------------------------------------------------

const decideComposite = (context: PlanContext, step: Sequence | Wave, at: At, out: Planned): Decided => {
  const parts = partsOf(step)
  return decideParts(context, step, at, parts.length, (index) => parts[index] as Step, out)
}

/** Decides about the parts of a composite, and so about itself. Its decision comes first. */
const decideParts = (
  context: PlanContext,
  step: Sequence | Wave | MapStep,
  at: At,
  count: number,
  partAt: (index: number) => Step,
  out: Planned
): Decided => {
  const { unit, stepIndex, demand } = at
  const demandOf = context.demands.ofParts(unit, step, demand)
  const own = wholeOf(context, unit)
  const keptAbove = own.kept ?? at.keptAbove
  const here = out.decisions.length
  const record = recordOf(context, unit, at.expected)
  const placed: Placed = { ...at, task: step, own: step.own, record }
  out.decisions.push(skip(placed, ASSUMED))
  const decisions: Array<Decision> = []
  let isDone = true
  let expected = count === 0 ? undefined : placeOf(context.checkpoint.completedSteps, join(unit, partAt(0).name))
  for (let index = 0; index < count; index++) {
    const part = partAt(index)
    const { name } = part
    const decided = decide(
      context,
      part,
      { unit: join(unit, name), stepIndex, demand: demandOf(index, name), expected, keptAbove },
      out
    )
    decisions.push(decided.decision)
    isDone &&= decided.isDone
    if (expected !== undefined) expected += 1
  }
  const decision = ofWhole(placed, own, decisions) ?? compositeDecision(context, step, placed, decisions, isDone)
  out.decisions[here] = decision
  if (isDone) missingBefore(context, placed, out)
  return { decision, isDone: isDone && record !== undefined && decision._tag === 'Skip' }
}

/** The evidence of a composite as a whole, if it changed: kept, in need of an answer, or in question. */
interface Whole {
  readonly kept: Kept | undefined
  readonly edited: Edited | undefined
  readonly isOpen: boolean
}

const wholeOf = ({ confirm, evidence }: PlanContext, unit: Unit): Whole => ({
  kept: evidence.kept.get(unit),
  edited: confirm.get(unit)?._tag === 'Again' ? undefined : evidence.edited.get(unit),
  isOpen: evidence.open.has(unit)
})

/** The decision for the evidence of a composite as a whole, unless its parts decide. */
const ofWhole = (
  placed: Placed,
  { kept, edited, isOpen }: Whole,
  parts: ReadonlyArray<Decision>
): Decision | undefined => {
  const runs = parts.some(({ _tag }) => _tag !== 'Skip')
  if (kept !== undefined) return runs ? undefined : skip(placed, keptReason(kept))
  if (parts.some(({ _tag }) => _tag === 'Confirm') || edited === undefined || !(isOpen || runs)) return undefined
  return { _tag: 'Confirm', ...aboutOf(placed), reason: edited }
}

/**
 * A composite does what its parts do: of a sequence, what comes next is its own decision; of a wave or map, the most telling one. If
 * all of them are done it is too, unless nothing but its own record is missing (`isDone`: theirs are all there and count): then it
 * runs, to be closed.
 */
const compositeDecision = (
  context: PlanContext,
  { _tag }: Sequence | Wave | MapStep,
  placed: Placed,
  parts: ReadonlyArray<Decision>,
  isDone: boolean
): Decision => {
  const asked = parts.find((part) => part._tag === 'Confirm')
  if (asked !== undefined) return { _tag: 'Confirm', ...aboutOf(placed), reason: asked.reason }
  const due = _tag === 'Sequence' ? parts.filter((part) => part._tag !== 'Skip').slice(0, 1) : parts
  const retried = due.find((part) => part._tag === 'Retry')
  if (retried !== undefined)
    return { _tag: 'Retry', ...aboutOf(placed), attempt: retried.attempt, reason: retried.reason }
  const started = due.find((part) => part._tag === 'Run')
  const failed = trace(context, placed)
  if (started?.reason._tag === 'NotStarted' && failed?.reason._tag === 'Failed')
    return { _tag: 'Retry', ...aboutOf(placed), attempt: failed.attempt, reason: failed.reason }
  if (started !== undefined) return run(placed, started.reason)
  const waiting = due.find((part) => part._tag === 'Poll')
  if (waiting !== undefined) return { _tag: 'Poll', ...aboutOf(placed), reason: waiting.reason }
  const record = isDone ? placed.record : undefined
  if (record !== undefined) return skip(placed, skipReasonOf(placed, record))
  if (isDone && failed?.reason._tag === 'Failed')
    return { _tag: 'Retry', ...aboutOf(placed), attempt: failed.attempt, reason: failed.reason }
  if (isDone && placed.demand !== 'assumed') return run(placed, { _tag: 'NotStarted' })
  const evidence = isDone ? undefined : evidenceNow(context, placed, placed.record)
  return skip(placed, evidence === undefined ? ASSUMED : { _tag: 'Assumed', evidence })
}

// ---------------------------------------------------------------------------------------------------------------------
// tasks
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A unit with its definition and its record, if it has one. `own`: of a composite, the fingerprint that its record keeps. Of a map of unknown items, `hasBegun`: whether anything of it was begun;
 * `pending`: what one of its parts waits for; `edited`: evidence of its parts that would be overwritten.
 */
interface Placed<A extends Described = Described> extends At {
  readonly task: A
  readonly record: CompletedStep | undefined
  readonly hasBegun?: boolean
  readonly own?: string
  readonly pending?: Pending
  readonly edited?: Edited
}

type Described = Pick<Task, 'summary' | 'fingerprint'>

type Subject = Pick<Placed, 'unit' | 'stepIndex' | 'task'>

const aboutOf = ({ unit, stepIndex, task: { summary, fingerprint } }: Placed): Omit<Skip, '_tag' | 'reason'> => ({
  unit,
  stepIndex,
  summary,
  fingerprint
})

const skip = ({ unit, stepIndex, task: { summary, fingerprint } }: Subject, reason: SkipReason): Skip => ({
  _tag: 'Skip',
  unit,
  stepIndex,
  summary,
  fingerprint,
  reason
})

const run = ({ unit, stepIndex, task: { summary, fingerprint } }: Subject, reason: RunReason): Run => ({
  _tag: 'Run',
  unit,
  stepIndex,
  summary,
  fingerprint,
  reason
})

const keptReason = ({ changed, evidence }: Kept): SkipReason => ({ _tag: 'EvidenceChanged', changed, evidence })

const skipReasonOf = ({ task, own = task.fingerprint }: Placed, record: CompletedStep): SkipReason => {
  if (record.fingerprint !== own) return { _tag: 'AcceptedDespiteChange', recorded: record.fingerprint }
  return record.assumed === true ? ASSUMED : COMPLETED
}

/** One for all: a plan may have 100,000 of them. */
const COMPLETED: SkipReason = { _tag: 'Completed' }
const ASSUMED: SkipReason = { _tag: 'Assumed' }

const decideTask = (context: PlanContext, placed: Placed<Task>, out: Planned): Decision => {
  const { task, record } = placed
  context.answerable?.add(placed.unit)
  const scheduled = repeats(context, placed)
  const kept = context.evidence.kept.size === 0 ? undefined : keptOf(context, placed, scheduled)
  if (record !== undefined && (kept !== undefined || (scheduled === undefined && !isOpen(context, placed)))) {
    const fits = fitsOf(task, record.output)
    missingBefore(context, placed, out)
    if (E.isLeft(fits)) out.problems.push({ _tag: 'OutputNotDecodable', unit: placed.unit, ...fits.left })
    if (record.fingerprint !== task.fingerprint) uncaptured(placed, record, out)
    return skip(placed, kept === undefined ? skipReasonOf(placed, record) : keptReason(kept))
  }
  const answer = context.confirm.size === 0 ? undefined : context.confirm.get(placed.unit)
  const given = answer?._tag === 'Done' ? answer.output : undefined
  if (placed.demand === 'assumed') {
    return assume(placed, given === undefined ? context.outputs.get(placed.unit) : given, out)
  }
  const pending = placed.pending ?? (context.pending.size === 0 ? undefined : context.pending.get(placed.unit))
  if (pending !== undefined && scheduled === undefined) {
    if (answer !== undefined) out.problems.push({ _tag: 'JobPending', unit: placed.unit })
    return poll(context, placed, pending)
  }
  const due = schedule(context, placed, { record, scheduled, pending }, answer?._tag === 'Again')
  const isCovered = record !== undefined && context.evidence.covered.has(placed.unit)
  if (answer?._tag === 'Done' && (due._tag === 'Confirm' || isCovered)) {
    return assume(placed, given === undefined ? record?.output : given, out, evidenceNow(context, placed, record))
  }
  // "Again" for what runs in any case is no contradiction. "Done" would leave out work that nobody did.
  if (answer?._tag === 'Done') out.problems.push({ _tag: 'NotAsked', unit: placed.unit })
  if (answer?._tag === 'Keep') out.problems.push({ _tag: 'NotAsked', unit: placed.unit, keep: true })
  return due
}

const isOpen = ({ evidence: { open } }: PlanContext, placed: Placed): boolean => open.size > 0 && open.has(placed.unit)

/** The accepted evidence of a unit: if nothing schedules the unit, or if an answer names it or its wave. */
const keptOf = (context: PlanContext, placed: Placed, scheduled: RunReason | undefined): Kept | undefined => {
  const { kept, missing } = context.evidence
  const there = kept.get(placed.unit)
  if (there !== undefined && (scheduled === undefined || there.own)) return there
  const record = scheduled === undefined || placed.keptAbove === undefined ? undefined : placed.record
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
  if (missing.size === 0 || placed.demand !== 'assumed') return
  const lost = missing.get(placed.unit)
  if (lost === undefined) return
  const expected = `${lost.missing.map(describeEvidence).join(', ')}, which is missing`
  out.problems.push({ _tag: 'AssumedOutputMissing', unit: placed.unit, expected, evidence: true })
}

/** A unit that somebody says is done needs the output that it would have given, as plain JSON like any other. */
const assume = (
  placed: Placed<Task>,
  given: Json | undefined,
  out: Planned,
  evidence?: ReadonlyArray<Evidence>
): Skip => {
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
  return skip(placed, evidence === undefined ? reason : { ...reason, evidence })
}

/** Why completed work, or work that would be due in any case, is asked for again; undefined if it is not. */
const repeats = (
  { evidence: { due } }: PlanContext,
  { unit, demand }: Pick<At, 'unit' | 'demand'>
): RunReason | undefined => {
  if (demand === 'assumed' || isAnew(demand)) return demand === 'assumed' ? undefined : demand
  return due.get(unit) ?? (demand === 'none' ? undefined : demand)
}

const poll = (context: PlanContext, placed: Placed, pending: Pending): Poll => ({
  _tag: 'Poll',
  ...aboutOf(placed),
  reason: pollReason(context, pending)
})

const pollReason = ({ answers }: PlanContext, pending: Pending): PollReason => {
  switch (pending._tag) {
    case 'Job': {
      const { submittedAt, job } = pending
      return { _tag: 'JobPending', submittedAt, ...(job === undefined ? {} : { job }) }
    }
    case 'Timer':
      return { _tag: 'TimerPending', wakeAt: pending.wakeAt }
    case 'Answer': {
      const { unit, question, until } = pending
      return {
        _tag: 'AnswerPending',
        ...(question === undefined ? {} : { question }),
        ...(until === undefined ? {} : { until }),
        ...(answers.has(unit) ? { answered: true } : {})
      }
    }
  }
}

/** What is known of a unit that is due. */
interface Known {
  readonly record: CompletedStep | undefined
  readonly scheduled: RunReason | undefined
  readonly pending: Pending | undefined
}

/**
 * A unit without a record that counts: it runs, runs once more, or is asked about. To force what waits for a job does not
 * say that the job may be there twice.
 */
const schedule = (
  context: PlanContext,
  placed: Placed<Task>,
  { record, scheduled, pending }: Known,
  again: boolean
): Decision => {
  const begun = pending === undefined ? trace(context, placed) : undefined
  const edited = placed.edited ?? context.evidence.edited.get(placed.unit)
  if (edited !== undefined && !again) return { _tag: 'Confirm', ...aboutOf(placed), reason: edited }
  const mayHaveActed =
    record !== undefined ||
    pending !== undefined ||
    begun?.mayHaveActed === true ||
    placed.hasBegun === true ||
    context.recovered
  const asked = again || (scheduled?._tag === 'Forced' && pending === undefined)
  if (mayHaveActed && !asked && !mayRunTwice(context, placed)) {
    const known = pending === undefined ? (begun?.reason ?? scheduled) : pollReason(context, pending)
    const reason = known ?? ({ _tag: 'MaybeLost' } as const)
    return { _tag: 'Confirm', ...aboutOf(placed), reason }
  }
  if (scheduled !== undefined) {
    const due = run(placed, scheduled)
    return pending === undefined ? due : { ...due, givesUp: pollReason(context, pending) }
  }
  if (begun === undefined) return run(placed, { _tag: 'NotStarted' })
  return { _tag: 'Retry', ...aboutOf(placed), attempt: begun.attempt, reason: begun.reason }
}

/** What was not idempotent when it began does not become so by an edit. */
const mayRunTwice = ({ checkpoint }: PlanContext, { unit, stepIndex, task }: Placed<Task>): boolean => {
  const before = find(checkpoint.workflow, checkpoint.items, unit, stepIndex)?.definition
  const isLeaf = before?.kind === 'task' || before?.kind === 'map'
  return task.idempotent && !(isLeaf && !wasIdempotent(before))
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
