/**
 * Claims of this thread whose release failed: a store may take them for held, though nobody uses them any more.
 *
 * @since 0.1.0
 */
import type { CheckpointStorage, Claim } from '../ports/CheckpointStorage.js'

const REGISTRY = Symbol.for('dogear.1')

interface Registry {
  unreleased?: WeakMap<CheckpointStorage, Map<string, Claim>>
}

/** Of all copies of this module in the thread: hosts bundle more than one. */
const all = (): WeakMap<CheckpointStorage, Map<string, Claim>> => {
  const shared = globalThis as { [REGISTRY]?: Registry }
  const registry = (shared[REGISTRY] ??= {})
  return (registry.unreleased ??= new WeakMap())
}

/**
 * Remembers a claim whose release failed.
 *
 * @category effects
 * @since 0.1.0
 */
export const remember = (storage: CheckpointStorage, claim: Claim): void => {
  const known = all()
  const ofStorage = known.get(storage) ?? new Map<string, Claim>()
  known.set(storage, ofStorage.set(claim.runId, claim))
}

/**
 * The claim of a run that was remembered, and is not from now on.
 *
 * @category effects
 * @since 0.1.0
 */
export const recall = (storage: CheckpointStorage, runId: string): Claim | undefined => {
  const ofStorage = all().get(storage)
  const claim = ofStorage?.get(runId)
  ofStorage?.delete(runId)
  return claim
}
