/** What the definitions of steps and their recorded identities have in common. */
import type { Unit } from './Unit.js'
import { join, names, parent } from './Unit.js'

/** A unit as it is defined, with its parts: the steps of a sequence, the groups of a wave, or the body of a map. A task has none. */
export interface Node {
  readonly name: string
  readonly idempotent?: boolean
  readonly steps?: ReadonlyArray<Node>
  readonly groups?: ReadonlyArray<Node>
  readonly each?: Node
}

/** Returns the steps or groups that a definition lists; none for a task or a map. */
export const listedParts = <N extends Node>({ steps, groups }: N): ReadonlyArray<N> =>
  (steps ?? groups ?? NO_PARTS) as ReadonlyArray<N>

const NO_PARTS: ReadonlyArray<never> = []

/** Returns the steps or groups of a definition, or the body of a map. */
export const partsOf = <N extends Node>(node: N): ReadonlyArray<N> =>
  node.each === undefined ? listedParts(node) : [node.each as N]

/** Detects a sequence, wave or map. */
export const isComposite = ({ steps, groups, each }: Node): boolean => (steps ?? groups ?? each) !== undefined

/** Detects a task that runs code: its own or that of a job. A wait runs none. */
export const hasCode = <S extends { readonly _tag: string; readonly wait?: unknown }>(
  step: S | undefined
): step is Extract<S, { readonly _tag: 'Task' }> => step?._tag === 'Task' && step.wait === undefined

/** Returns whether an edited unit can continue where it stopped: it was and is a task with code, or a wait or composite of one kind. */
export const isSameKind = (was: Kinded | undefined, now: Kinded | undefined): boolean =>
  was !== undefined && was._tag === now?._tag && was.wait === now.wait

/** Returns whether the results of two steps have one form: an own output, outputs by part, or outputs by item. True if either step is missing. */
export const hasSameResult = (was: Node | undefined, now: Node | undefined): boolean =>
  was === undefined || now === undefined || resultOf(was) === resultOf(now)

/**
 * Returns whether an edited step may do what a removed one did: it is new, of another kind, or a changed map or non-idempotent task. A wait does
 * nothing. The parts of sequences and waves are compared on their own.
 */
export const mayReplace = (was: Printed | undefined, now: Printed): boolean => {
  if (now.wait !== undefined) return false
  if (was === undefined || was.wait !== undefined || !hasSameResult(was, now)) return true
  return was.fingerprint !== now.fingerprint && (now.each !== undefined || now.idempotent === false)
}

interface Printed extends Node {
  readonly wait?: unknown
  readonly fingerprint: string
}

const resultOf = (node: Node): 'own' | 'parts' | 'items' => {
  if (node.each !== undefined) return 'items'
  return isComposite(node) ? 'parts' : 'own'
}

interface Kinded {
  readonly _tag: string
  readonly wait?: unknown
}

/** Returns whether all tasks of a step are idempotent. */
export const isIdempotent = (node: Node): boolean => node.idempotent ?? partsOf(node).every(isIdempotent)

/** Returns the units that are not idempotent, in the order of the workflow. A map counts as one unit. */
export const nonIdempotent = ({ steps }: { readonly steps: ReadonlyArray<Node> }): ReadonlyArray<Unit> => {
  const visit = (node: Node, unit: Unit): ReadonlyArray<Unit> => {
    const parts = listedParts(node)
    if (parts.length === 0) return isIdempotent(node) ? [] : [unit]
    return parts.flatMap((part) => visit(part, join(unit, part.name)))
  }
  return steps.flatMap((step) => visit(step, step.name))
}

/** Returns the definition of a unit; any item key of a map is accepted. */
export const definitionAt = <N extends Node>(
  { steps }: { readonly steps: ReadonlyArray<N> },
  unit: Unit
): N | undefined => {
  const [first, ...inner] = names(unit)
  let found = steps.find(({ name }) => name === first)
  for (const name of inner)
    found = found && ((found.each as N | undefined) ?? listedParts(found).find((part) => part.name === name))
  return found
}

/** Returns the steps of the sequence around a step, the step included; none for a group or the body of a map. */
export const stepsAround = (workflow: { readonly steps: ReadonlyArray<Node> }, unit: Unit): ReadonlyArray<Unit> => {
  const above = parent(unit)
  const { steps = [] } = above === undefined ? workflow : (definitionAt(workflow, above) ?? {})
  return steps.map(({ name }) => join(above, name))
}

/** Returns the wave or map before a step in its sequence. */
export const waveBefore = (workflow: { readonly steps: ReadonlyArray<Node> }, unit: Unit): Unit | undefined => {
  const around = stepsAround(workflow, unit)
  const isWave = (one: Unit): boolean => {
    const { groups, each } = definitionAt(workflow, one) ?? {}
    return (groups ?? each) !== undefined
  }
  return around.slice(0, Math.max(0, around.indexOf(unit))).findLast(isWave)
}
