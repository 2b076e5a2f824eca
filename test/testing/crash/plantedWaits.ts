/** Faults of an executor, or of the transitions, in waits, suspended tasks and answers. */
import type { Intervention } from '../../../src/testing/crash/Intervention.js'
import type { Fault } from './plantedExecutor.js'
import { caseWith } from './plantedExecutor.js'
import type { CodeWait, WaitSpec } from './randomWaits.js'
import { MISFIT } from './randomWaits.js'
import type { StepSpec, SubStepSpec } from './randomWorkflow.js'
import { task } from './randomWorkflow.js'

const wait = (one: WaitSpec): StepSpec => task({ wait: one })

const wave = (...groups: ReadonlyArray<StepSpec>): StepSpec => ({
  _tag: 'Wave',
  groups: groups.map((step) => ({ step, needs: 0 })),
  concurrency: 4,
  onFailure: 'continue',
  leaves: false
})

const SUB_STEP: SubStepSpec = { idempotent: true, parallel: false, fails: 'never', nested: false }

const inCode = (one: WaitSpec, how: CodeWait['how'] = 'awaited'): SubStepSpec => ({
  ...SUB_STEP,
  waits: { wait: one, how }
})

const code = (...subSteps: ReadonlyArray<SubStepSpec>): StepSpec => task({ subSteps })

/** A task whose code calls a sub-step and waits. */
const waiting = (one: WaitSpec, how?: CodeWait['how']): StepSpec => code(SUB_STEP, inCode(one, how))

const SLEEP: WaitSpec = { _tag: 'Sleep', halves: 2 }

const ASK: WaitSpec = { _tag: 'Ask' }

/** A fault, and a part of the simulator's report. A fault that shows without a disturbance breaks the law `Undisturbed`. */
export interface WaitFault extends Fault {
  readonly says: string
}

const waits = (one: Omit<WaitFault, 'breaks' | 'only'> & Partial<Fault>): WaitFault => ({
  only: caseWith([]),
  breaks: 'Undisturbed',
  ...one
})

const early = (value?: number): Intervention => ({
  _tag: 'AnswerWait',
  life: 1,
  n: 2,
  unit: 's1',
  ...(value === undefined ? {} : { value })
})

/** An answer at the time limit of the first wait. */
const LATE: Intervention = { _tag: 'AnswerWait', life: 1, n: 3, unit: 's0', value: 'late' }

/** Faults of the executor in waits. */
const EXECUTOR: ReadonlyArray<WaitFault> = [
  waits({
    what: 'wakes a unit before its time',
    spec: [wave(wait(SLEEP), waiting(SLEEP))],
    module: 'executor/steps/waits.ts',
    text: 'overAt(wait, answer !== undefined, timestamp(now))',
    instead: 'overAt(wait, answer !== undefined, timestamp(now + 60_000))',
    says: 'the wait of s0/g1/x1 was over at'
  }),
  waits({
    what: 'never wakes an answered unit',
    spec: [wait(ASK)],
    module: 'executor/steps/waits.ts',
    text: 'overAt(one, has(answers, one.unit), time)',
    instead: 'overAt(one, false, time)',
    says: 'waits for s0'
  }),
  waits({
    what: 'starts the step after a wait before the wait ends',
    spec: [wait(SLEEP), task()],
    module: 'executor/steps/steps.ts',
    text: "if (ended.right._tag !== 'Done') return E.right({ end: ended.right, index })",
    instead:
      "if (ended.right._tag !== 'Done' && ended.right._tag !== 'Pending') return E.right({ end: ended.right, index })",
    says: 's1 started before the wait of s0 was over'
  }),
  waits({
    what: 'uses the answer to another unit',
    spec: [code(inCode({ ...ASK, timesOut: 1 }), { ...inCode(ASK), parallel: true })],
    module: 'executor/steps/waits.ts',
    text: 'get(answers, wait.unit)',
    instead: '(get(answers, wait.unit) ?? [...answers][0])',
    says: 's0/x0.0 completed, and no answer is kept'
  }),
  waits({
    what: 'drops an answer that fits',
    spec: [wait(ASK)],
    module: 'executor/steps/waits.ts',
    text: "if (E.isRight(fits)) return { _tag: 'Completed', output }",
    instead:
      "if (E.isRight(fits)) { recorder.stage([{ _tag: 'WaitStarted', at: timestamp(now), unit, wait: again }]); return { _tag: 'Waits' } }",
    says: 'an answer to s0 that fits was dropped'
  }),
  waits({
    what: 'accepts an answer that does not fit',
    spec: [wait(SLEEP), wait(ASK)],
    only: caseWith([early(MISFIT)]),
    module: 'executor/steps/waits.ts',
    text: "if (E.isRight(fits)) return { _tag: 'Completed', output }",
    instead: "if (E.isRight(fits) || answer.by !== undefined) return { _tag: 'Completed', output }",
    breaks: 'SameEnd',
    says: 'the output of s1 is 17'
  }),
  waits({
    what: 'rests before it records a wait',
    spec: [wait(SLEEP)],
    module: 'executor/executePlan.ts',
    text: `  const saved = await recorder.commit()
  if (E.isLeft(saved)) return saved
  const checkpoint = saved.right
  const { runId } = checkpoint`,
    instead: `  const checkpoint = recorder.checkpoint()
  const { runId } = checkpoint`,
    says: 'the run rests because s0 waits, and the wait is not recorded'
  }),
  waits({
    what: 'continues a suspended task in another attempt',
    spec: [waiting(SLEEP)],
    module: 'executor/storage/changes.ts',
    text: 'return get(inFlight(',
    instead: 'return 1 + get(inFlight(',
    says: 's0 was suspended in attempt 1, and continued as attempt 2'
  }),
  waits({
    what: 'runs calls of suspended code',
    // The others keep the run going until the late call.
    spec: [wave(waiting({ ...SLEEP, halves: 4 }, 'beside'), task({ sleeps: 1 }), task({ sleeps: 3 }))],
    module: 'executor/subSteps/subStepLevel.ts',
    text: '    if (level.isClosed) return await endLateCall(level, name)\n    level.calls += 1\n',
    instead: '    if (level.isClosed) level.stopping = new AbortController()\n    level.calls += 1\n',
    says: 's0/g0/x1.late was called by code of s0/g0 that is suspended'
  }),
  waits({
    what: 'treats a wait that is being saved as a sub-step that was not awaited',
    spec: [code(inCode({ ...ASK, timesOut: 1 }), inCode(SLEEP, 'dropped'), inCode(SLEEP, 'dropped'))],
    module: 'executor/subSteps/subStepLevel.ts',
    text: 'const left = [...level.open.keys()]',
    instead: 'const left = [...level.open.keys(), ...level.saving.keys()]',
    says: 'await each sub-step'
  })
]

