/**
 * Standard output, error output, and on a terminal one live line below both.
 *
 * Step output and progress lines may share a terminal, so all output passes through here: it clears the live line before each
 * write and draws it again. It also makes all of Dogear's own text printable; step output passes unchanged.
 */
import { fstatSync } from 'node:fs'
import type { Style } from './Style.js'
import * as Styles from './Style.js'

/**
 * Where text goes.
 *
 * - `print`: a result line on standard output. `out`: a whole document, which has its own line breaks.
 * - `line`: a progress line on standard error, starting a new line if the last one is unfinished.
 * - `output`: what a step writes, as it comes.
 * - `status`: the live line, looked at again every second; undefined for none. Without a terminal it does nothing.
 */
export interface Screen {
  readonly print: (line: string) => void
  readonly out: (text: string) => void
  readonly line: (text: string) => void
  readonly warn: (text: string) => void
  readonly output: (stream: 'stdout' | 'stderr', chunk: Uint8Array | string) => void
  readonly status: (text: (() => string) | undefined) => void
  /** Shows a question below all other output until the returned function is called. */
  readonly question: (text: string) => () => void
  /** Whether there is a live line: what it shows needs no line of its own. */
  readonly live: boolean
  readonly outStyle: Style
  readonly style: Style
}

/** What a screen is made of: the streams of a process. */
export interface Streams {
  readonly stdout: NodeJS.WriteStream & { readonly fd: number }
  readonly stderr: NodeJS.WriteStream & { readonly fd: number }
  readonly environment: Readonly<Record<string, string | undefined>>
}

const CLEAR_LINE = '\r\x1b[2K'
const TICK_MILLIS = 1_000

/**
 * A screen on these streams. `stepsTo`: where the standard output of steps goes. A reader that has gone away (EPIPE) or
 * a terminal that was closed is no reason to stop: what would go there is dropped.
 */
export const make = ({ stdout, stderr, environment }: Streams, stepsTo: 'stdout' | 'stderr'): Screen => {
  const toOut = writerTo(stdout)
  const toErr = writerTo(stderr)
  const together = goTogether({ stdout, stderr })
  const live = stderr.isTTY && environment['TERM'] !== 'dumb'
  let status: (() => string) | undefined
  let drawn = false
  let atLineStart = true
  let asked: string | undefined
  let timer: NodeJS.Timeout | undefined

  const erase = (): void => {
    if (drawn) toErr(CLEAR_LINE)
    drawn = false
  }
  const draw = (): void => {
    if (status === undefined || !live || !atLineStart || asked !== undefined) return
    erase()
    // A line that wraps could not be cleared.
    const { marks, width } = Styles.of(stderr, environment)
    toErr(Styles.fitted(Styles.printable(status()), { marks, width: width - 1 }))
    drawn = true
  }
  const write = (stream: 'stdout' | 'stderr', chunk: Uint8Array | string): void => {
    if (chunk.length === 0) return
    const isHere = stream === 'stderr' || together
    const question = isHere ? asked : undefined
    erase()
    if (question !== undefined) toErr('\n')
    if (stream === 'stdout') toOut(chunk)
    else toErr(chunk)
    if (question !== undefined) toErr(`${endsLine(chunk) ? '' : '\n'}${question}`)
    else if (isHere) atLineStart = endsLine(chunk)
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

/** Writes until the stream is broken. */
const writerTo = (stream: NodeJS.WriteStream): ((chunk: Uint8Array | string) => void) => {
  let open = true
  stream.on('error', () => {
    open = false
  })
  return (chunk) => {
    if (open && chunk.length > 0) stream.write(chunk)
  }
}

/** Whether both go to the same terminal, file or pipe, so that what one writes comes behind what the other wrote. */
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
