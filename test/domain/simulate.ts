/**
 * Random executions: a stand-in for the executor that obeys plans, and whose steps end as dice say. Whatever it
 * reaches, a real run can reach.
 */
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import type { Change } from '../../src/domain/Change.js'
import type { Checkpoint } from '../../src/domain/Checkpoint.js'
import { start } from '../../src/domain/Checkpoint.js'
import type { Outcome } from '../../src/domain/CheckpointState.js'
import type { Evidence } from '../../src/domain/CompletedStep.js'
import type { Json } from '../../src/domain/Json.js'
import { overrides } from '../../src/domain/Overrides.js'
import type { Answer, Decision, PlanOptions, ResumePlan } from '../../src/domain/Plan.js'
import { openQuestions, unitName } from '../../src/domain/Plan.js'
import { planResume } from '../../src/domain/planResume.js'
import type { StepError } from '../../src/domain/StepError.js'
import * as Err from '../../src/domain/StepError.js'
import { apply } from '../../src/domain/Transition.js'
import type { Group, Task, Wave, Workflow } from '../../src/domain/Workflow.js'
import { tasks } from '../../src/domain/Workflow.js'
import * as Identity from '../../src/domain/WorkflowIdentity.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/** Chance as data. Once the numbers are used up every roll is 0: the outcome without trouble. */
export interface Dice {
  readonly roll: (sides: number) => number
}

/** A run at one revision, with the workflow in force. */
export interface Moment {
  readonly checkpoint: Checkpoint
  readonly workflow: Workflow
}

/** A run that was simulated: its changes from `Started` on, and where it stood after each of them. */
export interface SimulatedRun extends Moment {
  readonly changes: ReadonlyArray<Change>
  readonly trail: ReadonlyArray<Moment>
}

/** How one session of a run ended: all is done, or a step failed, or it was stopped, or the process was gone. */
export type SessionEnd = 'completed' | 'failed' | 'interrupted' | 'crashed'

/** Edits a workflow before a session, and chooses what is asked of its plan. */
export interface Scenario {
  readonly edit: (dice: Dice, moment: Moment) => Workflow
  readonly options: (dice: Dice, moment: Moment) => PlanOptions
}

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/** Dice that show these numbers, one after the other, and then 0. */
export const diceOf = (numbers: ReadonlyArray<number>): Dice => {
  let next = 0
  return { roll: (sides) => (numbers[next++] ?? 0) % sides }
}

/** The end that all goes well. */
export const noTrouble: Dice = diceOf([])

/** A time for each revision. */
const timeOf = (revision: number): string => new Date(Date.UTC(2026, 0, 2, 3, 4, 5) + revision * 1000).toISOString()

/** The first moment of a run. */
export const begin = (workflow: Workflow, input: Json): SimulatedRun => {
  const started = {
    _tag: 'Started',
    at: timeOf(0),
    runId: 'run-1',
    workflow: Identity.of(workflow),
    input
  } as const
  const checkpoint = start(started)
  return { checkpoint, workflow, changes: [started], trail: [{ checkpoint, workflow }] }
}

/** A run of some sessions, each after a crash, a failure, a stop or the end of the one before. */
export const simulate = (workflow: Workflow, input: Json, dice: Dice, scenario: Scenario): SimulatedRun => {
  const tape = record(begin(workflow, input))
  const sessions = 1 + dice.roll(4)
  for (let session = 0; session < sessions; session++) {
    const { plan, options, workflow: edited } = choose(tape, dice, session === 0 ? plain : scenario)
    executeSession(tape, dice, { ...tape.now(), workflow: edited }, plan, options)
  }
  return tape.run()
}

const plain: Scenario = { edit: (_, { workflow }) => workflow, options: () => ({}) }

/** Goes on with a run to its end: every question is answered with "again" and nothing goes wrong. */
export const finish = (moment: Moment): SimulatedRun => {
  const tape = record({ ...moment, changes: [], trail: [] })
  const { plan, options } = choose(tape, noTrouble, plain)
  executeSession(tape, noTrouble, moment, plan, options)
  return tape.run()
}