/** Faults of transitions in waits. */
const DOMAIN: ReadonlyArray<WaitFault> = [
  waits({
    what: 'restarts a sleep at each resume',
    spec: [wait(SLEEP)],
    only: caseWith([]),
    module: 'executor/storage/stored.ts',
    text: '  const restored = restore(stored)\n  if (E.isRight(restored)) {',
    instead: `  const nothing = { _tag: 'Recovered', at: '2026-01-02T03:04:05.000Z', from: '', lost: '', agreedBy: '' }
  const changes = stored.changes.map((change) => (change._tag === 'WaitStarted' ? nothing : change))
  const restored = restore({ ...stored, changes })
  if (E.isRight(restored)) {`,
    says: 's0 waits, and starts to wait again'
  }),
  waits({
    what: 'forgets timers when the run rests',
    spec: [waiting(SLEEP)],
    module: 'domain/change/Transition.ts',
    text: 'return E.right({ state: State.interrupted(',
    instead:
      "return E.right({ pending: Units.filter(self.pending, ({ _tag }) => _tag !== 'Timer'), state: State.interrupted(",
    says: 's0/x1'
  }),
  waits({
    what: 'keeps a used answer',
    spec: [wait(ASK)],
    module: 'domain/change/transitionParts.ts',
    text: 'answers: Units.outside(answers, unit),',
    instead: 'answers,',
    says: 'a stored answer to s0 was never given'
  }),
  waits({
    what: 'keeps only one answer',
    spec: [wave(wait(ASK), wait(ASK))],
    module: 'domain/change/waitChanges.ts',
    text: 'answers: Units.append(self.answers, {',
    instead: 'answers: Units.append(Units.none, {',
    says: 's0/g0'
  }),
  waits({
    what: 'drops an answer that comes before its unit waits',
    spec: [wait(SLEEP), wait(ASK)],
    only: caseWith([early()]),
    module: 'domain/change/waitChanges.ts',
    text: '...(earlier === undefined ? {} : { answers: Units.without(self.answers, unit) })',
    instead: 'answers: Units.without(self.answers, unit)',
    breaks: 'WaitKept',
    says: 'two answers to s1 were recorded'
  }),
  waits({
    what: 'keeps an answer that comes after the time limit',
    spec: [wait({ ...ASK, timesOut: 1 })],
    only: caseWith([LATE]),
    module: 'domain/change/waitChanges.ts',
    text: 'overAt(Units.get(self.pending, unit), false, at)',
    instead: 'overAt(undefined, false, at)',
    breaks: 'WaitKept',
    says: 's0 was answered after its time limit'
  }),
  waits({
    what: 'keeps the timer of a wait when its task completes',
    spec: [waiting(SLEEP, 'dropped'), task()],
    module: 'domain/change/transitionParts.ts',
    text: 'pending: Units.outside(pending, unit),',
    instead: 'pending,',
    says: 's0/x1 is stored as waiting and does not wait'
  }),
  waits({
    what: 'changes the time when a unit waits again',
    spec: [wait(SLEEP), wait({ ...ASK, timesOut: 0 })],
    only: caseWith([early(MISFIT)]),
    module: 'executor/steps/waits.ts',
    text: '{ ...again, rejected: why }',
    instead: "{ ...again, until: '2026-01-03T03:04:05.000Z' }",
    breaks: 'WaitKept',
    says: 'the wait of s1 was due to end at'
  })
]

/** Faults of records of waits. */
export const WAIT_FAULTS: ReadonlyArray<WaitFault> = [...EXECUTOR, ...DOMAIN]
