/** Why content cannot be decoded. */

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
    ? `at ${error.path} expected ${error.expected}`
    : `it has format ${error.found}, but this version of Dogear reads only up to ${error.supported}; upgrade Dogear`
