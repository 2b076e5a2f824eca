/** Explains errors of the YAML parser. */
import type { YAMLParseError, YAMLWarning } from 'yaml'

export interface Mistake {
  readonly offset: number
  readonly message: string
}

/** Keeps the first error of each line, which causes the others. */
export const mistakesOf = (
  text: string,
  errors: ReadonlyArray<YAMLParseError | YAMLWarning>
): ReadonlyArray<Mistake> => {
  const byLine = new Map<number, Mistake>()
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
      return begins(character, 'means something else in YAML')
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'BLOCK_IN_FLOW':
      return 'a text with ": " in it, or ":" at its end, needs quotes, or "|" and the text on the next lines'
    case 'MULTILINE_IMPLICIT_KEY':
      return 'what follows is further in than the key before it: align them'
    case 'UNEXPECTED_TOKEN':
      return unexpected(message)
    default:
      return message
  }
}

const unexpected = (message: string): string => {
  if (message.startsWith('Not a YAML token')) {
    return '"|" and ">" stand alone in their line: the text begins in the next one'
  }
  return message.endsWith('at node end')
    ? 'this comes after the end of a quoted text, a list or a mapping: put all of it in quotes, or use "|" and the next lines'
    : message
}

const begins = (character: string, why: string): string =>
  `it begins with "${character}", which ${why}: put it in quotes`

export const tagged = (name: string): string => {
  const tag = name.replace('tag:yaml.org,2002:', '!!')
  return /^!(?!!)/.test(tag) ? begins('!', 'makes a tag of it') : `tags are not supported: leave "${tag}" away`
}

export const alias = `${begins('*', 'makes an alias of it')}. Aliases are not supported`
