/** Checkpoints with one random change, as left by a bad disk, a bad merge or an editor. */
import * as fc from 'fast-check'
import { encode } from '../../../domain/checkpoint/CheckpointCodec.js'
import type { Json, JsonObject } from '../../../domain/data/Json.js'
import type { Workflow } from '../../../domain/workflow/Workflow.js'
import { plainObject } from '../../arbitraryObjects.js'
import type { RunsOf } from './runs.js'
import { run } from './runs.js'
import type { SimulatedRun } from './RunRecorder.js'

/**
 * An encoded checkpoint with one change. `path`: the keys and indices of the changed value. `was`: the value before.
 * `now`: its replacement; absent if the value was deleted or, in an array, duplicated (`doubled`).
 *
 * @category model
 */
export interface Damaged {
  readonly content: Json
  readonly path: ReadonlyArray<string>
  readonly was: Json
  readonly now?: Json
  readonly doubled?: true
}

const REPLACEMENTS: ReadonlyArray<Json> = [
  null,
  '',
  'x',
  -1,
  0.5,
  7,
  1e308,
  true,
  [],
  {},
  [null],
  { _tag: 'Unknown' },
  { _tag: 'constructor' },
  { _tag: 'Completed' },
  JSON.parse('{"__proto__":null,"length":1}') as Json
]

const change = fc.oneof(
  { weight: 4, arbitrary: plainObject({ now: fc.constantFrom(...REPLACEMENTS) }) },
  { weight: 1, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.constant({ doubled: true as const }) }
)

/**
 * A reachable checkpoint, encoded, with one random change. `CheckpointCodec.decode` may refuse it, and so may the
 * planner; neither throws.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import * as fc from 'fast-check'
 * import { CheckpointCodec, planResume, Workflow } from 'dogear'
 * import { Arbitrary } from 'dogear/testing'
 *
 * const workflow = { name: 'release', steps: [Workflow.task('build'), Workflow.task('publish')] }
 * fc.assert(
 *   fc.property(Arbitrary.damagedCheckpoint({ workflow }), ({ content }) => {
 *     const decoded = CheckpointCodec.decode(content)
 *     if (E.isRight(decoded)) planResume(decoded.right, workflow)
 *   })
 * )
 *
 * @category arbitraries
 */
export const damagedCheckpoint = (of: RunsOf = {}): fc.Arbitrary<Damaged> =>
  damagedMoment(of).map(({ damaged }) => damaged)

export const damagedMoment = (
  of: RunsOf = {}
): fc.Arbitrary<{ readonly damaged: Damaged; readonly workflow: Workflow }> =>
  fc.tuple(run(of), fc.nat(), change).map(([{ checkpoint, workflow }, where, by]: [SimulatedRun, number, Damage]) => {
    const whole = JSON.parse(JSON.stringify(encode(checkpoint))) as Json
    const found = pathAt(whole, where)
    const at = (keys: ReadonlyArray<string>): Json =>
      keys.reduce<Json>((value, key) => (value as JsonObject)[key] as Json, whole)
    // Only array elements can be duplicated.
    const depth = found.findLastIndex((_, index) => Array.isArray(at(found.slice(0, index))))
    const isDoubled = by.doubled === true && depth >= 0
    const path = isDoubled ? found.slice(0, depth + 1) : found
    const how: Damage = by.doubled === true && !isDoubled ? {} : by
    return { damaged: { content: changed(whole, path, how), path, was: at(path), ...how }, workflow }
  })

/** Half of the time any path, else one below a top-level key, because most paths are in records. */
const pathAt = (whole: Json, where: number): ReadonlyArray<string> => {
  const keys = Object.keys(whole as JsonObject)
  const nth = Math.floor(where / 2)
  const key = keys[nth % keys.length]
  const paths = pathsIn(whole).filter(([first]) => where % 2 === 0 || first === key)
  return paths[Math.floor(where % 2 === 0 ? nth : nth / keys.length) % paths.length] as ReadonlyArray<string>
}

const pathsIn = (value: Json, path: ReadonlyArray<string> = []): ReadonlyArray<ReadonlyArray<string>> =>
  typeof value === 'object' && value !== null
    ? Object.keys(value).flatMap((key) => [
        [...path, key],
        ...pathsIn((value as JsonObject)[key] as Json, [...path, key])
      ])
    : []

type Damage = { readonly now?: Json; readonly doubled?: true }

const changed = (value: Json, [key = '', ...rest]: ReadonlyArray<string>, by: Damage): Json => {
  const entries = Object.entries(value as JsonObject).flatMap(([name, one]): ReadonlyArray<readonly [string, Json]> => {
    if (name !== key) return [[name, one]]
    if (rest.length > 0) return [[name, changed(one, rest, by)]]
    if (by.now !== undefined) return [[name, by.now]]
    return by.doubled === true && Array.isArray(value)
      ? [
          [name, one],
          [name, one]
        ]
      : []
  })
  return Array.isArray(value) ? entries.map(([, one]) => one) : Object.fromEntries(entries)
}
