/** Explains errors of the YAML parser. */
import type { YAMLParseError, YAMLWarning } from 'yaml'

export interface SyntaxProblem {
  readonly offset: number
  readonly message: string
}

/** Returns where a string, list or mapping without its closing `end` starts; the parser reports the place where it noticed. */
export type StartOf = (end: string, noticed: number) => number | undefined

/** Keeps the first error of each line, which causes the others. */
export const syntaxProblems = (
  text: string,
  errors: ReadonlyArray<YAMLParseError | YAMLWarning>,
  startOf: StartOf
): ReadonlyArray<SyntaxProblem> => {
  const byLine = new Map<number, SyntaxProblem>()
  let lineStart = -1
  let lineEnd = text.indexOf('\n')
  const all = errors.map(({ code, message, pos: [noticed] }) => {
    const end = unclosed(message)
    const offset = end === undefined ? noticed : (startOf(end, noticed) ?? noticed)
    return { code, message, end, noticed, offset: INDENTED[message] === undefined ? offset : textFrom(text, offset) }
  })
  // An open string takes the ends of the lists and mappings around it.
  const relevant = all.some(({ end }) => isQuote(end))
    ? all.filter(({ end }) => end === undefined || isQuote(end))
    : all
  for (const { code, message, end, noticed, offset } of relevant.sort((a, b) => a.offset - b.offset)) {
    while (lineEnd !== -1 && lineEnd < offset) {
      lineStart = lineEnd
      lineEnd = text.indexOf('\n', lineEnd + 1)
    }
    // After an error, the parser may have left the lists and mappings that these tokens belong to.
    if (byLine.size > 0 && FOLLOWS.test(message)) continue
    // MULTILINE_IMPLICIT_KEY is more specific than the first error, except after the end of a value.
    const known = byLine.get(lineStart)?.message
    if (known === AFTER_END || (known !== undefined && code !== 'MULTILINE_IMPLICIT_KEY')) continue
    byLine.set(lineStart, {
      offset,
      message:
        end === undefined ? explained(code, message, text.charAt(offset)) : noEnd(end, text.includes(end, noticed))
    })
  }
  return [...byLine.values()]
}

/** Errors that another one causes. */
const FOLLOWS = /^Unexpected .* token in YAML stream|^Implicit map keys need to be followed by map values$/

const AFTER_END =
  'this follows the end of a quoted string, a list or a mapping; put all of it in quotes, or use "|" and the next lines'

/** The character that would end a string, list or mapping, if the message says that it is missing. */
const unclosed = (message: string): string | undefined =>
  /^Missing closing (.)quote$/.exec(message)?.[1] ?? /^Flow .* end with a ([\]}])$/.exec(message)?.[1]

/** Own words for the parser's messages about the indentation of a line. */
const INDENTED: Readonly<Record<string, string>> = {
  'Sequence item without - indicator':
    'this line is neither a list item ("- …") nor aligned with the keys of the item above; check its indentation',
  'All sequence items must start at the same column': 'this list item is not aligned with the items above; align them',
  'All mapping items must start at the same column': 'this line is not aligned with the keys above; align them'
}

/** The parser reports the start of the line. */
const textFrom = (text: string, offset: number): number => {
  const indent = /^ */.exec(text.slice(offset))?.[0] ?? ''
  return offset + indent.length
}

const isQuote = (end: string | undefined): boolean => end === '"' || end === "'"

/** `isBelow`: below the place where the parser ended the list or mapping, there is such a character. */
const noEnd = (end: string, isBelow: boolean): string => {
  const what = isQuote(end) ? 'string' : end === ']' ? 'list' : 'mapping'
  return `this ${what} has no closing ${end}; add it${isBelow && !isQuote(end) ? ', or indent the lines up to it' : ''}`
}

const explained = (code: YAMLParseError['code'], message: string, character: string): string => {
  const indented = INDENTED[message]
  if (indented !== undefined) return indented
  switch (code) {
    case 'TAG_RESOLVE_FAILED':
      return tagged(/^Unresolved tag: (.*)$/.exec(message)?.[1] ?? '!')
    case 'BAD_ALIAS':
    case 'BAD_SCALAR_START':
      return begins(character, 'YAML reserves')
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'BLOCK_IN_FLOW':
      return character === '?'
        ? begins('?', 'marks a key')
        : 'a string with ": " in it, or ":" at its end, needs quotes, or "|" and the string on the next lines'
    case 'MULTILINE_IMPLICIT_KEY':
      return 'the next line is indented more than the key before it; align them'
    case 'UNEXPECTED_TOKEN':
      return unexpected(message, character)
    case 'MISSING_CHAR':
      return message.startsWith('Missing ,')
        ? `a "," or ":" is missing before this "${character}"; add it, or put all of it in quotes`
        : lowered(message)
    case 'TAB_AS_INDENT':
      return 'this line is indented with a tab; indent with spaces, not tabs'
    case 'BAD_INDENT':
      return `${lowered(message)}; align it with the lines around it`
    case 'DUPLICATE_KEY':
      return `${lowered(message)}; remove or rename one of them`
    default:
      return lowered(message)
  }
}

/** The parser writes sentences. */
const lowered = (message: string): string => message.charAt(0).toLowerCase() + message.slice(1)

const unexpected = (message: string, character: string): string => {
  if (/^Not a YAML token|^Block scalar header includes extra characters/.test(message)) {
    return '"|" and ">" must end their line; begin the string on the next line, or put it in quotes'
  }
  if (message.startsWith('Unexpected block-seq-ind on same line')) {
    return 'a string that begins with "- " needs quotes; a list starts on the next line'
  }
  if (/^Unexpected flow-(seq|map)-end /.test(message)) {
    return `this "${character}" ends nothing; remove it, or put the string in quotes`
  }
  return message.endsWith('at node end') ? AFTER_END : message
}

const begins = (character: string, why: string): string =>
  `this begins with "${character}", which ${why}; put it in quotes`

export const tagged = (name: string): string => {
  const tag = name.replace('tag:yaml.org,2002:', '!!')
  return /^!(?!!)/.test(tag) ? begins('!', 'marks a tag') : `tags are not supported; remove "${tag}"`
}

export const alias = begins('*', 'marks an alias (not supported)')

export const anchor = begins('&', 'marks an anchor (not supported)')
