/** Decides about the units of a workflow: a fold over its tree. */
import * as E from 'fp-ts/lib/Either.js'
import type { EvidenceChanged, Kept } from './changedEvidence.js'
import { isRerun } from './demands.js'
import type { CompletedStep } from '../checkpoint/CompletedStep.js'
import type { Item } from '../checkpoint/Items.js'
import type { Decision, DecisionTree, RunReason } from './Plan.js'
import type { PlanContext } from './PlanContext.js'
import { hasRecords, recordInTree } from './PlanContext.js'
import type { Unit } from '../workflow/Unit.js'
import { ancestors, isWithin, join } from '../workflow/Unit.js'
import * as Units from '../checkpoint/Units.js'
import type { MapStep, Sequence, Step, Task, Wave, Workflow } from '../workflow/Workflow.js'
import { hasSameResult, isIdempotent, listedParts } from '../workflow/Node.js'
import type { Placed, Planned, Subject } from './decideTask.js'
import {
  ASSUMED,
  confirm,
  decideTask,
  evidenceNow,
  keptOf,
  keptReason,
  poll,
  reportMissing,
  rerunReason,
  retry,
  run,
  skip,
  skipRecorded,
  skipReasonOf,
  nextAttempt
} from './decideTask.js'
import { decideWithSubSteps } from './decideSubSteps.js'
import { find } from '../checkpoint/Tree.js'

export const decideAll = (context: PlanContext, workflow: Workflow, out: Planned): void => {
  const demandOf = context.demands.ofParts(undefined, workflow, 'none')
  workflow.steps.forEach((step, stepIndex) => {
    const { name: unit, summary } = step
    const record = recordInTree(context, unit, stepIndex)
    if (step._tag === 'Task' && decideByRecord(context, { unit, stepIndex, summary, step }, record, out)) return
    const demand = demandOf(stepIndex, unit)
    decide(context, { unit, stepIndex, summary, step, record, demand, keptAbove: undefined }, out)
  })
}

/** Decides about a task if its record alone matters, as for most tasks of a long run. */
const decideByRecord = (
  { isPlain, open }: PlanContext,
  task: Subject<Task>,
  record: CompletedStep | undefined,
  out: Planned
): boolean => {
  if (!isPlain || open.has(task.unit)) return false
  out.decisions.push(record === undefined ? run(task, NOT_STARTED) : skipRecorded(task, record, undefined, out))
  return true
}

const NOT_STARTED: RunReason = { _tag: 'NotStarted' }

/**
 * Appends the decision about a unit, then those about its parts. Returns whether each of them has a record that stands: it does not run again,
 * and no question about its evidence is open.
 */
const decide = (context: PlanContext, placed: Placed<Step>, out: Planned): boolean => {
  switch (placed.step._tag) {
    case 'Task':
      return decideLeaf(context, placed as Placed<Task>, out)
    case 'Sequence':
    case 'Wave': {
      const parts = listedParts<Step>(placed.step)
      const names = parts.map(({ name }) => name)
      return decideParts(context, placed as Placed<Sequence | Wave>, names, (index) => parts[index] as Step, out)
    }
    case 'Map':
      return decideMap(context, placed as Placed<MapStep>, out)
  }
}

const decideLeaf = (context: PlanContext, placed: Placed<Task>, out: Planned): boolean => {
  const { unit, record } = placed
  const subSteps = context.subSteps.size === 0 ? undefined : context.subSteps.get(unit)
  if (subSteps !== undefined) return decideWithSubSteps(context, placed, subSteps, out)
  const { open } = context.evidence
  const task = replacesCall(context, placed)
    ? { ...placed, hasBegun: true, step: { ...placed.step, idempotent: false } }
    : placed
  out.decisions.push(decideTask(context, task, out))
  return record !== undefined && rerunReason(context, placed) === undefined && !open.has(unit)
}

/**
 * Detects a unit that is new or of another kind, at, around or inside the path of a sub-step that acted. It runs only after confirmation if the
 * sub-step may have taken effect, or if it completed and one of the two is not idempotent.
 */
