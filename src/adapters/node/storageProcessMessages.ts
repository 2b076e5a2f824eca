/** The messages between a `storageProcess` and its parent. */
import type { ChildProcess } from 'node:child_process'
import { inspect } from 'node:util'
import type { Summary } from '../../domain/checkpoint/Summary.js'
import type { Json } from '../../domain/data/Json.js'
import type { CheckpointStorage, Encoded, Revision } from '../../ports/CheckpointStorage.js'

export type Method = keyof CheckpointStorage

/** A claim without the parts that cannot be serialized. */
export interface SentClaim {
  readonly runId: string
  readonly epoch: number
}

/** A revision with its checkpoint computed. */
export interface SentRevision extends Pick<Revision, 'revision' | 'change'> {
  readonly encoded: Encoded
  readonly summary: Summary
}

/** A thrown value or a cause: an error as its parts, anything else unchanged or as a string. */
export type SentCause =
  | { readonly _tag: 'Error'; readonly message: string; readonly properties: Readonly<Record<string, unknown>> }
  | { readonly _tag: 'Other'; readonly value: unknown }

/** The store that the process creates. */
export interface Start {
  readonly module: string
  readonly exportName: string
  readonly argument?: Json
}

/** A request to the process: first the store to create, then calls of its functions. */
export interface Request {
  readonly id: number
  readonly method: Method | 'start'
  readonly args: ReadonlyArray<unknown>
}

/** The result of a request, or the loss of a claim. {@link SentClaim} stands for a granted claim, {@link SentCause} for the `cause` of an error. */
export type Reply =
  | { readonly _tag: 'Returned'; readonly id: number; readonly result: unknown }
  | { readonly _tag: 'Rejected'; readonly id: number; readonly cause: SentCause }
  | { readonly _tag: 'Lost'; readonly claim: SentClaim; readonly reason: unknown }

/** Identifies a claim in both processes. */
export const keyOf = ({ runId, epoch }: SentClaim): string => `${epoch} ${runId}`

/** Resolves when a process has ended and all its messages have arrived. Returns how it ended. */
export const exitOf = (child: ChildProcess): Promise<string> => {
  const exit = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
    child.once('error', (error) => resolve(error.message))
  })
  const disconnected = new Promise<void>((resolve) => {
    if (!child.connected) resolve()
    child.once('disconnect', resolve)
    child.once('error', () => resolve())
  })
  return Promise.all([exit, disconnected]).then(([how]) => how)
}

const PROPERTIES = ['name', 'stack', 'code', 'errno', 'syscall', 'path'] as const

export const sentCause = (cause: unknown): SentCause => {
  if (!(cause instanceof Error)) return { _tag: 'Other', value: cloneable(cause) }
  const given = cause as unknown as Readonly<Record<string, unknown>>
  const properties = PROPERTIES.flatMap((name) =>
    given[name] === undefined ? [] : [[name, cloneable(given[name])] as const]
  )
  return { _tag: 'Error', message: cause.message, properties: Object.fromEntries(properties) }
}

const cloneable = (value: unknown): unknown => {
  try {
    return structuredClone(value)
  } catch {
    return inspect(value)
  }
}

export const receivedCause = (cause: SentCause): unknown => {
  if (cause._tag === 'Other') return cause.value
  const error = new Error(cause.message)
  for (const [name, value] of Object.entries(cause.properties)) {
    Object.defineProperty(error, name, { value, configurable: true, enumerable: false, writable: true })
  }
  return error
}

export const sentError = (error: unknown): unknown =>
  hasCause(error) ? { ...error, cause: sentCause(error.cause) } : error

export const receivedError = (error: unknown): unknown =>
  hasCause(error) ? { ...error, cause: receivedCause(error.cause as SentCause) } : error

const hasCause = (error: unknown): error is { readonly cause: unknown } =>
  typeof error === 'object' && error !== null && 'cause' in error && error.cause !== undefined
