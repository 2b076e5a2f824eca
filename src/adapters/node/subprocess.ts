/** Commands of the operating system, as child processes. */
import type { ChildProcessByStdio, SpawnOptionsWithStdioTuple, StdioNull, StdioPipe } from 'node:child_process'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Readable } from 'node:stream'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as Redaction from '../../domain/data/Redaction.js'
import { keepHead, keepTail } from './output.js'
import { guard, isWindows, stopGroup } from './processGroup.js'

/**
 * A command to run. A `Shell` script is given to the system's shell; an `Argv` is executed as it is, with no shell, so
 * its words are data. `env` is the whole environment. Standard input is empty: a command that runs in a process group
 * of its own could not read a terminal.
 *
 * @category model
 */
export interface Command {
  readonly what:
    | { readonly _tag: 'Shell'; readonly script: string }
    | { readonly _tag: 'Argv'; readonly argv: ReadonlyNonEmptyArray<string> }
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  /** Ends the command's whole process group: SIGTERM, and SIGKILL for what still lives after `graceMillis`. */
  readonly signal: AbortSignal
  readonly graceMillis: number
  /** How many bytes of standard output are kept. */
  readonly captureBytes: number
  /** Values that are `***` in all output that is kept or handed on: see `Redaction`. */
  readonly secrets?: ReadonlyArray<string>
  /** Gets every piece of output as it comes. Must not throw. */
  readonly onOutput: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void
}

/**
 * How a command ended. `stdout` is what was kept of its output (UTF-8), `truncatedBytes` how much was not;
 * `stderrTail` the end of its error output, for a message.
 *
 * @category model
 */
export interface Ended {
  readonly exit: { readonly _tag: 'Code'; readonly code: number } | { readonly _tag: 'Signal'; readonly signal: string }
  readonly stdout: string
  readonly truncatedBytes: number
  readonly stderrTail: string
}

/**
 * The command could not be started: nothing of it ran. `code` is the system's (`ENOENT`, `EACCES`, `E2BIG`), Node's
 * (`ERR_INVALID_ARG_VALUE`: a NUL character), or `ABORT_ERR` if the signal had fired before.
 *
 * @category errors
 */
export interface NotStarted {
  readonly _tag: 'NotStarted'
  readonly code: string
  readonly message: string
}

/**
 * Runs commands. A task resolves when its command has ended and, if it was aborted, nothing of its process group lives.
 * What a command leaves running in the background is not waited for and, unless aborted, not ended.
 *
 * @category model
 */
export interface Subprocess {
  /** Runs a command to its end. */
  readonly run: (command: Command) => TaskEither<NotStarted, Ended>
}

/** How much of the error output is kept. */
const STDERR_TAIL_BYTES = 4_096

/** How long the pipes may stay open after the command has ended, because something in the background holds them. */
const DRAIN_MILLIS = 200

type Child = ChildProcessByStdio<null, Readable, Readable>

/**
 * Runs commands as child processes, each the leader of a process group of its own.
 *
 * - A script goes to `/bin/sh -c`, on Windows to `cmd.exe /d /s /c`.
 * - Abort ends the whole group, also what outlives its leader. On Windows the process tree is ended without grace.
 * - A process that the command left in the background keeps running, and loses its standard output and error output
 *   a moment after the command has ended: let it redirect them.
 * - When this process exits by itself, the commands that run are killed. If it is killed (SIGKILL, out of memory),
 *   they go on: no POSIX system offers more. Such a step shows as in flight, and may still be at work when it is resumed.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { subprocess } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * const greet = subprocess.run({
 *   what: { _tag: 'Shell', script: 'echo "hello $name"' },
 *   env: { PATH: process.env['PATH'] ?? '', name: '$(reboot)' },
 *   cwd: process.cwd(),
 *   signal: new AbortController().signal,
 *   graceMillis: 5_000,
 *   captureBytes: 1_048_576,
 *   onOutput: () => {}
 * })
 * assert.deepEqual(
 *   await greet(),
 *   E.right({ exit: { _tag: 'Code', code: 0 }, stdout: 'hello $(reboot)\n', truncatedBytes: 0, stderrTail: '' })
 * )
 *
 * @category constructors
 */
export const subprocess: Subprocess = {
  run: (command) => () =>
    pipe(
      start(command),
      E.match(
        (notStarted) => TE.left(notStarted),
        (child) => (child.pid === undefined ? failure(command, child) : supervise(command, child, child.pid))
      )
    )()
}

