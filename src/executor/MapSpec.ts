/**
 * What a map is declared with: a wave that has a group for each item of what earlier steps have left.
 *
 * @since 0.1.0
 */
import type { Json } from '../domain/Json.js'
import type { JobSpec } from './JobSpec.js'
import type { OutputOf, ReturnOf, StepContext, TaskSpec, WaveOptions } from './StepSpec.js'

/**
 * What the items of a map are computed from: every run of it sees the same, now and after a resume. A map in the body of another map sees
 * the `item` of that as well.
 *
 * @category model
 * @since 0.1.0
 */
export type MapSource<Outputs, Input = Json> = Pick<
  StepContext<Outputs, Input>,
  'runId' | 'unit' | 'step' | 'input' | 'outputs' | 'variables'
>

/**
 * Which items a map has, and how it runs.
 *
 * - `forEach`: the items, at most 100,000, each plain JSON or what `item`, their codec or schema, takes. It is asked once, when the
 *   map is due, and its answer is recorded: a resume goes on with the same items. It is asked again after the map, or a step
 *   before it, was made to run anew.
 * - `key`: the name of an item, and so of its group; default its position, counted from 1. No two may have the same.
 * - the rest is that of a wave.
 *
 * @category model
 * @since 0.1.0
 */
export interface MapOptions<Outputs, Input, I, Given = unknown> extends WaveOptions<Outputs, Input, Given> {
  /** The items. */
  readonly forEach: (source: MapSource<Outputs, Input> & Given) => ReadonlyArray<ReturnOf<I>>
  readonly item?: I
  /** The name of an item. */
  readonly key?: (item: OutputOf<I>, index: number) => string
}

/**
 * What a step gets beside its context when it is done for an item: `item`, as a copy of what is recorded, and `itemKey`, its name.
 *
 * @category model
 * @since 0.1.0
 */
export interface ForItem<I> {
  readonly item: I
  readonly itemKey: string
}

/**
 * The task that a map does for each item. It may hand its work over. It captures nothing: each would set the same variable.
 *
 * @category model
 * @since 0.1.0
 */
export type EachSpec<Outputs, Input, I, C> =
  | Omit<TaskSpec<Outputs, Input, C, ForItem<OutputOf<I>>>, 'capture' | 'numbered'>
  | Omit<JobSpec<Outputs, Input, C, ForItem<OutputOf<I>>>, 'capture' | 'numbered'>
