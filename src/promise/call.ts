/** Calls the executor for the promise form: makes the environment, and turns errors into a `Refused` or a `RunFailure`. */
import * as E from 'fp-ts/lib/Either.js'
import { interruptFrom, nodeEnvironment, processOwner } from '../adapters/node/index.js'
import { fieldsOf } from '../domain/data/Options.js'
import type { Executor } from '../executor/ExecutorCall.js'
import type { RunError } from '../executor/errors/RunError.js'
import { describe } from '../executor/errors/describe.js'
import { retryLater } from '../executor/errors/RunError.js'
import { onAbort } from '../executor/onAbort.js'
import type { RunOutcome } from '../executor/RunOutcome.js'
import type { Holder } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'
import type { Interrupt } from '../ports/Interrupt.js'
import type { CallName } from './callOptions.js'
import { invalidOptions, invalidWorkflow, plainOptions } from './callOptions.js'
import type { HostOptions, Options } from './options.js'
import type { Refused } from './RunFailure.js'
import { RunFailure } from './RunFailure.js'

export const environmentOf = ({ storage, signal, environment = {} }: HostOptions): Environment => {
  if (signal === undefined) return nodeEnvironment(storage, environment)
  const { interrupt } = environment
  return nodeEnvironment(storage, {
    ...environment,
    interrupt: interrupt === undefined ? interruptFrom(signal) : eitherOf(interrupt, signal)
  })
}

const eitherOf = (interrupt: Interrupt, other: AbortSignal): Interrupt => {
  const own = interrupt.signal
  return {
    signal: AbortSignal.any([nativeOf(own), nativeOf(other)]),
    reason: () => (own.aborted ? interrupt.reason() : 'aborted')
  }
}

/** `AbortSignal.any` ignores the abort of a signal of another library, as test runners have one. */
const nativeOf = (signal: AbortSignal): AbortSignal => {
  const given: object = signal
  if (given instanceof AbortSignal) return given
  const known = natives.get(signal)
  if (known !== undefined) return known
  const own = new AbortController()
  natives.set(signal, own.signal)
  onAbort(signal, () => own.abort(signal.reason))
  return own.signal
}

/** One for each foreign signal, so that the calls of a process with one signal add one listener to it. */
const natives = new WeakMap<AbortSignal, AbortSignal>()

/** Describes an error. Adds the run if the error does not name it, unless the error is about the caller's code. */
const messageOf = (runId: string, error: RunError): string => {
  if (error._tag === 'HeldBy' && isThisProcess(error.holder)) {
    const { host, pid, since } = error.holder
    return `Run ${error.runId} is already in progress: this process (${pid} on ${host}) has held it since ${since}; await the call that runs it; to answer, pause or cancel it meanwhile, set \`requests\` in the environment of both calls`
  }
  return runId === '' || 'runId' in error || error._tag === 'InvalidOptions' || isInvalidWorkflow(error)
    ? describe(error)
    : `Run ${runId}: ${describe(error)}`
}

const isThisProcess = ({ host, pid, liveness }: Holder): boolean => {
  const own = processOwner()
  return liveness === 'alive' && pid === own.pid && host === own.host
}

const isInvalidWorkflow = (error: RunError): boolean =>
  error._tag === 'PlanError' && error.problems.every(({ _tag }) => _tag === 'InvalidWorkflow')

const refusedWith = (runId: string, error: RunError): Refused => ({
  _tag: 'Refused',
  runId,
  message: messageOf(runId, error),
  error,
  retryLater: retryLater(error)
})

/** Returns how a run ended, or the refusal, as data. */
export const asOutcome = <Outputs>(
  runId: string,
  ended: E.Either<RunError, RunOutcome<Outputs>>
): RunOutcome<Outputs> | Refused => {
  if (E.isLeft(ended)) return refusedWith(runId, ended.left)
  // A copy has `outputs` as data in place of the getter, so that they are printed with it.
  return ended.right._tag === 'Completed' ? { ...ended.right } : ended.right
}

/** Calls the executor, if the arguments of the call are valid. `program`: the workflow, if the call takes one. */
const execute = async <O extends HostOptions, A>(
  call: CallName,
  options: O,
  executor: (options: O) => Executor<A>,
  program: ReadonlyArray<unknown>
): Promise<E.Either<RunError, A>> => {
  const invalid = program.map(invalidWorkflow)[0] ?? invalidOptions(call, options)
  if (invalid !== undefined) return E.left(invalid)
  const plain = plainOptions(call, options)
  return await executor(plain)(environmentOf(plain))()
}

const idOf = (options: unknown): string => {
  const { id } = fieldsOf(options)
  return typeof id === 'string' ? id : ''
}

/** Calls the executor, with a refusal as an outcome. */
export const callToOutcome = async <O extends Options, Outputs>(
  call: CallName,
  options: O,
  executor: (options: O) => Executor<RunOutcome<Outputs>>,
  program: unknown
): Promise<RunOutcome<Outputs> | Refused> => asOutcome(idOf(options), await execute(call, options, executor, [program]))

/** Calls the executor, with a refusal on the left. */
export const callOrRefuse = async <O extends HostOptions, A>(
  call: CallName,
  options: O,
  executor: (options: O) => Executor<A>,
  ...program: ReadonlyArray<unknown>
): Promise<E.Either<Refused, A>> =>
  E.mapLeft((error: RunError) => refusedWith(idOf(options), error))(await execute(call, options, executor, program))

export const orThrow = <O extends HostOptions, A>(
  call: CallName,
  options: O,
  executor: (options: O) => Executor<A>,
  ...program: ReadonlyArray<unknown>
): Promise<A> => rightOrThrow(callOrRefuse(call, options, executor, ...program))

/**
 * Throws an error whose first frame is the caller's: Node.js prints the line of that frame above an uncaught error. Return its promise as it is: an
 * `await` of the library would add a frame, and in Bun a `then` ends the stack.
 */
export const rightOrThrow = async <A>(ending: Promise<E.Either<RunFailure['outcome'], A>>): Promise<A> => {
  const ended = await ending
  if (E.isRight(ended)) return ended.right
  const failure = new RunFailure(ended.left)
  // In Bun, `captureStackTrace` would leave no frame at all.
  if (!('Bun' in globalThis)) Error.captureStackTrace(failure, rightOrThrow)
  throw failure
}
