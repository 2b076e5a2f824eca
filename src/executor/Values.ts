/**
 * What the units of a run left behind: outputs and variables, and who may see them.
 *
 * A unit sees what earlier steps gave, and in its own wave what the groups gave that it needs, directly or through
 * others. What else happens to be done when it starts is none of its business: it depends on timing, and would be
 * different after a resume.
 *
 * @since 0.1.0
 */
import type { Checkpoint } from '../domain/Checkpoint.js'
import type { Json } from '../domain/Json.js'
import { isObject } from '../domain/Json.js'
import type { Unit } from '../domain/Unit.js'
import { isTop, join, nameOf } from '../domain/Unit.js'
import { groupNamed } from '../domain/Workflow.js'
import type { Program, ProgramStep, ProgramTask } from './Program.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A unit, and the index of its top-level step.
 *
 * @category model
 * @since 0.1.0
 */
export interface Place {
  readonly unit: Unit
  readonly stepIndex: number
}

/** What a unit gave (`undefined`: nothing). */
interface Left extends Place {
  readonly value: Json | undefined
}

/** A variable that a unit left. */
interface Captured extends Left {
  readonly name: string
  readonly value: Json
}

/**
 * Outputs by unit name, and captured variables in the order of the steps, within a step of their names. It grows as
 * units complete. `evident`: whether any of them left evidence.
 *
 * @category model
 * @since 0.1.0
 */
export interface Values {
  readonly units: Map<string, Left>
  readonly captured: Array<Captured>
  readonly names: Set<string>
  evident: boolean
}

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What the completed units of a checkpoint left.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (checkpoint: Checkpoint): Values => {
  const values: Values = { units: new Map(), captured: [], names: new Set(), evident: false }
  for (const record of checkpoint.completedSteps) {
    add(values, record, record.output, record.captured)
    values.evident ||= record.evidence.length > 0
  }
  return values
}

/** Resets the values to those of a rewound checkpoint. */
export const reset = (values: Values, checkpoint: Checkpoint): void => {
  const { units, captured, names, evident } = make(checkpoint)
  values.units.clear()
  for (const [name, left] of units) values.units.set(name, left)
  values.captured.splice(0, values.captured.length, ...captured)
  values.names.clear()
  for (const name of names) values.names.add(name)
  values.evident = evident
}

/**
 * Adds what a unit left.
 *
 * @category effects
 * @since 0.1.0
 */
export const add = (
  values: Values,
  { unit, stepIndex }: Place,
  value: Json | undefined,
  captured: ReadonlyArray<string>
): void => {
  values.units.set(unit, { unit, stepIndex, value })
  if (value !== undefined) for (const name of captured) capture(values, { unit, stepIndex, name, value })
}

/** The newest of a name counts. There is an older one only if the definition was edited. */
const capture = ({ captured, names }: Values, one: Captured): void => {
  if (names.has(one.name))
    captured.splice(
      captured.findIndex(({ name }) => name === one.name),
      1
    )
  names.add(one.name)
  captured.splice(captured.findLastIndex((other) => isBefore(other, one)) + 1, 0, one)
}

const isBefore = (a: Captured, b: Captured): boolean =>
  a.stepIndex < b.stepIndex || (a.stepIndex === b.stepIndex && a.name < b.name)

// ---------------------------------------------------------------------------------------------------------------------
// what a unit sees
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The variables that a unit sees, as copies: the fields of the input, and over them what was captured, in the order of
 * the steps and of the names within a step, however the groups of a wave came in.
 *
 * @category destructors
 * @since 0.1.0
 */
export const variablesFor = (
  program: Program<unknown, never>,
  values: Values,
  place: Place,
  input: Json
): Map<string, Json> => {
  const sees = sight(program, place)
  const variables = new Map<string, Json>(isObject(input) ? Object.entries(structuredClone(input)) : [])
  for (const one of values.captured) {
    if (one.stepIndex < place.stepIndex || sees(one)) variables.set(one.name, copyOf(one.value))
  }
  return variables
}

/** Only what has parts can be changed. */
const copyOf = (value: Json): Json => (typeof value === 'object' ? structuredClone(value) : value)

