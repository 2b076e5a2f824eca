/**
 * One session of a run: a stand-in for the executor that obeys a plan. Whatever it reaches, a real run can reach.
 *
 * @since 0.1.0
 */
import { strict as assert } from 'node:assert'
import type { Change, SubmissionKey } from '../../domain/Change.js'
import type { Outcome } from '../../domain/CheckpointState.js'
import * as State from '../../domain/CheckpointState.js'
import type { Evidence } from '../../domain/CompletedStep.js'
import { mayStandAt } from '../../domain/jobChanges.js'
import { overrides } from '../../domain/Overrides.js'
import type { PendingJob } from '../../domain/PendingJob.js'
import { keyFor } from '../../domain/PendingJob.js'
import type { Decision, PlanOptions, ResumePlan } from '../../domain/Plan.js'
import { unitName } from '../../domain/Plan.js'
import type { StepError } from '../../domain/StepError.js'
import * as Err from '../../domain/StepError.js'
import { decideItems } from '../../domain/decideStep.js'
import { waveOf } from '../../domain/Expansion.js'
import type { MapWave, Task, Wave, Workflow } from '../../domain/Workflow.js'
import * as Identity from '../../domain/WorkflowIdentity.js'
import type { Dice } from './Dice.js'
import { noTrouble } from './Dice.js'
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
    const { stepIndex, step, group } = job
    const place = { stepIndex, step, ...(group === undefined ? {} : { group }) }
    const fate = dice.roll(3)
    if (fate === 0) tape.put(collected(tape, dice, job))
    else if (fate === 1 && mayStandAt(tape.now().checkpoint, stepIndex)) {
      const { error, outcome } = failedAttempt(tape, dice, 1)
      tape.put({ _tag: 'JobEnded', at: tape.at(), ...place, error, outcome, retryable: dice.roll(2) === 1 })
    }
  }
}

const collected = (tape: Tape, dice: Dice, { stepIndex, step, group, attempt = 1 }: PendingJob): Change => {
  const { checkpoint, workflow } = tape.now()
  const task = taskUnits(workflow, checkpoint.workflow).get(
    unitName({ step, ...(group === undefined ? {} : { group }) })
  )
  const unit = unitName({ step, ...(group === undefined ? {} : { group }) })
  const ended = { ...completion(tape, dice, task, unit, attempt), stepIndex, step }
  return { _tag: 'UnitCompleted', ...ended, ...(group === undefined ? {} : { group }) }
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
  for (const [stepIndex, step] of workflow.steps.entries()) {
    const decision = plan.decisions.find((one) => one.stepIndex === stepIndex && one.group === undefined)
    if (decision === undefined) return assert.fail(`no decision for step ${stepIndex}`)
    if (decision._tag === 'Skip') continue
    if (dice.roll(16) === 15) return interrupt(tape, dice, stepIndex, step.name)
    if (step._tag === 'Task' && decision._tag === 'Poll') return rest(tape, stepIndex, step.name)
    const groups = groupsOf(plan, stepIndex)
    const end =
      step._tag === 'Task'
        ? executeTask(tape, dice, step, decision)
        : step._tag === 'Wave'
          ? executeWave(tape, dice, step, decision, groups)
          : executeMap(tape, dice, step, decision, groups)
    if (end !== 'completed') return end
  }
  return 'completed'
}

const groupsOf = (plan: ResumePlan, stepIndex: number): ReadonlyMap<string, Decision> =>
  byGroup(plan.decisions, stepIndex)

const byGroup = (decisions: ReadonlyArray<Decision>, stepIndex: number): ReadonlyMap<string, Decision> =>
  new Map(
    decisions.flatMap((one) =>
      one.stepIndex === stepIndex && one.group !== undefined ? [[one.group, one] as const] : []
    )
  )

/** A map that is not known of what is of as many items as the dice say, or can't tell them. */
const executeMap = (
  tape: Tape,
  dice: Dice,
  map: MapWave,
  decision: Decision,
  groups: ReadonlyMap<string, Decision>
): SessionEnd => {
  const { stepIndex, step } = decision
  const recorded = tape.now().checkpoint.workflow.steps[stepIndex]
  if (recorded?.kind === 'expanded') return executeWave(tape, dice, waveOf(map, recorded.items), decision, groups)
  if (dice.roll(8) === 7) {
    const last = { ...failedAttempt(tape, dice, 1), outcome: 'notApplied' as const }
    tape.put({ _tag: 'UnitFailed', at: tape.at(), stepIndex, step, retryable: false, last })
    return 'failed'
  }
  const items = ITEMS.slice(0, 1 + dice.roll(ITEMS.length)).map((value) => ({ key: `item-${value}`, value }))
  tape.put({ _tag: 'Expanded', at: tape.at(), stepIndex, step, items })
  const wave = waveOf(map, items)
  return executeWave(tape, dice, wave, decision, byGroup(decideItems(decision, wave), stepIndex))
}