/** Follows a plan without trouble, its overrides first. */
export const follow = (moment: Moment, plan: ResumePlan, options: PlanOptions): SimulatedRun => {
  const tape = record({ ...moment, changes: [], trail: [] })
  executeSession(tape, noTrouble, moment, plan, options)
  return tape.run()
}

/** Records the overrides of a plan, and then the process is gone. */
export const overrideOnly = (moment: Moment, plan: ResumePlan, options: PlanOptions): SimulatedRun => {
  const tape = record({ ...moment, changes: [], trail: [] })
  recordOverrides(tape, moment.workflow, plan, options)
  return tape.run()
}

// ---------------------------------------------------------------------------------------------------------------------
// recording
// ---------------------------------------------------------------------------------------------------------------------

interface Tape {
  readonly now: () => Moment
  readonly run: () => SimulatedRun
  readonly at: () => string
  readonly adopt: (workflow: Workflow) => void
  readonly put: (change: Change) => void
}

const taskText = (task: Task | Group): string =>
  `${task.name}${task.idempotent ? '' : '!'}${'needs' in task && task.needs.length > 0 ? `(${task.needs.join()})` : ''}`

/** With a short text for reports of failures: what is defined, what happened, where it led. */
const legible = <A extends Moment>(moment: A, changes: ReadonlyArray<Change> = []): A => {
  const happened = ('changes' in moment ? (moment.changes as ReadonlyArray<Change>) : changes).slice()
  const toText = (): string =>
    [
      '',
      ...moment.workflow.steps.map((step) =>
        step._tag === 'Task' ? taskText(step) : `${step.name}: ${step.groups.map(taskText).join(' | ')}`
      ),
      ...happened.map(({ at: _, ...change }) =>
        change._tag === 'Started' || change._tag === 'WorkflowEdited' ? change._tag : JSON.stringify(change)
      ),
      `state: ${JSON.stringify(moment.checkpoint.state)}`,
      `done: ${[...moment.checkpoint.completedSteps].map(unitName).join(', ')}`,
      ''
    ].join('\n')
  Object.defineProperty(moment, fc.toStringMethod, { value: toText })
  return moment
}

