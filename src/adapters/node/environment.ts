/** Builds the executor's environment for a Node process. */
import type { CheckpointStorage } from '../../ports/CheckpointStorage.js'
import type { Environment } from '../../ports/Environment.js'
import { defined } from '../../domain/data/defined.js'
import { asyncContext } from './asyncContext.js'
import { systemClock } from './clock.js'
import { neverInterrupted } from './interrupt.js'
import { processOwner } from './owner.js'
import { environmentSecrets } from './secrets.js'
import { workingTree } from './git/workingTree.js'

/**
 * The environment of this process around a store. Defaults: the system clock, the current folder, secrets from
 * environment variables, no observer, no interruption, and a grace period of 10 seconds for a step that is asked to
 * stop. Pass what should differ; `undefined` keeps the default.
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
  overrides: { readonly [Port in keyof Omit<Environment, 'storage'>]?: Environment[Port] | undefined } = {}
): Environment => ({
  clock: systemClock,
  tree: workingTree('.'),
  owner: processOwner(),
  asyncContext,
  secrets: environmentSecrets(),
  interrupt: neverInterrupted,
  events: { report: () => undefined },
  random: Math.random,
  graceMillis: 10_000,
  ...defined(overrides),
  // The overrides may be a complete environment, with a storage of its own.
  storage
})
