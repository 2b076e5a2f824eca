/**
 * A stand-in for the executor, as a fold over the tree of steps: what a run writes while it obeys decisions, and in which order.
 * Knows nothing of how decisions are made.
 */
import type { UnitCompleted } from '../../../domain/change/Change.js'
import type { Outcome } from '../../../domain/data/StepFailure.js'
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import type { Evidence } from '../../../domain/checkpoint/CompletedStep.js'
import { keyFor } from '../../../domain/checkpoint/Pending.js'
import type { Decision } from '../../../domain/plan/Plan.js'
import type { StepError } from '../../../domain/data/StepError.js'
import * as Err from '../../../domain/data/StepError.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { isTop, isWithin, join, top } from '../../../domain/workflow/Unit.js'
import type { Group, MapStep, Step, Task } from '../../../domain/workflow/Workflow.js'
import type { Dice } from './Dice.js'
import { noTrouble, pick } from './Dice.js'
import { outputOf } from './Samples.js'
import type { Tape } from './Tape.js'
import { groupsOf, needs } from './tree.js'

/** How work on a step ended: it is done, or failed, or waits for jobs, or it was stopped, or the process was gone. */
export type End = 'completed' | 'failed' | 'pending' | 'interrupted' | 'crashed'

/** Work on a step. It rests after each change, so that what runs beside it may go on. */
export type Work = Generator<undefined, End>

/**
 * What work goes by. Of the items of a map that is expanded nothing is decided yet: they run. `isLucky`: nothing goes wrong, so that
 * large composites are completed often.
 */
export interface Scene {
  readonly tape: Tape
  readonly dice: Dice
  readonly decisions: ReadonlyMap<Unit, Decision>
  readonly isLucky: boolean
}

/** Steps that are done in order, until one does not end well. */
export function* inOrder(scene: Scene, parent: Unit | undefined, steps: ReadonlyArray<Step>): Work {
  for (const step of steps) {
    const unit = join(parent, step.name)
    const decided = scene.decisions.get(unit)?._tag
    if (decided === 'Skip') continue
    if (!scene.isLucky && scene.dice.roll(16) === 15) return interrupt(scene, unit)
    if (decided === 'Poll') return 'pending'
    const end = yield* perform(scene, step, unit)
    if (end !== 'completed') return end
  }
  return 'completed'
}

function* perform(scene: Scene, step: Step, unit: Unit): Work {
  switch (step._tag) {
    case 'Task':
      for (const started of start(scene, [unit])) return yield* attempts(scene, step, started)
      return 'completed'
    case 'Sequence': {
      const end = yield* inOrder(scene, unit, step.steps)
      return end === 'completed' ? close(scene, unit) : end === 'failed' ? leaveUndone(scene, unit) : end
    }
    case 'Wave':
      return yield* beside(scene, unit, step.groups)
    case 'Map':
      return yield* overItems(scene, unit, step)
  }
}

/** Groups in parallel: each starts when those that it needs are done, and ends when the dice say. */
function* beside(scene: Scene, parent: Unit, groups: ReadonlyArray<Group>): Work {
  const { dice, decisions } = scene
  const waiting = new Map<Unit, Group>()
  const running = new Map<Unit, Work>()
  const done = new Set<string>()
  let hasFailed = false
  for (const group of groups) {
    const unit = join(parent, group.name)
    const decided = decisions.get(unit)?._tag
    if (decided === 'Skip') done.add(group.name)
    else if (decided !== 'Poll') waiting.set(unit, group)
  }
  const isReady = ({ name }: Group): boolean =>
    groups.every((one) => done.has(one.name) || !needs({ groups }, name, one.name))
  for (;;) {
    const ready = [...waiting].filter(([, group]) => isReady(group))
    launch(scene, ready.slice(0, running.size === 0 ? 1 + dice.roll(4) : dice.roll(3)), running, waiting)
    if (running.size === 0) break
    yield
    const [unit, work] = pick(dice, [...running])
    const next = work.next()
    if (next.done !== true) continue
    running.delete(unit)
    const end = next.value
    if (end === 'interrupted' || end === 'crashed') return end
    if (end === 'failed') hasFailed = true
    if (end === 'completed') done.add(groups.find(({ name }) => join(parent, name) === unit)?.name ?? '')
  }
  if (done.size === groups.length) return close(scene, parent)
  if (!hasFailed) return 'pending'
  return leaveUndone(scene, parent)
}

/** A composite has failed, and with it what an earlier process left in flight in it. */
const leaveUndone = ({ tape }: Scene, parent: Unit): End => {
  for (const { unit, attempt } of State.inFlight(tape.now().checkpoint.state)) {
    const last = { ...failedAttempt(tape, noTrouble, attempt), outcome: 'unknown' as const }
    if (isWithin(unit, parent)) tape.put({ _tag: 'UnitFailed', at: tape.at(), unit, retryable: false, last })
  }
  return 'failed'
}