const ITEMS = [1, 2, 3, 4]

const REASONS = ['signal', 'aborted', 'paused'] as const

const interrupt = (tape: Tape, dice: Dice, stepIndex: number, step: string): SessionEnd => {
  tape.put({ _tag: 'Interrupted', at: tape.at(), stepIndex, step, reason: REASONS[dice.roll(3)] ?? 'signal' })
  return 'interrupted'
}

/** Nothing is left to do but to wait for jobs. A run that rests so already is not written to. */
const rest = (tape: Tape, stepIndex: number, step: string): SessionEnd => {
  const { state } = tape.now().checkpoint
  const rests = state._tag === 'Interrupted' && state.reason === 'pending' && state.stepIndex === stepIndex
  if (!rests) tape.put({ _tag: 'Interrupted', at: tape.at(), stepIndex, step, reason: 'pending' })
  return 'pending'
}

/** Some units hand their work over: those have a key from before they do so. */
const submissionsOf = (
  tape: Tape,
  dice: Dice,
  { stepIndex, step }: { readonly stepIndex: number; readonly step: string },
  groups: ReadonlyArray<string | undefined>
): { readonly submissions?: ReadonlyArray<SubmissionKey> } => {
  const { checkpoint } = tape.now()
  const submissions = groups
    .filter(() => dice.roll(4) === 3 || (checkpoint.endedJobs > 0 && dice.roll(4) > 0))
    .map((group) => (group === undefined ? {} : { group }))
    .map((unit) => ({ ...unit, key: keyFor(checkpoint, { stepIndex, step, ...unit }) }))
  return submissions.length === 0 ? {} : { submissions }
}

const firstAttempt = (decision: Decision): number => (decision._tag === 'Retry' ? decision.attempt : 1)