const record = (from: SimulatedRun): Tape => {
  let { checkpoint, workflow } = from
  const changes = [...from.changes]
  const trail = [...from.trail]
  return {
    now: () => ({ checkpoint, workflow }),
    run: () => legible({ checkpoint, workflow, changes, trail }),
    at: () => timeOf(checkpoint.revision + 1),
    adopt: (edited) => {
      workflow = edited
    },
    put: (change) => {
      const next = apply(checkpoint, change)
      if (E.isLeft(next)) throw new Error(`${JSON.stringify(next.left)} after ${JSON.stringify(changes, null, 1)}`)
      checkpoint = next.right
      changes.push(change)
      trail.push(legible({ checkpoint, workflow }, changes))
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// planning
// ---------------------------------------------------------------------------------------------------------------------

interface Chosen {
  readonly workflow: Workflow
  readonly plan: ResumePlan
  readonly options: PlanOptions
}

/** A plan without open questions: as the scenario wants it, or if that is refused the plain one. */
const choose = (tape: Tape, dice: Dice, scenario: Scenario): Chosen => {
  const { checkpoint, workflow } = tape.now()
  const edited = scenario.edit(dice, tape.now())
  const wanted = answered(checkpoint, edited, dice, scenario.options(dice, { checkpoint, workflow: edited }))
  const chosen = E.isRight(wanted) ? wanted : answered(checkpoint, workflow, dice, {})
  if (E.isLeft(chosen)) throw new Error(`the plain plan is refused: ${JSON.stringify(chosen.left)}`)
  return chosen.right
}

/** The plan with an answer to each of its questions. */
export const answered = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  dice: Dice,
  wanted: PlanOptions
): E.Either<unknown, Chosen> => {
  const asked = planResume(checkpoint, workflow, wanted)
  if (E.isLeft(asked)) return asked
  const confirm = new Map<string, Answer>(wanted.confirm)
  for (const question of openQuestions(asked.right)) confirm.set(unitName(question), answer(workflow, question, dice))
  const options = { ...wanted, confirm }
  const plan = planResume(checkpoint, workflow, options)
  if (E.isLeft(plan)) return plan
  if (openQuestions(plan.right).length > 0) throw new Error('a question that was answered is asked again')
  return E.right({ workflow, plan: plan.right, options })
}

const answer = (workflow: Workflow, question: Decision, dice: Dice): Answer =>
  dice.roll(2) === 0 ? { _tag: 'Again' } : doneAnswer(taskAt(workflow, question), dice)

/** "It is done", with an output that the task accepts. */
export const doneAnswer = (task: Task, dice: Dice): Answer => {
  const output = outputOf(task, dice, task.captures.length > 0)
  return output === undefined ? { _tag: 'Done' } : { _tag: 'Done', output }
}

const taskAt = (workflow: Workflow, decision: Decision): Task => {
  const step = workflow.steps[decision.stepIndex]
  const task =
    step === undefined ? undefined : tasks(step).find((one) => one.name === (decision.group ?? decision.step))
  if (task === undefined) throw new Error(`no task at ${unitName(decision)}`)
  return task
}

const OUTPUTS: ReadonlyArray<Json | undefined> = [
  7,
  null,
  'text',
  { n: 1 },
  undefined,
  [],
  false,
  { ['__proto__']: [1] }
]

/** One of the outputs that a task accepts. */
const outputOf = (task: Task, dice: Dice, must: boolean): Json | undefined => {
  const fit = OUTPUTS.filter((output) => E.isRight(task.accepts(output)) && !(must && output === undefined))
  return fit[dice.roll(fit.length)]
}

// ---------------------------------------------------------------------------------------------------------------------
// executing
// ---------------------------------------------------------------------------------------------------------------------

const recordOverrides = (tape: Tape, workflow: Workflow, plan: ResumePlan, options: PlanOptions): void => {
  const { checkpoint } = tape.now()
  const program = { ...workflow, identity: Identity.of(workflow) }
  const changes = overrides(checkpoint, program, plan, options, tape.at())
  if (!changes.some((change) => change._tag === 'WorkflowEdited')) tape.adopt(workflow)
  for (const change of changes) {
    if (change._tag === 'WorkflowEdited') tape.adopt(workflow)
    tape.put(change)
  }
}

const executeSession = (
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
    if (decision === undefined) throw new Error(`no decision for step ${stepIndex}`)
    if (decision._tag === 'Skip') continue
    if (dice.roll(16) === 15) return interrupt(tape, dice, stepIndex, step.name)
    const end =
      step._tag === 'Task'
        ? executeTask(tape, dice, step, decision)
        : executeWave(tape, dice, step, decision, new Map(groupsOf(plan, stepIndex)))
    if (end !== 'completed') return end
  }
  return 'completed'
}

const groupsOf = (plan: ResumePlan, stepIndex: number): ReadonlyArray<readonly [string, Decision]> =>
  plan.decisions.flatMap((one) =>
    one.stepIndex === stepIndex && one.group !== undefined ? [[one.group, one] as const] : []
  )

const REASONS = ['signal', 'aborted', 'paused', 'pending'] as const

const interrupt = (tape: Tape, dice: Dice, stepIndex: number, step: string): SessionEnd => {
  tape.put({ _tag: 'Interrupted', at: tape.at(), stepIndex, step, reason: REASONS[dice.roll(4)] ?? 'signal' })
  return 'interrupted'
}

const firstAttempt = (decision: Decision): number => (decision._tag === 'Retry' ? decision.attempt : 1)

const executeTask = (tape: Tape, dice: Dice, task: Task, { stepIndex, step, ...unit }: Decision): SessionEnd => {
  const place = { stepIndex, step }
  let attempt = firstAttempt({ stepIndex, step, ...unit })
  tape.put({ _tag: 'AttemptStarted', at: tape.at(), ...place, attempts: [{ attempt }] })
  for (;;) {
    switch (fate(dice)) {
      case 'completes':
        tape.put({ _tag: 'StepCompleted', ...completion(tape, dice, task, attempt), ...place })
        return 'completed'
      case 'retries': {
        const ended = failedAttempt(tape, dice, attempt)
        if (!task.idempotent && ended.outcome === 'unknown') {
          tape.put({ _tag: 'StepFailed', at: tape.at(), ...place, retryable: dice.roll(2) === 1, last: ended })
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
        tape.put({ _tag: 'StepFailed', at: tape.at(), ...place, retryable: dice.roll(2) === 1, last })
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
  const running = new Map<string, number>()
  const done = new Set<string>()
  for (const { name } of wave.groups) {
    if (decisions.get(name)?._tag !== 'Skip') continue
    waiting.delete(name)
    done.add(name)
  }
  for (;;) {
    const ready = [...waiting.values()].filter((group) => group.needs.every((need) => done.has(need)))
    const starting = ready.slice(0, running.size === 0 ? 1 + dice.roll(4) : dice.roll(3))
    if (starting.length > 0) {
      const attempts = starting.map(({ name: group }) => ({
        group,
        attempt: firstAttempt(decisions.get(group) as Decision)
      }))
      tape.put({ _tag: 'AttemptStarted', at: tape.at(), ...place, attempts })
      for (const { group, attempt } of attempts) {
        waiting.delete(group)
        running.set(group, attempt)
      }
    }
    if (running.size === 0) break
    const group = [...running.keys()][dice.roll(running.size)] as string
    const end = endGroup(tape, dice, wave, place, running, group)
    if (end === 'completed') done.add(group)
    else if (end === 'interrupted' || end === 'crashed') return end
  }
  if (done.size < wave.groups.length) {
    tape.put({ _tag: 'StepFailed', at: tape.at(), ...place, retryable: dice.roll(2) === 1 })
    return 'failed'
  }
  tape.put({ _tag: 'StepCompleted', ...completion(tape, noTrouble, undefined, 1), ...place })
  return 'completed'
}

/** Ends an attempt of a running group; `undefined` if another attempt of it runs now. */
const endGroup = (
  tape: Tape,
  dice: Dice,
  wave: Wave,
  place: { readonly stepIndex: number; readonly step: string },
  running: Map<string, number>,
  group: string
): SessionEnd | undefined => {
  const attempt = running.get(group) as number
  const task = wave.groups.find(({ name }) => name === group) as Task
  switch (fate(dice)) {
    case 'completes':
      running.delete(group)
      tape.put({ _tag: 'GroupCompleted', ...completion(tape, dice, task, attempt), ...place, group })
      return 'completed'
    case 'retries': {
      const ended = failedAttempt(tape, dice, attempt)
      if (!task.idempotent && ended.outcome === 'unknown') {
        running.delete(group)
        tape.put({ _tag: 'GroupFailed', at: tape.at(), ...place, group, ...ended })
        return 'failed'
      }
      tape.put({ _tag: 'AttemptFailed', at: tape.at(), ...place, group, ...ended, delayBeforeNextMillis: 5 })
      if (dice.roll(6) === 5) return 'crashed'
      running.set(group, attempt + 1)
      tape.put({ _tag: 'AttemptStarted', at: tape.at(), ...place, attempts: [{ group, attempt: attempt + 1 }] })
      return undefined
    }
    case 'fails':
      running.delete(group)
      tape.put({ _tag: 'GroupFailed', at: tape.at(), ...place, group, ...failedAttempt(tape, dice, attempt) })
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

const completion = (tape: Tape, dice: Dice, task: Task | undefined, attempts: number) => {
  const output = task === undefined ? undefined : outputOf(task, dice, false)
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
