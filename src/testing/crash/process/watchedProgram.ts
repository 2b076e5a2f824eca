/** The program of a simulated process, observed, and killed at its crash point. */
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { fromUnknown } from '../../../domain/data/StepFailure.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { join, nth } from '../../../domain/workflow/Unit.js'
import type {
  Program,
  ProgramStep,
  ProgramTask,
  StepContext,
  SubStepContext,
  SubStepOptions
} from '../../../executor/program/Program.js'
import { byTag } from '../../byTag.js'
import { settle } from '../../../executor/steps/callUserCode.js'
import type { AtUnit, CrashPoint } from '../CrashPoint.js'
import type { Activity, Life } from './Life.js'
import { counted, never, whileAlive } from './Life.js'
import type { TraceEntry } from '../Trace.js'
import type { Oracle } from '../oracle/Oracle.js'

/** The state of the process that its program uses. */
export interface HostProcess extends Life {
  readonly life: number
  /** Notes that the process has reached this point; returns what is planned for it. */
  readonly reach: <P extends CrashPoint>(here: P) => P['how'] | undefined
  readonly state: Activity
  readonly note: (entry: TraceEntry) => void
  readonly oracle: Oracle
  readonly die: () => void
  readonly yieldToOthers: () => Promise<void>
  /** Resolves when the requests that arrive during this unit have been answered. */
  readonly whileRunning: (unit: string) => Promise<void> | undefined
}

export const programIn = (inside: HostProcess, program: Program<unknown, unknown>): Program<unknown, unknown> => ({
  name: program.name,
  decodeInput: program.decodeInput,
  encodeInput: program.encodeInput,
  get identity() {
    return program.identity
  },
  steps: program.steps.map((step) => watchedStep(inside, step))
})

const watchedStep = <S extends ProgramStep>(inside: HostProcess, step: S): S =>
  byTag<ProgramStep, ProgramStep>(step, {
    Task: (task) => ({ ...task, run: watchedUnits(inside, task), job: killableJob(inside, task) }),
    Sequence: (sequence) => ({ ...sequence, steps: sequence.steps.map((part) => watchedStep(inside, part)) }),
    Wave: (wave) => ({ ...wave, groups: wave.groups.map((group) => watchedStep(inside, group)) }),
    Map: (map) => ({ ...map, each: watchedStep(inside, map.each) })
  }) as S

/** A task in a map runs as one unit for each item. */
const watchedUnits = (inside: HostProcess, task: ProgramTask): ProgramTask['run'] => {
  const watched = new Map<Unit, ProgramTask['run']>()
  return (context) => {
    const run = watched.get(context.unit) ?? watchedRun(inside, context.unit, task)
    watched.set(context.unit, run)
    return run(context)
  }
}

/** Runs a unit's own code; the process may die before, during or after it. A further promise around the code would hide faults of timing. */
const watchedRun = (inside: HostProcess, unit: string, task: ProgramTask): ProgramTask['run'] => {
  const { state, note, life, alive, oracle } = inside
  let n = 0
  return (context) => async () => {
    if (!alive()) return await never()
    n += 1
    const how = inside.reach<AtUnit>({ _tag: 'AtUnit', unit, n, how: 'before' })
    if (how === 'before') inside.die()
    if (how === 'waits') await inside.yieldToOthers()
    if (!alive()) return await never()
    state.running += 1
    state.progress += 1
    note({ _tag: 'Started', life, unit, attempt: context.attempt, key: context.idempotencyKey })
    oracle.starts(unit, task.idempotent, context.attempt)
    const ending = settle(() => task.run(killableContext(inside, context)))
    const asked = inside.whileRunning(unit)
    // Virtual time waits for the replies to requests.
    const replied = asked === undefined ? undefined : counted(state, 'calls', () => asked)
    if (how === 'during') inside.die()
    const result = await ending
    if (replied !== undefined) await replied
    state.running -= 1
    state.progress += 1
    if (!alive()) return await never()
    if (E.isRight(result)) note({ _tag: 'Done', life, unit })
    else {
      const failure = failureOf(result.left)
      note({ _tag: 'Failed', life, unit, ...failure })
      if (!failure.applied) oracle.attempts.didNothing(unit)
    }
    // A result that arrives after an abort is discarded.
    if (E.isRight(result) && !context.signal.aborted) oracle.endsWell(unit)
    if (how === 'after') inside.die()
    return alive() ? result : await never()
  }
}

