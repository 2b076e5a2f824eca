/** Checks that a value has the functions of a store, because untyped hosts may pass anything. */
import { listed } from './listed.js'
import { kindOf } from './Options.js'

export const STORE_METHODS = ['claim', 'save', 'release', 'load', 'history', 'loadRevision', 'list', 'remove'] as const

/** Describes a value that is not a store: `not an object without history`; undefined for a store. */
export const notStore = (given: unknown): string | undefined => {
  const fields = Object(given) as Readonly<Record<string, unknown>>
  const missing = STORE_METHODS.filter((method) => typeof fields[method] !== 'function')
  if (missing.length === 0) return undefined
  const without = missing.length === STORE_METHODS.length ? '' : ` without ${listed(missing)}`
  return `not ${kindOf(given)}${without}`
}

/** Returns a port whose functions all are `call`. */
export const sameFor = <Name extends string, Call>(
  names: ReadonlyArray<Name>,
  call: Call
): Readonly<Record<Name, Call>> => Object.fromEntries(names.map((name) => [name, call])) as Record<Name, Call>
