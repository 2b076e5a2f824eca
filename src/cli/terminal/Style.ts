/** Styles text, and escapes untrusted text. */
import { randomUUID } from 'node:crypto'
import stringWidth from 'fast-string-width'
import { printable } from '../../domain/explain/printable.js'
import * as Symbols from './Symbols.js'

/** {@link rendered} turns the styles into escape sequences. `width` is infinite without a terminal. */
export interface Style {
  readonly symbols: Symbols.Symbols
  readonly width: number
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
}

const colours = (isOn: boolean): Omit<Style, 'symbols' | 'width'> => {
  const wrapped =
    (open: number, close: number) =>
    (text: string): string =>
      isOn ? `${mark(open)}${text}${mark(close)}` : text
  return {
    bold: wrapped(1, 22),
    dim: wrapped(2, 22),
    red: wrapped(31, 39),
    green: wrapped(32, 39),
    yellow: wrapped(33, 39)
  }
}

export const none: Style = { ...colours(false), symbols: Symbols.unicode, width: Number.POSITIVE_INFINITY }

export interface Stream {
  readonly isTTY: boolean
  readonly columns?: number
}

/** FORCE_COLOR and NO_COLOR (no-color.org) come first, then whether the stream is a terminal. */
export const of = ({ isTTY, columns }: Stream, environment: Readonly<Record<string, string | undefined>>): Style => ({
  ...colours(hasColours(isTTY, environment)),
  symbols: Symbols.of(environment),
  width: isTTY ? Math.max(MIN_WIDTH, columns === undefined || columns === 0 ? 80 : columns) : none.width
})

/** A narrower terminal is unreadable. */
const MIN_WIDTH = 20

const hasColours = (isTTY: boolean, environment: Readonly<Record<string, string | undefined>>): boolean => {
  const { FORCE_COLOR: force, NO_COLOR: refuse, TERM: term } = environment
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false'
  if (refuse !== undefined && refuse !== '') return false
  return isTTY && term !== 'dumb'
}

export const columnsOf = (text: string): number => stringWidth(text)

/** Cuts text to a number of columns. A wide character takes two of them, and a combining one none. */
export const fitted = (text: string, { symbols, width }: Pick<Style, 'symbols' | 'width'>): string => {
  if (2 * text.length <= width || columnsOf(text) <= width) return text
  let kept = ''
  let left = width - symbols.more.length
  // Made here, because the first one of a process takes long.
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    left -= columnsOf(segment)
    if (left < 0) break
    kept += segment
  }
  return `${kept}${symbols.more}`
}

/** Breaks a line that is too wide between words, and indents what follows by `indent` columns. */
export const folded = (line: string, width: number, indent: number): ReadonlyArray<string> => {
  if (columnsOf(line) <= width) return [line]
  const margin = Math.min(indent, Math.floor(width / 2))
  const lines: Array<string> = []
  let current = ''
  for (const piece of line.split(/(?<=\S)(?=\s)/)) {
    if (columnsOf(current) > margin && columnsOf(current + piece) > width) {
      lines.push(current)
      current = `${' '.repeat(margin)}${piece.trimStart()}`
    } else current += piece
  }
  return [...lines, current]
}

/** Only this process knows the key, so no text from outside can forge a mark. */
const KEY = randomUUID()

const MARK = new RegExp(`\\u0000${KEY}:(\\d+)\\u0000`)

const mark = (code: number): string => `\u0000${KEY}:${code}\u0000`

export const rendered = (line: string): string =>
  line
    .split(MARK)
    .map((part, index) => (index % 2 === 1 ? `\x1b[${part}m` : printable(part)))
    .join('')
