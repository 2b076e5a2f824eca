/** The ports of a Node process, ready to hand to the executor. */
import type { CheckpointStorage } from '../../ports/CheckpointStorage.js'
import type { Environment } from '../../ports/Environment.js'
import { asyncContext } from './asyncContext.js'
import { systemClock } from './clock.js'
import { neverInterrupted } from './interrupt.js'
import { processOwner } from './owner.js'
import { environmentSecrets } from './secrets.js'
import { workingTree } from './git/workingTree.js'

/**
 * The environment of this process around a store: system clock, the current folder, secrets out of its environment
 * variables, no observer, never interrupted, 10 seconds of grace for a step that was told to stop. Give what should be
 * otherwise.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { interruptFrom, nodeEnvironment } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * const stopper = new AbortController()
 * const environment = nodeEnvironment(memoryStorage(), { interrupt: interruptFrom(stopper.signal) })
 * assert.equal(environment.owner.pid, process.pid)
 *
 * @category constructors
 */
export const nodeEnvironment = (
  storage: CheckpointStorage,
  given: Partial<Omit<Environment, 'storage'>> = {}
): Environment => ({
  storage,
  clock: systemClock,
  tree: workingTree('.'),
  owner: processOwner(),
  asyncContext,
  secrets: environmentSecrets(),
  interrupt: neverInterrupted,
  events: { report: () => undefined },
  random: Math.random,
  graceMillis: 10_000,
  ...given
})
