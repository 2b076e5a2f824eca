/** Reads and writes `checkpoint.json`, a copy of the newest whole checkpoint for people and other tools (`docs/file-format.md` §7). */
import { isUtf8 } from 'node:buffer'
import * as E from 'fp-ts/lib/Either.js'
import { sha256 } from '../../../domain/data/Digest.js'
import type { Json, JsonObject } from '../../../domain/data/Json.js'
import { canonical, isObject, parsed } from '../../../domain/data/Json.js'
import type { Encoded, StorageError } from '../../../ports/CheckpointStorage.js'
import type { Context } from '../Context.js'
import { readBetween, readWhole, withFile } from '../files/Files.js'
import { FORMAT } from './Journal.js'
import type { Layout } from '../files/Layout.js'
import { isDeeperThan, MAX_LINE_DEPTH } from './Line.js'

/** The source of a copy, stored in it as `copyOf`: a revision and the number of its journal. */
export interface CopyOf {
  readonly format: number
  readonly runId: string
  readonly lineage: string
  readonly epoch: number
  readonly revision: number
}

/** What the start of the file shows: no file, an unusable one, or a copy that is not yet verified. */
export type Probe =
  { readonly _tag: 'Absent' } | { readonly _tag: 'Unusable' } | { readonly _tag: 'Copy'; readonly source: CopyOf }

export interface Copy {
  readonly source: CopyOf
  readonly checkpoint: Encoded
}

/** The content of a copy, indented unless that would make it too large to read. */
export const encode = (source: CopyOf, checkpoint: Encoded, limitBytes: number): string => {
  const copyOf = { ...source }
  const content = isObject(checkpoint) && !isWrapped(checkpoint) ? checkpoint : { checkpoint }
  const sum = sha256(canonical({ ...content, copyOf }))
  const whole = { copyOf: { ...copyOf, sum }, ...content }
  const indented = `${JSON.stringify(whole, undefined, 2)}\n`
  return Buffer.byteLength(indented) <= limitBytes ? indented : `${JSON.stringify(whole)}\n`
}

const HEAD_BYTES = 4096

/** Inspects the copy without reading all of it. A copy of another run is unusable. */
export const probe = async ({ fs, settings }: Context, layout: Layout): Promise<E.Either<StorageError, Probe>> => {
  const head = await withFile(fs, layout.copy, (fd, { size }) =>
    readBetween(fs, layout.copy, fd, 0, Math.min(size, HEAD_BYTES))
  )
  if (E.isLeft(head)) return head
  if (head.right === undefined) return E.right({ _tag: 'Absent' })
  const quick = copyOfIn(parsed(/^\{\s*"copyOf":\s*(\{[^{}]*\})/.exec(head.right.toString('utf8'))?.[1] ?? ''))
  if (quick !== undefined) return E.right(probeOf(quick, layout))
  const whole = await readWhole(fs, layout.copy, settings.readBytes, layout.runId)
  if (E.isLeft(whole)) return whole
  if (whole.right === undefined) return E.right({ _tag: 'Absent' })
  const slow = copyOfIn(decode(whole.right)?.['copyOf'])
  return E.right(slow === undefined ? { _tag: 'Unusable' } : probeOf(slow, layout))
}

const probeOf = (source: CopyOf, { runId }: Layout): Probe =>
  source.runId === runId ? { _tag: 'Copy', source } : { _tag: 'Unusable' }

/** Reads and verifies the copy. Returns undefined if it is missing or was changed. */
export const read = async (
  { fs, settings }: Context,
  layout: Layout
): Promise<E.Either<StorageError, Copy | undefined>> => {
  const bytes = await readWhole(fs, layout.copy, settings.readBytes, layout.runId)
  if (E.isLeft(bytes)) return bytes
  const value = bytes.right === undefined ? undefined : decode(bytes.right)
  const source = copyOfIn(value?.['copyOf'])
  if (value === undefined || source === undefined || source.runId !== layout.runId) return E.right(undefined)
  if (source.format > FORMAT) {
    const { runId, copy: where } = layout
    return E.left({ _tag: 'UnsupportedFormat', runId, where, found: source.format, supported: FORMAT })
  }
  const { copyOf, ...content } = value
  const { sum, ...rest } = copyOf as JsonObject
  if (sha256(canonical({ ...content, copyOf: rest })) !== sum) return E.right(undefined)
  return E.right({ source, checkpoint: isWrapped(content) ? (content['checkpoint'] as Json) : content })
}

/** True if a checkpoint has to be, or is, in a field `checkpoint` of its own, because it has fields that the file has too. */
const isWrapped = (fields: JsonObject): boolean =>
  Object.hasOwn(fields, 'copyOf') || Object.hasOwn(fields, 'checkpoint')

/** Parses a file; returns `undefined` unless it holds one JSON object in UTF-8. */
const decode = (bytes: Buffer): JsonObject | undefined => {
  const text = isUtf8(bytes) ? bytes.toString('utf8') : ''
  const value = isDeeperThan(text, MAX_LINE_DEPTH) ? undefined : parsed(text)
  return value !== undefined && isObject(value) ? value : undefined
}

const copyOfIn = (value: Json | undefined): CopyOf | undefined => {
  if (value === undefined || !isObject(value)) return undefined
  const { format, runId, lineage, epoch, revision } = value
  return Number.isSafeInteger(format) &&
    typeof runId === 'string' &&
    typeof lineage === 'string' &&
    Number.isSafeInteger(epoch) &&
    Number.isSafeInteger(revision)
    ? { format: format as number, runId, lineage, epoch: epoch as number, revision: revision as number }
    : undefined
}

/** True if a copy is newer than a journal's revision. A lower revision is always older, because copies hold only acknowledged saves. */
export const isAhead = (self: CopyOf, epoch: number, revision: number): boolean =>
  self.epoch >= epoch && self.revision > revision
