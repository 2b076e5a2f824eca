/** What a host does with the runs of a storage, as promises. */
import type { Program } from '../executor/program/Program.js'
import type { RunOutcome } from '../executor/RunOutcome.js'
import { start as startRun } from '../hosts/start.js'
import { asOutcome, orThrow } from './call.js'
import type { StartOptions } from './options.js'
import { forRun, inputOf } from './options.js'
import type { Refused } from './RunFailure.js'

/**
 * A run that was started. `outcome` resolves with how it ends, as data, and never rejects.
 *
 * @category model
 */
export interface RunHandle<Outputs> {
  readonly runId: string
  readonly outcome: Promise<RunOutcome<Outputs> | Refused>
}

/**
 * Starts a new run, and resolves once it is durable: from then on a resume finds it after any crash. The run continues in this process. Rejects
 * with a {@link RunFailure} if nothing was recorded, for example because the id exists already.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { start, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const greet = workflow('greet').step('hello', () => 'hello')
 * const { runId, outcome } = await start(greet, { id: 'greet-1', storage: memoryStorage() })
 * assert.equal(runId, 'greet-1')
 * const ended = await outcome
 * assert.ok(ended._tag === 'Completed' && ended.outputs.hello === 'hello')
 *
 * @category running
 */
export const start = async <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  options: StartOptions<Input>
): Promise<RunHandle<Outputs>> => {
  const { runId, outcome } = await orThrow(options, startRun(program, options.id, inputOf(options), forRun(options)))
  return { runId, outcome: outcome().then((ended) => asOutcome(runId, ended)) }
}