const replacesCall = (context: PlanContext, { unit, step, stepIndex, record }: Placed<Step>): boolean => {
  const { calls, around } = isIdempotent(step) ? context.acted.once : context.acted.all
  if (record !== undefined || calls.size === 0) return false
  if (!around.has(unit) && ![unit, ...ancestors(unit)].some((one) => calls.has(one))) return false
  const was = find(context.checkpoint.workflow, context.checkpoint.items, unit, stepIndex)?.definition
  return was === undefined || !hasSameResult(was, step)
}

/** The decisions for the parts of a map that was just expanded. Each part runs: for the reason of the map if that runs, else as not started. */
export const decideItems = (
  { stepIndex, unit, ...decision }: Decision,
  { each }: MapStep,
  items: ReadonlyArray<Item>
): ReadonlyArray<DecisionTree> => {
  const reason: RunReason = decision._tag === 'Run' ? decision.reason : NOT_STARTED
  const visit = (step: Step, unit: Unit, summary: string): DecisionTree => ({
    decision: run({ unit, stepIndex, summary, step }, reason),
    parts: listedParts<Step>(step).map((part) => visit(part, join(unit, part.name), part.summary))
  })
  return items.map(({ key }) => visit(each, join(unit, key), summaryOf(each, key)))
}

const summaryOf = ({ name, summary }: Step, key: string): string => (summary === name ? key : summary)

const decideMap = (context: PlanContext, placed: Placed<MapStep>, out: Planned): boolean => {
  const { unit, step: map } = placed
  const keysOf = (items: ReadonlyArray<Item>): ReadonlyArray<string> => items.map(({ key }) => key)
  const items = itemsDue(context, placed)
  if (items !== undefined) return decideParts(context, placed, keysOf(items), () => map.each, out)
  const recorded = context.checkpoint.items.get(unit)
  const answer = context.confirm.get(unit)?._tag
  if (recorded !== undefined && answer === 'Keep' && mayKeep(context, unit, recorded)) {
    context.answerable?.add(unit)
    const kept: Placed<MapStep> = { ...placed, demand: 'none', keptAbove: WHOLE }
    return decideParts(context, kept, keysOf(recorded), () => map.each, out)
  }
  const here = out.decisions.length
  const isDone = decideAsTask(context, placed, out)
  // A map that is confirmed as done keeps its items, and those without a record count as done.
  if (recorded !== undefined && answer === 'Done' && out.decisions[here]?._tag === 'Skip')
    decideEach(context, { ...placed, demand: 'assumed', keptAbove: WHOLE }, keysOf(recorded), () => map.each, out)
  return isDone
}

/** Evidence of a map is kept with that of its items, all of which completed. */
const mayKeep = (context: PlanContext, map: Unit, items: ReadonlyArray<Item>): boolean =>
  areAllRecorded(context, map, items) && (context.evidence.kept.has(map) || changedIn(context, map) !== undefined)

const areAllRecorded = (context: PlanContext, map: Unit, items: ReadonlyArray<Item>): boolean =>
  items.every(({ key }) => recordInTree(context, join(map, key)) !== undefined)

/** An answer about a map as a whole accepts the current evidence of its parts. */
const WHOLE: Kept = { changed: [], evidence: [], survivesRerun: true, isWhole: true }

/**
 * Returns the recorded items; undefined if there are none, or if the map computes them again: because it is forced, or follows a step that runs
 * again. A map with an empty list of items also computes them if its evidence makes it run again, because it has no item that could run.
 */
const itemsDue = ({ checkpoint, evidence }: PlanContext, { unit, demand }: Placed): ReadonlyArray<Item> | undefined => {
  const items = checkpoint.items.get(unit)
  const isAgain = evidence.again.has(unit) || typeof demand === 'object'
  return isRerun(demand) || (items?.length === 0 && isAgain) ? undefined : items
}

