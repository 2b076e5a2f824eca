/** Why a value was refused: `path` (`$.state.stepIndex`) and what was expected there. */
export interface Malformed {
  readonly _tag: 'Malformed'
  readonly path: string
  readonly expected: string
}
