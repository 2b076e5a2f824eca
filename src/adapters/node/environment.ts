/**
 * The ports of a Node process, ready to hand to the executor.
 *
 * @since 0.1.0
 */
import type { CheckpointStorage, Owner } from '../../ports/CheckpointStorage.js'
import type { Clock } from '../../ports/Clock.js'
import type { Events } from '../../ports/Events.js'
import type { Interrupt } from '../../ports/Interrupt.js'
import { systemClock } from './clock.js'
import { neverInterrupted } from './interrupt.js'
import { processOwner } from './owner.js'

/**
 * Every port that a run needs, of this process. What the executor calls its environment.
 *
 * @category model
 * @since 0.1.0
 */
export interface NodeEnvironment {
  readonly storage: CheckpointStorage
  readonly clock: Clock
  readonly owner: Owner
  readonly interrupt: Interrupt
  readonly events: Events
  /** A number from 0 to below 1. */
  readonly random: () => number
  readonly graceMillis: number
}

/**
 * The environment of this process around a store: system clock, no observer, never interrupted, 10 seconds of grace
 * for a step that was told to stop. Give what should be otherwise.
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
 * @since 0.1.0
 */
export const nodeEnvironment = (
  storage: CheckpointStorage,
  given: Partial<Omit<NodeEnvironment, 'storage'>> = {}
): NodeEnvironment => ({
  storage,
  clock: systemClock,
  owner: processOwner(),
  interrupt: neverInterrupted,
  events: { report: () => undefined },
  random: Math.random,
  graceMillis: 10_000,
  ...given
})
