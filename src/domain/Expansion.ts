/**
 * Maps, once it is known of which items: waves that have a group for each.
 *
 * @module
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { Unit } from './Unit.js'
import type { Group, MapWave, Step, Task, Wave } from './Workflow.js'
import { NAME } from './Workflow.js'
import type { ExpandedIdentity, Item, StepIdentity, WorkflowIdentity } from './WorkflowIdentity.js'
import { itemNamed } from './WorkflowIdentity.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * How many items a map may have.
 *
 * @category model
 * @since 0.1.0
 */
export const MAX_ITEMS = 100_000

/**
 * Why a map can't have these items: a key that can't be a name, a key that two of them have, or too many of them.
 *
 * @category model
 * @since 0.1.0
 */
export type ItemProblem =
  | { readonly _tag: 'InvalidKey'; readonly key: string; readonly index: number }
  | { readonly _tag: 'DuplicateKey'; readonly key: string; readonly index: number }
  | { readonly _tag: 'TooManyItems'; readonly items: number }

/**
 * A map as a wave: with the groups of its items in place of what it does for each.
 *
 * @category model
 * @since 0.1.0
 */
export type WaveOf<M> = M extends MapWave
  ? Omit<M, '_tag' | 'each'> & {
      readonly _tag: 'Wave'
      readonly groups: ReadonlyArray<M['each'] & { readonly needs: ReadonlyArray<string> }>
    }
  : never

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The wave of these items: a group for each, named by its key.
 *
 * @example
 * import { Expansion, Workflow } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const convert = Workflow.mapOf('convert', Workflow.task('convert'))
 * const wave = Expansion.waveOf(convert, [{ key: 'a', value: 'a.png' }, { key: 'b', value: 'b.png' }])
 * assert.deepEqual(wave.groups.map(({ name }) => name), ['a', 'b'])
 *
 * @category constructors
 * @since 0.1.0
 */
export const waveOf = <M extends MapWave>(map: M, items: ReadonlyArray<Item>): WaveOf<M> => {
  const { each, ...rest } = map
  const groups = items.map(({ key }) => ({ ...each, name: key, summary: summaryOf(each, key), needs: NO_NEEDS }))
  return { ...rest, _tag: 'Wave', groups } as unknown as WaveOf<M>
}

const summaryOf = ({ name, summary }: Task, key: string): string => (summary === name ? key : summary)

const NO_NEEDS: ReadonlyArray<string> = []

/**
 * Steps in which each map whose items are on record is the wave of them. The same steps if there is no such map.
 *
 * @category constructors
 * @since 0.1.0
 */
export const expand = <S extends Step>(
  steps: ReadonlyArray<S>,
  recorded: WorkflowIdentity
): ReadonlyArray<S | WaveOf<S>> => expandWith(steps, recorded, (map, items) => waveOf(map, items) as WaveOf<S>)

/**
 * As {@link expand}, for those who look at nothing but the definition: the groups are tasks, whatever else their map is made of.
 *
 * @category constructors
 * @since 0.1.0
 */
export const expandDefinition = (steps: ReadonlyArray<Step>, recorded: WorkflowIdentity): ReadonlyArray<Step> =>
  expandWith(steps, recorded, definitionOf)

const definitionOf = ({ name, summary, fingerprint, each }: MapWave, items: ReadonlyArray<Item>): Wave => ({
  _tag: 'Wave',
  name,
  summary,
  fingerprint,
  groups: items.map(({ key }) => groupFor(each, key))
})

/** Spelt out: there may be 100,000, and to spread an object takes many times as long. */
const groupFor = (each: Task, key: string): Group => ({
  _tag: 'Task',
  name: key,
  summary: summaryOf(each, key),
  fingerprint: each.fingerprint,
  idempotent: each.idempotent,
  captures: each.captures,
  numbered: each.numbered,
  accepts: each.accepts,
  leaves: each.leaves,
  needs: NO_NEEDS
})

