/** Turns errors of the system into those of the port. */
import * as E from 'fp-ts/lib/Either.js'
import type { Insecure, ReadFailed, StorageError, TooLarge, WriteFailed } from '../../../ports/CheckpointStorage.js'

/** The errors that any file operation can have. */
export type FileError = Insecure | ReadFailed | TooLarge | WriteFailed

/** The system's code of an error (`ENOSPC`), or `UNKNOWN`. */
export const codeOf = (cause: unknown): string => {
  const code: unknown = typeof cause === 'object' && cause !== null ? (cause as { code?: unknown }).code : undefined
  return typeof code === 'string' ? code : 'UNKNOWN'
}

/** True for a write that failed because its path, or a folder above it, is missing. */
export const isMissing = (error: StorageError): boolean => error._tag === 'WriteFailed' && error.code === 'ENOENT'

export const readFailed = (where: string, operation: string, cause: unknown): ReadFailed => ({
  _tag: 'ReadFailed',
  where,
  operation,
  code: codeOf(cause),
  cause
})

export const writeFailed = (
  where: string,
  operation: string,
  cause: unknown,
  committed: WriteFailed['committed'] = 'unknown'
): WriteFailed => ({
  _tag: 'WriteFailed',
  committed,
  where,
  operation,
  code: codeOf(cause),
  cause
})

export const insecure = (where: string, why: string, remedy?: string): Insecure => ({
  _tag: 'Insecure',
  where,
  why,
  ...(remedy === undefined ? {} : { remedy })
})

export const foreign = (where: string, uid: number): Insecure =>
  insecure(
    where,
    `it belongs to user ${uid}, who may have tampered with it`,
    'if you trust it, chown it to yourself or run as that user'
  )

/** Classifies a failed open: a symbolic link is `ELOOP` (`EMLINK` on FreeBSD) and a socket `ENXIO`. */
export const openFailed = (where: string, cause: unknown): Insecure | ReadFailed => {
  switch (codeOf(cause)) {
    case 'ELOOP':
    case 'EMLINK':
      return insecure(where, 'it is a symbolic link')
    case 'ENXIO':
      return insecure(where, 'it is not a regular file')
    default:
      return readFailed(where, 'open', cause)
  }
}

/** Makes a function that runs a call and maps its exception or rejection to an error of the port. */
const attempting =
  <Failure>(failed: (where: string, operation: string, cause: unknown) => Failure) =>
  async <A>(where: string, operation: string, call: () => A | Promise<A>): Promise<E.Either<Failure, A>> => {
    try {
      return E.right(await call())
    } catch (cause) {
      return E.left(failed(where, operation, cause))
    }
  }

/** Maps a failure to `ReadFailed`. */
export const reading = attempting(readFailed)

/** Maps a failure to a `WriteFailed` that may have taken effect. */
export const writing = attempting(writeFailed)

/** Maps a failure to a `WriteFailed` without effect, because the call precedes the write. */
export const beforeWriting = attempting((where, operation, cause) => writeFailed(where, operation, cause, 'no'))

/** Runs a cleanup call and ignores its failure. */
export const quietly = async (call: () => unknown): Promise<void> => {
  try {
    await call()
  } catch {}
}
