/** What units may give: outputs that their tasks accept. */
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import type { Items } from '../../../domain/checkpoint/Items.js'
import { none } from '../../../domain/checkpoint/Items.js'
import type { Json, JsonObject } from '../../../domain/data/Json.js'
import { isObject } from '../../../domain/data/Json.js'
import type { Answer } from '../../../domain/plan/Plan.js'
import type { OutputMismatch, Task, Workflow } from '../../../domain/workflow/Workflow.js'
import { tasks } from '../../../domain/workflow/Workflow.js'
import type { Choices } from './Choices.js'
import { unitsIn, wholeOf } from './tree.js'

/** Outputs that a task accepts, `undefined` for none. */
export type Samples = (task: Task, unit: string) => ReadonlyArray<Json | undefined>

/**
 * What the units of a workflow give, by their paths; `*` stands for the key of an item. For those that are not named outputs are
 * tried until some are accepted.
 *
 * @category model
 */
export type Outputs = Readonly<Record<string, fc.Arbitrary<Json | undefined>>>

const USUAL: ReadonlyArray<Json | undefined> = [7, null, 'text', { n: 1 }, undefined, [], false, { ['__proto__']: [1] }]

/** Outputs of every kind, of which a task accepts some; else one that is built by what the task says is missing. */
export const defaultSamples: Samples = (task) => {
  const fit = USUAL.filter((output) => accepts(task, output))
  return fit.length > 0 ? fit : built(task)
}

/**
 * Samples of these arbitraries (30 of each, the same each time), where the task accepts them. A task that bears another name
 * since the workflow was edited is given any of them that it accepts.
 */
export const samplesOf = (outputs: Outputs): Samples => {
  const given = new Map(Object.entries(outputs).map(([unit, of]) => [unit, fc.sample(of, { numRuns: 30, seed: 1 })]))
  const all = [...given.values()].flat()
  return (task, unit) => {
    const fit = (given.get(unit) ?? given.get(inAnyItem(unit)) ?? []).filter((output) => accepts(task, output))
    if (fit.length > 0) return fit
    const usual = defaultSamples(task, unit)
    return usual.length > 0 ? usual : all.filter((output) => accepts(task, output))
  }
}

/** The place of a unit, whatever the item that it belongs to. */
const inAnyItem = (unit: string): string => unit.replace(/\/item-\d+(?=\/|$)/g, '/*').replace(/\/\*$/, '')

const accepts = (task: Task, output: Json | undefined): boolean => E.isRight(judge(task, output))

/** A task that throws at an output does not accept it. */
const judge = (task: Task, output: Json | undefined): ReturnType<Task['accepts']> => {
  try {
    return task.accepts(output)
  } catch {
    return E.left({ path: '$', expected: '' })
  }
}

/** One of the outputs that a task accepts. `must`: not nothing. */
export const outputOf = (
  samples: Samples,
  task: Task,
  unit: string,
  choices: Choices,
  must: boolean
): Json | undefined => {
  const fit = samples(task, unit).filter((output) => !(must && output === undefined))
  return fit[choices.below(Math.max(1, fit.length))]
}

/** "It is done", with an output that the task accepts; "again" if there is none and its variables need one. */
export const doneAnswer = (samples: Samples, task: Task, unit: string, choices: Choices): Answer => {
  const must = task.captures.length > 0
  const output = outputOf(samples, task, unit, choices, must)
  if (output !== undefined) return { _tag: 'Done', output }
  return must || !accepts(task, undefined) ? { _tag: 'Again' } : { _tag: 'Done' }
}

/** The tasks of a workflow, by their paths. A map is one until its items are on record. */
export const taskUnits = (workflow: Workflow, items: Items = none): ReadonlyMap<string, Task> =>
  new Map(
    unitsIn(workflow, items).flatMap(({ unit, step }) => {
      if (step._tag === 'Task') return [[unit, step] as const]
      return step._tag === 'Map' && !items.has(unit) ? [[unit, wholeOf(step)] as const] : []
    })
  )

/** The units for which no output is known that they accept. */
export const withoutSample = ({ steps }: Workflow, samples: Samples): ReadonlyArray<string> =>
  tasks(steps)
    .filter(({ task, place }) => samples(task, place).length === 0)
    .map(({ place }) => place)

const BUILT = new WeakMap<Task['accepts'], ReadonlyArray<Json>>()

/** An output put together from what a task says is missing where, if that leads to one that it accepts. */
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
    const judged = judge(task, value)
    if (E.isRight(judged)) return value
    const better = improved(task, value, judged.left)
    if (better === undefined) return undefined
    value = better
  }
  return undefined
}

/** The value with another piece where one is wrong, so that it is accepted or wrong somewhere else. */
const improved = (task: Task, value: Json, { path, expected }: OutputMismatch): Json | undefined => {
  const place = [...path.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\["([^"]*)"\]/g)].map(([, a, b, c]) => a ?? b ?? c ?? '')
  for (const piece of [...literalsIn(expected), ...PIECES]) {
    const next = put(value, place, piece)
    const judged = judge(task, next)
    if (E.isRight(judged) || judged.left.path !== path) return next
  }
  return undefined
}

/** `"beta" | "stable"` names its values. */
const literalsIn = (expected: string): ReadonlyArray<Json> =>
  expected.split('|').flatMap((part) => {
    const parsed = E.tryCatch(
      () => JSON.parse(part.replace(/^[\s(]+|[\s)]+$/g, '')) as Json,
      () => undefined
    )
    return E.isRight(parsed) ? [parsed.right] : []
  })

const put = (value: Json, [key, ...rest]: ReadonlyArray<string>, piece: Json): Json => {
  if (key === undefined) return piece
  if (Array.isArray(value)) {
    const list = value as ReadonlyArray<Json>
    return list.map((one, index) => (index === Number(key) ? put(one, rest, piece) : one))
  }
  const whole: JsonObject = isObject(value) ? value : {}
  return Object.fromEntries([...Object.entries(whole), [key, put(whole[key] ?? {}, rest, piece)]])
}