/** A dead process polls no job. */
const killableJob = (inside: HostProcess, { job }: ProgramTask): ProgramTask['job'] => {
  if (job === undefined) return undefined
  const killable =
    <A, B>(work: (context: A) => TaskEither<unknown, B>) =>
    (context: A): TaskEither<unknown, B> =>
    () =>
      whileAlive(inside, () => counted(inside.state, 'running', work(context)))
  return { ...job, poll: killable(job.poll), collect: killable(job.collect) }
}

const failureOf = (error: unknown): { readonly applied: boolean; readonly message: string } => {
  const failure = fromUnknown(error)
  return { applied: failure.outcome === 'unknown', message: failure.error.message }
}

/** The same context, with a signal that also fires on the death of the process, and with observed sub-steps. */
const killableContext = <C extends SubStepContext>(inside: HostProcess, context: C): C => {
  let signal: AbortSignal | undefined
  return Object.defineProperties({} as C, {
    ...Object.getOwnPropertyDescriptors(context),
    signal: { enumerable: true, get: () => (signal ??= AbortSignal.any([context.signal, inside.signal])) },
    ...watchedCalls(inside, context)
  })
}

/** Code that awaits a sub-step or a wait does not count as busy. */
const watchedCalls = (inside: HostProcess, context: SubStepContext): PropertyDescriptorMap => {
  const { state, alive, oracle } = inside
  let open = 0
  const during = async <A>(called: () => Promise<A>): Promise<A> => {
    if (!alive()) return await never()
    open += 1
    if (open === 1) state.running -= 1
    try {
      return await called()
    } finally {
      open -= 1
      if (open === 0) state.running += 1
      state.progress += 1
    }
  }
  const step = (name: string, ...more: ReadonlyArray<unknown>): Promise<unknown> => {
    const [options = {}, run] = (more.length < 2 ? [{}, more[0]] : more) as [SubStepOptions<unknown>?, SubStepRun?]
    // The executor refuses the call.
    if (typeof run !== 'function' || Object(options) !== options)
      return during(() => context.step(name, options, run as never))
    return during(() => context.step(name, options, watchedSubStep(inside, run, options.idempotent !== false) as never))
  }
  const value = (of: unknown): PropertyDescriptor => ({ enumerable: true, value: of })
  if (!('waitFor' in context)) return { step: value(step) }
  const { sleep, waitFor, unit } = context as StepContext<unknown, unknown>
  const counts = new Map<string, number>()
  const waiting =
    <Options>(wait: (name: string, options: Options) => Promise<unknown>) =>
    (name: string, options: Options): Promise<unknown> =>
      during(async () => {
        const ended = wait(name, options)
        const number = (counts.get(name) ?? 0) + 1
        counts.set(name, number)
        const given = await ended
        if (alive()) oracle.waits.resolves(nth(join(unit, name), number))
        return given
      })
  return { step: value(step), sleep: value(waiting(sleep)), waitFor: value(waiting(waitFor as never)) }
}

type SubStepRun = (context: SubStepContext) => unknown

const watchedSubStep =
  (inside: HostProcess, run: SubStepRun, idempotent: boolean): SubStepRun =>
  async (context) => {
    const { state, oracle } = inside
    const { unit } = context
    const ended = await whileAlive(inside, () =>
      counted(state, 'running', () => {
        oracle.attempts.starts(unit, idempotent)
        oracle.waits.calls(unit)
        return settle(() => run(killableContext(inside, context)))
      })
    )
    if (E.isRight(ended)) return ended.right
    if (fromUnknown(ended.left).outcome === 'notApplied') oracle.attempts.didNothing(unit)
    const error = ended.left as Error
    return await Promise.reject(error)
  }
