/** Running a command of the operating system. */
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'

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
