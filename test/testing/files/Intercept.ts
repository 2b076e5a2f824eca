/** Intercepts file calls: records them, fails them, or shortens them. */
import assert from 'node:assert'
import type { FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'

/** The name of a call. */
export type FileCall = keyof FileSystem

/** One call: its name and its first argument, a path or a file descriptor. */
export interface MadeCall {
  readonly call: FileCall
  readonly target: string | number
}

/**
 * Called before each call. What it throws fails the call in the way of that call: thrown, rejected or through the callback.
 * `'short'`: a `read`, `write` or `writeSync` does half of its work, as a system may.
 */
export type BeforeCall = (made: MadeCall) => 'short' | undefined

/**
 * The calls that fail. `nth`: the first one, from 0. `times`: how many, default 1; `Infinity`: all from there on. `code`: the
 * system's code of the error (`EIO`), or `SHORT`: half of the work is done. `call`: the only call that fails and is counted,
 * default all.
 */
export interface FailingCalls {
  readonly nth: number
  readonly times?: number
  readonly code: string
  readonly call?: FileCall
}

/** An error as the system creates it. */
export const systemError = (code: string, what = 'as a test wants it'): Error & { readonly code: string } =>
  Object.assign(new Error(`${code}: ${what}`), { code })

/** Makes some calls fail, counted from its creation. */
export const failingCalls = ({ nth, times = 1, code, call }: FailingCalls): BeforeCall => {
  let seen = 0
  return (made) => {
    if (call !== undefined && made.call !== call) return undefined
    const at = seen++
    if (at < nth || at >= nth + times) return undefined
    return code === 'SHORT' ? 'short' : assert.fail(systemError(code))
  }
}

/** Files with a function that runs before each call. */
export const interceptedFiles = (before: BeforeCall): ((fs: FileSystem) => FileSystem) =>
  intercepting(before, () => undefined)

/** The same, for files that need to know which calls failed. */
export const intercepting =
  (before: BeforeCall, onFailure: (made: MadeCall) => void) =>
  (fs: FileSystem): FileSystem => {
    const calls = fs as unknown as Record<FileCall, (...args: ReadonlyArray<unknown>) => unknown>
    const fail = (made: MadeCall, args: ReadonlyArray<unknown>, error: Error): unknown => {
      onFailure(made)
      // Fails as the system would: through the callback, by throwing, or by rejecting.
      if (made.call === 'fdatasync') return void setImmediate(() => (args[1] as (error: unknown) => void)(error))
      return made.call.endsWith('Sync') ? assert.fail(error) : Promise.reject(error)
    }
    const wrap =
      (call: FileCall) =>
      (...args: ReadonlyArray<unknown>): unknown => {
        const made: MadeCall = { call, target: args[0] as string | number }
        let isShort: boolean
        try {
          isShort = before(made) === 'short'
        } catch (error) {
          return fail(made, args, error as Error)
        }
        return calls[call](...(isShort ? shortened(call, args) : args))
      }
    return Object.fromEntries(Object.keys(fs).map((call) => [call, wrap(call as FileCall)])) as unknown as FileSystem
  }

const SHORTENED: ReadonlyArray<FileCall> = ['read', 'write', 'writeSync']

/** At least one byte, because none would mean the end of the file or a failed write. */
const shortened = (call: FileCall, args: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  const [fd, bytes, position] = args as [number, Uint8Array, number]
  return SHORTENED.includes(call) ? [fd, bytes.subarray(0, Math.ceil(bytes.length / 2)), position] : args
}
