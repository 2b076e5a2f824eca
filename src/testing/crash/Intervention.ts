/**
 * What somebody does between two processes of a run.
 *
 * @since 0.1.0
 */
import * as fc from 'fast-check'
import { tasks } from '../../domain/Workflow.js'
import type { Workflow } from '../../domain/Workflow.js'

/** Objects like those that people write. */
const PLAIN = { noNullPrototype: true } as const

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The process with the number `life` (from 1) is told to run everything from this step on, and to take what comes before as
 * done (with its output of the undisturbed run).
 *
 * @category model
 * @since 0.1.0
 */
export interface FromStep {
  readonly _tag: 'FromStep'
  readonly life: number
  readonly step: string
}

/**
 * The process with the number `life` (from 1) is told to run all groups of this wave, and everything after it.
 *
 * @category model
 * @since 0.1.0
 */
export interface RestartWave {
  readonly _tag: 'RestartWave'
  readonly life: number
  readonly wave: string
}

/**
 * Before the process with the number `life` (from 1) starts, the files and commits vanish that are evidence of this unit (`step`
 * or `step/group`; the name of a wave for what it leaves as a whole). Nothing happens if it is not recorded or left none.
 *
 * @category model
 * @since 0.1.0
 */
export interface Gone {
  readonly _tag: 'Gone'
  readonly life: number
  readonly unit: string
}

/**
 * What a process is told. Only that process is: those after it resume plainly, as after a crash in the middle of it.
 *
 * @category model
 * @since 0.1.0
 */
export type Override = FromStep | RestartWave

/**
 * What somebody does between two processes.
 *
 * @category model
 * @since 0.1.0
 */
export type Intervention = Override | Gone

// ---------------------------------------------------------------------------------------------------------------------
// destructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * An intervention in words: `process 2 is told to start from pack`.
 *
 * @example
 * import { describeIntervention } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const told = describeIntervention({ _tag: 'FromStep', life: 2, step: 'pack' })
 * assert.equal(told, 'process 2 is told to start from pack')
 *
 * @category destructors
 * @since 0.1.0
 */
export const describeIntervention = (one: Intervention): string => {
  switch (one._tag) {
    case 'FromStep':
      return `process ${one.life} is told to start from ${one.step}`
    case 'RestartWave':
      return `process ${one.life} is told to restart ${one.wave}`
    case 'Gone':
      return `before process ${one.life} what ${one.unit} left vanishes`
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// arbitraries
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Arbitrary interventions in the first `maxLives` (3) processes of a run of this workflow: at most one override for each process,
 * from no step behind a map, and up to two units whose evidence vanishes, of those that are named in `leaving`, by default any. They shrink towards none.
 *
 * @example
 * import * as fc from 'fast-check'
 * import { Workflow } from 'dogear'
 * import { describeIntervention, interventions } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const release = { name: 'release', steps: [Workflow.task('build'), Workflow.task('publish')] }
 * fc.assert(
 *   fc.property(interventions(release, { maxLives: 3 }), (all) => {
 *     assert.ok(all.every(({ life }) => life <= 3))
 *     assert.ok(all.every((one) => describeIntervention(one) !== ''))
 *   })
 * )
 *
 * @category arbitraries
 * @since 0.1.0
 */
export const interventions = (
  { steps }: Workflow,
  { maxLives = 3, leaving }: { readonly maxLives?: number; readonly leaving?: ReadonlyArray<string> } = {}
): fc.Arbitrary<ReadonlyArray<Intervention>> => {
  const life = fc.integer({ min: 1, max: maxLives })
  const waves = steps.filter(({ _tag }) => _tag !== 'Task').map(({ name }) => name)
  const units = steps.flatMap((step) =>
    step._tag === 'Task' ? [step.name] : [step.name, ...tasks(step).map(({ name }) => `${step.name}/${name}`)]
  )
  // From behind a map whose items nobody knows yet a run would end otherwise: nothing can be said of what they gave.
  const map = steps.findIndex(({ _tag }) => _tag === 'Map')
  const names = steps.slice(0, map < 0 ? steps.length : map + 1).map(({ name }) => name)
  const overrides: ReadonlyArray<fc.Arbitrary<Override>> = [
    fc.record({ _tag: fc.constant('FromStep' as const), life, step: fc.constantFrom(...names) }, PLAIN),
    ...(waves.length === 0
      ? []
      : [fc.record({ _tag: fc.constant('RestartWave' as const), life, wave: fc.constantFrom(...waves) }, PLAIN)])
  ]
  const gone: fc.Arbitrary<Gone> = fc.record(
    {
      _tag: fc.constant('Gone' as const),
      life,
      unit: fc.constantFrom(...(leaving === undefined || leaving.length === 0 ? units : leaving))
    },
    PLAIN
  )
  const told = fc.uniqueArray(fc.oneof(...overrides), { maxLength: 2, selector: (one) => one.life })
  return fc.tuple(told, fc.array(gone, { maxLength: 2 })).map(([some, vanished]) => [...some, ...vanished])
}
