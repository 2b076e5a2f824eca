/** Describes plans, decisions and questions in words. */
import { describeEvidence } from '../checkpoint/CompletedStep.js'
import type { Over } from '../checkpoint/Due.js'
import type { PendingJob, RejectedAnswer } from '../checkpoint/Pending.js'
import type { Json } from '../data/Json.js'
import type { Changed, Confirm, Decision, DecisionTree, PollReason, ResumePlan } from '../plan/Plan.js'
import { pushTo } from '../data/indexed.js'
import { listed } from '../data/listed.js'
import { expectedAt } from '../data/Malformed.js'
import { isAnyOver, overOf } from '../plan/nextUnits.js'
import { confirms, decisionTrees } from '../plan/Plan.js'
import { printableLines } from './printable.js'
import { nameOf } from '../workflow/Unit.js'

/**
 * Renders a plan as text: one line for each unit, with its decision and reason. Steps are counted from 1. Of more than 20 units in a list,
 * five of each kind are listed and the others counted; units that need confirmation are always listed. With `now` (UTC, ISO 8601), the text
 * states which waits are over; a plan does not contain that, because a planner has no clock.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { Checkpoint, explain, planResume, Workflow, WorkflowIdentity } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const workflow = { name: 'release', steps: [Workflow.task('build')] }
 * const checkpoint = Checkpoint.start({
 *   _tag: 'Started',
 *   at: '2026-01-02T03:04:05.000Z',
 *   runId: 'release-1',
 *   workflow: WorkflowIdentity.of(workflow),
 *   input: {}
 * })
 * const plan = planResume(checkpoint, workflow)
 * assert.ok(E.isRight(plan))
 * assert.equal(explain(plan.right), '0/1 steps are done, 1 to run\n  1/1  run      build  not started')
 *
 * @category destructors
 */
export const explain = (plan: ResumePlan, now?: string): string => {
  const steps = decisionTrees(plan)
  const rows = entriesOf(steps, now).flatMap(({ node, row, isCount }) =>
    isCount
      ? [{ ...row, place: '' }]
      : [{ ...row, place: `${node.decision.stepIndex + 1}/${steps.length}` }, ...below(node, now, '  ')]
  )
  const wide = (of: (row: Row) => string): number => rows.reduce((widest, row) => Math.max(widest, of(row).length), 0)
  const place = wide((row) => row.place)
  const name = wide((row) => row.name)
  const lines = rows.map(
    (row) => `  ${row.place.padStart(place)}  ${row.verb.padEnd(7)}  ${row.name.padEnd(name)}  ${row.why}`
  )
  return printableLines([headline(plan, steps, now), ...lines.map((line) => line.trimEnd()), ...describeAbandons(plan)])
}

/** Describes the jobs that a plan abandons, one sentence each; of more than 20 the first five, and the number of the others. */
export const describeAbandons = ({ abandons = [] }: ResumePlan): ReadonlyArray<string> => {
  const shown = abandons.length > LONG ? abandons.slice(0, SHOWN) : abandons
  const more = abandons.length - shown.length
  return [
    ...shown.map(
      ({ unit, ...job }) => `"${unit}" no longer waits for its job, ${describeSubmitted(job)}; cancel that job yourself`
    ),
    ...(more === 0 ? [] : [`and ${more} more jobs are no longer waited for`])
  ]
}

const describeSubmitted = ({ submittedAt, job }: Pick<PendingJob, 'submittedAt' | 'job'>): string =>
  `submitted at ${submittedAt}${job === undefined ? '' : `: ${describeJob(job)}`}`

interface Row {
  readonly place: string
  readonly verb: string
  readonly name: string
  readonly why: string
}

const rowOf = (node: DecisionTree, now: string | undefined): Omit<Row, 'place'> => {
  const { decision } = node
  const name = nameOf(decision.unit)
  // A composite has the reason of its first wait, and another one may be over.
  if (decision._tag === 'Poll' && overOf(decision, now) === undefined && isAnyOver(node, now))
    return { verb: 'run', name, why: 'a wait in it is over; a resume continues' }
  return { verb: verb(decision, now), name, why: describeReason(decision, now) }
}

