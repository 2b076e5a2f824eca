/** Counts the completed groups of each wave and map of a live run. There may be thousands. */
import { definitionAt } from '../../domain/workflow/Node.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { ancestors, parent, top } from '../../domain/workflow/Unit.js'
import type { Event } from '../../ports/Events.js'
import type { StepEntry } from '../workflow/WorkflowFile.js'
import { grouped } from '../../view/text.js'

/** A wave with more groups is reported as one, not group by group. */
const WIDE = 20

/** The number of retries and failures of a wide wave that are printed while it runs. */
export const MAX_TROUBLES = 10

/** The minimum time between two progress lines of a wave. */
const QUIET_MILLIS = 2_000

/** A wave or map: its completed groups, and what was printed (`reportedTenth`, `reportedAt`). A map's `total` is unknown until its items are. */
export interface Wave {
  readonly unit: Unit
  done: number
  total: number | undefined
  isReported: boolean
  troubles: number
  reportedTenth: number
  reportedAt: number
}

/** The waves and maps of a run, as far as the followed events say. `around`: the outermost wide one around a unit, else the outermost one. */
export interface Waves {
  readonly follow: (event: Event) => void
  readonly at: (unit: Unit) => Wave | undefined
  readonly around: (unit: Unit) => Wave | undefined
}

/** The waves and maps among these steps. */
export const make = (steps: ReadonlyArray<StepEntry>, now: () => number): Waves => {
  const known = new Map<Unit, Wave | undefined>()
  const at = (unit: Unit | undefined): Wave | undefined => {
    if (unit === undefined) return undefined
    if (!known.has(unit)) known.set(unit, waveAt(steps, unit, now()))
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
      for (const wave of known.values()) if (wave !== undefined) wave.reportedTenth = tenthOf(wave)
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
    }
  }
}

/** Marks progress as reported; true at most once for each tenth of the groups, and not in quick succession. */
export const markProgress = (wave: Wave, time: number): boolean => {
  const tenth = tenthOf(wave)
  if (wave.done === wave.total || tenth <= wave.reportedTenth || time - wave.reportedAt < QUIET_MILLIS) return false
  wave.reportedTenth = tenth
  wave.reportedAt = time
  return true
}

const waveAt = (steps: ReadonlyArray<StepEntry>, unit: Unit, now: number): Wave | undefined => {
  const step = definitionAt({ steps }, unit)
  if (step?._tag !== 'Wave' && step?._tag !== 'Map') return undefined
  const total = step._tag === 'Wave' ? step.groups.length : undefined
  return { unit, done: 0, total, isReported: false, troubles: 0, reportedTenth: 0, reportedAt: now }
}

/** Detects a wave that is reported as one, without its groups. */
export const isWide = ({ total = 0 }: Wave): boolean => total > WIDE

const tenthOf = ({ done, total }: Wave): number =>
  total === undefined || total === 0 ? 10 : Math.floor((10 * done) / total)

/** The completed groups of a wave: `3/10 groups`. */
export const countOf = ({ done, total = 0 }: Wave): string => `${grouped(done)}/${grouped(total)} groups`