/**
 * The outputs that a unit sees, by step name, a wave's as an object by group name. Each is decoded when it is first
 * read: a step of a long run pays for what it looks at.
 *
 * @category destructors
 * @since 0.1.0
 */
export const outputsFor = (program: Program<unknown, never>, values: Values, place: Place): unknown => {
  const sees = sight(program, place)
  const read = (name: string): (() => unknown) | undefined => {
    const step = indexOf(program).get(name)
    if (step === undefined) return undefined
    // Of what a map is was never found out if somebody says that it is done.
    if (step._tag === 'Map') return values.units.has(name) ? () => ({}) : undefined
    if (step._tag === 'Wave') {
      const groups = step.groups.filter((group) => {
        const left = values.units.get(join(name, group.name))
        return left !== undefined && sees(left)
      })
      if (groups.length === 0 && step.groups.length > 0) return undefined
      return () => Object.fromEntries(groups.map((group) => [group.name, valueOf(values, name, group)]))
    }
    const left = values.units.get(name)
    return left !== undefined && sees(left) ? () => valueOf(values, undefined, step) : undefined
  }
  return lazily(read, () => program.steps.slice(0, place.stepIndex + 1).map((step) => step.name))
}

const valueOf = (values: Values, wave: string | undefined, task: ProgramTask): unknown => {
  const name = join(wave, task.name)
  const stored = values.units.get(name)?.value
  const decoded = task.decode(stored)
  // The planner has seen to it that what is recorded decodes.
  return decoded._tag === 'Right' ? decoded.right : (stored ?? null)
}

const sight = (program: Program<unknown, never>, place: Place): ((left: Left) => boolean) => {
  let needed: ReadonlySet<string> | undefined
  return (left) => {
    if (left.stepIndex !== place.stepIndex) return left.stepIndex < place.stepIndex
    needed ??= neededBy(program, place)
    return !isTop(left.unit) && needed.has(nameOf(left.unit))
  }
}

/** The groups of its wave that a group needs, directly or through others. */
const neededBy = (program: Program<unknown, never>, place: Place): ReadonlySet<string> => {
  const needed = new Set<string>()
  const step = program.steps[place.stepIndex]
  if (step?._tag !== 'Wave' || isTop(place.unit)) return needed
  const open = [nameOf(place.unit)]
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    for (const need of groupNamed(step, name)?.needs ?? []) {
      if (needed.has(need)) continue
      needed.add(need)
      open.push(need)
    }
  }
  return needed
}

// ---------------------------------------------------------------------------------------------------------------------
// parts
// ---------------------------------------------------------------------------------------------------------------------

const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/**
 * An object whose properties are made when they are first looked at. It prints as what it stands for: Node asks what is
 * behind a proxy, not the proxy, how to print it; so that stands in its prototype, where no listing finds it.
 */
const lazily = (read: (name: string) => (() => unknown) | undefined, names: () => ReadonlyArray<string>): unknown => {
  const printed = Object.create(null, { [INSPECT]: { value: () => ({ ...proxy }) } }) as object
  const target = Object.create(printed) as Record<PropertyKey, unknown>
  const make = (name: PropertyKey): void => {
    if (typeof name !== 'string' || name in target) return
    const value = read(name)
    if (value !== undefined) target[name] = value()
  }
  const seen = (): ReadonlyArray<string> => names().filter((name) => name in target || read(name) !== undefined)
  const proxy: object = new Proxy(target, {
    get: (made, name) => {
      make(name)
      return Reflect.get(made, name)
    },
    has: (made, name) => name in made || (typeof name === 'string' && read(name) !== undefined),
    ownKeys: () => [...seen()],
    getOwnPropertyDescriptor: (made, name) => {
      make(name)
      return Reflect.getOwnPropertyDescriptor(made, name)
    },
    preventExtensions: (made) => {
      seen().forEach(make)
      return Reflect.preventExtensions(made)
    }
  })
  return proxy
}

const INDEX = new WeakMap<object, ReadonlyMap<string, ProgramStep>>()

const indexOf = (program: Program<unknown, never>): ReadonlyMap<string, ProgramStep> => {
  const known = INDEX.get(program)
  if (known !== undefined) return known
  const made = new Map(program.steps.map((step) => [step.name, step]))
  INDEX.set(program, made)
  return made
}
