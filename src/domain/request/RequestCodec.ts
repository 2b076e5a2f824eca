/** Encodes and decodes requests and the pause pointer. */
import * as t from 'io-ts'
import * as E from 'fp-ts/lib/Either.js'
import type { Json } from '../data/Json.js'
import { fromUnknown } from '../data/Json.js'
import type { Malformed, NewerFormat } from '../data/Malformed.js'
import { decodeWith, fields, json, list, matching, natural, optional, tagged, time } from '../data/JsonCodec.js'
import type { ContinueHere } from './Pause.js'
import type { Addressee, Request } from './Request.js'
import { isName } from './Request.js'
import * as RunId from '../checkpoint/RunId.js'

/** The format that is written. A higher one is refused. */
export const FORMAT = 1

/** Why a request or a pointer cannot be decoded. */
export type RequestCodecError = Malformed | NewerFormat

const runId: t.Type<string> = matching('a run id', (text) => E.isRight(RunId.parse(text)))

const name: t.Type<string> = matching('a name of 1 to 512 characters', isName)

const hash: t.Type<string> = matching('the hash of a commit', (text) => /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(text))

const addressee: t.Type<Addressee> = fields<Addressee>('an addressee', {
  host: t.string,
  pid: natural,
  since: t.string
})

/** Only characters that a path can have. A path has no maximum length, because names of sub-steps have none. */
const unit: t.Type<string> = matching('the path of a unit', (text) => /^[A-Za-z0-9._%/#-]+$/.test(text))

const common = { runId, requestedAt: time }

const request: t.Type<Request> = tagged('a request', '_tag', {
  Pause: { ...common, addressee, commit: t.boolean },
  Cancel: common,
  Answer: { ...common, unit, value: json, by: name }
})

const pointer: t.Type<ContinueHere> = fields<ContinueHere>('a pointer to a paused run', {
  runId,
  workflow: name,
  stepIndex: natural,
  unit,
  commits: list(hash),
  committed: optional(hash),
  pausedAt: time
})

/**
 * Encodes a request or a pointer as plain JSON.
 *
 * @category encoding
 */
export const encode = (value: Request | ContinueHere): Json => ({ format: FORMAT, ...value }) as unknown as Json

const NO_OBJECT: RequestCodecError = { _tag: 'Malformed', path: '$', expected: 'a JSON object' }

const decoderOf =
  <A extends object>(codec: t.Type<A>) =>
  (content: unknown): E.Either<RequestCodecError, A> => {
    if (typeof content !== 'object' || content === null || Array.isArray(content)) return E.left(NO_OBJECT)
    const found = 'format' in content ? content.format : undefined
    if (typeof found === 'number' && found > FORMAT) return E.left({ _tag: 'NewerFormat', found, supported: FORMAT })
    if (found !== FORMAT) return E.left({ _tag: 'Malformed', path: '$.format', expected: String(FORMAT) })
    const read = decodeWith(codec)(content)
    if (E.isLeft(read)) return read
    const { format: _, ...known } = read.right as A & { readonly format: unknown }
    return E.right(known as unknown as A)
  }

const decodeAny = decoderOf(request)

/**
 * Decodes a request.
 *
 * @category decoding
 */
export const decodeRequest = (content: unknown): E.Either<RequestCodecError, Request> => {
  const read = decodeAny(content)
  if (E.isLeft(read) || read.right._tag !== 'Answer') return read
  const value = fromUnknown(read.right.value)
  return E.isRight(value)
    ? read
    : E.left({ _tag: 'Malformed', path: value.left.path.replace('$', '$.value'), expected: 'JSON' })
}

/**
 * Decodes the pointer to a paused run.
 *
 * @category decoding
 */
export const decodePointer: (content: unknown) => E.Either<RequestCodecError, ContinueHere> = decoderOf(pointer)
