/** Simulates the executor as a fold over the tree: the changes that it records while it obeys decisions. Knows nothing of planning. */
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import { keyFor } from '../../../domain/checkpoint/Pending.js'
import type { Decision } from '../../../domain/plan/Plan.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { isTop, isWithin, join, nameOf, top } from '../../../domain/workflow/Unit.js'
import type { Group, MapStep, Step, Task } from '../../../domain/workflow/Workflow.js'
import type { Choices } from './Choices.js'
import { noFaults, pick } from './Choices.js'
import { callSubSteps, endWaitTask, innermostFirst, isInDoubt, mayCall, startWait } from './calls.js'
import { completion, failedAttempt } from './records.js'
import type { RunRecorder } from './RunRecorder.js'
import { groupsOf, isSubStep, needs } from './tree.js'

export type End = 'completed' | 'failed' | 'pending' | 'interrupted' | 'crashed'

/** Work on a step. It yields after each change, so that parallel groups interleave. */
export type Work = Generator<undefined, End>

/**
 * `decisions`: has none for the items of a map that this session expands; they run. `isLucky`: nothing fails, so that large composites complete
 * often.
 */
export interface Session {
  readonly recorder: RunRecorder
  readonly choices: Choices
  readonly decisions: ReadonlyMap<Unit, Decision>
  readonly isLucky: boolean
}

export function* inOrder(session: Session, parent: Unit | undefined, steps: ReadonlyArray<Step>): Work {
  for (const step of steps) {
    const unit = join(parent, step.name)
    const decided = session.decisions.get(unit)?._tag
    if (decided === 'Skip') continue
    if (!session.isLucky && session.choices.below(16) === 15) return interrupt(session, unit)
    if (decided === 'Poll') return 'pending'
    const end = yield* perform(session, step, unit)
    if (end !== 'completed') return end
  }
  return 'completed'
}

function* perform(session: Session, step: Step, unit: Unit): Work {
  switch (step._tag) {
    case 'Task':
      if (step.wait !== undefined) return yield* runWait(session, step, unit)
      return yield* attempts(session, step, start(session, [unit])[0] as Started)
    case 'Sequence': {
      const end = yield* inOrder(session, unit, step.steps)
      return end === 'completed'
        ? completeComposite(session, unit)
        : end === 'failed'
          ? failInFlight(session, unit)
          : end
    }
    case 'Wave':
      return yield* inParallel(session, unit, step.groups)
    case 'Map':
      return yield* runMap(session, unit, step)
  }
}

/** Each group starts when its needs are done and ends when the choices say. */
function* inParallel(session: Session, parent: Unit, groups: ReadonlyArray<Group>): Work {
  const { choices, decisions } = session
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
    launch(session, ready.slice(0, running.size === 0 ? 1 + choices.below(4) : choices.below(3)), running, waiting)
    if (running.size === 0) break
    yield
    const [unit, work] = pick(choices, [...running])
    const next = work.next()
    if (next.done !== true) continue
    running.delete(unit)
    const end = next.value
    if (end === 'interrupted' || end === 'crashed') return end
    if (end === 'failed') hasFailed = true
    if (end === 'completed') done.add(nameOf(unit))
  }
  if (done.size === groups.length) return completeComposite(session, parent)
  if (!hasFailed) return 'pending'
  return failInFlight(session, parent)
}

/** A wait runs no code: it starts, and ends now or after the session. */
function* runWait({ recorder, choices, isLucky }: Session, task: Task, unit: Unit): Work {
  startWait(recorder, choices, unit, task.wait ?? 'Timer')
  yield
  if (!isLucky && choices.below(3) === 2) return 'pending'
  endWaitTask(recorder, choices, task, unit)
  return 'completed'
}

/** Fails the units that an earlier process left in flight in a failed composite. Suspended ones stay. */
const failInFlight = ({ recorder }: Session, parent: Unit): End => {
  for (const { unit, attempt, suspended } of innermostFirst(State.inFlight(recorder.now().checkpoint.state))) {
    if (suspended === true || !isWithin(unit, parent)) continue
    const last = { ...failedAttempt(recorder, noFaults, attempt), outcome: 'unknown' as const }
    const call = isSubStep(unit) ? { subStep: { idempotent: false as const } } : {}
    recorder.put({ _tag: 'UnitFailed', unit, retryable: false, last, ...call })
  }
  return 'failed'
}

