/** Explains errors of the YAML parser. */
import type { YAMLParseError, YAMLWarning } from 'yaml'

export interface SyntaxProblem {
  readonly offset: number
  readonly message: string
}

/** Keeps the first error of each line, which causes the others. */
export const syntaxProblems = (
  text: string,
  errors: ReadonlyArray<YAMLParseError | YAMLWarning>
): ReadonlyArray<SyntaxProblem> => {
  const byLine = new Map<number, SyntaxProblem>()
  let lineStart = -1
  let lineEnd = text.indexOf('\n')
  for (const { code, message, pos } of [...errors].sort((a, b) => a.pos[0] - b.pos[0])) {
    const [offset] = pos
    while (lineEnd !== -1 && lineEnd < offset) {
      lineStart = lineEnd
      lineEnd = text.indexOf('\n', lineEnd + 1)
    }
    // This error is more specific.
    if (byLine.has(lineStart) && code !== 'MULTILINE_IMPLICIT_KEY') continue
    byLine.set(lineStart, { offset, message: explained(code, message, text.charAt(offset)) })
  }
  return [...byLine.values()]
}

const explained = (code: YAMLParseError['code'], message: string, character: string): string => {
  switch (code) {
    case 'TAG_RESOLVE_FAILED':
      return tagged(/^Unresolved tag: (.*)$/.exec(message)?.[1] ?? '!')
    case 'BAD_ALIAS':
    case 'BAD_SCALAR_START':
      return begins(character, 'YAML reserves')
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'BLOCK_IN_FLOW':
      return 'a string with ": " in it, or ":" at its end, needs quotes, or "|" and the string on the next lines'
    case 'MULTILINE_IMPLICIT_KEY':
      return 'the next line is indented more than the key before it; align them'
    case 'UNEXPECTED_TOKEN':
      return unexpected(message)
    case 'TAB_AS_INDENT':
      return 'this line is indented with a tab; indent with spaces, not tabs'
    case 'MISSING_CHAR':
      return /^Missing closing .quote$/.test(message)
        ? `this string has no closing ${message.charAt(16)}; add it`
        : lowered(message)
    case 'BAD_INDENT':
      return unfinished(message) ?? `${lowered(message)}; align it with the lines around it`
    case 'DUPLICATE_KEY':
      return `${lowered(message)}; remove or rename one of them`
    default:
      return lowered(message)
  }
}

/** The parser writes sentences. */
const lowered = (message: string): string => message.charAt(0).toLowerCase() + message.slice(1)

const unfinished = (message: string): string | undefined => {
  const [, kind, end] = /^Flow (\w+) in block collection .* end with a (.)$/.exec(message) ?? []
  const what = kind === 'map' ? 'mapping' : 'list'
  return end && `this ${what} has no closing ${end}, or a line of it is not indented; add it, or indent the line`
}

const unexpected = (message: string): string => {
  if (message.startsWith('Not a YAML token')) {
    return '"|" and ">" must end their line; begin the string on the next line'
  }
  return message.endsWith('at node end')
    ? 'this follows the end of a quoted string, a list or a mapping; put all of it in quotes, or use "|" and the next lines'
    : message
}

const begins = (character: string, why: string): string =>
  `this begins with "${character}", which ${why}; put it in quotes`

export const tagged = (name: string): string => {
  const tag = name.replace('tag:yaml.org,2002:', '!!')
  return /^!(?!!)/.test(tag) ? begins('!', 'marks a tag') : `tags are not supported; remove "${tag}"`
}

export const alias = begins('*', 'marks an alias (not supported)')
