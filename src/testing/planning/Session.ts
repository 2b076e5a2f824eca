/**
 * One session of a run: a stand-in for the executor that obeys a plan. Whatever it reaches, a real run can reach.
 *
 * @since 0.1.0
 */
import { strict as assert } from 'node:assert'
import type { UnitCompleted } from '../../domain/Change.js'
import type { Outcome } from '../../domain/CheckpointState.js'
import * as State from '../../domain/CheckpointState.js'
import type { Evidence } from '../../domain/CompletedStep.js'
import { mayStandAt } from '../../domain/jobChanges.js'
import { overrides } from '../../domain/Overrides.js'
import type { PendingJob, Submission } from '../../domain/PendingJob.js'
import { keyFor } from '../../domain/PendingJob.js'
import type { Decision, PlanOptions, ResumePlan } from '../../domain/Plan.js'
import type { StepError } from '../../domain/StepError.js'
import * as Err from '../../domain/StepError.js'
import type { Unit } from '../../domain/Unit.js'
import { isTop, join, top } from '../../domain/Unit.js'
import { decideItems } from '../../domain/decide.js'
import type { Task, Workflow } from '../../domain/Workflow.js'
import * as Identity from '../../domain/WorkflowIdentity.js'
import type { Dice } from './Dice.js'
import { noTrouble } from './Dice.js'
import type { FlatMap, FlatWave } from './flat.js'
import { flat, waveOf } from './flat.js'
import { outputOf, taskUnits } from './Samples.js'
import type { Moment, Tape } from './Tape.js'

/**
 * How one session of a run ended: all is done, or a step failed, or it waits for jobs, or it was stopped, or the process
 * was gone.
 *
 * @category model
 * @since 0.1.0
 */
export type SessionEnd = 'completed' | 'failed' | 'pending' | 'interrupted' | 'crashed'

/**
 * Records what a plan overrides.
 *
 * @category effects
 * @since 0.1.0
 */
export const recordOverrides = (tape: Tape, workflow: Workflow, plan: ResumePlan, options: PlanOptions): void => {
  const { checkpoint } = tape.now()
  const program = { ...workflow, identity: Identity.of(workflow) }
  const changes = overrides(checkpoint, program, plan, options, tape.at())
  if (!changes.some((change) => change._tag === 'WorkflowEdited')) tape.adopt(workflow)
  for (const [index, change] of changes.entries()) {
    if (change._tag === 'WorkflowEdited') tape.adopt(workflow)
    tape.put(change, index < changes.length - 1 ? true : undefined)
  }
}

/**
 * Asks for the pending jobs: each has ended well, or badly, or not yet, as the dice say.
 *
 * @category effects
 * @since 0.1.0
 */
export const pollJobs = (tape: Tape, dice: Dice): void => {
  for (const job of tape.now().checkpoint.pending) {
    const { unit } = job
    const fate = dice.roll(3)
    if (fate === 0) tape.put(collected(tape, dice, job))
    else if (fate === 1 && mayStandAt(tape.now().checkpoint, unit)) {
      const { error, outcome } = failedAttempt(tape, dice, 1)
      tape.put({ _tag: 'JobEnded', at: tape.at(), unit, error, outcome, retryable: dice.roll(2) === 1 })
    }
  }
}

const collected = (tape: Tape, dice: Dice, { unit, attempt = 1 }: PendingJob): UnitCompleted => {
  const { checkpoint, workflow } = tape.now()
  return completion(tape, dice, taskUnits(workflow, checkpoint.items).get(unit), unit, attempt)
}

/**
 * Obeys a plan, its overrides first; its steps end as the dice say.
 *
 * @category effects
 * @since 0.1.0
 */