/** Starts groups. All tasks among them start with one change. */
const launch = (
  session: Session,
  starting: ReadonlyArray<readonly [Unit, Group]>,
  running: Map<Unit, Work>,
  waiting: Map<Unit, Group>
): void => {
  const tasks = starting.flatMap(([unit, group]) => (group._tag === 'Task' && group.wait === undefined ? [unit] : []))
  const started = new Map(start(session, tasks).map((one) => [one.unit, one]))
  for (const [unit, group] of starting) {
    const one = started.get(unit)
    waiting.delete(unit)
    running.set(
      unit,
      group._tag === 'Task' && one !== undefined ? attempts(session, group, one) : perform(session, group, unit)
    )
  }
}

/** Expands a map once, or fails to. */
function* runMap(session: Session, unit: Unit, map: MapStep): Work {
  const { recorder, choices, isLucky } = session
  const recorded = recorder.now().checkpoint.items.get(unit)
  if (recorded !== undefined) return yield* inParallel(session, unit, groupsOf(map, recorded))
  if (!isLucky && choices.below(8) === 7) {
    const last = { ...failedAttempt(recorder, choices, 1), outcome: 'notApplied' as const }
    recorder.put({ _tag: 'UnitFailed', unit, retryable: false, last })
    return 'failed'
  }
  const values = isTop(unit) ? [1, 2, 3, 4] : [1, 2]
  const items = values.slice(0, 1 + choices.below(values.length)).map((value) => ({ key: `item-${value}`, value }))
  recorder.put({ _tag: 'Expanded', unit, items })
  return yield* inParallel(session, unit, groupsOf(map, items))
}

const completeComposite = ({ recorder }: Session, unit: Unit): End => {
  recorder.put(completion(recorder, noFaults, undefined, unit, 1))
  return 'completed'
}

const REASONS = ['signal', 'aborted', 'paused'] as const

const interrupt = ({ recorder, choices }: Session, unit: Unit): End => {
  recorder.put({ _tag: 'Interrupted', unit: top(unit), reason: pick(choices, REASONS) })
  return 'interrupted'
}

/** `submits`: it submits a job. */
interface Started {
  readonly unit: Unit
  readonly attempt: number
  readonly submits: boolean
}

/** Attempts that submit a job record its key first. */
const start = (
  { recorder, choices, decisions, isLucky }: Session,
  units: ReadonlyArray<Unit>
): ReadonlyArray<Started> => {
  if (units.length === 0) return []
  const { checkpoint } = recorder.now()
  const started = units.map((unit) => {
    const decision = decisions.get(unit)
    const attempt = decision?._tag === 'Retry' ? decision.attempt : 1
    const submits = !isLucky && (choices.below(4) === 3 || (checkpoint.renewals.size > 0 && choices.below(4) > 0))
    return { unit, attempt, submits }
  })
  const submissions = started.flatMap(({ unit, submits }) => (submits ? [{ unit, key: keyFor(checkpoint, unit) }] : []))
  const attempts = started.map(({ unit, attempt }) => ({ unit, attempt }))
  const keys = submissions.length === 0 ? {} : { submissions }
  recorder.put({ _tag: 'AttemptStarted', attempts, ...keys })
  return started
}

const COMPLETES = Array.from({ length: 5 }, () => 'completes' as const)

const FATES = [...COMPLETES, 'retries', 'retries', 'fails', 'stops', 'crashes'] as const

function* attempts(session: Session, task: Task, { unit, attempt: first, submits }: Started): Work {
  const { recorder, choices, isLucky } = session
  for (let attempt = first; ; attempt++) {
    yield
    const called = isLucky || !mayCall(task) ? 'done' : yield* callSubSteps(session, unit)
    if (called === 'crashed') return 'crashed'
    if (called === 'suspended') return 'pending'
    const fate = isLucky ? 'completes' : pick(choices, FATES)
    if (fate === 'stops') return interrupt(session, unit)
    if (fate === 'crashes') return 'crashed'
    if (fate === 'completes') {
      recorder.put(
        submits
          ? { _tag: 'JobSubmitted', unit, attempt, job: `job ${choices.below(100)}` }
          : completion(recorder, choices, task, unit, attempt)
      )
      return submits ? 'pending' : 'completed'
    }
    const last = failedAttempt(recorder, choices, attempt)
    const isDoubtful = isInDoubt(recorder, unit) || (!task.idempotent && last.outcome === 'unknown')
    if (fate === 'fails' || isDoubtful) {
      recorder.put({ _tag: 'UnitFailed', unit, retryable: choices.below(2) === 1, last })
      return 'failed'
    }
    recorder.put({ _tag: 'AttemptFailed', unit, ...last, delayBeforeNextMillis: choices.below(3) })
    const stop = choices.below(6)
    if (stop === 4) return interrupt(session, unit)
    if (stop === 5) return 'crashed'
    recorder.put({ _tag: 'AttemptStarted', attempts: [{ unit, attempt: attempt + 1 }] })
  }
}
