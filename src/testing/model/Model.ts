/** The model of a store: the payloads and the current claim of each run. It decides which results are allowed. */
import type { Json } from '../../domain/data/Json.js'
import type { CheckpointStorage, Claim, Owner } from '../../ports/CheckpointStorage.js'

/** The store of one process. `kill`: ends that process alone; absent for the process that only `Reopen` ends. */
export interface Instance {
  readonly owner: Owner
  readonly storage: CheckpointStorage
  readonly kill?: () => Promise<void>
}

/** A claim that an instance was granted. */
export interface Granted {
  readonly claim: Claim
  readonly instance: Instance
  isReleased: boolean
}

interface ModelRun {
  payloads: ReadonlyArray<Json>
  /** The newest claim, until it is released, a save of it is fenced or the run is removed: saves of all others are refused. */
  inForce: Granted | undefined
  highestEpoch: number
  /** Whether the run was claimed since its last removal: the store may list it, even without a checkpoint. */
  mayBeListed: boolean
}

/** `live`: the instances whose processes live. */
export interface Model {
  readonly runs: Map<string, ModelRun>
  readonly claims: Array<Granted>
  readonly instances: Array<Instance>
  readonly live: Set<Instance>
  /** Makes each revision carry a distinct payload. */
  serial: number
}

export const make = (): Model => ({ runs: new Map(), claims: [], instances: [], live: new Set(), serial: 0 })

export const runOf = ({ runs }: Model, runId: string): ModelRun => {
  const found = runs.get(runId) ?? unknown()
  runs.set(runId, found)
  return found
}

const unknown = (): ModelRun => ({ payloads: [], inForce: undefined, highestEpoch: -1, mayBeListed: false })

export const nextPayload = (model: Model): Json => `value ${model.serial++}`

export const open = (model: Model, opened: Omit<Instance, 'owner'>): void => {
  const instance = { ...opened, owner: { host: 'build-1', pid: model.instances.length + 1 } }
  model.instances.push(instance)
  model.live.add(instance)
}

/** Returns whether calls of this instance return: those of a killed process do not. */
export const isAnswering = ({ live }: Model, instance: Instance): boolean =>
  instance.kill === undefined || live.has(instance)

export const heldBy = (model: Model, runId: string): Owner | undefined => {
  const { inForce } = runOf(model, runId)
  return inForce !== undefined && model.live.has(inForce.instance) ? inForce.instance.owner : undefined
}

/**
 * Returns whether saves of a claim must be accepted (`owner`), must be refused (`over`), or may be either (`dead`: a dead owner without successor).
 */
export const standing = (model: Model, granted: Granted): 'owner' | 'over' | 'dead' => {
  if (runOf(model, granted.claim.runId).inForce !== granted) return 'over'
  return model.live.has(granted.instance) ? 'owner' : 'dead'
}

export const grant = (model: Model, claim: Claim, instance: Instance): void => {
  const granted: Granted = { claim, instance, isReleased: false }
  model.claims.push(granted)
  const run = runOf(model, claim.runId)
  run.inForce = granted
  run.highestEpoch = claim.epoch
  run.mayBeListed = true
}

export const end = (model: Model, granted: Granted): void => {
  const run = runOf(model, granted.claim.runId)
  if (run.inForce === granted) run.inForce = undefined
}

export const remove = (model: Model, runId: string): void => {
  model.runs.set(runId, unknown())
}
