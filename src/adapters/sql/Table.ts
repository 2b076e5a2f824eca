/** A table of a database, to read and to change it with statements that every database takes. Knows no database. */
import type * as E from 'fp-ts/lib/Either.js'
import type { Corrupt, ReadFailed, UnsupportedFormat, WriteFailed } from '../../ports/CheckpointStorage.js'

/** A row, by the names of its columns. */
export type Fields = Readonly<Record<string, unknown>>

/** The errors that any call can have. */
export type Failure = Corrupt | UnsupportedFormat | ReadFailed | WriteFailed

export type Value = string | number | Uint8Array

/** The run of a call, for errors. */
export interface Call {
  readonly runId?: string
}

/** `read` and `write` send one statement, with `?` for each value. */
export interface Table {
  /** The name of the table in statements. */
  readonly name: string
  /** The name of the table in errors. */
  readonly where: () => string
  readonly read: (
    call: Call,
    text: string,
    ...values: Array<Value>
  ) => Promise<E.Either<Failure, ReadonlyArray<Fields>>>
  readonly write: (call: Call, text: string, ...values: Array<Value>) => Promise<E.Either<Failure, void>>
}