/** The tasks among the groups start with one change. */
const launch = (
  scene: Scene,
  starting: ReadonlyArray<readonly [Unit, Group]>,
  running: Map<Unit, Work>,
  waiting: Map<Unit, Group>
): void => {
  const tasks = starting.flatMap(([unit, { _tag }]) => (_tag === 'Task' ? [unit] : []))
  const started = new Map(start(scene, tasks).map((one) => [one.unit, one]))
  for (const [unit, group] of starting) {
    const one = started.get(unit)
    waiting.delete(unit)
    running.set(
      unit,
      group._tag === 'Task' && one !== undefined ? attempts(scene, group, one) : perform(scene, group, unit)
    )
  }
}

/** A map finds out its items once, as many as the dice say, or fails to. */
function* overItems(scene: Scene, unit: Unit, map: MapStep): Work {
  const { tape, dice, isLucky } = scene
  const recorded = tape
    .now()
    .checkpoint.items.get(unit)
    ?.map(({ key }) => key)
  if (recorded !== undefined) return yield* beside(scene, unit, groupsOf(map, recorded))
  if (!isLucky && dice.roll(8) === 7) {
    const last = { ...failedAttempt(tape, dice, 1), outcome: 'notApplied' as const }
    tape.put({ _tag: 'UnitFailed', at: tape.at(), unit, retryable: false, last })
    return 'failed'
  }
  const values = isTop(unit) ? [1, 2, 3, 4] : [1, 2]
  const items = values.slice(0, 1 + dice.roll(values.length)).map((value) => ({ key: `item-${value}`, value }))
  tape.put({ _tag: 'Expanded', at: tape.at(), unit, items })
  return yield* beside(
    scene,
    unit,
    groupsOf(
      map,
      items.map(({ key }) => key)
    )
  )
}

/** A composite has a record of its own when all its parts are done. */
const close = ({ tape }: Scene, unit: Unit): End => {
  tape.put(completion(tape, noTrouble, undefined, unit, 1))
  return 'completed'
}

const REASONS = ['signal', 'aborted', 'paused'] as const

const interrupt = ({ tape, dice }: Scene, unit: Unit): End => {
  tape.put({ _tag: 'Interrupted', at: tape.at(), unit: top(unit), reason: pick(dice, REASONS) })
  return 'interrupted'
}

/** An attempt that has started. `submits`: it hands its work over. */
interface Started {
  readonly unit: Unit
  readonly attempt: number
  readonly submits: boolean
}

/** Attempts of these units start. Those that hand their work over have a key from before they do so. */
const start = ({ tape, dice, decisions, isLucky }: Scene, units: ReadonlyArray<Unit>): ReadonlyArray<Started> => {
  if (units.length === 0) return []
  const { checkpoint } = tape.now()
  const started = units.map((unit) => {
    const decision = decisions.get(unit)
    const attempt = decision?._tag === 'Retry' ? decision.attempt : 1
    const submits = !isLucky && (dice.roll(4) === 3 || (checkpoint.renewals.size > 0 && dice.roll(4) > 0))
    return { unit, attempt, submits }
  })
  const submissions = started.flatMap(({ unit, submits }) => (submits ? [{ unit, key: keyFor(checkpoint, unit) }] : []))
  const attempts = started.map(({ unit, attempt }) => ({ unit, attempt }))
  const keys = submissions.length === 0 ? {} : { submissions }
  tape.put({ _tag: 'AttemptStarted', at: tape.at(), attempts, ...keys })
  return started
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

/** The attempts of a task, from one that has started. */
function* attempts(scene: Scene, task: Task, { unit, attempt: first, submits }: Started): Work {
  const { tape, dice, isLucky } = scene
  for (let attempt = first; ; attempt++) {
    yield
    switch (isLucky ? 'completes' : pick(dice, FATES)) {
      case 'completes':
        if (submits) {
          tape.put({ _tag: 'JobSubmitted', at: tape.at(), unit, attempt, job: `job ${dice.roll(100)}` })
          return 'pending'
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
        if (stop === 4) return interrupt(scene, unit)
        if (stop === 5) return 'crashed'
        tape.put({ _tag: 'AttemptStarted', at: tape.at(), attempts: [{ unit, attempt: attempt + 1 }] })
        break
      }
      case 'fails': {
        const last = failedAttempt(tape, dice, attempt)
        tape.put({ _tag: 'UnitFailed', at: tape.at(), unit, retryable: dice.roll(2) === 1, last })
        return 'failed'
      }
      case 'stops':
        return interrupt(scene, unit)
      case 'crashes':
        return 'crashed'
    }
  }
}

interface EndedAttempt {
  readonly attempt: number
  readonly startedAt: string
  readonly error: StepError
  readonly outcome: Outcome
}

/** An attempt that ended badly. */
export const failedAttempt = (tape: Tape, dice: Dice, attempt: number): EndedAttempt => ({
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

/** The end of a unit that went well, with what a task gives. A composite gives nothing. */
export const completion = (
  tape: Tape,
  dice: Dice,
  task: Task | undefined,
  unit: Unit,
  attempts: number
): UnitCompleted => {
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
