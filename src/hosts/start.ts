/** Starts a run without waiting for its end. */
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Executor } from '../executor/ExecutorCall.js'
import { inEnvironment } from '../executor/arguments.js'
import type { Program } from '../executor/program/Program.js'
import { run } from '../executor/run.js'
import type { RunError } from '../executor/errors/RunError.js'
import type { RunOptions } from '../executor/RunOptions.js'
import type { RunOutcome } from '../executor/RunOutcome.js'
import { report } from '../executor/RunScope.js'
import type { Event } from '../ports/Events.js'

/**
 * A run that was started. `outcome` resolves with how the run ended; each call returns the same end.
 *
 * @category model
 */
export interface RunHandle<Outputs> {
  readonly runId: string
  readonly outcome: TaskEither<RunError, RunOutcome<Outputs>>
}

/**
 * Starts a new run, and returns once it is durable: from then on a resume finds it after any crash. The run continues in this process. If the
 * run ends before anything is recorded, fails as `run` does.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { start } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import { workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const greet = workflow('greet').step('hello', () => 'hello')
 * const started = await start(greet, 'greet-1', {})(nodeEnvironment(memoryStorage()))()
 * assert.ok(E.isRight(started))
 * const ended = await started.right.outcome()
 * assert.ok(E.isRight(ended) && ended.right._tag === 'Completed')
 *
 * @category running
 */
export const start = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  runId: string,
  input: Input,
  options: RunOptions = {}
): Executor<RunHandle<Outputs>> =>
  inEnvironment(
    (environment) => () =>
      new Promise((resolve, reject) => {
        const handle = (): E.Either<never, RunHandle<Outputs>> => E.right({ runId, outcome: () => ended })
        const observed = (event: Event): void => {
          report(environment, event)
          if (event._tag === 'CheckpointSaved') resolve(handle())
        }
        const ended = run(program, runId, input, options)({ ...environment, events: { report: observed } })()
        // A run that failed before its first save was not started.
        ended.then((end) => resolve(E.isLeft(end) ? end : handle()), reject)
      })
  )
