/** Writes to standard output and error output, below which a terminal has live lines. Step output passes unchanged; other text is made printable. */
import { fstatSync } from 'node:fs'
import type { Style } from './Style.js'
import * as Styles from './Style.js'
import { printable } from '../../domain/explain/printable.js'

/** `out` prints a document and `print` a line to standard output; `line` and `warn` a line to error output. `status` sets the live lines there. */
export interface Screen {
  readonly print: (line: string) => void
  readonly out: (text: string) => void
  readonly line: (text: string) => void
  readonly warn: (text: string) => void
  readonly output: (stream: 'stdout' | 'stderr', chunk: Uint8Array | string) => void
  readonly status: (text: (() => Status) | undefined) => void
  /** The question stays below other output until the returned function is called. */
  readonly question: (text: string) => () => void
  readonly live: boolean
  readonly outStyle: Style
  readonly style: Style
}

/** One line of plain text, which is cut; or several lines, styled, that fit the width. */
export type Status = string | ReadonlyArray<string>

export interface Streams {
  readonly stdout: NodeJS.WriteStream & { readonly fd: number }
  readonly stderr: NodeJS.WriteStream & { readonly fd: number }
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** In CI no user answers a prompt, and the log keeps every redrawn line. */
export const isAttended = ({ CI: ci = '' }: Streams['environment']): boolean => ['', '0', 'false'].includes(ci)

const CLEAR_LINE = '\r\x1b[2K'
const CLEAR_LINE_ABOVE = '\x1b[1A\x1b[2K'
const TICK_MILLIS = 1_000

/** Drops output to a closed pipe or terminal. `stepsTo`: the stream for standard output of steps. */
export const make = ({ stdout, stderr, environment }: Streams, stepsTo: 'stdout' | 'stderr'): Screen => {
  const toOut = writerTo(stdout)
  const toErr = writerTo(stderr)
  const together = goTogether({ stdout, stderr })
  const live = stderr.isTTY && environment['TERM'] !== 'dumb' && isAttended(environment)
  let status: (() => Status) | undefined
  /** The number of live lines that are drawn. */
  let drawn = 0
  let atLineStart = true
  let asked: string | undefined
  let timer: NodeJS.Timeout | undefined

  const erase = (): void => {
    if (drawn > 0) toErr(`${CLEAR_LINE}${CLEAR_LINE_ABOVE.repeat(drawn - 1)}`)
    drawn = 0
  }
  const draw = (): void => {
    if (status === undefined || !live || !atLineStart || asked !== undefined) return
    erase()
    // A wrapped line could not be cleared.
    const { symbols, width } = Styles.of(stderr, environment)
    const now = status()
    const lines = typeof now === 'string' ? [Styles.fitted(printable(now), { symbols, width: width - 1 })] : now
    // A line that scrolled out of view could not be cleared either.
    const shown = lines.slice(0, Math.max(1, (stderr.rows > 0 ? stderr.rows : 24) - 2))
    toErr(shown.map(Styles.rendered).join('\n'))
    drawn = shown.length
  }
  const write = (stream: 'stdout' | 'stderr', chunk: Uint8Array | string): void => {
    if (chunk.length === 0) return
    const sharesLine = stream === 'stderr' || together
    const question = sharesLine ? asked : undefined
    erase()
    if (question !== undefined) toErr('\n')
    if (stream === 'stdout') toOut(chunk)
    else toErr(chunk)
    if (question !== undefined) toErr(`${endsLine(chunk) ? '' : '\n'}${question}`)
    else if (sharesLine) atLineStart = endsLine(chunk)
    draw()
  }
  const freshLine = (): string => (atLineStart ? '' : '\n')
  const line = (text: string): void => write('stderr', `${freshLine()}${Styles.rendered(text)}\n`)
  const style = Styles.of(stderr, environment)

  return {
    print: (line) => write('stdout', `${Styles.rendered(line)}\n`),
    out: (text) => write('stdout', text.split('\n').map(Styles.rendered).join('\n')),
    line,
    warn: (text) => line(style.yellow(`warning: ${text}`)),
    output: (stream, chunk) => write(stream === 'stdout' ? stepsTo : 'stderr', chunk),
    question: (text) => {
      erase()
      const question = Styles.rendered(text)
      toErr(`${freshLine()}${question}`)
      atLineStart = true
      asked = question
      return () => {
        asked = undefined
        draw()
      }
    },
    status: (text) => {
      status = text
      clearInterval(timer)
      timer = text === undefined || !live ? undefined : setInterval(draw, TICK_MILLIS).unref()
      if (text === undefined) erase()
      else draw()
    },
    live,
    outStyle: Styles.of(stdout, environment),
    style
  }
}

const writerTo = (stream: NodeJS.WriteStream): ((chunk: Uint8Array | string) => void) => {
  let open = true
  stream.on('error', () => {
    open = false
  })
  return (chunk) => {
    if (open && chunk.length > 0) stream.write(chunk)
  }
}

/** Detects streams that share a terminal, file or pipe. */
const goTogether = ({ stdout, stderr }: Omit<Streams, 'environment'>): boolean => {
  if (stdout.isTTY || stderr.isTTY) return stdout.isTTY && stderr.isTTY
  try {
    const [one, other] = [fstatSync(stdout.fd), fstatSync(stderr.fd)]
    return one.ino !== 0 && one.ino === other.ino && one.dev === other.dev
  } catch {
    return false
  }
}

const endsLine = (chunk: Uint8Array | string): boolean =>
  typeof chunk === 'string' ? chunk.endsWith('\n') : chunk.at(-1) === 0x0a
