/** Where the runs of a command are kept: a folder, a SQLite file or a PostgreSQL database. Opens nothing. */
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'

/** `path` is absolute. */
export type Location =
  | { readonly _tag: 'Files'; readonly path: string }
  | { readonly _tag: 'Sqlite'; readonly path: string }
  | { readonly _tag: 'Postgres'; readonly url: string }

/** Fails with a sentence. White space around a value, as a file of variables may leave it, has no meaning. */
export const parse = (given: string, folder: string): E.Either<string, Location> => {
  const text = given.trim()
  if (text === '') return E.left('the value is empty; pass a folder, sqlite:FILE or postgres://HOST/DATABASE')
  if (/^postgres(ql)?:\/\//i.test(text)) return E.right({ _tag: 'Postgres', url: text })
  const [, file] = /^sqlite:(?:\/\/)?(.+)$/is.exec(text) ?? []
  if (file !== undefined) return E.right({ _tag: 'Sqlite', path: resolve(folder, file) })
  const [, scheme] = /^([a-z][a-z0-9+.-]+):/i.exec(text) ?? []
  if (/^sqlite$/i.test(scheme ?? '')) return E.left('"sqlite:" needs a file, as in sqlite:state.db')
  if (/^postgres(ql)?$/i.test(scheme ?? ''))
    return E.left(`"${scheme}:" needs a host and a database, as in postgres://HOST/DATABASE`)
  if (scheme !== undefined)
    return E.left(`"${scheme}:" is no kind of store; pass a folder, sqlite:FILE or postgres://HOST/DATABASE`)
  const path = resolve(folder, text)
  return E.right(/\.(db|sqlite3?)$/i.test(text) ? { _tag: 'Sqlite', path } : { _tag: 'Files', path })
}

/** The location as a command line takes it, without a password. */
export const show = (self: Location): string => {
  switch (self._tag) {
    case 'Files':
      return self.path
    case 'Sqlite':
      return `sqlite:${self.path}`
    case 'Postgres':
      return withoutPassword(self.url)
  }
}

/** Returns whether two locations are one store, also through symbolic links. */
export const isSame = (self: Location, other: Location): boolean =>
  show(withoutLinks(self)) === show(withoutLinks(other))

const withoutLinks = (self: Location): Location => {
  if (self._tag === 'Postgres') return self
  try {
    return { ...self, path: realpathSync(self.path) }
  } catch {
    return self
  }
}

/** Masks the password of each URL in a word. It ends at the last `@` before the query, because a driver takes more than a URL may have. */
export const withoutPassword = (word: string): string =>
  word
    .replace(/(\bpostgres(?:ql)?:\/\/[^:/?#]*):(?:(?!\?\w+=)[^])*@/gi, '$1:PASSWORD@')
    .replace(/([?&]password=)[^&]*/gi, '$1PASSWORD')
