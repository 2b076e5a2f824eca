/** Simulates the calls in the code of a task: sub-steps and waits, as the executor records them. Knows nothing of planning. */
import * as E from 'fp-ts/lib/Either.js'
import type { Wait } from '../../../domain/checkpoint/Pending.js'
import { WAIT_TIMEOUT } from '../../../domain/checkpoint/Due.js'
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import type { SubStep } from '../../../domain/checkpoint/SubStep.js'
import * as Units from '../../../domain/checkpoint/Units.js'
import type { Json } from '../../../domain/data/Json.js'
import * as Err from '../../../domain/data/StepError.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { ancestors, join, names, nth } from '../../../domain/workflow/Unit.js'
import type { Task, WaitKind } from '../../../domain/workflow/Workflow.js'
import type { Choices } from './Choices.js'
import { chooseOutput, noFaults, pick } from './Choices.js'
import type { RunRecorder } from './RunRecorder.js'
import { completion, failedAttempt } from './records.js'

interface Call {
  readonly name: string
  readonly subStep: SubStep
  readonly nested?: ReadonlyArray<Call>
}

const CHARGE: Call = { name: 'charge card', subStep: { idempotent: false } }

/** The name of the wait that `answerEarly` answers. */
const ASK = 'ask Ada'

const PACK: Call = { name: 'pack up', subStep: {}, nested: [{ name: 'wrap box', subStep: {} }, CHARGE] }

/** A name with a space belongs to no unit of a workflow, see `isSubStep`. */
const CALLS: ReadonlyArray<Call> = [
  { name: 'fetch price', subStep: { input: 'a1b2', version: '1' } },
  CHARGE,
  CHARGE,
  PACK,
  PACK,
  PACK,
  { name: 'nap long', subStep: { wait: 'Timer' } },
  { name: ASK, subStep: { wait: 'Answer' } }
]

export type CallsEnd = 'done' | 'suspended' | 'crashed'

export interface CallingRun {
  readonly recorder: RunRecorder
  readonly choices: Choices
}

/** Only the code of an idempotent task may call. */
export const mayCall = (task: Task): boolean => task.idempotent && task.wait === undefined

/** Up to four calls in a row. The code catches what fails. */
export function* callSubSteps(run: CallingRun, task: Unit): Generator<undefined, CallsEnd> {
  const { choices } = run
  const count = choices.below(2) === 1 ? 1 + choices.below(4) : 0
  const numbers = new Map<string, number>()
  for (let made = 0; made < count; made++) {
    const call = pick(choices, CALLS)
    const number = (numbers.get(call.name) ?? 0) + 1
    numbers.set(call.name, number)
    const end = yield* makeCall(run, task, call, nth(join(task, call.name), number))
    if (end !== 'done') return end
  }
  return 'done'
}

/** Detects a failed sub-step that must not run twice and may have taken effect. Its task is not retried. */
export const isInDoubt = (recorder: RunRecorder, task: Unit): boolean =>
  Units.within(State.failures(recorder.now().checkpoint.state), task).some(
    ({ subStep, outcome }) => subStep?.idempotent === false && outcome === 'unknown'
  )

function* makeCall(run: CallingRun, task: Unit, call: Call, unit: Unit): Generator<undefined, CallsEnd> {
  const { recorder, choices } = run
  const { subStep, nested = [] } = call
  const { checkpoint } = recorder.now()
  const isKnown = [checkpoint.completedSteps, State.failures(checkpoint.state)].some((all) => Units.has(all, unit))
  if (isKnown) return 'done'
  if (subStep.wait !== undefined) return makeWait(run, task, subStep.wait, unit)
  if (subStep.idempotent === false) recorder.put({ _tag: 'AttemptStarted', attempts: [{ unit, attempt: 1 }] })
  for (const inner of nested) {
    if (choices.below(4) === 0) continue
    const end = yield* makeCall(run, task, inner, join(unit, inner.name))
    if (end !== 'done') return end
  }
  yield
  const fate = choices.below(8)
  if (fate === 7) return 'crashed'
  const last = failedAttempt(recorder, choices, 1)
  if (fate === 6 && subStep.idempotent === false) {
    const undone = { ...last, outcome: 'notApplied', delayBeforeNextMillis: 0 } as const
    recorder.put({ _tag: 'AttemptFailed', unit, ...undone })
    return 'crashed'
  }
  if (fate > 3) {
    recorder.put({ _tag: 'UnitFailed', unit, retryable: choices.below(2) === 1, last, subStep })
  } else recorder.put({ ...completion(recorder, choices, undefined, unit, 1), subStep })
  return 'done'
}

/** The wait ends, times out, or suspends the attempt. */
const makeWait = ({ recorder, choices }: CallingRun, task: Unit, kind: WaitKind, unit: Unit): CallsEnd => {
  startWait(recorder, choices, unit, kind)
  const fate = choices.below(4)
  if (fate === 0) {
    endSubWait(recorder, unit)
    return 'done'
  }
  if (fate === 1 && kind === 'Answer') {
    const last = timedOutAttempt(recorder)
    recorder.put({ _tag: 'UnitFailed', unit, retryable: false, last, subStep: { wait: kind } })
    return 'done'
  }
  const others = Units.within(recorder.now().checkpoint.pending, task).flatMap((one) =>
    one.unit === unit ? [] : [one.unit]
  )
  const dropped = choices.below(2) === 1 ? others : []
  const change = { _tag: 'Suspended', unit: task, waits: [unit] } as const
  recorder.put(dropped.length === 0 ? change : { ...change, dropped })
  return 'suspended'
}

