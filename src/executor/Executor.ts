/** The type that every function of the executor returns. */
import type { ReaderTaskEither } from 'fp-ts/lib/ReaderTaskEither.js'
import type { Environment } from '../ports/Environment.js'
import type { RunError } from './errors/RunError.js'

/**
 * A program of the executor: needs an {@link Environment}, may end with a {@link RunError}.
 *
 * @category model
 */
export type Executor<A> = ReaderTaskEither<Environment, RunError, A>