export const executeSession = (
  tape: Tape,
  dice: Dice,
  { workflow }: Moment,
  plan: ResumePlan,
  options: PlanOptions
): SessionEnd => {
  recordOverrides(tape, workflow, plan, options)
  if (dice.roll(16) === 15) return 'crashed'
  for (const [stepIndex, step] of workflow.steps.map(flat).entries()) {
    const decision = plan.decisions.find((one) => one.stepIndex === stepIndex && isTop(one.unit))
    if (decision === undefined) return assert.fail(`no decision for step ${stepIndex}`)
    if (decision._tag === 'Skip') continue
    if (dice.roll(16) === 15) return interrupt(tape, dice, step.name)
    if (step._tag === 'Task' && decision._tag === 'Poll') return rest(tape, step.name)
    const groups = groupsOf(plan, stepIndex)
    const end =
      step._tag === 'Task'
        ? executeTask(tape, dice, step, decision)
        : step._tag === 'Wave'
          ? executeWave(tape, dice, step, groups)
          : executeMap(tape, dice, step, decision, groups)
    if (end !== 'completed') return end
  }
  return 'completed'
}

const groupsOf = ({ decisions }: ResumePlan, stepIndex: number): ReadonlyMap<Unit, Decision> =>
  byUnit(decisions.filter((one) => one.stepIndex === stepIndex && !isTop(one.unit)))

const byUnit = (decisions: ReadonlyArray<Decision>): ReadonlyMap<Unit, Decision> =>
  new Map(decisions.map((one) => [one.unit, one]))

/** A map that is not known of what is of as many items as the dice say, or can't tell them. */
const executeMap = (
  tape: Tape,
  dice: Dice,
  map: FlatMap,
  decision: Decision,
  groups: ReadonlyMap<Unit, Decision>
): SessionEnd => {
  const recorded = tape.now().checkpoint.items.get(map.name)
  if (recorded !== undefined) return executeWave(tape, dice, waveOf(map, recorded), groups)
  if (dice.roll(8) === 7) {
    const last = { ...failedAttempt(tape, dice, 1), outcome: 'notApplied' as const }
    tape.put({ _tag: 'UnitFailed', at: tape.at(), unit: map.name, retryable: false, last })
    return 'failed'
  }
  const items = ITEMS.slice(0, 1 + dice.roll(ITEMS.length)).map((value) => ({ key: `item-${value}`, value }))
  tape.put({ _tag: 'Expanded', at: tape.at(), unit: map.name, items })
  return executeWave(tape, dice, waveOf(map, items), byUnit(decideItems(decision, map, items)))
}

const ITEMS = [1, 2, 3, 4]

const REASONS = ['signal', 'aborted', 'paused'] as const

const interrupt = (tape: Tape, dice: Dice, unit: Unit): SessionEnd => {
  tape.put({ _tag: 'Interrupted', at: tape.at(), unit, reason: REASONS[dice.roll(3)] ?? 'signal' })
  return 'interrupted'
}

/** Nothing is left to do but to wait for jobs. A run that rests so already is not written to. */
const rest = (tape: Tape, unit: Unit): SessionEnd => {
  const { state } = tape.now().checkpoint
  const rests = state._tag === 'Interrupted' && state.reason === 'pending' && state.step === unit
  if (!rests) tape.put({ _tag: 'Interrupted', at: tape.at(), unit, reason: 'pending' })
  return 'pending'
}

/** Some units hand their work over: those have a key from before they do so. */
const submissionsOf = (
  tape: Tape,
  dice: Dice,
  units: ReadonlyArray<Unit>
): { readonly submissions?: ReadonlyArray<Submission> } => {
  const { checkpoint } = tape.now()
  const submissions = units
    .filter(() => dice.roll(4) === 3 || (checkpoint.renewals.size > 0 && dice.roll(4) > 0))
    .map((unit) => ({ unit, key: keyFor(checkpoint, unit) }))
  return submissions.length === 0 ? {} : { submissions }
}

const firstAttempt = (decision: Decision): number => (decision._tag === 'Retry' ? decision.attempt : 1)

