/** Arguments of `run:` steps: `${name}` is a variable, `$${` a plain `${`. */
import * as E from 'fp-ts/lib/Either.js'

export type Part =
  { readonly _tag: 'Text'; readonly text: string } | { readonly _tag: 'Variable'; readonly name: string }

export type Template = ReadonlyArray<Part>

/** Matches what `parse` can read. */
export const PATTERN = '^(?:\\$\\$\\{|\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}|\\$(?!\\$?\\{)|[^$])*$'

/** Left: a `${` without a name and `}` after it. */
export const parse = (text: string): E.Either<string, Template> => {
  const parts: Array<Part> = []
  let plain = ''
  for (let at = 0; at < text.length;) {
    if (text.startsWith('$${', at)) {
      plain += '${'
      at += 3
      continue
    }
    if (!text.startsWith('${', at)) {
      plain += text[at]
      at += 1
      continue
    }
    const [whole, name] = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}/.exec(text.slice(at)) ?? []
    if (whole === undefined || name === undefined) return E.left(text.slice(at, at + 20))
    if (plain !== '') parts.push({ _tag: 'Text', text: plain })
    parts.push({ _tag: 'Variable', name })
    plain = ''
    at += whole.length
  }
  return E.right(plain === '' ? parts : [...parts, { _tag: 'Text', text: plain }])
}

export const variables = (self: Template): ReadonlyArray<string> =>
  self.flatMap((part) => (part._tag === 'Variable' ? [part.name] : []))

/** Never expands a value again. Left: the name of an unset variable. */
export const fill = (self: Template, values: ReadonlyMap<string, string>): E.Either<string, string> => {
  let filled = ''
  for (const part of self) {
    const text = part._tag === 'Text' ? part.text : values.get(part.name)
    if (text === undefined) return E.left(part._tag === 'Variable' ? part.name : '')
    filled += text
  }
  return E.right(filled)
}
