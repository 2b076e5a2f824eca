/** Counts the completed groups of each wave and map while it runs, and what was printed about it. There may be thousands. */
import type { ResumePlan } from '../../domain/plan/Plan.js'
import { definitionAt } from '../../domain/workflow/Node.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { ancestors, parent, top } from '../../domain/workflow/Unit.js'
import type { StepEntry } from '../workflow/WorkflowFile.js'
import { grouped } from './progress.js'

/** A wave with more groups is reported as one, not group by group. */
export const WIDE = 20

/** The number of retries and failures of a wide wave that are printed while it runs. */
export const MAX_TROUBLES = 10

/** How long nothing more is said of a wave's progress. */
const QUIET_MILLIS = 2_000

/** A wave or map, and the number of its completed groups; those of a map are unknown until it is due. */
export interface Wave {
  readonly unit: Unit
  readonly done: number
  readonly total: number | undefined
}

/**
 * The waves and maps of a run.
 *
 * - `planned` adds the groups that are already done, `completed` one more, `expanded` the number of a map's items; `wentBack`
 *   resets this top-level step and all later ones.
 * - `around`: the wave or map that a unit is reported with: the outermost wide one around it, else the outermost one.
 * - `isDue`: whether to say how many are done: at most once for each tenth of them, and after a pause.
 * - `isNew`: whether nothing was said of this wave yet. Asking makes it old.
 * - `trouble`: how many retries and failures there were, with this one.
 */
export interface Waves {
  readonly planned: (plan: ResumePlan) => void
  readonly expanded: (map: Unit, items: number) => void
  readonly completed: (unit: Unit) => void
  readonly wentBack: (stepIndex: number) => void
  readonly around: (unit: Unit) => Wave | undefined
  readonly isDue: (wave: Wave) => boolean
  readonly isNew: (wave: Wave) => boolean
  readonly trouble: (wave: Wave) => number
}

/** A wave, and what was said of it. */
interface Told extends Wave {
  done: number
  total: number | undefined
  told: boolean
  troubles: number
  tenth: number
  since: number
}

/** The waves and maps among these steps. */
export const make = (steps: ReadonlyArray<StepEntry>, now: () => number): Waves => {
  const known = new Map<Unit, Told | undefined>()
  const at = (unit: Unit): Told | undefined => {
    if (!known.has(unit)) known.set(unit, begun(steps, unit, now()))
    return known.get(unit)
  }
  const around = (unit: Unit): Told | undefined => {
    const all = [...ancestors(unit)].flatMap((one) => at(one) ?? []).reverse()
    return all.find(isWide) ?? all[0]
  }
  const saidOf = ({ unit }: Wave): Told | undefined => at(unit)
  return {
    planned: ({ decisions }) => {
      for (const { _tag, unit } of decisions) {
        const of = parent(unit)
        const wave = of === undefined ? undefined : at(of)
        if (wave === undefined) continue
        if (definitionAt({ steps }, wave.unit)?._tag === 'Map') wave.total = (wave.total ?? 0) + 1
        if (_tag === 'Skip') wave.done += 1
      }
      for (const wave of known.values()) if (wave !== undefined) wave.tenth = tenthOf(wave)
    },
    expanded: (map, items) => {
      const wave = at(map)
      if (wave !== undefined) wave.total = items
    },
    completed: (unit) => {
      const of = parent(unit)
      const wave = of === undefined ? undefined : at(of)
      if (wave !== undefined) wave.done += 1
    },
    wentBack: (from) => {
      const again = new Set(steps.slice(from).map(({ name }) => name))
      for (const unit of [...known.keys()]) if (again.has(top(unit))) known.delete(unit)
    },
    around,
    isDue: (of) => {
      const wave = saidOf(of)
      if (wave === undefined || wave.done === wave.total) return false
      const tenth = tenthOf(wave)
      const time = now()
      if (tenth <= wave.tenth || time - wave.since < QUIET_MILLIS) return false
      wave.tenth = tenth
      wave.since = time
      return true
    },
    isNew: (of) => {
      const wave = saidOf(of)
      if (wave === undefined || wave.told) return false
      wave.told = true
      return true
    },
    trouble: (of) => {
      const wave = saidOf(of)
      if (wave === undefined) return 0
      wave.troubles += 1
      return wave.troubles
    }
  }
}

const begun = (steps: ReadonlyArray<StepEntry>, unit: Unit, since: number): Told | undefined => {
  const step = definitionAt({ steps }, unit)
  if (step?._tag !== 'Wave' && step?._tag !== 'Map') return undefined
  const total = step._tag === 'Wave' ? step.groups.length : undefined
  return { unit, done: 0, total, told: false, troubles: 0, tenth: 0, since }
}

/** Whether the wave is reported as one, without its groups. */
export const isWide = ({ total = 0 }: Wave): boolean => total > WIDE

const tenthOf = ({ done, total }: Wave): number =>
  total === undefined || total === 0 ? 10 : Math.floor((10 * done) / total)

/** How many groups of a wave are done, in words: `3/10 groups`. */
export const countOf = ({ done, total = 0 }: Wave): string => `${grouped(done)}/${grouped(total)} groups`
