/** Calls the functions of a program's author: `run`, `before`, `after`, `submit`, `poll`, `collect`. */
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import * as StepError from '../../domain/data/StepError.js'
import * as Failure from '../../domain/data/StepFailure.js'

export const settling =
  <Args extends ReadonlyArray<unknown>>(call: (...args: Args) => unknown) =>
  (...args: Args): TaskEither<unknown, unknown> =>
  () =>
    settle(() => call(...args))

/** On the left: the thrown or rejected error. Not an async function, which would hold its frame while the code runs. */
export const settle = (call: () => unknown): Promise<E.Either<unknown, unknown>> => {
  try {
    const returned = call()
    return typeof returned === 'function'
      ? Promise.resolve((returned as () => unknown)()).then(ofTask, E.left)
      : Promise.resolve(returned).then(ofValue, E.left)
  } catch (error) {
    return Promise.resolve(E.left(error))
  }
}

const ofTask = (result: unknown): E.Either<unknown, unknown> => (isEither(result) ? result : E.left(NO_EITHER))

const ofValue = (value: unknown): E.Either<unknown, unknown> => (isEither(value) ? E.left(BARE_EITHER) : E.right(value))

/** Detects an Either; false if reading a property throws. */
const isEither = (value: unknown): value is E.Either<unknown, unknown> => {
  if (typeof value !== 'object' || value === null) return false
  try {
    return (
      '_tag' in value && ((value._tag === 'Right' && 'right' in value) || (value._tag === 'Left' && 'left' in value))
    )
  } catch {
    return false
  }
}

const wrongReturn = (message: string): Failure.StepFailure =>
  Failure.permanent(StepError.make('WrongReturn', message, { code: 'WRONG_RETURN' }))

const NO_EITHER = wrongReturn('the step returned a function; return a value or a promise (with fp-ts, a TaskEither)')

const BARE_EITHER = wrongReturn(
  'the returned value is an Either; return the TaskEither itself, as in () => TE.right(1)'
)
