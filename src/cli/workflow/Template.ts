/** Arguments of `run:` steps: `${name}` is a variable, `$${` a plain `${`. */
import * as E from 'fp-ts/lib/Either.js'

const TOKEN = /\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)\})?/g

/** The same rule as that of {@link unreadableIn}, for JSON Schema. */
export const PATTERN = '^(?:\\$\\$\\{|\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}|\\$(?!\\$?\\{)|[^$])*$'

/** Returns a `${` without a name and `}` after it, and what follows. */
export const unreadableIn = (text: string): string | undefined => {
  const found = Array.from(text.matchAll(TOKEN)).find(([token]) => token === '${')
  return found === undefined ? undefined : text.slice(found.index, found.index + 20)
}

export const variablesIn = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(TOKEN)).flatMap(([, name]) => name ?? [])

/** Never expands a value again. Left: the name of an unset variable. */
export const fill = (text: string, values: ReadonlyMap<string, string>): E.Either<string, string> => {
  const unset = variablesIn(text).find((name) => !values.has(name))
  if (unset !== undefined) return E.left(unset)
  return E.right(text.replace(TOKEN, (_, name?: string) => (name === undefined ? '${' : (values.get(name) ?? ''))))
}
