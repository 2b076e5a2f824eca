/**
 * How many groups of each wave are done while it runs, and how much was said of it: a wave may have thousands.
 *
 * @since 0.1.0
 */
import type { ResumePlan } from '../../domain/Plan.js'
import { isTop } from '../../domain/Unit.js'
import type { StepEntry } from '../workflow/WorkflowFile.js'
import { grouped } from './progress.js'

/**
 * A wave of more groups is told of as a whole, not group by group.
 *
 * @category model
 * @since 0.1.0
 */
export const WIDE = 20

/**
 * Of a wide wave so many retries and failures are told while it runs.
 *
 * @category model
 * @since 0.1.0
 */
export const MAX_TROUBLES = 10

/** How long nothing more is said of a wave's progress. */
const QUIET_MILLIS = 2_000

/** A running wave, and the number of its completed groups. */
export interface Wave {
  readonly name: string
  readonly done: number
  readonly total: number
}

/**
 * The waves of a run. Steps are named by their index; what is no wave is undefined.
 *
 * - `planned` adds the groups that are already done, `completed` one more, `expanded` the number of a map's items; `wentBack`
 *   resets this step and all later ones.
 * - `isDue`: whether to say how many are done: at most once for each tenth of them, and after a pause.
 * - `isNew`: whether nothing was said of this wave yet. Asking makes it old.
 * - `trouble`: how many retries and failures there were, with this one.
 *
 * @category model
 * @since 0.1.0
 */
export interface Waves {
  readonly planned: (plan: ResumePlan) => void
  readonly expanded: (stepIndex: number, items: number) => void
  readonly completed: (stepIndex: number) => void
  readonly wentBack: (stepIndex: number) => void
  readonly at: (stepIndex: number) => Wave | undefined
  readonly isWide: (stepIndex: number) => boolean
  readonly isDue: (stepIndex: number) => boolean
  readonly isNew: (stepIndex: number) => boolean
  readonly trouble: (stepIndex: number) => number
}

/** A wave, and what was said of it. */
interface Told extends Wave {
  done: number
  told: boolean
  troubles: number
  tenth: number
  since: number
}

/**
 * The waves among these steps.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (steps: ReadonlyArray<StepEntry>, now: () => number): Waves => {
  const done = new Map<number, number>()
  const items = new Map<number, number>()
  const known = new Map<number, Told>()
  const at = (index: number): Told | undefined => {
    const step = steps[index]
    const total = step?._tag === 'Wave' ? step.groups.length : items.get(index)
    if (total === undefined) return undefined
    const found = known.get(index) ?? begun(steps, index, total, done.get(index) ?? 0, now())
    known.set(index, found)
    return found
  }
  return {
    planned: ({ decisions }) => {
      for (const { _tag, unit, stepIndex } of decisions) {
        if (isTop(unit)) continue
        if (steps[stepIndex]?._tag === 'Map') items.set(stepIndex, (items.get(stepIndex) ?? 0) + 1)
        if (_tag === 'Skip') done.set(stepIndex, (done.get(stepIndex) ?? 0) + 1)
      }
    },
    expanded: (stepIndex, total) => void items.set(stepIndex, total),
    completed: (index) => {
      const wave = at(index)
      if (wave !== undefined) wave.done += 1
    },
    wentBack: (from) => {
      for (const index of steps.keys()) {
        if (index < from) continue
        known.delete(index)
        done.delete(index)
      }
    },
    at,
    isWide: (index) => (at(index)?.total ?? 0) > WIDE,
    isDue: (index) => {
      const wave = at(index)
      if (wave === undefined || wave.done === wave.total) return false
      const tenth = tenthOf(wave)
      const time = now()
      if (tenth <= wave.tenth || time - wave.since < QUIET_MILLIS) return false
      wave.tenth = tenth
      wave.since = time
      return true
    },
    isNew: (index) => {
      const wave = at(index)
      if (wave === undefined || wave.told) return false
      wave.told = true
      return true
    },
    trouble: (index) => {
      const wave = at(index)
      if (wave === undefined) return 0
      wave.troubles += 1
      return wave.troubles
    }
  }
}

const begun = (steps: ReadonlyArray<StepEntry>, index: number, total: number, done: number, since: number): Told => {
  const wave = { name: steps[index]?.name ?? '', done, total }
  return { ...wave, told: false, troubles: 0, tenth: tenthOf(wave), since }
}

const tenthOf = ({ done, total }: Pick<Wave, 'done' | 'total'>): number =>
  total === 0 ? 10 : Math.floor((10 * done) / total)

/**
 * How many groups of a wave are done, in words: `3/10 groups`.
 *
 * @category destructors
 * @since 0.1.0
 */
export const countOf = ({ done, total }: Wave): string => `${grouped(done)}/${grouped(total)} groups`
