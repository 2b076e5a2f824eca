/** Wraps the stores under test: checks what they return, and records the name of each call and which calls are in flight. */
import { strict as assert } from 'node:assert'
import type { CheckpointStorage, Claim, Revision } from '../../ports/CheckpointStorage.js'
import { inWords } from './difference.js'
import type { Shape, ShapesOf } from './shapes.js'
import { errorProblem, STORAGE } from './shapes.js'
import type { OtherProcess } from './Spec.js'

const calls = new WeakMap<object, string>()

/** The call that a task comes from. */
export const callOf = (task: object): string => calls.get(task) ?? 'it'

/** The store calls in flight. */
export type InFlight = Set<{ readonly call: string }>

/** Checks that a tool returned a store, and wraps it so that each task is checked. */
export const checkedStore = <Store extends object>(
  tool: string,
  given: Store,
  shapes: ShapesOf<Store>,
  inFlight: InFlight
): Store => {
  const missing = lacking(given, Object.keys(shapes))
  assert.ok(missing.length === 0, `\`${tool}\` must return a store; what it returned has no ${missing.join(', no ')}`)
  const store = given as Readonly<Record<string, (...args: ReadonlyArray<unknown>) => unknown>>
  const methods = Object.entries<Shape>(shapes).map(([method, shape]) => [
    method,
    (...args: ReadonlyArray<unknown>) => checkedTask(nameOf(method, args), store[method]?.(...args), shape, inFlight)
  ])
  return Object.fromEntries(methods) as Store
}

/** What a tool returns: a store, and functions. */
export interface Opened {
  readonly storage: CheckpointStorage
}

/** Checks what a tool returned, because specs may be written in plain JavaScript. */
export const openedBy = <T extends Opened>(
  tool: string,
  given: T,
  functions: ReadonlyArray<keyof T & string>,
  inFlight: InFlight
): T => {
  const fields = Object(given) as Readonly<Record<string, ((...given: ReadonlyArray<unknown>) => unknown) | undefined>>
  const missing = [
    ...(fields['storage'] === undefined ? ['storage'] : []),
    ...lacking(given, functions).map((name) => `function ${name}`)
  ]
  assert.ok(missing.length === 0, `the result of \`${tool}\` has no ${missing.join(' and no ')}`)
  const bound = functions.map((name) => [name, (...all: ReadonlyArray<unknown>) => fields[name]?.(...all)])
  return { ...Object.fromEntries(bound), storage: storageFrom(tool, given.storage, inFlight) } as T
}

/** Checks another process, and kills it only once, because a store may need long to detect a death. */
export const otherProcess = (given: OtherProcess, inFlight: InFlight): OtherProcess => {
  const { storage, kill } = openedBy('beside', given, ['kill'], inFlight)
  let killed: Promise<void> | undefined
  return { storage, kill: () => (killed ??= (async () => kill())()) }
}

export const storageFrom = (tool: string, given: CheckpointStorage, inFlight: InFlight): CheckpointStorage =>
  checkedStore(tool, given, STORAGE, inFlight)

const lacking = (given: unknown, functions: ReadonlyArray<string>): ReadonlyArray<string> => {
  const fields = Object(given) as Readonly<Record<string, unknown>>
  return functions.filter((name) => typeof fields[name] !== 'function')
}

/** How many arguments the name of a call shows; default all. */
const SHOWN: Readonly<Record<string, number>> = { claim: 1, put: 2 }

const nameOf = (method: string, args: ReadonlyArray<unknown>): string => {
  const given = args.slice(0, SHOWN[method]).filter((one) => one !== undefined)
  return `${method}(${given.map(shown).join(', ')})`
}

const shown = (argument: unknown): string => {
  if (Array.isArray(argument)) {
    const numbers = argument.map(({ revision }: Revision) => revision)
    return `revision${numbers.length === 1 ? '' : 's'} ${numbers.join(', ')}`
  }
  if (typeof argument === 'string') return JSON.stringify(argument)
  if (typeof argument === 'number') return String(argument)
  const { epoch, runId } = Object(argument) as Partial<Claim>
  return epoch === undefined ? inWords(argument) : `claim ${epoch} of ${JSON.stringify(runId)}`
}

const TASK = 'a TaskEither (a function that returns a promise of an Either)'

/** A task that rejects if the store returned something else than a task, or its task something else than the port declares. */
const checkedTask = (call: string, given: unknown, shape: Shape, inFlight: InFlight): (() => Promise<unknown>) => {
  // The rejection of a promise in place of a task would end the process.
  if (given instanceof Promise) given.catch(() => undefined)
  const run = async (): Promise<unknown> => {
    if (typeof given !== 'function')
      return assert.fail(`${call}: expected ${TASK}, found ${given instanceof Promise ? 'a promise' : inWords(given)}`)
    const entry = { call }
    inFlight.add(entry)
    try {
      const result: unknown = await (given as () => unknown)()
      const problem = problemOf(result, shape)
      return problem === undefined ? result : assert.fail(`${call}: ${problem}`)
    } finally {
      inFlight.delete(entry)
    }
  }
  calls.set(run, call)
  return run
}

const problemOf = (result: unknown, shape: Shape): string | undefined => {
  const { _tag, left, right } = Object(result) as Readonly<Record<string, unknown>>
  if (_tag === 'Right') return shape(right)
  return _tag === 'Left' && 'left' in Object(result)
    ? errorProblem(left)
    : `expected ${TASK}, found a function that returns ${inWords(result)}`
}
