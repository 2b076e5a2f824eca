/** Builds the executor's environment for a Node process. */
import * as TE from 'fp-ts/lib/TaskEither.js'
import { notStore, sameFor, STORE_METHODS } from '../../domain/data/storeMethods.js'
import type { CheckpointStorage, ReadFailed } from '../../ports/CheckpointStorage.js'
import type { Environment } from '../../ports/Environment.js'
import { asyncContext } from './asyncContext.js'
import { systemClock } from './clock.js'
import { neverInterrupted } from './interrupt.js'
import { processOwner } from './owner.js'
import { environmentSecrets } from './secrets.js'
import { workingTree } from './git/workingTree.js'

/**
 * The environment of this process around a store. Defaults: the system clock, the current folder, secrets from
 * environment variables, no observer, no interruption, and a grace period of 10 seconds for a step that is asked to
 * stop. Pass what should differ.
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
  storage: usable(storage),
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

/** A store, or what stands in for anything else that an untyped host passes: it fails each call. */
const usable = (given: CheckpointStorage): CheckpointStorage => {
  const wrong = notStore(given)
  if (wrong === undefined) return given
  const why = `nodeEnvironment needs a CheckpointStorage, ${wrong}; pass one, such as jsonFileStorage('.dogear')`
  const code = 'INVALID_OPTIONS'
  const error: ReadFailed = { _tag: 'ReadFailed', where: 'the store', operation: 'open', code, cause: new Error(why) }
  return sameFor(STORE_METHODS, () => TE.left(error))
}