const below = ({ parts }: DecisionTree, now: string | undefined, indent: string): ReadonlyArray<Row> =>
  entriesOf(parts, now).flatMap(({ node, row, isCount }) => {
    const line = { ...row, place: '', name: `${indent}${row.name}` }
    return isCount ? [line] : [line, ...below(node, now, `${indent}  `)]
  })

/** Up to `LONG` entries are listed in full; of more, `SHOWN` of each kind. */
export const LONG = 20
export const SHOWN = 5

/** The line of a unit, or the line that counts further units of its kind. */
interface Entry {
  readonly node: DecisionTree
  readonly row: Omit<Row, 'place'>
  readonly isCount: boolean
}

const entriesOf = (all: ReadonlyArray<DecisionTree>, now: string | undefined): ReadonlyArray<Entry> => {
  const one = (node: DecisionTree): Entry => ({ node, row: rowOf(node, now), isCount: false })
  if (all.length <= LONG) return all.map(one)
  const kinds = new Map<string, Array<DecisionTree>>()
  for (const node of all) pushTo(kinds, kindOfRow(node, now), node)
  const rows = new Map<DecisionTree, Entry>()
  for (const kind of kinds.values()) {
    // A "1 more" line is no shorter than the entry.
    const shown = kind.length === SHOWN + 1 || kind[0]?.decision._tag === 'Confirm' ? kind.length : SHOWN
    for (const node of kind.slice(0, shown)) rows.set(node, one(node))
    const [first, ...others] = kind.slice(shown)
    if (first !== undefined) rows.set(first, { node: first, row: countOf(first, others, now), isCount: true })
  }
  return all.flatMap((node) => rows.get(node) ?? [])
}

const kindOfRow = ({ decision }: DecisionTree, now: string | undefined): string =>
  `${decision._tag} ${decision.reason._tag} ${overOf(decision, now)}`

/** The line has a reason only if all counted units share it. */
const countOf = (
  node: DecisionTree,
  others: ReadonlyArray<DecisionTree>,
  now: string | undefined
): Omit<Row, 'place'> => {
  const row = rowOf(node, now)
  const why = others.every((other) => rowOf(other, now).why === row.why) ? row.why : ''
  return { ...row, name: `… ${others.length + 1} more`, why }
}

const headline = (plan: ResumePlan, steps: ReadonlyArray<DecisionTree>, now: string | undefined): string => {
  const total = steps.length
  const done = plan.skipSteps.size
  const questions = confirms(plan).length
  const asked = questions === 0 ? '' : `; ${questions} question${questions === 1 ? '' : 's'} to answer`
  const pending = steps.filter((one) => one.decision._tag === 'Poll' && !isAnyOver(one, now)).length
  const waits = pending === 0 ? '' : `, ${pending} pending`
  const input = plan.input === undefined ? '' : ', with another input'
  return done === total
    ? `${done}/${total} steps are done, nothing left to run`
    : `${done}/${total} steps are done, ${total - done - pending} to run${waits}${input}${asked}`
}

export const describeOver = (over: Over): string => {
  switch (over) {
    case 'Answered':
      return 'its answer is recorded; a resume continues'
    case 'Due':
      return 'its time has come; a resume continues'
    case 'TimedOut':
      return 'no answer came in time; a resume ends it with WAIT_TIMEOUT'
  }
}

const verb = (decision: Decision, now: string | undefined): string => {
  if (decision._tag !== 'Poll') return decision._tag.toLowerCase()
  if (overOf(decision, now) !== undefined) return 'run'
  return decision.reason._tag === 'JobPending' ? 'poll' : 'wait'
}

/**
 * Describes the reason of a decision. With `now` (UTC, ISO 8601), it says whether a wait is over.
 *
 * @category destructors
 */
