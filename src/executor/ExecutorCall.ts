/** The type of a call that runs, plans, reads or changes runs. */
import type { ReaderTaskEither } from 'fp-ts/lib/ReaderTaskEither.js'
import type { Environment } from '../ports/Environment.js'
import type { RunError } from './errors/RunError.js'

/**
 * A call of the executor. It needs an {@link Environment}, and may end with a {@link RunError}.
 *
 * @category model
 */
export type Executor<A> = ReaderTaskEither<Environment, RunError, A>
