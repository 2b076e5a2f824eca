/** Finds outputs that tasks accept. */
import * as A from 'fp-ts/lib/ReadonlyArray.js'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import type { Json, JsonObject } from '../../../domain/data/Json.js'
import { fromUnknown, isObject } from '../../../domain/data/Json.js'
import { plainJson } from '../../../domain/data/Malformed.js'
import { likeliest } from '../../../domain/data/Suggestion.js'
import type { OutputMismatch, Task, Workflow } from '../../../domain/workflow/Workflow.js'
import { tasks } from '../../../domain/workflow/Workflow.js'

/** Returns outputs that a task accepts; `undefined` stands for no output. */
export type Samples = (task: Task, unit: string) => ReadonlyArray<Json | undefined>

/**
 * The possible outputs of units by their paths; `*` stands for the key of an item. Units that are not named get outputs
 * that their task accepts, found by trial.
 *
 * @category model
 */
export type Outputs = Readonly<Record<string, fc.Arbitrary<Json | undefined>>>

const USUAL: ReadonlyArray<Json | undefined> = [7, null, 'text', { n: 1 }, undefined, [], false, { ['__proto__']: [1] }]

/** Common values that the task accepts, or one built from the mismatches that it reports. */
export const defaultSamples: Samples = (task) => {
  const accepted = USUAL.filter((output) => accepts(task, output))
  return accepted.length > 0 ? accepted : built(task)
}

/** Returns the accepted ones of thirty fixed samples of the unit's arbitrary, or of common values; if there are none, samples of any unit. */
export const samplesOf = (outputs: Outputs = {}): Samples => {
  const given = new Map(Object.entries(outputs).map(([unit, of]) => [unit, fc.sample(of, { numRuns: 30, seed: 1 })]))
  const all = [...given.values()].flat()
  return (task, unit) => {
    const accepted = (given.get(unit) ?? given.get(inAnyItem(unit)) ?? []).filter((output) => accepts(task, output))
    if (accepted.length > 0) return accepted
    const usual = defaultSamples(task, unit)
    return usual.length > 0 ? usual : all.filter((output) => accepts(task, output))
  }
}

const inAnyItem = (unit: string): string => unit.replace(/\/item-\d+(?=\/|$)/g, '/*').replace(/\/\*$/, '')

export const accepts = (task: Task, output: Json | undefined): boolean => E.isRight(tryAccepts(task, output))

/** An `accepts` that throws does not accept the output. */
const tryAccepts = (task: Task, output: Json | undefined): ReturnType<Task['accepts']> =>
  E.flatten(
    E.tryCatch(
      () => task.accepts(output),
      () => ({ path: '$', expected: '' })
    )
  )

/** Describes the outputs whose path is that of no task, or whose arbitrary throws or yields what is not JSON. */
export const outputProblems = ({ steps }: Workflow, outputs: Outputs = {}): ReadonlyArray<string> => {
  const places = tasks(steps).map(({ place }) => place)
  return Object.entries(outputs).flatMap(([unit, of]) => {
    const sampled = E.tryCatch(() => fc.sample(of, { numRuns: 30, seed: 1 }), E.toError)
    if (E.isLeft(sampled)) return [`the arbitrary of "${unit}" in \`outputs\` threw: ${sampled.left.message}; fix it`]
    const [notJson] = A.lefts(
      sampled.right.filter((output) => output !== undefined).map((output) => fromUnknown(output))
    )
    if (notJson !== undefined) return [`the arbitrary of "${unit}" in \`outputs\` must yield ${plainJson(notJson)}`]
    if (places.includes(unit) || places.includes(inAnyItem(unit))) return []
    const meant = likeliest(unit, places)
    const remedy = meant === undefined ? `the tasks are ${places.join(', ')}` : `did you mean "${meant}"?`
    return [`\`outputs\` names "${unit}", which is no task; ${remedy}`]
  })
}

/** The units for which no accepted output is known. */
export const withoutSample = ({ steps }: Workflow, samples: Samples): ReadonlyArray<string> =>
  tasks(steps)
    .filter(({ task, place }) => samples(task, place).length === 0)
    .map(({ place }) => place)

/** The units whose `accepts` throws for a common value, or for one of the given outputs. */
export const thrownBy = (
  { steps }: Workflow,
  outputs: Outputs = {}
): ReadonlyArray<{ readonly unit: string; readonly why: string }> => {
  const given = Object.values(outputs).flatMap((of) => fc.sample(of, { numRuns: 30, seed: 1 }))
  return tasks(steps).flatMap(({ task, place }) => {
    for (const output of [...USUAL, ...given]) {
      const tried = E.tryCatch(() => task.accepts(output), E.toError)
      if (E.isLeft(tried)) return [{ unit: place, why: tried.left.message }]
    }
    return []
  })
}

const BUILT = new WeakMap<Task['accepts'], ReadonlyArray<Json>>()

/** Builds an output from the mismatches that a task reports. */
const built = (task: Task): ReadonlyArray<Json> => {
  const known = BUILT.get(task.accepts)
  if (known !== undefined) return known
  const found = build(task)
  const all = found === undefined ? [] : [found]
  BUILT.set(task.accepts, all)
  return all
}

const PIECES: ReadonlyArray<Json> = ['text', 7, true, null, {}, [], '2026-01-02T03:04:05.000Z', '0'.repeat(64)]

const build = (task: Task): Json | undefined => {
  let value: Json = {}
  for (let changes = 0; changes < 200; changes++) {
    const judged = tryAccepts(task, value)
    if (E.isRight(judged)) return value
    const better = improved(task, value, judged.left)
    if (better === undefined) return undefined
    value = better
  }
  return undefined
}

/** Replaces the part that does not match, so that the value is accepted or another part does not match; undefined if no replacement does that. */
const improved = (task: Task, value: Json, { path, expected }: OutputMismatch): Json | undefined => {
  const place = [...path.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\["([^"]*)"\]/g)].map(([, a, b, c]) => a ?? b ?? c ?? '')
  for (const piece of [...literalsIn(expected), ...PIECES]) {
    const next = replacedAt(value, place, piece)
    const judged = tryAccepts(task, next)
    if (E.isRight(judged) || judged.left.path !== path) return next
  }
  return undefined
}

/** A type such as `"beta" | "stable"` names its values. */
const literalsIn = (expected: string): ReadonlyArray<Json> =>
  expected.split('|').flatMap((part) => {
    const parsed = E.tryCatch(
      () => JSON.parse(part.replace(/^[\s(]+|[\s)]+$/g, '')) as Json,
      () => undefined
    )
    return E.isRight(parsed) ? [parsed.right] : []
  })

const replacedAt = (value: Json, [key, ...rest]: ReadonlyArray<string>, piece: Json): Json => {
  if (key === undefined) return piece
  if (Array.isArray(value)) {
    const list = value as ReadonlyArray<Json>
    return list.map((one, index) => (index === Number(key) ? replacedAt(one, rest, piece) : one))
  }
  const whole: JsonObject = isObject(value) ? value : {}
  return Object.fromEntries([...Object.entries(whole), [key, replacedAt(whole[key] ?? {}, rest, piece)]])
}
