/** Why content cannot be decoded, and how a message names a place in it. Messages omit `$`, the path of the whole value. */
import type { NotJson } from './Json.js'

/** Why a value was refused: `path` (`$.state.stepIndex`), and what was expected there. */
export interface Malformed {
  readonly _tag: 'Malformed'
  readonly path: string
  readonly expected: string
}

/** A newer version wrote the content. `found`: its format; `supported`: the newest that this version reads. */
export interface NewerFormat {
  readonly _tag: 'NewerFormat'
  readonly found: number
  readonly supported: number
}

/** Describes why content cannot be decoded. */
export const describe = (error: Malformed | NewerFormat): string =>
  error._tag === 'Malformed'
    ? expectedAt(error)
    : `it has format ${error.found}, but this version of Dogear reads only up to ${error.supported}; upgrade Dogear`

/** ` at $.a`, or nothing for the whole value. */
export const atPath = (path: string): string => (path === '$' ? '' : ` at ${path}`)

/** `at $.a expected a number`, or `expected a number` for the whole value. */
export const expectedAt = ({ path, expected }: { readonly path: string; readonly expected: string }): string =>
  `${atPath(path)} expected ${expected}`.trimStart()

/** `plain JSON at $.a, not a Date`: what must replace a value that JSON cannot hold. */
export const plainJson = ({ path, found }: NotJson): string => `plain JSON${atPath(path)}, not ${found}`
