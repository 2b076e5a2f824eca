/** Encodes and checks one line of a journal: a JSON object behind a checksum of its exact bytes (`docs/file-format.md` §2). */
import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import type { Measured } from '../../../domain/data/Size.js'
import { measured } from '../../../domain/data/Size.js'
import type { JsonObject } from '../../../domain/data/Json.js'
import { MAX_DEPTH } from '../../../domain/data/Json.js'

const NEWLINE = 0x0a
const HEAD = '{"sum":"'

export const SUM_BEGIN = HEAD.length

export const SUM_END = SUM_BEGIN + 32

const TAIL = '",'

const BODY = SUM_END + TAIL.length

/** The maximum nesting of a line: the deepest value, plus the levels of the line and the checkpoint around it. */
export const MAX_LINE_DEPTH = MAX_DEPTH + 16

const sumOf = (body: Uint8Array | string): string => hash('sha256', body, 'hex').slice(0, SUM_END - SUM_BEGIN)

/** Encodes the JSON string of a non-empty object as a line, newline included. */
export const encode = (object: string): Buffer => encodeParts([measured(object)])

/** Encodes the parts of such a string, so that a large part is neither measured nor copied again. */
export const encodeParts = (parts: ReadonlyArray<Measured>): Buffer => {
  // The head takes the place of the opening brace of the first part.
  const brace = 1
  const length = parts.reduce((sum, { bytes }) => sum + bytes, BODY - brace)
  const line = Buffer.allocUnsafe(length + 1)
  let end = BODY - brace
  for (const { text } of parts) end += line.write(text, end)
  line[end] = NEWLINE
  line.write(`${HEAD}${sumOf(line.subarray(BODY, end))}${TAIL}`, 0, 'latin1')
  return line
}

const NO_SUM = 'it does not begin with a checksum'

/** Decodes a line (without its newline), or returns the reason why it is invalid. A line that is a string must be ASCII. */
export const decode = (line: Buffer | string): E.Either<string, JsonObject> => {
  if (line.length <= BODY) return E.left(NO_SUM)
  const isText = typeof line === 'string'
  const head = isText ? line : line.toString('latin1', 0, BODY)
  if (!head.startsWith(HEAD) || !head.startsWith(TAIL, SUM_END)) return E.left(NO_SUM)
  if (!head.startsWith(sumOf(isText ? line.slice(BODY) : line.subarray(BODY)), SUM_BEGIN))
    return E.left('its checksum is wrong')
  if (!isText && !isUtf8(line)) return E.left('it is not UTF-8')
  try {
    const text = isText ? line : line.toString('utf8')
    if (isDeeperThan(text, MAX_LINE_DEPTH)) return E.left(`it nests deeper than ${MAX_LINE_DEPTH} levels`)
    return E.right(JSON.parse(text) as JsonObject)
  } catch {
    return E.left('it is not JSON')
  }
}

/** Checked before `JSON.parse`, which would recurse as deep as the string nests, even if it is not valid JSON. */
export const isDeeperThan = (text: string, levels: number): boolean =>
  text.length > levels && opensMoreThan(text, levels) && nestsDeeperThan(text, levels)

/** Counts opening brackets first, because most lines have too few and searching for brackets is much faster than a full scan. */
const opensMoreThan = (text: string, levels: number): boolean => {
  let count = 0
  for (const bracket of ['{', '['])
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1))
      if (++count > levels) return true
  return false
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

const nestsDeeperThan = (text: string, levels: number): boolean => {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === QUOTE) at = endOfString(text, at)
    else if (char === 0x7b || char === 0x5b) {
      if (++depth > levels) return true
    } else if (char === 0x7d || char === 0x5d) depth--
  }
  return false
}

/** Returns where a string ends that begins here: at its closing quote, or where the text ends. */
const endOfString = (text: string, begin: number): number => {
  for (let end = text.indexOf('"', begin + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text.charCodeAt(before) === BACKSLASH) before--
    if ((end - before) % 2 === 1) return end
  }
  return text.length
}
