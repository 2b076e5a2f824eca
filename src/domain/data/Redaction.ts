/**
 * Redacts secret values from records and events: every occurrence becomes `***`. Matches the value itself, each of its lines, and its JSON
 * escapes; encodings such as base64 are not detected.
 */
import { NOTES } from './Cut.js'
import type { Json, JsonArray, JsonObject } from './Json.js'
import * as Search from './Search.js'
import type { StepError } from './StepError.js'

// --- model

/** The values to redact: `texts`, and the same as UTF-8 with one character for each byte. */
export interface Redaction {
  readonly texts: ReadonlyArray<string>
  readonly bytes: ReadonlyArray<string>
}

/** The replacement for a value. */
export const MARK = '***'

/** The minimum length of a secret without surrounding whitespace. Shorter values occur by chance, and redacting them would reveal them. */
export const MIN_CHARACTERS = 4

// --- constructors

/** Redacts nothing. */
export const none: Redaction = { texts: [], bytes: [] }

/** Redacts these values. Values below {@link MIN_CHARACTERS} are ignored. */
export const make = (values: Iterable<string>): Redaction => {
  const texts = [...new Set([...values].flatMap(formsOf))]
  return texts.length === 0 ? none : { texts, bytes: texts.map((one) => asCharacters(new TextEncoder().encode(one))) }
}

/** A value and each of its lines, plain and as in JSON strings. */
const formsOf = (value: string): ReadonlyArray<string> =>
  [value, ...value.split(/[\r\n]+/)]
    .map((part) => part.trim())
    .filter(({ length }) => length >= MIN_CHARACTERS)
    .flatMap((part) => {
      const escaped = JSON.stringify(part).slice(1, -1)
      return [part, escaped, escaped.replace(/[^ -~]/g, asEscape)]
    })

/** The escape in ASCII-only JSON. */
const asEscape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** One character for each byte, so that bytes are searched like strings. */
const asCharacters = (bytes: Uint8Array): string => new TextDecoder('latin1').decode(bytes)

// --- refinements

export const isNone = ({ texts }: Redaction): boolean => texts.length === 0

/** Returns whether a string or bytes contain a value. */
export const isIn = (self: Redaction, content: string | Uint8Array): boolean => {
  if (isNone(self)) return false
  return typeof content === 'string'
    ? Search.isIn(searchFor(self.texts), content)
    : Search.isIn(searchFor(self.bytes), asCharacters(content))
}

/** Builds the search lazily, at the first use. */
const searchFor = (texts: ReadonlyArray<string>): Search.Search => {
  const search = SEARCHES.get(texts) ?? Search.make(texts)
  SEARCHES.set(texts, search)
  return search
}

const SEARCHES = new WeakMap<ReadonlyArray<string>, Search.Search>()

// --- redacting

/** Redacts a string that was not cut. Idempotent, even for secrets that contain the mark. */
const redacted = ({ texts }: Redaction, value: string): string => {
  if (texts.length === 0) return value
  return untilSame(value, (rest) => marked(rest, Search.find(searchFor(texts), rest).ranges))
}

const untilSame = (value: string, redact: (value: string) => string): string => {
  let before = value
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const after = redact(before)
    if (after === before) return after
    before = after
  }
  return MARK
}

/** Replacing a value can form another one from the mark and its surroundings. After this many rounds the whole string is redacted. */
const MAX_ROUNDS = 100

const marked = (value: string, ranges: ReadonlyArray<Search.Range>): string => {
  const starts = [0, ...ranges.map(({ to }) => to)]
  return starts.map((from, index) => value.slice(from, ranges[index]?.from)).join(MARK)
}

/**
 * Redacts strings and field names of a JSON value; a number that contains a secret becomes the mark. Keys that become equal are numbered.
 * Returns the same value if it contains no secret.
 */
export const json = (self: Redaction, value: Json): Json => {
  switch (typeof value) {
    case 'string':
      return redacted(self, value)
    case 'number':
      return isIn(self, String(value)) ? MARK : value
    case 'object':
      return value === null ? null : Array.isArray(value) ? list(self, value) : object(self, value as JsonObject)
    default:
      return value
  }
}

const list = (self: Redaction, value: JsonArray): JsonArray => {
  const items = value.map((item) => json(self, item))
  return items.some((item, index) => item !== value[index]) ? items : value
}

const object = (self: Redaction, value: JsonObject): JsonObject => {
  const fields = new Map<string, Json>()
  let isSame = true
  for (const [name, field] of Object.entries(value)) {
    const [newName, newField] = [freeName(redacted(self, name), fields), json(self, field)]
    isSame &&= newName === name && newField === field
    fields.set(newName, newField)
  }
  return isSame ? value : Object.fromEntries(fields)
}

