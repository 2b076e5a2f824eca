/**
 * One execution of a run: what its parts share while it lasts.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { Change } from '../domain/Change.js'
import type { Checkpoint, Variables } from '../domain/Checkpoint.js'
import type { InterruptReason } from '../domain/CheckpointState.js'
import type { Json } from '../domain/Json.js'
import { unitName } from '../domain/Plan.js'
import type { StepFailure } from '../domain/StepFailure.js'
import type { Claim } from '../ports/CheckpointStorage.js'
import type { Event } from '../ports/Events.js'
import type { Environment } from './Environment.js'
import type { Program, ProgramTask, ProgramWave, StepContext } from './Program.js'
import { idempotencyKey } from './Program.js'
import type { Recorder } from './Recorder.js'

/**
 * Why work stops before its time: somebody asked for it, or the claim is lost.
 *
 * @category model
 * @since 0.1.0
 */
export type Stop = { readonly _tag: 'Interrupted'; readonly reason: InterruptReason } | { readonly _tag: 'Fenced' }

/**
 * Where a task stands in its workflow.
 *
 * @category model
 * @since 0.1.0
 */
export interface Place {
  readonly stepIndex: number
  readonly step: string
  readonly group?: string
}

/** What an attempt that ended tells. */
interface Ended {
  readonly attempt: number
  readonly startedAt: number
  readonly endedAt: number
}

/**
 * How a task ended: with an output, with a failure after its last attempt, or not at all because work was to stop.
 *
 * @category model
 * @since 0.1.0
 */
export type TaskResult =
  | (Ended & { readonly _tag: 'Done'; readonly output: Json | undefined })
  | (Ended & { readonly _tag: 'Failed'; readonly failure: StepFailure })
  | { readonly _tag: 'Stopped' }

/**
 * How a step ended. `carry`: changes that are not recorded yet, because they go out together with what comes next.
 *
 * @category model
 * @since 0.1.0
 */
export type StepEnd =
  | { readonly _tag: 'Done'; readonly carry: ReadonlyArray<Change> }
  | { readonly _tag: 'Failed' }
  | { readonly _tag: 'Stopped'; readonly carry: ReadonlyArray<Change> }

/**
 * What the parts of one execution share. `values` are the recorded outputs by unit name; `stopping` fires when all work
 * is to stop, and `stop` then says why.
 *
 * @category model
 * @since 0.1.0
 */
export interface Session {
  readonly environment: Environment
  readonly program: Program<unknown, never>
  readonly recorder: Recorder
  readonly values: Map<string, Json>
  readonly stopping: AbortSignal
  readonly stop: () => Stop | undefined
}

/**
 * Fires when the host asks for a stop or the claim is lost. `dispose` takes the listeners away again.
 *
 * @category constructors
 * @since 0.1.0
 */
export const stopOn = (
  { interrupt }: Environment,
  claim: Claim
): { readonly stopping: AbortSignal; readonly stop: Session['stop']; readonly dispose: () => void } => {
  const controller = new AbortController()
  const onStop = (): void => controller.abort()
  const sources = [interrupt.signal, claim.lost]
  for (const source of sources) {
    if (source.aborted) onStop()
    else source.addEventListener('abort', onStop, { once: true })
  }
  return {
    stopping: controller.signal,
    stop: () =>
      claim.lost.aborted
        ? { _tag: 'Fenced' }
        : interrupt.signal.aborted
          ? { _tag: 'Interrupted', reason: interrupt.reason() }
          : undefined,
    dispose: () => {
      for (const source of sources) source.removeEventListener('abort', onStop)
    }
  }
}

/**
 * The time now, UTC, ISO 8601 with milliseconds.
 *
 * @category destructors
 * @since 0.1.0
 */
export const timestamp = (millis: number): string => new Date(millis).toISOString()

/**
 * Tells the observer. What it throws is its own affair.
 *
 * @category effects
 * @since 0.1.0
 */
