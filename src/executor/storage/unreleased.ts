/** Remembers claims of this thread whose release failed: a store may count them as held. */
import type { CheckpointStorage, Claim } from '../../ports/CheckpointStorage.js'

const REGISTRY = Symbol.for('dogear.1')

interface Registry {
  unreleased?: WeakMap<CheckpointStorage, Map<string, Claim>>
}

/** Shared by all copies of this module in the thread, because hosts may bundle several. */
const all = (): WeakMap<CheckpointStorage, Map<string, Claim>> => {
  const shared = globalThis as { [REGISTRY]?: Registry }
  const registry = (shared[REGISTRY] ??= {})
  return (registry.unreleased ??= new WeakMap())
}

export const remember = (storage: CheckpointStorage, claim: Claim): void => {
  const known = all()
  const ofStorage = known.get(storage) ?? new Map<string, Claim>()
  known.set(storage, ofStorage.set(claim.runId, claim))
}

/** Removes and returns the remembered claim of a run. */
export const takeRemembered = (storage: CheckpointStorage, runId: string): Claim | undefined => {
  const ofStorage = all().get(storage)
  const claim = ofStorage?.get(runId)
  ofStorage?.delete(runId)
  return claim
}