const executeTask = (tape: Tape, dice: Dice, task: Task, { stepIndex, step, ...unit }: Decision): SessionEnd => {
  const place = { stepIndex, step }
  let attempt = firstAttempt({ stepIndex, step, ...unit })
  const keys = submissionsOf(tape, dice, place, [undefined])
  tape.put({ _tag: 'AttemptStarted', at: tape.at(), ...place, attempts: [{ attempt }], ...keys })
  for (;;) {
    switch (fate(dice)) {
      case 'completes':
        if (keys.submissions !== undefined) {
          tape.put({ _tag: 'JobSubmitted', at: tape.at(), ...place, attempt, job: `job ${dice.roll(100)}` })
          return rest(tape, stepIndex, step)
        }
        tape.put({ _tag: 'UnitCompleted', ...completion(tape, dice, task, unitName(place), attempt), ...place })
        return 'completed'
      case 'retries': {
        const ended = failedAttempt(tape, dice, attempt)
        if (!task.idempotent && ended.outcome === 'unknown') {
          tape.put({ _tag: 'UnitFailed', at: tape.at(), ...place, retryable: dice.roll(2) === 1, last: ended })
          return 'failed'
        }
        tape.put({ _tag: 'AttemptFailed', at: tape.at(), ...place, ...ended, delayBeforeNextMillis: dice.roll(3) })
        const stop = dice.roll(6)
        if (stop === 4) return interrupt(tape, dice, stepIndex, step)
        if (stop === 5) return 'crashed'
        attempt += 1
        tape.put({ _tag: 'AttemptStarted', at: tape.at(), ...place, attempts: [{ attempt }] })
        break
      }
      case 'fails': {
        const last = failedAttempt(tape, dice, attempt)
        tape.put({ _tag: 'UnitFailed', at: tape.at(), ...place, retryable: dice.roll(2) === 1, last })
        return 'failed'
      }
      case 'stops':
        return interrupt(tape, dice, stepIndex, step)
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
  wave: Wave,
  { stepIndex, step }: Decision,
  decisions: ReadonlyMap<string, Decision>
): SessionEnd => {
  const place = { stepIndex, step }
  const waiting = new Map(wave.groups.map((group) => [group.name, group]))
  const running: Running = new Map()
  const done = new Set<string>()
  let hasFailed = false
  for (const { name } of wave.groups) {
    const tag = decisions.get(name)?._tag
    if (tag !== 'Skip' && tag !== 'Poll') continue
    waiting.delete(name)
    if (tag === 'Skip') done.add(name)
  }
  for (;;) {
    const ready = [...waiting.values()].filter((group) => group.needs.every((need) => done.has(need)))
    const starting = ready.slice(0, running.size === 0 ? 1 + dice.roll(4) : dice.roll(3))
    if (starting.length > 0) {
      const attempts = starting.map(({ name: group }) => ({
        group,
        attempt: firstAttempt(decisions.get(group) as Decision)
      }))
      const keys = submissionsOf(
        tape,
        dice,
        place,
        attempts.map(({ group }) => group)
      )
      tape.put({ _tag: 'AttemptStarted', at: tape.at(), ...place, attempts, ...keys })
      for (const { group, attempt } of attempts) {
        waiting.delete(group)
        running.set(group, { attempt, submits: keys.submissions?.some((one) => one.group === group) === true })
      }
    }
    if (running.size === 0) break
    const group = [...running.keys()][dice.roll(running.size)] as string
    const end = endGroup(tape, dice, wave, place, running, group)
    if (end === 'completed') done.add(group)
    else if (end === 'interrupted' || end === 'crashed') return end
    else if (end === 'failed') hasFailed = true
  }
  if (done.size < wave.groups.length) {
    const waits = tape.now().checkpoint.pending.some((job) => job.stepIndex === stepIndex)
    if (!hasFailed && waits) return rest(tape, stepIndex, step)
    for (const { group, attempt } of State.inFlight(tape.now().checkpoint.state)) {
      const ended = { ...failedAttempt(tape, noTrouble, attempt), outcome: 'unknown' as const }
      if (group !== undefined)
        tape.put({ _tag: 'UnitFailed', at: tape.at(), ...place, group, retryable: false, last: ended })
    }
    tape.put({ _tag: 'UnitFailed', at: tape.at(), ...place, retryable: dice.roll(2) === 1 })
    return 'failed'
  }
  tape.put({ _tag: 'UnitCompleted', ...completion(tape, noTrouble, undefined, step, 1), ...place })
  return 'completed'
}

/** An attempt of a group, and whether it hands its work over. */
interface Attempting {
  readonly attempt: number
  readonly submits: boolean
}

type Running = Map<string, Attempting>

/** Ends an attempt of a running group; `undefined` if another attempt of it runs now. */
const endGroup = (
  tape: Tape,
  dice: Dice,
  wave: Wave,
  place: { readonly stepIndex: number; readonly step: string },
  running: Running,
  group: string
): SessionEnd | undefined => {
  const { attempt, submits } = running.get(group) as Attempting
  const task = wave.groups.find(({ name }) => name === group) as Task
  switch (fate(dice)) {
    case 'completes':
      running.delete(group)
      if (submits) {
        tape.put({ _tag: 'JobSubmitted', at: tape.at(), ...place, group, attempt, job: dice.roll(100) })
        return 'pending'
      }
      tape.put({
        _tag: 'UnitCompleted',
        ...completion(tape, dice, task, unitName({ ...place, group }), attempt),
        ...place,
        group
      })
      return 'completed'
    case 'retries': {
      const ended = failedAttempt(tape, dice, attempt)
      if (!task.idempotent && ended.outcome === 'unknown') {
        running.delete(group)
        tape.put({ _tag: 'UnitFailed', at: tape.at(), ...place, group, retryable: false, last: ended })
        return 'failed'
      }
      tape.put({ _tag: 'AttemptFailed', at: tape.at(), ...place, group, ...ended, delayBeforeNextMillis: 5 })
      if (dice.roll(6) === 5) return 'crashed'
      running.set(group, { attempt: attempt + 1, submits })
      tape.put({ _tag: 'AttemptStarted', at: tape.at(), ...place, attempts: [{ group, attempt: attempt + 1 }] })
      return undefined
    }
    case 'fails':
      running.delete(group)
      tape.put({
        _tag: 'UnitFailed',
        at: tape.at(),
        ...place,
        group,
        retryable: false,
        last: failedAttempt(tape, dice, attempt)
      })
      return 'failed'
    case 'stops':
      return interrupt(tape, dice, place.stepIndex, place.step)
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

const completion = (tape: Tape, dice: Dice, task: Task | undefined, unit: string, attempts: number) => {
  const output = task === undefined ? undefined : outputOf(tape.samples, task, unit, dice, false)
  return {
    at: tape.at(),
    ...(output === undefined ? {} : { output }),
    captured: output === undefined ? [] : (task?.captures ?? []),
    attempts,
    startedAt: tape.at(),
    durationMillis: 1000 * dice.roll(3),
    evidence: task === undefined ? [] : EVIDENCE.slice(0, dice.roll(4))
  }
}
