/** Turns requests, the pause pointer and artifacts into rows, and reads them back. Knows no database. */
import * as E from 'fp-ts/lib/Either.js'
import { sha256 } from '../../domain/data/Digest.js'
import { parsed } from '../../domain/data/Json.js'
import { describe } from '../../domain/data/Malformed.js'
import type { ContinueHere } from '../../domain/request/Pause.js'
import type { Request } from '../../domain/request/Request.js'
import { REQUEST_BYTES, slotOf, VALUE_BYTES } from '../../domain/request/Request.js'
import { decodePointer, decodeRequest, encode } from '../../domain/request/RequestCodec.js'
import type { ArtifactInfo } from '../../ports/ArtifactStore.js'
import type { Corrupt, TooLarge, UnsupportedFormat } from '../../ports/CheckpointStorage.js'
import type { InvalidPointer } from '../../ports/Requests.js'

// --- requests

/** The slot of the pause request. */
export const PAUSE = 'Pause'

/** Encodes a request as JSON. */
export const encodeRequest = (request: Request, where: string): E.Either<TooLarge, string> => {
  const text = JSON.stringify(encode(request))
  const bytes = Buffer.byteLength(text)
  const limitBytes = REQUEST_BYTES + (request._tag === 'Answer' ? VALUE_BYTES : 0)
  return bytes > limitBytes
    ? E.left({ _tag: 'TooLarge', runId: request.runId, where, bytes, limitBytes, biggest: [] })
    : E.right(text)
}

/** Decodes the request in a slot of a run. */
export const requestIn = (
  runId: string,
  slot: string,
  text: string,
  where: string
): E.Either<Corrupt | UnsupportedFormat, Request> => {
  const found = decodeRequest(parsed(text))
  if (E.isLeft(found))
    return found.left._tag === 'NewerFormat'
      ? E.left({ ...found.left, _tag: 'UnsupportedFormat', runId, where })
      : E.left({ _tag: 'Corrupt', runId, where, why: describe(found.left) })
  if (found.right.runId === runId && slotOf(found.right) === slot) return found
  return E.left({ _tag: 'Corrupt', runId, where, why: 'it is another request than its key says' })
}

/** Encodes the pause pointer as JSON. */
export const encodePointer = (pointer: ContinueHere): string => JSON.stringify(encode(pointer))

/** Decodes the pause pointer. */
export const pointerIn = (text: string, where: string): E.Either<InvalidPointer, ContinueHere> =>
  E.mapLeft((error: Parameters<typeof describe>[0]): InvalidPointer => ({
    _tag: 'InvalidPointer',
    where,
    why: describe(error)
  }))(decodePointer(parsed(text)))

// --- artifacts

/** The default size limit of an artifact: 64 MiB. */
export const ARTIFACT_BYTES = 67_108_864

export interface Artifact {
  readonly info: ArtifactInfo
  readonly bytes: Uint8Array
}

/** Copies and hashes the data of an artifact. */
export const artifactOf = (
  runId: string,
  id: string,
  data: Uint8Array | string,
  limitBytes: number,
  where: string
): E.Either<TooLarge, Artifact> => {
  const bytes = Buffer.from(data)
  return bytes.length > limitBytes
    ? E.left({ _tag: 'TooLarge', runId, where, bytes: bytes.length, limitBytes, biggest: [] })
    : E.right({ info: { id, size: bytes.length, sha256: sha256(bytes) }, bytes })
}

/** Verifies stored bytes and returns a copy. */
export const contentOf = (
  runId: string,
  info: ArtifactInfo,
  bytes: Uint8Array,
  where: string
): E.Either<Corrupt, Uint8Array> => {
  const corrupt = (why: string) => E.left<Corrupt>({ _tag: 'Corrupt', runId, where, why })
  if (bytes.length !== info.size)
    return corrupt(`artifact "${info.id}" has ${bytes.length} bytes instead of ${info.size}`)
  if (sha256(bytes) !== info.sha256) return corrupt(`the content of artifact "${info.id}" does not match its SHA-256`)
  return E.right(new Uint8Array(bytes))
}

/** Sorts artifacts by their ids in UTF-16 units, which no database does. */
export const sorted = (infos: ReadonlyArray<ArtifactInfo>): ReadonlyArray<ArtifactInfo> =>
  [...infos].sort((a, b) => (a.id < b.id ? -1 : 1))