const executeTask = (tape: Tape, dice: Dice, task: Task, decision: Decision): SessionEnd => {
  const { name: unit } = task
  let attempt = firstAttempt(decision)
  const keys = submissionsOf(tape, dice, [unit])
  tape.put({ _tag: 'AttemptStarted', at: tape.at(), attempts: [{ unit, attempt }], ...keys })
  for (;;) {
    switch (fate(dice)) {
      case 'completes':
        if (keys.submissions !== undefined) {
          tape.put({ _tag: 'JobSubmitted', at: tape.at(), unit, attempt, job: `job ${dice.roll(100)}` })
          return rest(tape, unit)
        }
        tape.put(completion(tape, dice, task, unit, attempt))
        return 'completed'
      case 'retries': {
        const ended = failedAttempt(tape, dice, attempt)
        if (!task.idempotent && ended.outcome === 'unknown') {
          tape.put({ _tag: 'UnitFailed', at: tape.at(), unit, retryable: dice.roll(2) === 1, last: ended })
          return 'failed'
        }
        tape.put({ _tag: 'AttemptFailed', at: tape.at(), unit, ...ended, delayBeforeNextMillis: dice.roll(3) })
        const stop = dice.roll(6)
        if (stop === 4) return interrupt(tape, dice, unit)
        if (stop === 5) return 'crashed'
        attempt += 1
        tape.put({ _tag: 'AttemptStarted', at: tape.at(), attempts: [{ unit, attempt }] })
        break
      }
      case 'fails': {
        const last = failedAttempt(tape, dice, attempt)
        tape.put({ _tag: 'UnitFailed', at: tape.at(), unit, retryable: dice.roll(2) === 1, last })
        return 'failed'
      }
      case 'stops':
        return interrupt(tape, dice, unit)
      case 'crashes':
        return 'crashed'
    }
  }
}

type Fate = 'completes' | 'retries' | 'fails' | 'stops' | 'crashes'

const FATES: ReadonlyArray<Fate> = [
  'completes',
  'completes',
  'completes',
  'completes',
  'completes',
  'retries',
  'fails',
  'stops',
  'crashes'
]

const fate = (dice: Dice): Fate => FATES[dice.roll(FATES.length)] ?? 'completes'

const executeWave = (
  tape: Tape,
  dice: Dice,
  { name: step, groups }: FlatWave,
  decisions: ReadonlyMap<Unit, Decision>
): SessionEnd => {
  const waiting = new Map(groups.map((group) => [join(step, group.name), group]))
  const running: Running = new Map()
  const done = new Set<Unit>()
  let hasFailed = false
  for (const unit of [...waiting.keys()]) {
    const tag = decisions.get(unit)?._tag
    if (tag !== 'Skip' && tag !== 'Poll') continue
    waiting.delete(unit)
    if (tag === 'Skip') done.add(unit)
  }
  for (;;) {
    const ready = [...waiting].filter(([, { needs }]) => needs.every((need) => done.has(join(step, need))))
    const starting = ready.slice(0, running.size === 0 ? 1 + dice.roll(4) : dice.roll(3))
    if (starting.length > 0) {
      const attempts = starting.map(([unit]) => ({ unit, attempt: firstAttempt(decisions.get(unit) as Decision) }))
      const keys = submissionsOf(
        tape,
        dice,
        attempts.map(({ unit }) => unit)
      )
      tape.put({ _tag: 'AttemptStarted', at: tape.at(), attempts, ...keys })
      for (const { unit, attempt } of attempts) {
        const task = waiting.get(unit) as Task
        waiting.delete(unit)
        running.set(unit, { task, attempt, submits: keys.submissions?.some((one) => one.unit === unit) === true })
      }
    }
    if (running.size === 0) break
    const unit = [...running.keys()][dice.roll(running.size)] as Unit
    const end = endGroup(tape, dice, running, unit)
    if (end === 'completed') done.add(unit)
    else if (end === 'interrupted' || end === 'crashed') return end
    else if (end === 'failed') hasFailed = true
  }
  if (done.size < groups.length) {
    const waits = tape.now().checkpoint.pending.some(({ unit }) => top(unit) === step)
    if (!hasFailed && waits) return rest(tape, step)
    for (const { unit, attempt } of State.inFlight(tape.now().checkpoint.state)) {
      const last = { ...failedAttempt(tape, noTrouble, attempt), outcome: 'unknown' as const }
      if (unit !== step) tape.put({ _tag: 'UnitFailed', at: tape.at(), unit, retryable: false, last })
    }
    tape.put({ _tag: 'UnitFailed', at: tape.at(), unit: step, retryable: dice.roll(2) === 1 })
    return 'failed'
  }
  tape.put(completion(tape, noTrouble, undefined, step, 1))
  return 'completed'
}

