/**
 * What a store is to be like, as simply as it can be said: for each run the values of its revisions, and which claim is in
 * force. It says of each answer of a store whether it may be given, and is what it is after that answer.
 */
import type { Json } from '../../domain/data/Json.js'

/** A claim that was granted: to which instance, and what is known of it. */
export interface Granted {
  readonly number: number
  readonly runId: string
  readonly instance: number
  readonly epoch: number
  /** Given back, refused, or superseded: its saves are refused from now on. */
  over: boolean
  givenBack: boolean
}

/** What is known of a run. */
export interface ModelRun {
  payloads: ReadonlyArray<Json>
  /** The newest claim, unless it is over. */
  inForce: Granted | undefined
  highestEpoch: number
  /** Whether it was ever claimed: it may then be in the listing. */
  known: boolean
}

/** The runs, and which instances are of a live process. */
export interface Model {
  readonly runs: Map<string, ModelRun>
  readonly claims: Array<Granted>
  readonly live: Set<number>
}

/** No runs, and no instances. */
export const make = (): Model => ({ runs: new Map(), claims: [], live: new Set() })

/** A run, of which nothing need be known. */
export const runOf = ({ runs }: Model, runId: string): ModelRun => {
  const found = runs.get(runId) ?? { payloads: [], inForce: undefined, highestEpoch: -1, known: false }
  runs.set(runId, found)
  return found
}

/** The claim of a live process, if one has the run. */
export const heldBy = (model: Model, runId: string): Granted | undefined => {
  const { inForce } = runOf(model, runId)
  return inForce !== undefined && model.live.has(inForce.instance) ? inForce : undefined
}

/** Whether a save with this claim must be accepted, must be refused, or may be either: its owner is dead and not replaced. */
export const standing = (model: Model, claim: Granted): 'owner' | 'over' | 'taken for dead' => {
  if (claim.over || runOf(model, claim.runId).inForce !== claim) return 'over'
  return model.live.has(claim.instance) ? 'owner' : 'taken for dead'
}

/** A claim was granted: the one before it is over. */
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

/** A claim was given back. */
export const giveBack = (model: Model, claim: Granted): void => {
  claim.givenBack = true
  end(model, claim)
}

/** A claim ended: given back, or refused. */
export const end = (model: Model, claim: Granted): void => {
  claim.over = true
  const run = runOf(model, claim.runId)
  if (run.inForce === claim) run.inForce = undefined
}

/** A run was removed, and all its claims with it. Its id starts from nothing. */
export const remove = (model: Model, runId: string): void => {
  for (const claim of model.claims) if (claim.runId === runId) claim.over = true
  model.runs.set(runId, { payloads: [], inForce: undefined, highestEpoch: -1, known: false })
}
