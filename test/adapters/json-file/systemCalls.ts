/** Fails the calls by which a heartbeat touches its folder: those of `node:fs/promises`, and of `node:fs` once proper-lockfile has it. */
import fs from 'node:fs'
import fsp from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { afterEach } from 'vitest'
import { systemError } from './kit.js'

export type TouchCall = 'stat' | 'utimes'

export interface MadeTouch {
  readonly call: TouchCall
  readonly path: string
  readonly atMillis: number
}

const calls: Array<MadeTouch> = []

/** All calls for a path since the test began or `forget`. */
export const made = (path: string): ReadonlyArray<MadeTouch> => calls.filter((one) => one.path === path)

/** Returns the code of the error with which a call fails, or `undefined`. */
type Fault = (call: TouchCall) => string | undefined

const faults = new Map<string, Fault>()

export const failCalls = (path: string, fault: Fault): void => void faults.set(path, fault)

/** Fails calls for any heartbeat until the returned function is called or the test ends. */
export const failEach = (fault: (call: TouchCall, path: string) => string | undefined): (() => void) => {
  ofEach = fault
  return () => void (ofEach = () => undefined)
}

let ofEach: (call: TouchCall, path: string) => string | undefined = () => undefined

/** Forgets the earlier calls, and fails the nth call of this name, from 0. */
export const failNth = (path: string, call: TouchCall, nth: number, code: string): void => {
  forget(path)
  let seen = 0
  failCalls(path, (one) => (one === call && seen++ === nth ? code : undefined))
}

export const forget = (path: string): void => {
  faults.delete(path)
  calls.splice(0, Infinity, ...calls.filter((one) => one.path !== path))
}

const faultOf = (call: TouchCall, path: unknown): Error | undefined => {
  if (typeof path !== 'string' || !path.endsWith('.lock')) return undefined
  calls.push({ call, path, atMillis: performance.now() })
  const code = faults.get(path)?.(call) ?? ofEach(call, path)
  return code === undefined ? undefined : systemError(code)
}

type AnyFunction = (...args: ReadonlyArray<unknown>) => unknown

for (const call of ['stat', 'utimes'] as const) {
  const [plain, promised] = [fs[call] as AnyFunction, fsp[call] as AnyFunction]
  Object.assign(fs, {
    [call]: (...args: ReadonlyArray<unknown>): unknown => {
      const error = faultOf(call, args[0])
      return error === undefined ? plain(...args) : setImmediate(args.at(-1) as (error: Error) => void, error)
    }
  })
  Object.assign(fsp, {
    [call]: (...args: ReadonlyArray<unknown>): unknown => {
      const error = faultOf(call, args[0])
      return error === undefined ? promised(...args) : Promise.reject(error)
    }
  })
}
syncBuiltinESMExports()

afterEach(() => {
  calls.length = 0
  faults.clear()
  ofEach = () => undefined
})
