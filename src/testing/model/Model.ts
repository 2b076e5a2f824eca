/** The model of a store: the payloads and the current claim of each run. It decides which results are allowed. */
import type { Json } from '../../domain/data/Json.js'

export interface Granted {
  readonly number: number
  readonly runId: string
  readonly instance: number
  readonly epoch: number
  /** Released, refused or superseded: later saves are refused. */
  over: boolean
  givenBack: boolean
}

export interface ModelRun {
  payloads: ReadonlyArray<Json>
  /** The newest claim, unless it ended. */
  inForce: Granted | undefined
  highestEpoch: number
  /** Whether it was ever claimed: it may then be listed. */
  known: boolean
}

export interface Model {
  readonly runs: Map<string, ModelRun>
  readonly claims: Array<Granted>
  readonly live: Set<number>
}

export const make = (): Model => ({ runs: new Map(), claims: [], live: new Set() })

export const runOf = ({ runs }: Model, runId: string): ModelRun => {
  const found = runs.get(runId) ?? { payloads: [], inForce: undefined, highestEpoch: -1, known: false }
  runs.set(runId, found)
  return found
}

export const heldBy = (model: Model, runId: string): Granted | undefined => {
  const { inForce } = runOf(model, runId)
  return inForce !== undefined && model.live.has(inForce.instance) ? inForce : undefined
}

/** Whether a save with this claim must be accepted, refused, or may be either (dead owner without successor). */
export const standing = (model: Model, claim: Granted): 'owner' | 'over' | 'taken for dead' => {
  if (claim.over || runOf(model, claim.runId).inForce !== claim) return 'over'
  return model.live.has(claim.instance) ? 'owner' : 'taken for dead'
}

export const grant = (model: Model, runId: string, instance: number, epoch: number): Granted => {
  const run = runOf(model, runId)
  if (run.inForce !== undefined) run.inForce.over = true
  const granted: Granted = { number: model.claims.length, runId, instance, epoch, over: false, givenBack: false }
  model.claims.push(granted)
  run.inForce = granted
  run.highestEpoch = epoch
  run.known = true
  return granted
}

export const giveBack = (model: Model, claim: Granted): void => {
  claim.givenBack = true
  end(model, claim)
}

export const end = (model: Model, claim: Granted): void => {
  claim.over = true
  const run = runOf(model, claim.runId)
  if (run.inForce === claim) run.inForce = undefined
}

/** Removal ends all claims of a run. */
export const remove = (model: Model, runId: string): void => {
  for (const claim of model.claims) if (claim.runId === runId) claim.over = true
  model.runs.set(runId, { payloads: [], inForce: undefined, highestEpoch: -1, known: false })
}