/** Decides a map whose items are unknown as one task. Parts from earlier items may have acted, so it considers all units in the map. */
const decideAsTask = (context: PlanContext, map: Placed<MapStep>, out: Planned): boolean => {
  const { unit } = map
  const { name, summary, fingerprint, ownFingerprint } = map.step
  const hasRisk = hasNonIdempotentSubSteps(context, unit) || replacesCall(context, map)
  const task: Task = {
    _tag: 'Task',
    name,
    summary,
    fingerprint,
    idempotent: isIdempotent(map.step) && !hasRisk,
    captures: [],
    numbered: false,
    accepts: acceptsNoOutput
  }
  const isInside = (one: Unit): boolean => isWithin(one, unit)
  // A map that does not run again was never expanded here, so a wait inside it is that of a unit that an edit replaced.
  const waiting = rerunReason(context, map) === undefined ? [] : Units.within(context.checkpoint.pending, unit)
  // Prefers a job, the only wait with an effect outside: running the map again would submit it twice.
  const pending = waiting.find(({ _tag }) => _tag === 'Job') ?? waiting[0]
  const items = context.checkpoint.items.get(unit)
  const changed = changedIn(context, unit)
  const placed: Placed<Task> = {
    ...map,
    step: task,
    ownFingerprint,
    hasBegun: hasRisk || hasRecords(context, unit) || [...context.inDoubt].some(isInside),
    ...(pending === undefined ? {} : { pending }),
    ...(changed === undefined
      ? {}
      : { changedByUser: areAllRecorded(context, unit, items ?? []) ? changed : { ...changed, unfinished: true } })
  }
  out.decisions.push(decideTask(context, placed, out))
  return placed.record !== undefined && rerunReason(context, placed) === undefined
}

/** Detects sub-steps of a map's items that are not idempotent. */
const hasNonIdempotentSubSteps = ({ subSteps }: PlanContext, map: Unit): boolean => {
  for (const [task, all] of subSteps)
    if (isWithin(task, map) && all.some(({ call }) => call.idempotent === false)) return true
  return false
}

/** The user's changes to evidence of a map's parts, which running the whole map again would overwrite. */
const changedIn = ({ evidence: { changedByUser } }: PlanContext, map: Unit): EvidenceChanged | undefined => {
  const [first, ...more] = [...changedByUser].flatMap(([unit, reason]) =>
    unit !== map && isWithin(unit, map) ? [reason] : []
  )
  if (first === undefined) return undefined
  return { _tag: 'EvidenceChanged', changed: [first, ...more].flatMap(({ changed }) => changed) }
}

/** A map has no output of its own. */
const acceptsNoOutput: Task['accepts'] = (output) =>
  output === undefined
    ? E.right(undefined)
    : E.left({ path: '$', expected: 'one output for each item, none for the map' })

/** Decides about the parts of a composite, then about the composite. */
const decideParts = (
  context: PlanContext,
  composite: Placed<Sequence | Wave | MapStep>,
  names: ReadonlyArray<string>,
  partAt: (index: number) => Step,
  out: Planned
): boolean => {
  const { step, record } = composite
  const own = ownEvidenceOf(context, composite)
  const here = out.decisions.length
  const placed: Placed = { ...composite, ownFingerprint: step.ownFingerprint }
  // A placeholder: the decision depends on those of the parts, which follow it in the list.
  out.decisions.push(skip(placed, ASSUMED))
  const keptAbove = composite.keptAbove ?? own.kept
  const { decisions, isDone } = decideEach(context, { ...composite, keptAbove }, names, partAt, out)
  const decision =
    decideByEvidence(placed, own, decisions) ?? compositeDecision(context, step, placed, decisions, isDone)
  out.decisions[here] = decision
  if (isDone) reportMissing(context, placed, out)
  return isDone && record !== undefined && decision._tag === 'Skip'
}

/** Decides about each part of a composite. `isDone`: all their records stand (see `decide`). */
const decideEach = (
  context: PlanContext,
  { unit, stepIndex, step, demand, keptAbove }: Placed<Sequence | Wave | MapStep>,
  names: ReadonlyArray<string>,
  partAt: (index: number) => Step,
  out: Planned
): { readonly decisions: ReadonlyArray<Decision>; readonly isDone: boolean } => {
  const demandOf = context.demands.ofParts(unit, step, demand)
  const decisions: Array<Decision> = []
  let isDone = true
  let expected =
    names.length === 0 ? undefined : Units.placeOf(context.checkpoint.completedSteps, join(unit, names[0] as string))
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as string
    const inner = partAt(index)
    const part = join(unit, name)
    const at = out.decisions.length
    const isPartDone = decide(
      context,
      {
        unit: part,
        stepIndex,
        summary: step._tag === 'Map' ? summaryOf(inner, name) : inner.summary,
        step: inner,
        record: recordInTree(context, part, expected),
        demand: demandOf(index, name),
        keptAbove
      },
      out
    )
    decisions.push(out.decisions[at] as Decision)
    isDone &&= isPartDone
    if (expected !== undefined) expected += 1
  }
  return { decisions, isDone }
}

