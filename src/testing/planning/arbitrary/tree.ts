/** The units of a workflow, their relative positions and their artifacts. Knows nothing of plans. */
import * as E from 'fp-ts/lib/Either.js'
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import type { CompletedStep } from '../../../domain/checkpoint/CompletedStep.js'
import type { Item, Items } from '../../../domain/checkpoint/Items.js'
import { itemAround, none } from '../../../domain/checkpoint/Items.js'
import { find } from '../../../domain/checkpoint/Tree.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { isWithin, join, names, top } from '../../../domain/workflow/Unit.js'
import type { Group, MapStep, Step, Task, Wave, Workflow } from '../../../domain/workflow/Workflow.js'
import { task } from '../../../domain/workflow/Workflow.js'
import { isIdempotent, listedParts } from '../../../domain/workflow/Node.js'
import type { Moment } from './RunRecorder.js'

export interface Placed {
  readonly unit: Unit
  readonly stepIndex: number
  readonly step: Step
}

/** An expanded map as groups. */
export const groupsOf = ({ each }: MapStep, items: ReadonlyArray<Item>): ReadonlyArray<Group> =>
  items.map(({ key }) => ({ ...each, name: key, needs: [] }))

/** All units in document order. A map has no parts until its items are known. */
export const unitsIn = ({ steps }: Pick<Workflow, 'steps'>, items: Items = none): ReadonlyArray<Placed> => {
  const found: Array<Placed> = []
  const visit = (step: Step, unit: Unit, stepIndex: number): void => {
    found.push({ unit, stepIndex, step })
    for (const part of partsAt(step, unit, items)) visit(part, join(unit, part.name), stepIndex)
  }
  for (const [stepIndex, step] of steps.entries()) visit(step, step.name, stepIndex)
  return found
}

const partsAt = (step: Step, unit: Unit, items: Items): ReadonlyArray<Step> => {
  if (step._tag === 'Task') return []
  return step._tag === 'Map' ? groupsOf(step, items.get(unit) ?? []) : listedParts<Step>(step)
}

/** Detects the path of a simulated sub-step. Names of units have no spaces, and neither have the keys of simulated items. */
export const isSubStep = (unit: Unit): boolean => unit.includes('%20')

/** A composite as one task without an output, for questions about all of it. */
export const wholeOf = (composite: Exclude<Step, Task>): Task => {
  const { name } = composite
  const whole = task(name, { idempotent: isIdempotent(composite), accepts: nothing })
  const isLeaf = composite._tag === 'Map' && composite.each._tag === 'Task'
  return isLeaf ? { ...whole, artifactPaths: composite.each.artifactPaths } : whole
}

/** A map counts as one task until its items are recorded. */
export const taskUnits = (workflow: Workflow, items: Items = none): ReadonlyMap<string, Task> => {
  const found = unitsIn(workflow, items).flatMap(({ unit, step }): ReadonlyArray<readonly [Unit, Task]> =>
    step._tag === 'Task' ? [[unit, step]] : step._tag === 'Map' && !items.has(unit) ? [[unit, wholeOf(step)]] : []
  )
  return new Map(found)
}

/** The tasks of a tree, without those of unexpanded maps. */
export const tasksOf = <S extends Step>(
  { steps }: { readonly steps: ReadonlyArray<S> },
  items: Items = none
): ReadonlyMap<Unit, Extract<S, Task>> => {
  const found = unitsIn({ steps }, items).filter(({ step }) => step._tag === 'Task')
  return new Map(found.map(({ unit, step }) => [unit, step as Extract<S, Task>]))
}

const nothing: Task['accepts'] = (output) =>
  output === undefined ? E.right(undefined) : E.left({ path: '$', expected: 'nothing' })

/** Returns whether a unit that leaves an artifact at this path started after the record and has not completed; it explains a change there. */
export const isOwnChange = ({ workflow, checkpoint }: Moment, record: CompletedStep, path: string): boolean => {
  const { state, pending, variables, items } = checkpoint
  const tasks = taskUnits(workflow, items)
  const hasArtifact = (unit: Unit): boolean => {
    const item = itemAround(items, unit)?.item
    const known = item === undefined ? { variables } : { variables, item: item.value }
    return tasks.get(unit)?.artifactPaths?.(known).includes(path) === true
  }
  const hasFailedSince = ({ attempts }: State.Failure): boolean =>
    top(record.unit) !== state.step || (attempts.at(-1)?.failedAt ?? '') >= record.completedAt
  return (
    [...pending, ...State.inFlight(state)].some(({ unit }) => hasArtifact(unit)) ||
    [...State.failures(state)].some((failure) => hasFailedSince(failure) && hasArtifact(failure.unit)) ||
    (state._tag === 'Interrupted' && state.inProgress && hasArtifact(state.step))
  )
}

/** `around`: an ancestor. `beside`: neither waits for the other. */
export type Position = 'within' | 'around' | 'before' | 'after' | 'beside'

/** The position of a unit relative to another, by their innermost common composite. */
export const positionOf = ({ checkpoint, workflow }: Moment, unit: Unit, other: Unit): Position =>
  positionIn(workflow, checkpoint.items, unit, other)

export const positionIn = (workflow: Workflow, items: Items, unit: Unit, other: Unit): Position => {
  if (isWithin(unit, other)) return 'within'
  if (isWithin(other, unit)) return 'around'
  const [here, there] = [names(unit), names(other)]
  const depth = here.findIndex((name, index) => name !== there[index])
  const [one, two] = [here[depth] as string, there[depth] as string]
  const above = here.slice(0, depth).reduce<Unit | undefined>((parent, name) => join(parent, name), undefined)
  const composite = above === undefined ? workflow : find<Step>(workflow, items, above)?.definition
  if (composite === undefined || 'each' in composite) return 'beside'
  if ('groups' in composite)
    return needs(composite, two, one) ? 'before' : needs(composite, one, two) ? 'after' : 'beside'
  const order = 'steps' in composite ? composite.steps.map(({ name }) => name) : []
  return order.indexOf(one) < order.indexOf(two) ? 'before' : 'after'
}

/** Returns whether a group needs another one, itself or through other groups. */
export const needs = (wave: Pick<Wave, 'groups'>, name: string, other: string): boolean =>
  wave.groups.some(
    (group) => group.name === name && group.needs.some((one) => one === other || needs(wave, one, other))
  )
