/** Next actions, for people. */
import type { Screen } from '../terminal/Screen.js'
import type { Style } from '../terminal/Style.js'
import { none } from '../terminal/Style.js'

/** A sentence, and the command that does it. */
export interface Hint {
  readonly text: string
  readonly command?: string
}

export const linesOf = (hints: ReadonlyArray<Hint>, style: Style = none): ReadonlyArray<string> =>
  hints.flatMap(({ text, command }) => (command === undefined ? [text] : [text, `  ${style.bold(command)}`]))

export const printHints = ({ line, style }: Screen, hints: ReadonlyArray<Hint>): void =>
  linesOf(hints, style).forEach(line)