/** Some failures to start come as exceptions; the others come later, as an event. */
const start = (command: Command): E.Either<NotStarted, Child> =>
  command.signal.aborted
    ? E.left({ _tag: 'NotStarted', code: 'ABORT_ERR', message: 'stopped before it started' })
    : E.tryCatch(() => launch(command), notStarted(command))

const launch = ({ what, cwd, env }: Command): Child => {
  const options: SpawnOptionsWithStdioTuple<StdioNull, StdioPipe, StdioPipe> = {
    cwd,
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: !isWindows,
    windowsHide: true
  }
  if (what._tag === 'Argv') return spawn(what.argv[0], what.argv.slice(1), options)
  return isWindows
    ? spawn('cmd.exe', ['/d', '/s', '/c', `"${what.script}"`], { ...options, windowsVerbatimArguments: true })
    : spawn('/bin/sh', ['-c', what.script], options)
}

/** A child without an id was not started, and is about to say why. */
const failure =
  (command: Command, child: Child): TE.TaskEither<NotStarted, never> =>
  () =>
    new Promise((resolve) => child.once('error', (error) => resolve(E.left(notStarted(command)(error)))))

const notStarted =
  ({ what, cwd }: Command) =>
  (thrown: unknown): NotStarted => {
    const { code = 'UNKNOWN', message } = thrown as NodeJS.ErrnoException
    const name = what._tag === 'Argv' ? what.argv[0] : 'the shell'
    return {
      _tag: 'NotStarted',
      code,
      message: code !== 'ENOENT' ? message : existsSync(cwd) ? `not found: ${name}` : `no such folder: ${cwd}`
    }
  }

const supervise =
  (command: Command, child: Child, pid: number): TE.TaskEither<NotStarted, Ended> =>
  async () => {
    const stdout = keepHead(command.captureBytes)
    const stderr = keepTail(STDERR_TAIL_BYTES)
    const take = (stream: 'stdout' | 'stderr', chunk: Uint8Array): void => {
      ;(stream === 'stdout' ? stdout : stderr).add(chunk)
      command.onOutput(stream, chunk)
    }
    const ends = (['stdout', 'stderr'] as const).map((stream) => {
      const output = hiding(command.secrets ?? [], (chunk) => take(stream, chunk))
      child[stream].on('data', output.add)
      return output.end
    })
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
    const stop = stopOnAbort(command, pid)

    const exit = await exitOf(child)
    await stop.done()
    await drained(child, closed)
    stop.disarm()
    await stop.done()
    for (const end of ends) end()
    return E.right({
      exit,
      stdout: stdout.text(),
      truncatedBytes: stdout.truncatedBytes(),
      stderrTail: stderr.text()
    })
  }

/** Hands output on without the values of secrets. What may be the begin of one waits for what follows, or for the end. */
const hiding = (
  secrets: ReadonlyArray<string>,
  then: (chunk: Uint8Array) => void
): { readonly add: (chunk: Uint8Array) => void; readonly end: () => void } => {
  const redaction = Redaction.make(secrets)
  if (Redaction.isNone(redaction)) return { add: then, end: () => undefined }
  let held = Redaction.nothingHeld
  const tell = (told: Uint8Array): void => (told.length === 0 ? undefined : then(told))
  return {
    add: (chunk) => {
      const next = Redaction.next(redaction, held, chunk)
      held = next.held
      tell(next.told)
    },
    end: () => tell(Redaction.rest(redaction, held))
  }
}

const exitOf = (child: Child): Promise<Ended['exit']> =>
  new Promise((resolve) =>
    child.once('exit', (code, signal) =>
      resolve(signal === null ? { _tag: 'Code', code: code ?? 0 } : { _tag: 'Signal', signal })
    )
  )

/** Has the group end when the signal fires. `done` resolves when a stop that has begun is through. */
const stopOnAbort = (
  { signal, graceMillis }: Command,
  pid: number
): { readonly done: () => Promise<void>; readonly disarm: () => void } => {
  let stopped = Promise.resolve()
  const unguard = guard(pid)
  const stop = (): void => {
    stopped = stopGroup(pid, graceMillis)
  }
  signal.addEventListener('abort', stop, { once: true })
  return {
    done: () => stopped,
    disarm: () => {
      signal.removeEventListener('abort', stop)
      unguard()
    }
  }
}

/**
 * Resolves when all output was read. What the command itself wrote is in the pipes when it has ended, and is read in
 * one turn of the event loop; if they stay open longer, they are cut.
 */
const drained = async (child: Child, closed: Promise<void>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => setImmediate(resolve), DRAIN_MILLIS)
  })
  await Promise.race([closed, late])
  clearTimeout(timer)
  child.stdout.destroy()
  child.stderr.destroy()
}
