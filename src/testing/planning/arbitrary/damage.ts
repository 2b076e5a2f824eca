/** Checkpoints with one thing changed, as a bad disk, a bad merge or an editor leaves them. */
import * as fc from 'fast-check'
import { encode } from '../../../domain/checkpoint/CheckpointCodec.js'
import type { Json, JsonObject } from '../../../domain/data/Json.js'
import type { Workflow } from '../../../domain/workflow/Workflow.js'
import type { RunsOf } from './runs.js'
import { run } from './runs.js'
import type { SimulatedRun } from './RunRecorder.js'

/** Objects like those that people write. */
const PLAIN = { noNullPrototype: true } as const

/**
 * An encoded checkpoint with one thing changed: at `path` (keys, and indices as text) `now` stands for `was`. `now` is absent if
 * what was there was taken out, or in a list doubled (`doubled`).
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

/** How a value is changed: a replacement, taken out, or doubled. */
const change = fc.oneof(
  { weight: 4, arbitrary: fc.record({ now: fc.constantFrom(...REPLACEMENTS) }, PLAIN) },
  { weight: 1, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.constant({ doubled: true as const }) }
)

/**
 * A checkpoint that a run can reach, encoded, with one thing changed in it. It may be one that no run can reach, or none at all:
 * `CheckpointCodec.decode` says so, or the planner does; neither throws.
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

/** The same, with the workflow that was in force. */
export const damagedMoment = (
  of: RunsOf = {}
): fc.Arbitrary<{ readonly damaged: Damaged; readonly workflow: Workflow }> =>
  fc.tuple(run(of), fc.nat(), change).map(([{ checkpoint, workflow }, where, by]: [SimulatedRun, number, ByChange]) => {
    const whole = JSON.parse(JSON.stringify(encode(checkpoint))) as Json
    const found = pathAt(whole, where)
    const at = (keys: ReadonlyArray<string>): Json =>
      keys.reduce<Json>((value, key) => (value as JsonObject)[key] as Json, whole)
    // Only what is in a list can be there twice.
    const depth = found.findLastIndex((_, index) => Array.isArray(at(found.slice(0, index))))
    const isDoubled = by.doubled === true && depth >= 0
    const path = isDoubled ? found.slice(0, depth + 1) : found
    const how: ByChange = by.doubled === true && !isDoubled ? {} : by
    return { damaged: { content: changed(whole, path, how), path, was: at(path), ...how }, workflow }
  })

/** Half of the time one of all paths; most of them are in records, so else one of a property that is chosen first. */
const pathAt = (whole: Json, where: number): ReadonlyArray<string> => {
  const keys = Object.keys(whole as JsonObject)
  const nth = Math.floor(where / 2)
  const key = keys[nth % keys.length]
  const paths = pathsIn(whole).filter(([first]) => where % 2 === 0 || first === key)
  return paths[Math.floor(where % 2 === 0 ? nth : nth / keys.length) % paths.length] as ReadonlyArray<string>
}

/** The paths of all values in a value, but that of the whole. */
const pathsIn = (value: Json, path: ReadonlyArray<string> = []): ReadonlyArray<ReadonlyArray<string>> =>
  typeof value === 'object' && value !== null
    ? Object.keys(value).flatMap((key) => [
        [...path, key],
        ...pathsIn((value as JsonObject)[key] as Json, [...path, key])
      ])
    : []

type ByChange = { readonly now?: Json; readonly doubled?: true }

const changed = (value: Json, [key = '', ...rest]: ReadonlyArray<string>, by: ByChange): Json => {
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