const expandWith = <S extends Step, W>(
  steps: ReadonlyArray<S>,
  { steps: recorded }: WorkflowIdentity,
  make: (map: MapWave, items: ReadonlyArray<Item>) => W
): ReadonlyArray<S | W> => {
  const known = expansions(recorded)
  if (known.size === 0) return steps
  return steps.map((step): S | W => {
    const items = step._tag === 'Map' ? known.get(step.name)?.items : undefined
    return step._tag === 'Map' && items !== undefined ? make(step, items) : step
  })
}

const expansions = (steps: ReadonlyArray<StepIdentity>): ReadonlyMap<string, ExpandedIdentity> => {
  const known = new Map<string, ExpandedIdentity>()
  for (const step of steps) if (step.kind === 'expanded') known.set(step.name, step)
  return known
}

// ---------------------------------------------------------------------------------------------------------------------
// what is on record
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A workflow whose maps have the items that another has on record for them.
 *
 * @category combinators
 * @since 0.1.0
 */
export const carried = (from: WorkflowIdentity, to: WorkflowIdentity): WorkflowIdentity => {
  const known = expansions(from.steps)
  if (known.size === 0) return to
  const steps = to.steps.map((step): StepIdentity => {
    const items = step.kind === 'map' ? known.get(step.name)?.items : undefined
    return step.kind === 'map' && items !== undefined ? { ...step, kind: 'expanded', items } : step
  })
  return { ...to, steps }
}

/**
 * A workflow in which these maps have no recorded items, so that they are computed again.
 *
 * @category combinators
 * @since 0.1.0
 */
export const forgotten = (workflow: WorkflowIdentity, maps: ReadonlySet<Unit>): WorkflowIdentity => {
  const isKnown = (step: StepIdentity): step is ExpandedIdentity => step.kind === 'expanded' && maps.has(step.name)
  if (!workflow.steps.some(isKnown)) return workflow
  const steps = workflow.steps.map((step): StepIdentity => {
    if (!isKnown(step)) return step
    const { name, fingerprint, each } = step
    return { name, kind: 'map', fingerprint, each }
  })
  return { ...workflow, steps }
}

/**
 * A workflow that has these items on record for the map at this place.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withItems = (
  workflow: WorkflowIdentity,
  stepIndex: number,
  items: ReadonlyArray<Item>
): WorkflowIdentity => ({
  ...workflow,
  steps: workflow.steps.map((step, index) =>
    index === stepIndex && step.kind === 'map' ? { ...step, kind: 'expanded', items } : step
  )
})

/**
 * The item of a group of a map; none if its step is no map, or has no such group.
 *
 * @category destructors
 * @since 0.1.0
 */
export const itemOf = (step: StepIdentity | undefined, group: string | undefined): Item | undefined => {
  if (step?.kind !== 'expanded' || group === undefined) return undefined
  return itemNamed(step.items, group)
}

/**
 * Whether these can be the items of a map: on the left the first thing that is wrong with them.
 *
 * @category validation
 * @since 0.1.0
 */
export const check = (items: ReadonlyArray<Item>): E.Either<ItemProblem, void> => {
  if (items.length > MAX_ITEMS) return E.left({ _tag: 'TooManyItems', items: items.length })
  const seen = new Set<string>()
  for (const [index, { key }] of items.entries()) {
    if (!NAME.test(key)) return E.left({ _tag: 'InvalidKey', key, index })
    if (seen.has(key)) return E.left({ _tag: 'DuplicateKey', key, index })
    seen.add(key)
  }
  return E.right(undefined)
}

/**
 * What is wrong with the items of a map, as a sentence for people. Items are counted from 1.
 *
 * @category destructors
 * @since 0.1.0
 */
export const describeProblem = (problem: ItemProblem): string => {
  switch (problem._tag) {
    case 'InvalidKey':
      return `item ${problem.index + 1} has the key "${problem.key}", which can't be a name: use letters, digits, ".", "_" and "-", first a letter or digit, at most 128 characters`
    case 'DuplicateKey':
      return `item ${problem.index + 1} has the key "${problem.key}", which an earlier item has already`
    case 'TooManyItems':
      return `there are ${problem.items} items, and a map has at most ${MAX_ITEMS}`
  }
}
