/** Where the runs of a command are kept: a folder, a SQLite file or a PostgreSQL database. Opens nothing. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'

/** `path` is absolute. */
export type Location =
  | { readonly _tag: 'Files'; readonly path: string }
  | { readonly _tag: 'Sqlite'; readonly path: string }
  | { readonly _tag: 'Postgres'; readonly url: string }

export const STORES = 'a folder, sqlite:FILE or postgres://HOST/DATABASE'

/** Matches the beginning of an address with a password, and no drive letter of Windows. */
const ADDRESS = /^(?![a-z]:[\\/])(\w*\/\/)?[^\s/:@]*:[^@]*@/i

const NO_FOLDER =
  'the value looks like an address with a password; pass --store postgres://HOST/DATABASE, or a folder as ./FOLDER'

const DATABASES: ReadonlyMap<string, string> = new Map([
  ['sqlite', 'sqlite:FILE'],
  ['postgres', 'postgres://HOST/DATABASE'],
  ['postgresql', 'postgres://HOST/DATABASE']
])

/** Fails with a sentence. White space around a value, as a file of variables may leave it, has no meaning. */
export const parse = (given: string, folder: string): E.Either<string, Location> => {
  const text = given.trim()
  if (text === '') return E.left(`the value is empty; pass ${STORES}`)
  const problem = misread(text)
  if (problem !== undefined) return E.left(problem)
  if (/^postgres(ql)?:\/\//i.test(text)) return E.right({ _tag: 'Postgres', url: text })
  const [, file] = /^sqlite:(?:\/\/)?(?!\/*$)(.+)$/is.exec(text) ?? []
  if (file !== undefined) return E.right({ _tag: 'Sqlite', path: resolve(folder, file) })
  const [, scheme] = /^([a-z][a-z0-9+.-]+|[a-z](?!:[\\/])):/i.exec(text) ?? []
  if (/^sqlite$/i.test(scheme ?? '')) return E.left('"sqlite:" needs a file, as in sqlite:state.db')
  if (/^postgres(ql)?$/i.test(scheme ?? ''))
    return E.left(`"${scheme}:" needs a host and a database, as in postgres://HOST/DATABASE`)
  const database = DATABASES.get(text.toLowerCase())
  if (database !== undefined)
    return E.left(`"${text}" alone names no store; pass ${database}, or ./${text} for a folder`)
  if (scheme !== undefined) return E.left(`"${scheme}:" is no kind of store; pass ${STORES}`)
  if (ADDRESS.test(text)) return E.left(NO_FOLDER)
  const path = resolve(folder, text)
  return E.right(/\.(db|sqlite3?)$/i.test(text) ? { _tag: 'Sqlite', path } : { _tag: 'Files', path })
}

/** Returns why a folder is refused that is probably meant as a database. As a path it would show the password. */
export const notAFolder = (given: string, folder: string): string | undefined =>
  misread(given.trim()) ??
  (/^(sqlite|postgres(ql)?):/i.test(given.trim()) || isDatabaseFile(given, folder)
    ? 'the value is a database; pass it as --store'
    : undefined) ??
  (ADDRESS.test(given.trim()) ? NO_FOLDER : undefined)

const isDatabaseFile = (given: string, folder: string): boolean => {
  const location = parse(given, folder)
  try {
    return E.isRight(location) && location.right._tag === 'Sqlite' && statSync(location.right.path).isFile()
  } catch {
    return false
  }
}

/** A file of variables may keep the quotes around a value. */
const misread = (text: string): string | undefined => {
  if (/^(["']).*\1$/s.test(text)) return 'the value is in quotes; pass it without them'
  return /[^]postgres(ql)?:\/\//i.test(text) ? 'text precedes the URL of a database; pass the URL alone' : undefined
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

/** Returns whether two locations are one store, also through links. */
export const isSameLocation = (self: Location, other: Location): boolean => identityOf(self) === identityOf(other)

/** The file itself: it may have several names. */
const identityOf = (self: Location): string => {
  if (self._tag === 'Postgres') return show(self)
  try {
    const { dev, ino } = statSync(self.path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return show(self)
  }
}

/** Masks the password of each URL in a text. If the text is a URL itself, its password may contain blanks and quotes, as drivers allow. */
export const withoutPassword = (text: string): string =>
  /^(--[\w-]+=)?["']?postgres(ql)?:\/\//i.test(text)
    ? masked(text)
    : text.replace(/postgres(ql)?:\/\/[^\s"'`]*/gi, masked)

/**
 * The password ends at the last `@` before the query, or at the last `@` of all if the password has what looks like a query. A port is no password.
 */
const masked = (url: string): string =>
  url
    .replace(/(:\/\/[^:/?#]*):(((?!\?\w+=)[^])*|(?!\d+\/)[^]*)@/, '$1:PASSWORD@')
    .replace(/([?&](?:ssl)?password=)[^&]*/gi, '$1PASSWORD')
