/** Counts the completed groups of each wave and map of a live run. There may be thousands. */
import { definitionAt } from '../../domain/workflow/Node.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { ancestors, parent, top } from '../../domain/workflow/Unit.js'
import type { Event } from '../../ports/Events.js'
import type { StepEntry } from '../workflow/WorkflowFile.js'
import { grouped } from '../../view/text.js'

/** A wave with more groups is reported as one, not group by group. */
export const WIDE = 20

/** The number of retries and failures of a wide wave that are printed while it runs. */
export const MAX_TROUBLES = 10

/** The minimum time between two progress lines of a wave. */
const QUIET_MILLIS = 2_000

/** A wave or map, and the number of its completed groups; `total` of a map is unknown until its items are. */
export interface Wave {
  readonly unit: Unit
  readonly done: number
  readonly total: number | undefined
}

/**
 * The waves and maps of a run, as far as the followed events say.
 *
 * - `at`: the wave or map at a path.
 * - `around`: the outermost wide wave around a unit, else the outermost one.
 * - `isDue`: true at most once for each tenth of its groups, and not in quick succession.
 * - `isNew`: true for the first call only.
 * - `trouble`: counts a retry or failure, and returns the count.
 */
export interface Waves {
  readonly follow: (event: Event) => void
  readonly at: (unit: Unit) => Wave | undefined
  readonly around: (unit: Unit) => Wave | undefined
  readonly isDue: (wave: Wave) => boolean
  readonly isNew: (wave: Wave) => boolean
  readonly trouble: (wave: Wave) => number
}

/** A wave, and what was printed about it. */
interface Reported extends Wave {
  done: number
  total: number | undefined
  isReported: boolean
  troubles: number
  tenth: number
  since: number
}

/** The waves and maps among these steps. */
export const make = (steps: ReadonlyArray<StepEntry>, now: () => number): Waves => {
  const known = new Map<Unit, Reported | undefined>()
  const at = (unit: Unit | undefined): Reported | undefined => {
    if (unit === undefined) return undefined
    if (!known.has(unit)) known.set(unit, begun(steps, unit, now()))
    return known.get(unit)
  }
  const follow = (event: Event): void => {
    if (event._tag === 'RunPlanned') {
      for (const { _tag, unit } of event.plan.decisions) {
        const wave = at(parent(unit))
        if (wave === undefined) continue
        if (definitionAt({ steps }, wave.unit)?._tag === 'Map') wave.total = (wave.total ?? 0) + 1
        if (_tag === 'Skip') wave.done += 1
      }
      for (const wave of known.values()) if (wave !== undefined) wave.tenth = tenthOf(wave)
    } else if (event._tag === 'WaveRestarted') {
      const again = new Set(steps.slice(event.stepIndex).map(({ name }) => name))
      for (const unit of [...known.keys()]) if (again.has(top(unit))) known.delete(unit)
    } else if (event._tag === 'MapExpanded') {
      const wave = at(event.unit)
      if (wave !== undefined) wave.total = event.items
    } else if (event._tag === 'StepCompleted') {
      const wave = at(parent(event.unit))
      if (wave !== undefined) wave.done += 1
    }
  }
  return {
    follow,
    at,
    around: (unit) => {
      const all = [...ancestors(unit)].flatMap((one) => at(one) ?? []).reverse()
      return all.find(isWide) ?? all[0]
    },
    isDue: ({ unit }) => {
      const wave = at(unit)
      if (wave === undefined || wave.done === wave.total) return false
      const tenth = tenthOf(wave)
      const time = now()
      if (tenth <= wave.tenth || time - wave.since < QUIET_MILLIS) return false
      wave.tenth = tenth
      wave.since = time
      return true
    },
    isNew: ({ unit }) => {
      const wave = at(unit)
      if (wave === undefined || wave.isReported) return false
      wave.isReported = true
      return true
    },
    trouble: ({ unit }) => {
      const wave = at(unit)
      return wave === undefined ? 0 : ++wave.troubles
    }
  }
}

const begun = (steps: ReadonlyArray<StepEntry>, unit: Unit, since: number): Reported | undefined => {
  const step = definitionAt({ steps }, unit)
  if (step?._tag !== 'Wave' && step?._tag !== 'Map') return undefined
  const total = step._tag === 'Wave' ? step.groups.length : undefined
  return { unit, done: 0, total, isReported: false, troubles: 0, tenth: 0, since }
}

/** Detects a wave that is reported as one, without its groups. */
export const isWide = ({ total = 0 }: Wave): boolean => total > WIDE

const tenthOf = ({ done, total }: Wave): number =>
  total === undefined || total === 0 ? 10 : Math.floor((10 * done) / total)

/** The completed groups of a wave: `3/10 groups`. */
export const countOf = ({ done, total = 0 }: Wave): string => `${grouped(done)}/${grouped(total)} groups`
