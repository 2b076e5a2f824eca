/** The state of a live run, as its events say: what is in flight, what is done, and how much ended in which way. */
import type { progress } from '../../domain/checkpoint/Checkpoint.js'
import type { Decision } from '../../domain/plan/Plan.js'
import { definitionAt, isComposite } from '../../domain/workflow/Node.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { isTop, isWithin } from '../../domain/workflow/Unit.js'
import type { Event, EventUnit } from '../../ports/Events.js'
import type { Screen } from '../terminal/Screen.js'
import type { StepEntry } from '../workflow/WorkflowFile.js'
import type { Wave, Waves } from './waves.js'
import * as WavesOf from './waves.js'

/** `loaded`: how many steps of a resumed run were completed, before an edit; `assumed`: the units that an earlier answer assumed done. */
export interface Options {
  readonly screen: Screen
  readonly verbose: boolean
  readonly steps: ReadonlyArray<StepEntry>
  readonly loaded: ReturnType<typeof progress>
  readonly assumed: ReadonlySet<Unit>
  readonly now: () => number
}

/** A unit in flight; `until`: the time of its next attempt, if it waits for one. */
export interface Active {
  readonly since: number
  readonly until?: number
}

export interface LiveRun extends Options {
  readonly waves: Waves
  readonly active: Map<Unit, Active>
  /** The completed top-level steps. */
  readonly done: Set<number>
  /** The failed units whose errors were printed. */
  readonly printed: Set<Unit>
  readonly tally: Tally
  readonly since: number
  decisions: ReadonlyMap<string, Decision>
}

/** How each task of this process ended. */
export interface Tally {
  readonly ends: Map<Unit, 'completed' | 'skipped' | 'failed'>
  retries: number
}

export type Of<Tag extends Event['_tag']> = Event & { readonly _tag: Tag }

export const make = (options: Options): LiveRun => ({
  ...options,
  waves: WavesOf.make(options.steps, options.now),
  active: new Map(),
  done: new Set(),
  printed: new Set(),
  tally: { ends: new Map(), retries: 0 },
  since: options.now(),
  decisions: new Map()
})

/** Detects that a unit is no longer in flight; one that is retried still is. */
export const isOver = (event: Event): event is Of<'StepCompleted' | 'StepFailed' | 'JobSubmitted' | 'StepSuspended'> =>
  ['StepCompleted', 'StepFailed', 'JobSubmitted', 'StepSuspended'].includes(event._tag)

export const follow = (run: LiveRun, event: Event): void => {
  const { active, done, now, tally } = run
  run.waves.follow(event)
  if (event._tag === 'RunPlanned') {
    run.decisions = new Map(event.plan.decisions.map((one) => [one.unit, one]))
    for (const { _tag, unit, stepIndex } of event.plan.decisions) {
      if (_tag !== 'Skip') continue
      if (isTop(unit)) done.add(stepIndex)
      if (isTask(run, unit)) tally.ends.set(unit, 'skipped')
    }
  } else if (event._tag === 'WaveRestarted') {
    run.decisions = new Map()
    for (const index of done) if (index >= event.stepIndex) done.delete(index)
  } else if (event._tag === 'StepStarted') {
    active.set(event.unit, { since: now() })
    tally.ends.delete(event.unit)
  } else if (event._tag === 'StepRetrying') {
    active.set(event.unit, { since: now(), until: now() + event.delayMillis })
    tally.retries += 1
  } else if (isOver(event)) {
    const { _tag, unit } = event
    active.delete(unit)
    if (_tag === 'StepCompleted' && isTop(unit)) done.add(event.stepIndex)
    if ((_tag === 'StepCompleted' || _tag === 'StepFailed') && isTask(run, unit))
      tally.ends.set(unit, _tag === 'StepCompleted' ? 'completed' : 'failed')
  }
}

/** Detects a unit that does work or waits; a sub-step has no definition. */
const isTask = ({ steps }: LiveRun, unit: Unit): boolean => {
  const definition = definitionAt<StepEntry>({ steps }, unit)
  return definition !== undefined && !isComposite(definition)
}

/** The path of a unit below its wave. */
export const below = (wave: Wave | undefined, unit: Unit): string =>
  wave !== undefined && isWithin(unit, wave.unit) ? unit.slice(wave.unit.length + 1) : unit

/** The wide wave that is reported in place of a unit in it. */
export const wideWave = ({ verbose, waves }: LiveRun, { unit }: Pick<EventUnit, 'unit'>): Wave | undefined => {
  const wave = waves.around(unit)
  return !verbose && wave !== undefined && WavesOf.isWide(wave) ? wave : undefined
}
