/** Things to do next, for people. */
import type { Style } from '../terminal/Style.js'
import { none } from '../terminal/Style.js'

/** Something to do: a sentence, and the command line that does it, if there is one. */
export interface Hint {
  readonly text: string
  readonly command?: string
}

/** Hints as lines: each command on a line of its own, to copy. */
export const linesOf = (hints: ReadonlyArray<Hint>, style: Style = none): ReadonlyArray<string> =>
  hints.flatMap(({ text, command }) => (command === undefined ? [text] : [text, `  ${style.bold(command)}`]))
