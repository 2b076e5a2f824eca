/** Checks that a value has the functions of a port, because untyped hosts may pass anything. */
import { listed } from './listed.js'
import { kindOf } from './Options.js'

export const STORE_METHODS = ['claim', 'save', 'release', 'load', 'history', 'loadRevision', 'list', 'remove'] as const

/** Describes a value that is not a port with these functions: `not an object without history`; undefined for one. */
export const notPort = (methods: ReadonlyArray<string>, given: unknown): string | undefined => {
  const fields = Object(given) as Readonly<Record<string, unknown>>
  const missing = methods.filter((method) => typeof fields[method] !== 'function')
  if (missing.length === 0) return undefined
  const without = missing.length === methods.length ? '' : ` without ${listed(missing)}`
  return `not ${kindOf(given)}${without}`
}

/** Returns a port whose functions all are `call`. */
export const sameFor = <Name extends string, Call>(
  names: ReadonlyArray<Name>,
  call: Call
): Readonly<Record<Name, Call>> => Object.fromEntries(names.map((name) => [name, call])) as Record<Name, Call>