/**
 * The changed evidence of a composite itself. `kept`: accepted; `changedByUser`: a user's change that a run of the composite would overwrite;
 * `isOpen`: the plan asks about it even if nothing else makes it run.
 */
interface OwnEvidence {
  readonly kept: Kept | undefined
  readonly changedByUser: EvidenceChanged | undefined
  readonly isOpen: boolean
}

const ownEvidenceOf = (context: PlanContext, placed: Placed): OwnEvidence => {
  const { unit } = placed
  const { confirm, evidence } = context
  return {
    kept: keptOf(context, placed, undefined),
    changedByUser: confirm.get(unit)?._tag === 'Again' ? undefined : evidence.changedByUser.get(unit),
    isOpen: evidence.open.has(unit)
  }
}

/** Decides about the evidence of a composite itself, unless its parts decide. */
const decideByEvidence = (
  placed: Placed,
  { kept, changedByUser, isOpen }: OwnEvidence,
  parts: ReadonlyArray<Decision>
): Decision | undefined => {
  const areSkipped = parts.every(({ _tag }) => _tag === 'Skip')
  if (kept !== undefined) return areSkipped ? skip(placed, keptReason(kept)) : undefined
  if (changedByUser === undefined || parts.some(({ _tag }) => _tag === 'Confirm')) return undefined
  return isOpen || !areSkipped ? confirm(placed, changedByUser) : undefined
}

/**
 * Derives the decision of a composite: a question of any part; else for a sequence the decision of its next part, for a wave or map the first of
 * `Retry`, `Run` and `Poll` that a part has. A composite whose parts are all skipped is skipped, too. If their records stand (`isDone`) and it has
 * no record itself, it runs, only to record that it completed.
 */
const compositeDecision = (
  context: PlanContext,
  { _tag }: Sequence | Wave | MapStep,
  placed: Placed,
  parts: ReadonlyArray<Decision>,
  isDone: boolean
): Decision => {
  const inQuestion = parts.find((part) => part._tag === 'Confirm')
  if (inQuestion !== undefined) return confirm(placed, inQuestion.reason)
  const next = _tag === 'Sequence' ? parts.filter((part) => part._tag !== 'Skip').slice(0, 1) : parts
  const retried = next.find((part) => part._tag === 'Retry')
  if (retried !== undefined) return retry(placed, retried)
  const started = next.find((part) => part._tag === 'Run')
  const failed = context.replaced.has(placed.unit) ? undefined : nextAttempt(context, placed)
  if (started?.reason._tag === 'NotStarted' && failed?.reason._tag === 'Failed') return retry(placed, failed)
  if (started?.reason._tag === 'NotStarted') return run(placed, notStarted(parts))
  if (started !== undefined) return run(placed, started.reason)
  const waiting = next.find((part) => part._tag === 'Poll')
  if (waiting !== undefined) return poll(placed, waiting.reason)
  const record = isDone ? placed.record : undefined
  if (record !== undefined) return skip(placed, skipReasonOf(placed, record))
  if (isDone && failed?.reason._tag === 'Failed') return retry(placed, failed)
  if (isDone && placed.demand !== 'assumed') return run(placed, notStarted(parts))
  const evidence = isDone ? undefined : evidenceNow(context, placed, placed.record)
  return skip(placed, evidence === undefined ? ASSUMED : { _tag: 'Assumed', evidence })
}

const notStarted = (parts: ReadonlyArray<Decision>): RunReason => {
  const done = parts.filter(({ _tag }) => _tag === 'Skip').length
  const isBegun = done > 0 || parts.some(({ reason }) => 'parts' in reason)
  return isBegun ? { _tag: 'NotStarted', parts: { done, total: parts.length } } : NOT_STARTED
}