export const report = ({ events }: Environment, event: Event): void => {
  try {
    events.report(event)
  } catch {
    // An observer cannot fail a run.
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// what a step sees
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What one attempt of a task gets. Everything is made when it is first looked at, as fresh copies of what is stored:
 * nothing that a step does to it reaches another step, so a resumed run sees what an undisturbed one sees.
 *
 * @category constructors
 * @since 0.1.0
 */
export const contextFor = (
  session: Session,
  unit: { readonly step: string; readonly group?: string },
  attempt: number,
  signal: AbortSignal
): StepContext<unknown, unknown> => {
  const checkpoint = session.recorder.checkpoint()
  const input = lazy(() => orStored(session.program.decodeInput(structuredClone(checkpoint.input)), checkpoint.input))
  const outputs = lazy(() => outputsOf(session))
  const variables = lazy(() => copyOf(checkpoint))
  return {
    runId: checkpoint.runId,
    step: unit.step,
    ...(unit.group === undefined ? {} : { group: unit.group }),
    attempt,
    idempotencyKey: idempotencyKey(checkpoint, unit),
    get input() {
      return input()
    },
    get outputs() {
      return outputs()
    },
    get variables() {
      return variables()
    },
    signal
  }
}

const lazy = <A>(make: () => A): (() => A) => {
  let made: { readonly value: A } | undefined
  return () => (made ??= { value: make() }).value
}

const copyOf = ({ variables }: Checkpoint): Variables =>
  new Map([...variables].map(([name, value]) => [name, structuredClone(value)]))

/** The planner has seen to it that what is recorded decodes. */
const orStored = (decoded: E.Either<unknown, unknown>, stored: Json): unknown =>
  E.isRight(decoded) ? decoded.right : stored

/** Outputs by step name, each decoded when it is first read. */
const outputsOf = (session: Session): unknown => {
  const target: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  const find = (name: string): (() => unknown) | undefined => {
    const step = stepsByName(session.program).get(name)
    if (step === undefined) return undefined
    if (step._tag === 'Wave') return () => waveOutputs(session, step)
    return session.values.has(name) ? () => valueOf(session, step, name) : undefined
  }
  return new Proxy(target, {
    get: (made, name) => {
      if (typeof name === 'string' && !(name in made)) {
        const value = find(name)
        if (value !== undefined) made[name] = value()
      }
      return Reflect.get(made, name) as unknown
    },
    has: (made, name) => name in made || (typeof name === 'string' && find(name) !== undefined),
    ownKeys: () => [...stepsByName(session.program).keys()].filter((name) => find(name) !== undefined),
    getOwnPropertyDescriptor: (made, name) => {
      if (typeof name === 'string' && !(name in made)) {
        const value = find(name)
        if (value !== undefined) made[name] = value()
      }
      return Reflect.getOwnPropertyDescriptor(made, name)
    }
  })
}

const waveOutputs = (session: Session, wave: ProgramWave): unknown =>
  Object.fromEntries(
    wave.groups
      .map((group) => ({ group, name: unitName({ step: wave.name, group: group.name }) }))
      .filter(({ name }) => session.values.has(name))
      .map(({ group, name }) => [group.name, valueOf(session, group, name)])
  )

const valueOf = (session: Session, task: ProgramTask, name: string): unknown => {
  const stored = session.values.get(name)
  const decoded = task.decode(stored === NOTHING ? undefined : stored)
  return E.isRight(decoded) ? decoded.right : (stored ?? null)
}

/**
 * Stands among the values for a unit that completed without an output.
 *
 * @category constructors
 * @since 0.1.0
 */
export const NOTHING: Json = Object.freeze({})

const INDEX = new WeakMap<object, ReadonlyMap<string, ProgramTask | ProgramWave>>()

const stepsByName = (program: Program<unknown, never>): ReadonlyMap<string, ProgramTask | ProgramWave> => {
  const known = INDEX.get(program)
  if (known !== undefined) return known
  const made = new Map(program.steps.map((step) => [step.name, step]))
  INDEX.set(program, made)
  return made
}