const freeName = (name: string, taken: ReadonlyMap<string, Json>): string => {
  let free = name
  for (let number = 2; taken.has(free); number++) free = `${name} (${number})`
  return free
}

/** Redacts a string that may have been cut: the start of a value before the note at a cut is redacted, too. Idempotent. */
export const text = (self: Redaction, message: string): string => {
  if (isNone(self)) return message
  return untilSame(message, (rest) => {
    const parts = redacted(self, rest).split(NOTES)
    return parts.map((part, at) => (at % 2 === 0 && at + 1 < parts.length ? withoutStart(self, part) : part)).join('')
  })
}

/** Replaces the start of a value at the end of a string, unless it is part of the mark there. */
const withoutStart = ({ texts }: Redaction, kept: string): string => {
  const search = searchFor(texts)
  const begun = Search.begunAt(search, Search.find(search, kept).node)
  return begun === 0 || (begun <= MARK.length && kept.endsWith(MARK)) ? kept : `${kept.slice(0, -begun)}${MARK}`
}

/** Redacts an error. */
export const error = (self: Redaction, { name, message, code, stack, data }: StepError): StepError => ({
  name: text(self, name),
  message: text(self, message),
  ...(code === undefined ? {} : { code: text(self, code) }),
  ...(stack === undefined ? {} : { stack: text(self, stack) }),
  ...(data === undefined ? {} : { data: json(self, data) })
})

// --- streams

/**
 * The end of a stream so far, held back because it may be the start of a value. The first `covered` bytes belong to a value whose
 * {@link MARK} was already emitted. `found`: the complete values in `bytes`; `node`: the state of the search.
 */
export interface StreamTail {
  readonly bytes: Uint8Array
  readonly covered: number
  readonly found: ReadonlyArray<{ readonly from: number; readonly to: number }>
  readonly node: number
}

/** The state before the first chunk of a stream. */
export const nothingHeld: StreamTail = { bytes: new Uint8Array(), covered: 0, found: [], node: Search.START }

/** Returns the redacted output for the next chunk, and the state. How a stream is split into chunks does not change the output. */
export const next = (
  self: Redaction,
  held: StreamTail,
  piece: Uint8Array
): { readonly emitted: Uint8Array; readonly held: StreamTail } => {
  if (isNone(self)) return { emitted: concatenated([held.bytes, piece]), held: nothingHeld }
  const search = searchFor(self.bytes)
  const { ranges, node } = Search.find(search, asCharacters(piece), held.node, held.bytes.length, rangesIn(held))
  const bytes = concatenated([held.bytes, piece])
  return emitUpTo({ ...held, bytes, node }, ranges, bytes.length - Search.begunAt(search, node))
}

/** Returns the redacted rest of a stream that has ended. */
export const rest = (held: StreamTail): Uint8Array => emitUpTo(held, rangesIn(held), held.bytes.length).emitted

const rangesIn = ({ covered, found }: StreamTail): ReadonlyArray<Search.Range> =>
  covered === 0 ? found : [{ from: 0, to: covered }, ...found]

/** Emits everything before `end`, with a mark for each value that starts there. */
const emitUpTo = (
  { bytes, covered, node }: StreamTail,
  ranges: ReadonlyArray<Search.Range>,
  end: number
): { readonly emitted: Uint8Array; readonly held: StreamTail } => {
  const emitted: Array<Uint8Array> = []
  const found: Array<Search.Range> = []
  let at = 0
  for (const { from, to } of ranges) {
    const isEmitted = from === 0 && covered > 0
    if (from >= end && !isEmitted) {
      found.push({ from: from - end, to: to - end })
      continue
    }
    emitted.push(bytes.subarray(at, from), ...(isEmitted ? [] : [MARK_BYTES]))
    at = to
  }
  if (at < end) emitted.push(bytes.subarray(at, end))
  return {
    emitted: concatenated(emitted),
    held: { bytes: end === 0 ? bytes : bytes.slice(end), covered: Math.max(0, at - end), found, node }
  }
}

const MARK_BYTES = new TextEncoder().encode(MARK)

const concatenated = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const [first, ...more] = parts.filter(({ length }) => length > 0)
  if (first === undefined || more.length === 0) return first ?? new Uint8Array()
  const whole = new Uint8Array(more.reduce((sum, { length }) => sum + length, first.length))
  let at = 0
  for (const part of [first, ...more]) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
