/**
 * Keeping the values of secrets out of what is recorded and told: every occurrence becomes `***`.
 *
 * A value is looked for as it is, line by line if it has several, and as it stands in JSON text. What a program makes of it
 * (base64, a hash, its first half) is not known to be one.
 */
import type { Json, JsonArray, JsonObject } from './Json.js'
import * as Search from './Search.js'
import type { StepError } from './StepError.js'

// --- model

/** What is to be hidden: `texts` to look for, and the same as UTF-8, with a character for each byte. */
export interface Redaction {
  readonly texts: ReadonlyArray<string>
  readonly bytes: ReadonlyArray<string>
}

/** What stands in place of a value. */
export const MARK = '***'

/**
 * How many characters a secret has at least, without blanks around it: 4. A shorter one would be found in half of all texts, and what is
 * hidden there would tell it.
 */
export const MIN_CHARACTERS = 4

// --- constructors

/** Hides nothing. */
export const none: Redaction = { texts: [], bytes: [] }

/** Hides these values. Those that are too short to be secrets ({@link MIN_CHARACTERS}) are left out. */
export const make = (values: Iterable<string>): Redaction => {
  const texts = [...new Set([...values].flatMap(formsOf))]
  return texts.length === 0 ? none : { texts, bytes: texts.map((one) => asCharacters(new TextEncoder().encode(one))) }
}

/** A value, and each line of it: as it is, and as it stands between the quotes of JSON text. */
const formsOf = (value: string): ReadonlyArray<string> =>
  [value, ...value.split(/[\r\n]+/)]
    .map((part) => part.trim())
    .filter(({ length }) => length >= MIN_CHARACTERS)
    .flatMap((part) => {
      const escaped = JSON.stringify(part).slice(1, -1)
      return [part, escaped, escaped.replace(/[^ -~]/g, asEscape)]
    })

/** As JSON text has it that is ASCII only. */
const asEscape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** A character for each byte: so bytes are searched as quickly as texts. */
const asCharacters = (bytes: Uint8Array): string => new TextDecoder('latin1').decode(bytes)

// --- refinements

/** Whether nothing is hidden. */
export const isNone = ({ texts }: Redaction): boolean => texts.length === 0

/** Whether there is anything to hide in a text or in bytes. */
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

// --- what is recorded and told

/** A text without the values. Doing it twice is doing it once, also for values that look like what stands in their place. */
export const text = ({ texts }: Redaction, value: string): string => {
  if (texts.length === 0) return value
  let rest = value
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { spans } = Search.find(searchFor(texts), rest)
    if (spans.length === 0) return rest
    rest = marked(rest, spans)
  }
  return MARK
}

/** Replacing a value can form another one from the mark and its surroundings. After this many rounds the whole text is redacted. */
const MAX_ROUNDS = 100

const marked = (value: string, spans: ReadonlyArray<Search.Span>): string => {
  const starts = [0, ...spans.map(({ to }) => to)]
  return starts.map((from, index) => value.slice(from, spans[index]?.from)).join(MARK)
}

/**
 * A value without the values of secrets, in its texts and in the names of its fields; a number that has one in its digits is a text. Fields
 * that are one by that are numbered. The same value if there is nothing to hide.
 */
export const json = (self: Redaction, value: Json): Json => {
  switch (typeof value) {
    case 'string':
      return text(self, value)
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
    const [shown, hidden] = [unlessTaken(text(self, name), fields), json(self, field)]
    isSame &&= shown === name && hidden === field
    fields.set(shown, hidden)
  }
  return isSame ? value : Object.fromEntries(fields)
}

const unlessTaken = (name: string, taken: ReadonlyMap<string, Json>): string => {
  let free = name
  for (let number = 2; taken.has(free); number++) free = `${name} (${number})`
  return free
}

/** What a text that is too long ends with, when it was cut. */
const CUT = /… \(\d+ characters\)$/

/** The same, also of what is left at the end of a value that was cut in two. */
const uncut = (self: Redaction, value: string): string => {
  const hidden = text(self, value)
  const note = CUT.exec(hidden)?.[0]
  if (note === undefined) return hidden
  const kept = hidden.slice(0, -note.length)
  const search = searchFor(self.texts)
  const begun = Search.begunAt(search, Search.find(search, kept).node)
  return begun === 0 ? hidden : `${kept.slice(0, -begun)}${MARK}${note}`
}

/** An error without the values. */
export const error = (self: Redaction, { name, message, code, stack, data }: StepError): StepError => ({
  name: uncut(self, name),
  message: uncut(self, message),
  ...(code === undefined ? {} : { code: uncut(self, code) }),
  ...(stack === undefined ? {} : { stack: uncut(self, stack) }),
  ...(data === undefined ? {} : { data: json(self, data) })
})

// --- streams

/**
 * The held-back end of a stream, which may be the start of a value; it is shorter than the longest value. The first `covered` bytes belong
 * to a value whose {@link MARK} was already emitted. `found`: the complete values in it; `node`: the state of the search.
 */
export interface StreamTail {
  readonly bytes: Uint8Array
  readonly covered: number
  readonly found: ReadonlyArray<{ readonly from: number; readonly to: number }>
  readonly node: number
}

/** Before the first piece of a stream nothing is held back. */
export const nothingHeld: StreamTail = { bytes: new Uint8Array(), covered: 0, found: [], node: Search.START }

/**
 * The next piece of a stream: what can be told of it, and what is held back. However a stream is cut into pieces, what is told of all of
 * them is the same. It may be bytes of any kind.
 */
export const next = (
  self: Redaction,
  held: StreamTail,
  piece: Uint8Array
): { readonly told: Uint8Array; readonly held: StreamTail } => {
  if (isNone(self)) return { told: joined([held.bytes, piece]), held: nothingHeld }
  const search = searchFor(self.bytes)
  const { spans, node } = Search.find(search, asCharacters(piece), held.node, held.bytes.length, spansIn(held))
  const bytes = joined([held.bytes, piece])
  return upTo({ ...held, bytes, node }, spans, bytes.length - Search.begunAt(search, node))
}

/** What was held back, once the stream has ended. */
export const rest = (_: Redaction, held: StreamTail): Uint8Array => upTo(held, spansIn(held), held.bytes.length).told

const spansIn = ({ covered, found }: StreamTail): ReadonlyArray<Search.Span> =>
  covered === 0 ? found : [{ from: 0, to: covered }, ...found]

/** Emits everything before `end`, with a mark for each value that starts there. */
const upTo = (
  { bytes, covered, node }: StreamTail,
  spans: ReadonlyArray<Search.Span>,
  end: number
): { readonly told: Uint8Array; readonly held: StreamTail } => {
  const told: Array<Uint8Array> = []
  const found: Array<Search.Span> = []
  let at = 0
  for (const { from, to } of spans) {
    const isTold = from === 0 && covered > 0
    if (from >= end && !isTold) {
      found.push({ from: from - end, to: to - end })
      continue
    }
    told.push(bytes.subarray(at, from), ...(isTold ? [] : [MARK_BYTES]))
    at = to
  }
  if (at < end) told.push(bytes.subarray(at, end))
  return {
    told: joined(told),
    held: { bytes: end === 0 ? bytes : bytes.slice(end), covered: Math.max(0, at - end), found, node }
  }
}

const MARK_BYTES = new TextEncoder().encode(MARK)

const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
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
