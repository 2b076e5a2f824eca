/**
 * Workflows of two levels, which are all that the stand-in executor runs: tasks, waves of tasks, and maps of a task.
 *
 * @since 0.1.0
 */
import { strict as assert } from 'node:assert'
import type { Item, Items } from '../../domain/Items.js'
import type { MapStep, Needing, Step, Task, Wave } from '../../domain/Workflow.js'

export type FlatGroup = Task & Needing

export interface FlatWave extends Wave {
  readonly groups: ReadonlyArray<FlatGroup>
}

export interface FlatMap extends MapStep {
  readonly each: Task
}

export type FlatStep = Task | FlatWave | FlatMap

const isTask = ({ _tag }: Step): boolean => _tag === 'Task'

const isFlat = (step: Step): step is FlatStep =>
  step._tag === 'Task' ||
  (step._tag === 'Wave' && step.groups.every(isTask)) ||
  (step._tag === 'Map' && isTask(step.each))

/** A step of at most two levels. */
export const flat = (step: Step): FlatStep =>
  isFlat(step) ? step : assert.fail(`"${step.name}" has more than two levels, and plans of such are not tried here`)

/** A map as the wave of its items. */
export const waveOf = (map: FlatMap, items: ReadonlyArray<Item>): FlatWave => {
  const { each, name, summary, fingerprint } = map
  const groups = items.map(({ key }) => ({
    ...each,
    name: key,
    summary: each.summary === each.name ? key : each.summary,
    needs: []
  }))
  return { _tag: 'Wave', name, summary, fingerprint, groups }
}

/** Steps in which each map whose items are known is the wave of them. */
export const expand = (steps: ReadonlyArray<Step>, items: Items): ReadonlyArray<FlatStep> =>
  steps.map(flat).map((step) => {
    const known = step._tag === 'Map' ? items.get(step.name) : undefined
    return step._tag === 'Map' && known !== undefined ? waveOf(step, known) : step
  })

/** The groups of a step: those of a wave. */
export const groupsOf = (step: FlatStep): ReadonlyArray<FlatGroup> => (step._tag === 'Wave' ? step.groups : [])