const WAITS = {
  Timer: { _tag: 'Timer', wakeAt: '2026-01-03T00:00:00.000Z' },
  Answer: { _tag: 'Answer', question: 'Go on?', until: '2026-01-04T00:00:00.000Z' }
} as const satisfies Readonly<Record<WaitKind, Wait>>

const REJECTED: Wait = { ...WAITS.Answer, rejected: { by: 'Ada', path: '$', expected: 'boolean' } }

/** Starts a wait unless it is open. Sometimes rejects an answer, and starts the wait again. */
export const startWait = (recorder: RunRecorder, choices: Choices, unit: Unit, kind: WaitKind): void => {
  const { pending, answers } = recorder.now().checkpoint
  const put = (wait: Wait = WAITS[kind]): void => recorder.put({ _tag: 'WaitStarted', unit, wait })
  if (!Units.has(pending, unit)) put()
  else if (kind === 'Answer' && Units.has(answers, unit) && choices.below(4) === 3) put(REJECTED)
}

export const timedOutAttempt = (recorder: RunRecorder) => ({
  attempt: 1,
  startedAt: recorder.at(),
  error: Err.make('WaitTimeout', `no answer came until ${recorder.at()}`, { code: WAIT_TIMEOUT }),
  outcome: 'notApplied' as const
})

const putAnswer = (recorder: RunRecorder, unit: Unit, value: Json): void =>
  recorder.put({ _tag: 'Answered', unit, value, by: 'Ada' })

/** Ends an open wait in the code of a task, with its answer. */
export const endSubWait = (recorder: RunRecorder, unit: Unit): void => {
  const { pending, answers } = recorder.now().checkpoint
  const kind = Units.get(pending, unit)?._tag === 'Timer' ? 'Timer' : 'Answer'
  const value = kind === 'Timer' ? undefined : (Units.get(answers, unit)?.value ?? 'yes')
  if (value !== undefined && !Units.has(answers, unit)) putAnswer(recorder, unit, value)
  recorder.put({
    ...completion(recorder, noFaults, undefined, unit, 1),
    ...(value === undefined ? {} : { output: value }),
    subStep: { wait: kind }
  })
}

/** Ends an open wait that is a task, with its answer; an answer that the task rejects starts the wait again. */
export const endWaitTask = (recorder: RunRecorder, choices: Choices, task: Task, unit: Unit): void => {
  const completed = completion(recorder, choices, task, unit, 1)
  if (task.wait !== 'Answer') return recorder.put(completed)
  const given = Units.get(recorder.now().checkpoint.answers, unit)
  const isFit = given !== undefined && E.isRight(task.accepts(given.value))
  const output = isFit ? given.value : (completed.output ?? null)
  if (given !== undefined && !isFit) recorder.put({ _tag: 'WaitStarted', unit, wait: WAITS.Answer })
  if (!isFit) putAnswer(recorder, unit, output)
  recorder.put({ ...completed, output, captured: task.captures })
}

/** Repeats the attempt of a suspended task, and ends its wait. */
export const wake = (recorder: RunRecorder, wait: Unit): void => {
  const { state } = recorder.now().checkpoint
  for (const task of ancestors(wait)) {
    const attempt = Units.get(State.inFlight(state), task)
    if (attempt?.suspended !== true) continue
    recorder.put({ _tag: 'AttemptStarted', attempts: [{ unit: task, attempt: attempt.attempt }] })
    endSubWait(recorder, wait)
  }
}

/** Answers a wait that has no answer, even before it starts: of a task, or in the code of a task in flight. */
export const answerEarly = (recorder: RunRecorder, choices: Choices, tasks: ReadonlyMap<Unit, Task>): void => {
  const { state, completedSteps, answers } = recorder.now().checkpoint
  const isOpen = (unit: Unit): boolean =>
    !Units.has(answers, unit) &&
    Units.get(State.failures(state), unit)?.error.code !== WAIT_TIMEOUT &&
    ![unit, ...ancestors(unit)].some((one) => Units.has(completedSteps, one))
  const found = [...tasks].flatMap(([unit, task]): ReadonlyArray<Unit> => {
    if (task.wait === 'Answer') return [unit]
    return mayCall(task) && Units.has(State.inFlight(state), unit) ? [join(unit, ASK)] : []
  })
  const open = found.filter(isOpen)
  if (open.length === 0) return
  const unit = pick(choices, open)
  const task = tasks.get(unit)
  const output = task === undefined ? 'yes' : chooseOutput(choices, task, unit)
  putAnswer(recorder, unit, output ?? null)
}

/** Sorts the sub-steps of a task before it. */
export const innermostFirst = <A extends Units.OfUnit>(all: Iterable<A>): ReadonlyArray<A> =>
  [...all].sort((a, b) => names(b.unit).length - names(a.unit).length)