/** An attempt of a group, and whether it hands its work over. */
interface Attempting {
  readonly task: Task
  readonly attempt: number
  readonly submits: boolean
}

type Running = Map<Unit, Attempting>

/** Ends an attempt of a running group; `undefined` if another attempt of it runs now. */
const endGroup = (tape: Tape, dice: Dice, running: Running, unit: Unit): SessionEnd | undefined => {
  const { task, attempt, submits } = running.get(unit) as Attempting
  switch (fate(dice)) {
    case 'completes':
      running.delete(unit)
      if (submits) {
        tape.put({ _tag: 'JobSubmitted', at: tape.at(), unit, attempt, job: dice.roll(100) })
        return 'pending'
      }
      tape.put(completion(tape, dice, task, unit, attempt))
      return 'completed'
    case 'retries': {
      const ended = failedAttempt(tape, dice, attempt)
      if (!task.idempotent && ended.outcome === 'unknown') {
        running.delete(unit)
        tape.put({ _tag: 'UnitFailed', at: tape.at(), unit, retryable: false, last: ended })
        return 'failed'
      }
      tape.put({ _tag: 'AttemptFailed', at: tape.at(), unit, ...ended, delayBeforeNextMillis: 5 })
      if (dice.roll(6) === 5) return 'crashed'
      running.set(unit, { task, attempt: attempt + 1, submits })
      tape.put({ _tag: 'AttemptStarted', at: tape.at(), attempts: [{ unit, attempt: attempt + 1 }] })
      return undefined
    }
    case 'fails': {
      running.delete(unit)
      const last = failedAttempt(tape, dice, attempt)
      tape.put({ _tag: 'UnitFailed', at: tape.at(), unit, retryable: false, last })
      return 'failed'
    }
    case 'stops':
      return interrupt(tape, dice, top(unit))
    case 'crashes':
      return 'crashed'
  }
}

interface EndedAttempt {
  readonly attempt: number
  readonly startedAt: string
  readonly error: StepError
  readonly outcome: Outcome
}

const failedAttempt = (tape: Tape, dice: Dice, attempt: number): EndedAttempt => ({
  attempt,
  startedAt: tape.at(),
  error: Err.make(
    'Error',
    `trouble ${dice.roll(5)}`,
    dice.roll(2) === 0 ? {} : { code: '503', data: { at: [attempt] } }
  ),
  outcome: dice.roll(2) === 0 ? 'unknown' : 'notApplied'
})

const EVIDENCE: ReadonlyArray<Evidence> = [
  { _tag: 'File', path: 'README.md' },
  { _tag: 'Commit', hash: 'c0ffee' },
  { _tag: 'Artifact', path: 'dist.tgz', size: 3, sha256: '0'.repeat(64) }
]

const completion = (tape: Tape, dice: Dice, task: Task | undefined, unit: Unit, attempts: number): UnitCompleted => {
  const output = task === undefined ? undefined : outputOf(tape.samples, task, unit, dice, false)
  return {
    _tag: 'UnitCompleted',
    at: tape.at(),
    unit,
    ...(output === undefined ? {} : { output }),
    captured: output === undefined ? [] : (task?.captures ?? []),
    attempts,
    startedAt: tape.at(),
    durationMillis: 1000 * dice.roll(3),
    evidence: task === undefined ? [] : EVIDENCE.slice(0, dice.roll(4))
  }
}
