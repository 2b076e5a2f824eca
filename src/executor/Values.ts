/** The outputs and variables of units, and which units see them. */
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import type { Items } from '../domain/checkpoint/Items.js'
import type { Json } from '../domain/data/Json.js'
import { isObject } from '../domain/data/Json.js'
import type { VisibleParts } from '../domain/plan/visibleUnits.js'
import { itemsAround, levelsOf, visibleFrom } from '../domain/plan/visibleUnits.js'
import { partNamed, partNames } from '../domain/checkpoint/Tree.js'
import type { Unit } from '../domain/workflow/Unit.js'
import { join } from '../domain/workflow/Unit.js'
import type { Program, ProgramStep } from './program/Program.js'

export interface Place {
  readonly unit: Unit
  readonly stepIndex: number
}

interface Captured extends Place {
  readonly name: string
  readonly value: Json
}

/**
 * `captured`: the captured variables in the order of steps and names, by the innermost item of a map that their unit belongs to (`''`: none);
 * `capturedKeys`: the same item and the name of each, as `<item> <name>`. `hasEvidence`: a unit recorded evidence.
 */
export interface Values {
  readonly outputs: Map<Unit, Json | undefined>
  readonly captured: Map<Unit, Array<Captured>>
  readonly capturedKeys: Set<string>
  hasEvidence: boolean
}

export const make = (checkpoint: Checkpoint): Values => {
  const values: Values = { outputs: new Map(), captured: new Map(), capturedKeys: new Set(), hasEvidence: false }
  for (const record of checkpoint.completedSteps) {
    add(values, checkpoint.items, record, record.output, record.captured)
    values.hasEvidence ||= record.evidence.length > 0
  }
  return values
}

export const add = (
  values: Values,
  items: Items,
  { unit, stepIndex }: Place,
  value: Json | undefined,
  captured: ReadonlyArray<string>
): void => {
  values.outputs.set(unit, value)
  if (value === undefined || captured.length === 0) return
  const item = itemsAround(items, unit).at(-1) ?? ''
  for (const name of captured) capture(values, item, { unit, stepIndex, name, value })
}

/** The newest capture of a name counts. An older one exists only after an edit of the definition. */
const capture = ({ captured, capturedKeys }: Values, item: Unit, one: Captured): void => {
  const all = captured.get(item) ?? []
  captured.set(item, all)
  const key = `${item} ${one.name}`
  if (capturedKeys.has(key))
    all.splice(
      all.findIndex(({ name }) => name === one.name),
      1
    )
  capturedKeys.add(key)
  all.splice(all.findLastIndex((other) => isBefore(other, one)) + 1, 0, one)
}

const isBefore = (a: Captured, b: Captured): boolean =>
  a.stepIndex < b.stepIndex || (a.stepIndex === b.stepIndex && a.name < b.name)

/** Variables are in the order of steps and names, not in that in which the groups of a wave ended. */
export const variablesFor = (
  program: Program<unknown, never>,
  { values, items }: { readonly values: Values; readonly items: Items },
  { unit }: Place,
  input: Json
): Map<string, Json> => {
  const sees = visibleFrom(program, items, unit)
  const variables = new Map<string, Json>(isObject(input) ? Object.entries(structuredClone(input)) : [])
  // An inner variable shadows an outer one.
  for (const item of ['', ...itemsAround(items, unit)])
    for (const one of values.captured.get(item) ?? []) if (sees(one.unit)) variables.set(one.name, copyOf(one.value))
  return variables
}

/** Only objects and arrays are mutable. */
const copyOf = (value: Json): Json => (typeof value === 'object' ? structuredClone(value) : value)

/** Returns the outputs that a unit sees. An inner name shadows an outer one. Each output is decoded when it is first read. */
export const outputsFor = (
  program: Program<unknown, never>,
  { values, items }: { readonly values: Values; readonly items: Items },
  { unit }: Place
): unknown => {
  const levels = [...levelsOf(program, items, unit)].reverse()
  const known = { outputs: values.outputs, items }
  const readAt = ({ composite, parent, sees }: VisibleParts, name: string): (() => unknown) | undefined => {
    const step = sees(name) ? partNamed(composite, parent ?? '', name, items) : undefined
    const path = join(parent, name)
    return step === undefined || !hasOutput(known, step as ProgramStep, path)
      ? undefined
      : () => outputOf(known, step as ProgramStep, path)
  }
  const read = (name: string): (() => unknown) | undefined => {
    for (const level of levels) {
      const found = readAt(level, name)
      if (found !== undefined) return found
    }
    return undefined
  }
  return lazily(read, () => [...new Set([...levels].reverse().flatMap(({ seen }) => seen()))])
}

interface Known {
  readonly outputs: ReadonlyMap<Unit, Json | undefined>
  readonly items: Items
}

const hasOutput = ({ outputs, items }: Known, step: ProgramStep, unit: Unit): boolean =>
  outputs.has(unit) ||
  (step._tag !== 'Task' &&
    partNames(step, unit, items)?.every((name) => {
      const part = partNamed<ProgramStep>(step, unit, name, items)
      return part !== undefined && hasOutput({ outputs, items }, part, join(unit, name))
    }) === true)

/** A map's output is an array in item order, that of any other composite an object by part. */
export const outputOf = (known: Known, step: ProgramStep, unit: Unit): unknown => {
  if (step._tag === 'Task') {
    const stored = known.outputs.get(unit)
    const decoded = step.decode(stored)
    // The planner has checked that recorded values decode.
    return decoded._tag === 'Right' ? decoded.right : (stored ?? null)
  }
  // A map that was assumed done has no computed items.
  const names = partNames(step, unit, known.items) ?? []
  const outputs = names.map((name) => {
    const part = partNamed<ProgramStep>(step, unit, name, known.items)
    return [name, part === undefined ? null : outputOf(known, part, join(unit, name))] as const
  })
  return step._tag === 'Map' ? outputs.map(([, output]) => output) : Object.fromEntries(outputs)
}

const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/** Computes properties on first read. `util.inspect` reads the target behind a proxy, so the target inherits what it prints. */
const lazily = (read: (name: string) => (() => unknown) | undefined, names: () => ReadonlyArray<string>): unknown => {
  const printed = Object.create(null, { [INSPECT]: { value: () => ({ ...proxy }) } }) as object
  const target = Object.create(printed) as Record<PropertyKey, unknown>
  const compute = (name: PropertyKey): void => {
    if (typeof name !== 'string' || name in target) return
    const value = read(name)
    if (value !== undefined) target[name] = value()
  }
  const seen = (): ReadonlyArray<string> => names().filter((name) => name in target || read(name) !== undefined)
  const proxy: object = new Proxy(target, {
    get: (computed, name) => {
      compute(name)
      return Reflect.get(computed, name)
    },
    has: (computed, name) => name in computed || (typeof name === 'string' && read(name) !== undefined),
    ownKeys: () => [...seen()],
    getOwnPropertyDescriptor: (computed, name) => {
      compute(name)
      return Reflect.getOwnPropertyDescriptor(computed, name)
    },
    preventExtensions: (computed) => {
      seen().forEach(compute)
      return Reflect.preventExtensions(computed)
    }
  })
  return proxy
}
