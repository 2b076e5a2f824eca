/** Records which store call a task comes from and which calls are in flight, so that a failure can name them. */
import { strict as assert } from 'node:assert'
import type { Claim, Revision } from '../../ports/CheckpointStorage.js'
import { inWords } from './difference.js'

const calls = new WeakMap<object, string>()

/** What a store returned in place of a task, by the object that stands for it. */
const returned = new WeakMap<object, unknown>()

export const returnedBy = (task: object): unknown => (returned.has(task) ? returned.get(task) : task)

export const callOf = (task: unknown): string => (isObject(task) && calls.get(task)) || 'it'

const isObject = (value: unknown): value is object => Object(value) === value

/** The store calls in flight. */
export type InFlight = Set<{ readonly call: string }>

/** Names the tasks of a store that a tool returned. Stores and specs may be written in plain JavaScript. */
export const withNames = <Store extends object>(
  tool: string,
  given: Store,
  methods: ReadonlyArray<keyof Store & string>,
  inFlight: InFlight
): Store => {
  const missing = lacking(given, methods)
  assert.ok(missing.length === 0, `\`${tool}\` must return a store; what it returned has no ${missing.join(', no ')}`)
  const store = given as Readonly<Record<string, (...args: ReadonlyArray<unknown>) => unknown>>
  const named = methods.map((method) => [
    method,
    (...args: ReadonlyArray<unknown>) => watched(nameOf(method, args), store[method]?.(...args), inFlight)
  ])
  return Object.fromEntries(named) as Store
}

export const lacking = (given: unknown, functions: ReadonlyArray<string>): ReadonlyArray<string> => {
  const fields = Object(given) as Readonly<Record<string, unknown>>
  return functions.filter((name) => typeof fields[name] !== 'function')
}

/** The arguments that a name shows; default all. */
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
  if (!isObject(argument) || !('epoch' in argument)) return inWords(argument)
  const { epoch, runId } = argument as Claim
  return `claim ${epoch} of ${JSON.stringify(runId)}`
}

const isTask = (given: unknown): given is () => unknown => typeof given === 'function'

const watched = (call: string, task: unknown, inFlight: InFlight): unknown => {
  if (!isTask(task)) {
    const named = isObject(task) ? task : {}
    if (named !== task) returned.set(named, task)
    calls.set(named, call)
    return named
  }
  const run = (): unknown => {
    const result: unknown = task()
    // Any other thenable could do its work again.
    if (result instanceof Promise) {
      const entry = { call }
      const end = (): void => void inFlight.delete(entry)
      inFlight.add(entry)
      result.then(end, end)
    }
    return result
  }
  calls.set(run, call)
  return run
}
