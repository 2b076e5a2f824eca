/**
 * One line of a journal: a JSON object behind a checksum of its exact bytes.
 *
 * `docs/file-format.md` §2 is the norm. The checksum has a fixed width and comes first, so a line is written with one
 * pass over its bytes, and checked before it is parsed.
 */
import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import type { JsonObject } from '../../../domain/data/Json.js'
import { MAX_DEPTH } from '../../../domain/data/Json.js'

const NEWLINE = 0x0a
const HEAD = '{"sum":"'

/** Where the checksum begins in a line. */
export const SUM_BEGIN = HEAD.length

/** Where the checksum ends. */
export const SUM_END = SUM_BEGIN + 32

const TAIL = '",'

/** Where the bytes begin that it covers. */
const BODY = SUM_END + TAIL.length

/** How deep a line may nest: a value of the greatest depth, and what a line and a checkpoint have around it. */
export const MAX_LINE_DEPTH = MAX_DEPTH + 16

const headOf = (body: Uint8Array): string =>
  `${HEAD}${hash('sha256', body, 'hex').slice(0, SUM_END - SUM_BEGIN)}${TAIL}`

/** The line for the JSON text of an object that is not empty, newline included. */
export const encode = (object: string): Buffer => {
  const body = object.slice(1)
  const line = Buffer.allocUnsafe(BODY + Buffer.byteLength(body) + 1)
  const end = BODY + line.write(body, BODY)
  line[end] = NEWLINE
  line.write(headOf(line.subarray(BODY, end)), 0, 'latin1')
  return line
}

const NO_SUM = 'it does not begin with a checksum'

/** The object of a line (given without its newline), or why it is none. */
export const decode = (line: Buffer): E.Either<string, JsonObject> => {
  if (line.length <= BODY) return E.left(NO_SUM)
  const head = line.toString('latin1', 0, BODY)
  if (head !== headOf(line.subarray(BODY))) {
    return E.left(head.startsWith(HEAD) && head.endsWith(TAIL) ? 'its checksum is wrong' : NO_SUM)
  }
  if (!isUtf8(line)) return E.left('it is not UTF-8')
  try {
    const text = line.toString('utf8')
    if (isDeeperThan(text, MAX_LINE_DEPTH)) return E.left(`it nests deeper than ${MAX_LINE_DEPTH} levels`)
    return E.right(JSON.parse(text) as JsonObject)
  } catch {
    return E.left('it is not JSON')
  }
}

/** Whether JSON text nests deeper than so many levels. If not, `JSON.parse` goes no deeper in it, be it JSON or not. */
export const isDeeperThan = (text: string, levels: number): boolean =>
  opensMoreThan(text, levels) && nestsDeeperThan(text, levels)

/**
 * Each level is opened, and what was torn may never be closed. Most lines have not so many brackets, and finding some is many times
 * quicker than looking at all of it.
 */
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
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (inString) {
      if (char === BACKSLASH) at++
      else if (char === QUOTE) inString = false
    } else if (char === QUOTE) inString = true
    else if (char === 0x7b || char === 0x5b) {
      if (++depth > levels) return true
    } else if (char === 0x7d || char === 0x5d) depth--
  }
  return false
}
