/** The problems of a workflow file, with their positions. */

/** Lines and columns are counted from 1. `file`: an included file. */
export interface Position {
  readonly line: number
  readonly column: number
  readonly file?: string
}

export interface Problem {
  readonly at: Position
  readonly message: string
}

/** The number of problems shown in full; the rest are counted. */
export const MAX_SHOWN = 20

/** Decoding continues after a problem, so that all are listed at once. */
export type Report = (at: Position, message: string) => void

/** Lists each problem once, those of included files last. */
export const inFileOrder = (problems: ReadonlyArray<Problem>): ReadonlyArray<Problem> => {
  const once = new Map(problems.map((problem) => [`${placeOf(problem.at)} ${problem.message}`, problem]))
  return [...once.values()].sort(
    ({ at: a }, { at: b }) => compared(a.file, b.file) || a.line - b.line || a.column - b.column
  )
}

const compared = (a = '', b = ''): number => (a < b ? -1 : a > b ? 1 : 0)

/** For example `3:5`, or `other.yml:3:5` in an included file. */
export const placeOf = ({ file, line, column }: Position): string =>
  `${file === undefined ? '' : `${file}:`}${line}:${column}`

/** Editors and terminals can jump to `release.yml:3:5: message`. */
export const describe = (file: string, { at, message }: Problem): string =>
  `${placeOf({ file, ...at })}: ${clipped(message)}`

/** The problem and the remedy are at the ends of a long message. */
const clipped = (message: string): string =>
  message.length <= MAX_MESSAGE
    ? message
    : `${message.slice(0, KEPT_BEGIN)} … ${message.slice(KEPT_BEGIN - MAX_MESSAGE)}`

const MAX_MESSAGE = 600
const KEPT_BEGIN = 200

export const describeAll = (file: string, problems: ReadonlyArray<Problem>): ReadonlyArray<string> =>
  firstOf(problems.map((problem) => describe(file, problem)))

/** Counts the lines beyond {@link MAX_SHOWN}. */
export const firstOf = (lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.length <= MAX_SHOWN ? lines : [...lines.slice(0, MAX_SHOWN), `and ${lines.length - MAX_SHOWN} more`]