export const describeReason = (decision: Decision, now?: string): string => {
  const { _tag, reason } = decision
  const over = overOf(decision, now)
  if (over !== undefined) return describeOver(over)
  switch (reason._tag) {
    case 'Completed':
      return 'completed'
    case 'AcceptedDespiteChange':
      return `completed; its definition changed since (${reason.recorded}), which is accepted`
    case 'Assumed':
      return 'assumed done'
    case 'FailedBefore':
      return `failed: ${firstLine(reason.message)}; its error is thrown again`
    case 'NotStarted':
      if (reason.parts !== undefined) return `${reason.parts.done}/${reason.parts.total} parts done`
      return reason.answered === true ? ANSWERED : 'not started'
    case 'EvidenceMissing':
      return `evidence is missing: ${listed(reason.missing.map(describeEvidence))}`
    case 'EvidenceChanged':
      return _tag === 'Skip'
        ? `completed; kept${reason.changed.length === 0 ? '' : ` with changes: ${describeKept(reason.changed)}`}`
        : `evidence changed: ${describeChanged(reason.changed)}${alsoMissing(reason)}`
    case 'EarlierStepRunsAgain':
      return `the result of "${reason.step}" may differ`
    case 'Forced':
      return 'as requested'
    case 'Failed':
      if (reason.inDoubt === true) return firstLine(reason.message)
      return `failed${reason.attempts > 1 ? ` in attempt ${reason.attempts}` : ''}: ${firstLine(reason.message)}`
    case 'InFlight':
      return `was running (attempt ${reason.attempt}) when the process ended`
    case 'Interrupted':
      // The cancel may have followed what stopped it.
      return reason.reason === 'cancelled' ? 'was stopped' : `was stopped (${reason.reason})`
    case 'JobPending':
      return `waits for its job, ${describeSubmitted(reason)}`
    case 'TimerPending':
      return `sleeps until ${reason.wakeAt}`
    case 'AnswerPending':
      return describeWait(reason)
    case 'MaybeLost':
      return 'the newest state is damaged, so it may have run'
    case 'MayHaveRun':
      return 'it may have run before'
  }
}

export const ANSWERED = 'its answer is recorded'

const describeWait = ({ question, until, answered }: PollReason & { readonly _tag: 'AnswerPending' }): string =>
  answered === true
    ? ANSWERED
    : `waits for an answer${question === undefined ? '' : `: ${firstLine(question)}`}${until === undefined ? '' : ` (until ${until})`}`

export const describeChanged = (changed: ReadonlyArray<Changed>): string =>
  changed
    .map(({ was }) =>
      was._tag === 'Commit' ? `${describeEvidence(was)} is not in the history of HEAD` : describeEvidence(was)
    )
    .join(', ')

/** Describes the changed evidence that a unit keeps. */
export const describeKept = (changed: ReadonlyArray<Changed>): string =>
  changed
    .map(({ was }) => (was._tag === 'Commit' ? `HEAD in place of ${describeEvidence(was)}` : describeEvidence(was)))
    .join(', ')

const alsoMissing = (reason: Decision['reason']): string =>
  'missing' in reason && reason.missing !== undefined
    ? `; missing: ${reason.missing.map(describeEvidence).join(', ')}`
    : ''

/** Describes who gave a rejected answer, and why it did not fit. */
export const describeRejected = ({ by, ...why }: RejectedAnswer): string => `by ${by}: ${expectedAt(why)}`

/** Describes what `submit` returned, on one line. */
export const describeJob = (job: Json): string => firstLine(typeof job === 'string' ? job : JSON.stringify(job))

export const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`

const firstLine = (message: string): string => {
  const line = message.split('\n', 1)[0] ?? ''
  return line.length > 200 ? `${line.slice(0, 199)}…` : line
}

/**
 * Describes a question about a unit.
 *
 * @category destructors
 */
export const describeQuestion = (question: Confirm): string => {
  const { reason } = question
  if (reason._tag === 'EvidenceChanged')
    return `"${question.unit}" completed, but its evidence changed since: ${describeChanged(reason.changed)}${alsoMissing(reason)}`
  if (reason._tag === 'EvidenceMissing')
    return `"${question.unit}" completed and is not idempotent; it would run again because ${describeReason(question)}`
  if (reason._tag === 'EarlierStepRunsAgain')
    return `"${question.unit}" has completed or may have taken effect, and is not idempotent; it would run again because ${describeReason(question)}`
  const lacksSubject = LACKS_SUBJECT.has(reason._tag) && !('answered' in reason) && !('inDoubt' in reason)
  const why = `${lacksSubject ? 'it ' : ''}${describeReason(question)}`
  return `"${question.unit}" may already have taken effect, and is not idempotent: ${why}`
}

/** The reasons whose descriptions have no subject. */
const LACKS_SUBJECT: ReadonlySet<string> = new Set([
  'Failed',
  'InFlight',
  'Interrupted',
  'JobPending',
  'TimerPending',
  'AnswerPending'
])
