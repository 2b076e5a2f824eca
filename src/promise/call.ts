/** Calls the executor from promises: the environment, and how its errors reach the caller. */
import * as E from 'fp-ts/lib/Either.js'
import { interruptFrom, nodeEnvironment } from '../adapters/node/index.js'
import type { Executor } from '../executor/Executor.js'
import type { RunError } from '../executor/RunError.js'
import { retryLater } from '../executor/RunError.js'
import type { RunOutcome } from '../executor/RunOutcome.js'
import type { Environment } from '../ports/Environment.js'
import type { Interrupt } from '../ports/Interrupt.js'
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
    signal: AbortSignal.any([own, other]),
    reason: () => (own.aborted ? interrupt.reason() : 'aborted')
  }
}

const refusedWith = (runId: string, error: RunError): Refused => ({
  _tag: 'Refused',
  runId,
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

export const perform = async <Outputs>(
  options: Options,
  executor: Executor<RunOutcome<Outputs>>
): Promise<RunOutcome<Outputs> | Refused> => asOutcome(options.id, await executor(environmentOf(options))())

export const orThrow = async <A>(
  options: HostOptions & { readonly id?: string },
  executor: Executor<A>
): Promise<A> => {
  const ended = await executor(environmentOf(options))()
  if (E.isLeft(ended)) throw new RunFailure(refusedWith(options.id ?? '', ended.left))
  return ended.right
}
