/** Runs commands of the operating system as child processes. */
import type { ChildProcessByStdio, SpawnOptionsWithStdioTuple, StdioNull, StdioPipe } from 'node:child_process'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
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
 * A command to run. The system's shell runs a `Shell` script; an `Argv` is executed without a shell, so its words are
 * data. `env` is the whole environment. Standard input is empty, because a command in its own process group cannot
 * read a terminal.
 *
 * @category model
 */
export interface Command {
  readonly what:
    | { readonly _tag: 'Shell'; readonly script: string }
    | { readonly _tag: 'Argv'; readonly argv: ReadonlyNonEmptyArray<string> }
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  /** Ends the command's whole process group: SIGTERM, then SIGKILL after `graceMillis`. */
  readonly signal: AbortSignal
  readonly graceMillis: number
  /** The most bytes of standard output to keep. */
  readonly captureBytes: number
  /** Values to redact: in all output `***` replaces each value, and each line of one, of at least 4 characters, also with JSON escapes. */
  readonly secrets?: ReadonlyArray<string>
  /** Receives every piece of output as it arrives. Must not throw. */
  readonly onOutput: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void
}

/**
 * How a command ended. `stdout` is the part of its output that was kept (UTF-8), `truncatedBytes` the number of bytes
 * that were dropped; `stderrTail` is the end of its error output, for a message.
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
 * The command could not be started, so no part of it ran. `code` is the system's (`ENOENT`, `EACCES`, `E2BIG`), Node's
 * (`ERR_INVALID_ARG_VALUE`: a NUL character), or `ABORT_ERR` if the signal had already fired.
 *
 * @category errors
 */
export interface NotStarted {
  readonly _tag: 'NotStarted'
  readonly code: string
  readonly message: string
}

/**
 * Runs commands. A task resolves when its command has ended and, if it was aborted, no process of its group lives, or
 * 2 s after SIGKILL. It does not wait for processes that a command leaves in the background and ends them only on abort.
 *
 * @category model
 */
export interface Subprocess {
  /** Runs a command to its end. */
  readonly run: (command: Command) => TaskEither<NotStarted, Ended>
}

/** The most bytes of error output to keep. */
const STDERR_TAIL_BYTES = 4_096

/** How long a background process may keep the pipes open after the command has ended. */
const DRAIN_MILLIS = 200

type Child = ChildProcessByStdio<null, Readable, Readable>

/**
 * Runs commands as child processes, each the leader of its own process group.
 *
 * - A script runs with `/bin/sh -c`, on Windows with `cmd.exe /d /s /c`.
 * - An abort ends the whole group, including processes that outlive their leader. On Windows it kills the process tree
 *   without grace.
 * - A process that the command left in the background keeps running. Its standard output and error output close
 *   shortly after the command has ended, so redirect them.
 * - When this process exits by itself, it kills the running commands. If it is killed (SIGKILL, out of memory), they
 *   keep running: no POSIX system prevents that. Such a step is recorded as in flight, and its command may still be
 *   running at the resume.
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
        (error) => TE.left(error),
        (child) => (child.pid === undefined ? startFailure(command, child) : supervise(command, child, child.pid))
      )
    )()
}

/** Node throws some start failures and emits the others as an event. */
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

/** A child without a process id did not start; an `error` event follows. */
const startFailure =
  (command: Command, child: Child): TE.TaskEither<NotStarted, never> =>
  () =>
    new Promise((resolve) => child.once('error', (error) => resolve(E.left(notStarted(command)(error)))))

const notStarted =
  ({ what, cwd }: Command) =>
  (thrown: unknown): NotStarted => {
    const { code = 'UNKNOWN', message } = thrown as NodeJS.ErrnoException
    if (code !== 'ENOENT') return { _tag: 'NotStarted', code, message }
    if (!existsSync(cwd)) return { _tag: 'NotStarted', code, message: `no such folder: ${cwd}` }
    const name = what._tag === 'Argv' ? what.argv[0] : 'the shell'
    // The first line of a script names its interpreter.
    const isThere = name.includes('/') && existsSync(resolve(cwd, name))
    return { _tag: 'NotStarted', code, message: `not found: ${isThere ? `the interpreter of ${name}` : name}` }
  }

const supervise =
  (command: Command, child: Child, pid: number): TE.TaskEither<NotStarted, Ended> =>
  async () => {
    const stdout = keepHead(command.captureBytes)
    const stderr = keepTail(STDERR_TAIL_BYTES)
    const receive = (stream: 'stdout' | 'stderr', chunk: Uint8Array): void => {
      ;(stream === 'stdout' ? stdout : stderr).add(chunk)
      command.onOutput(stream, chunk)
    }
    const ends = (['stdout', 'stderr'] as const).map((stream) => {
      const output = redacting(command.secrets ?? [], (chunk) => receive(stream, chunk))
      child[stream].on('data', output.add)
      return output.end
    })
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
    const stop = stopOnAbort(command, pid)

    const exit = await exitOf(child)
    await stop.done()
    await drain(child, closed)
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

/** Redacts output before forwarding it. Holds back what may be the beginning of a secret until more output or the end arrives. */
const redacting = (
  secrets: ReadonlyArray<string>,
  forward: (chunk: Uint8Array) => void
): { readonly add: (chunk: Uint8Array) => void; readonly end: () => void } => {
  const redaction = Redaction.make(secrets)
  if (Redaction.isNone(redaction)) return { add: forward, end: () => undefined }
  let held = Redaction.nothingHeld
  const emit = (chunk: Uint8Array): void => (chunk.length === 0 ? undefined : forward(chunk))
  return {
    add: (chunk) => {
      const next = Redaction.next(redaction, held, chunk)
      held = next.held
      emit(next.emitted)
    },
    end: () => emit(Redaction.rest(held))
  }
}

const exitOf = (child: Child): Promise<Ended['exit']> =>
  new Promise((resolve) =>
    child.once('exit', (code, signal) =>
      resolve(signal === null ? { _tag: 'Code', code: code ?? 0 } : { _tag: 'Signal', signal })
    )
  )

/** Ends the group when the signal fires. `done` resolves when a stop in progress has finished. */
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

/** Waits for all output of an ended command, which is in the pipes by then, and closes pipes that a background process keeps open. */
const drain = async (child: Child, closed: Promise<void>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => setImmediate(resolve), DRAIN_MILLIS)
  })
  await Promise.race([closed, late])
  clearTimeout(timer)
  child.stdout.destroy()
  child.stderr.destroy()
}
