/** Runs the command of a task, and captures its output. */
import { stripVTControlCharacters } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import * as StepError from '../../domain/data/StepError.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import * as Failure from '../../domain/data/StepFailure.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import type { Command, Ended, NotStarted, Subprocess } from '../../adapters/node/subprocess.js'
import { printable } from '../../domain/explain/printable.js'
import * as Template from '../workflow/Template.js'
import type { Argument, CommandAction, TaskEntry } from '../workflow/WorkflowFile.js'
import type { TaskContext, Variables } from './stepEnvironment.js'
import { environmentOf, variablesAsText } from './stepEnvironment.js'

/** `folder`: where commands run if the run has no folder. */
export interface CommandSettings {
  readonly subprocess: Subprocess
  readonly inherited: Readonly<Record<string, string | undefined>>
  readonly folder: string
  readonly home: string
  readonly onOutput: (source: Unit, stream: 'stdout' | 'stderr', chunk: Uint8Array) => void
  readonly onWarning: (source: Unit, message: string) => void
}

export const CAPTURE_BYTES = 1_048_576

/** The limit of Linux for one environment variable: name, `=`, value and NUL. */
export const VARIABLE_BYTES = 131_072

/** The time between SIGTERM and SIGKILL. */
const GRACE_MILLIS = 5_000

/** A command that fails is a permanent failure unless the task has retries; one that did not start had no effect. */
export const commandStep =
  (settings: CommandSettings, task: TaskEntry, action: CommandAction) =>
  (context: TaskContext): TaskEither<StepFailure, string | undefined> =>
  async () => {
    const source = context.unit
    const isUtf8 = utf8Check()
    const watching = task.capture === undefined ? settings : watched(settings, isUtf8)
    const ended = await runCommand(watching, task, action, context)()
    if (E.isLeft(ended)) return ended
    const { exit } = ended.right
    if (exit._tag === 'Signal' || exit.code !== 0) return E.left(unsuccessful(ended.right, task))
    if (task.capture === undefined) return E.right(undefined)
    return isUtf8(new Uint8Array(), true)
      ? capture(settings, source, task.capture, ended.right)
      : E.left(noVariable(task.capture, 'it is not UTF-8; use a file instead'))
  }

export const runCommand =
  (
    settings: CommandSettings,
    task: TaskEntry,
    action: CommandAction,
    context: TaskContext
  ): TaskEither<StepFailure, Ended> =>
  async () => {
    const command = commandFor(settings, task, action, context)
    if (E.isLeft(command)) {
      return E.left(
        Failure.permanent(StepError.make('VariableError', command.left, { code: 'VARIABLE' }), 'notApplied')
      )
    }
    const ended = await settings.subprocess.run(command.right)()
    return E.isLeft(ended) ? E.left(notStarted(ended.left, task, command.right)) : ended
  }

type Utf8Check = (chunk: Uint8Array, isLast: boolean) => boolean

/** Returns whether all bytes of a stream so far are UTF-8. Keeps only the bytes of an unfinished character. */
const utf8Check = (): Utf8Check => {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let isValid = true
  return (chunk, isLast) => {
    try {
      if (isValid) decoder.decode(chunk, { stream: !isLast })
    } catch {
      isValid = false
    }
    return isValid
  }
}

const watched = (settings: CommandSettings, isUtf8: Utf8Check): CommandSettings => ({
  ...settings,
  onOutput: (source, stream, chunk) => {
    if (stream === 'stdout') isUtf8(chunk, false)
    settings.onOutput(source, stream, chunk)
  }
})

const commandFor = (
  { inherited, folder, home, onOutput }: CommandSettings,
  task: TaskEntry,
  action: CommandAction,
  context: TaskContext
): E.Either<string, Command> => {
  const variables = variablesAsText(context)
  if (E.isLeft(variables)) return variables
  const what = filled(action, variables.right)
  if (E.isLeft(what)) return what
  return E.right({
    what: what.right,
    env: environmentOf(inherited, variables.right, context, home),
    cwd: context.folder ?? folder,
    signal: context.signal,
    graceMillis: GRACE_MILLIS,
    captureBytes: task.capture === undefined ? 0 : CAPTURE_BYTES,
    secrets: Object.values(context.secrets),
    onOutput: (stream, chunk) => onOutput(context.unit, stream, chunk)
  })
}

const filled = (action: CommandAction, variables: Variables): E.Either<string, Command['what']> => {
  if (action._tag === 'Shell') return E.right(scriptOf(action.script))
  const words = E.traverseArray(({ text }: Argument) => Template.fill(text, variables))(action.argv)
  if (E.isLeft(words)) return E.left(`unknown variable "${words.left}"`)
  const [command, ...more] = words.right
  if (command === undefined || command === '') return E.left('the command is empty')
  return E.right({ _tag: 'Argv', argv: [command, ...more] })
}

/** `cmd.exe` cannot stop at the first failure. */
const scriptOf = (script: string): Command['what'] =>
  process.platform === 'win32' ? { _tag: 'Shell', script } : { _tag: 'Argv', argv: ['/bin/sh', '-e', '-c', script] }

const capture = (
  { onWarning }: CommandSettings,
  source: Unit,
  name: string,
  { stdout, truncatedBytes }: Ended
): E.Either<StepFailure, string> => {
  const text = stdout.trim()
  const why = objectionTo(text, name, truncatedBytes)
  if (O.isSome(why)) return E.left(noVariable(name, why.value))
  if (truncatedBytes > 0) {
    const total = Buffer.byteLength(stdout) + truncatedBytes
    onWarning(
      source,
      `"${name}" holds only the first ${CAPTURE_BYTES} of ${total} bytes of output; use a file for more`
    )
  }
  return E.right(text)
}

const noVariable = (name: string, why: string): StepFailure =>
  Failure.permanent(
    StepError.make('VariableError', `its output cannot become the variable "${name}": ${why}`, { code: 'VARIABLE' })
  )

/** A recorded value that does not fit would stop every later step. */
const objectionTo = (text: string, name: string, truncatedBytes: number): O.Option<string> => {
  if (text.includes('\0')) return O.some('it contains a NUL character')
  const bytes = Buffer.byteLength(text) + truncatedBytes
  const most = VARIABLE_BYTES - name.length - 2
  return process.platform === 'linux' && bytes > most
    ? O.some(`it has ${bytes} bytes (limit: ${most}); use a file instead`)
    : O.none
}

export const unsuccessful = ({ exit, stderrTail }: Ended, task: TaskEntry): StepFailure => {
  const how = exit._tag === 'Code' ? `exit code ${exit.code}` : `killed by ${exit.signal}`
  const [line = ''] = stripVTControlCharacters(stderrTail).trimEnd().split('\n').slice(-1)
  // Node versions differ in what they leave of control characters.
  const said = printable(line.replace(/\p{Cc}+/gu, ' ').trim())
  const error = StepError.make('ExitError', said === '' ? how : `${how}: ${said}`, {
    code: exit._tag === 'Code' ? String(exit.code) : exit.signal
  })
  return task.retry === undefined ? Failure.permanent(error) : Failure.transient(error)
}

/** The system may have these resources again later. */
const PASSING: ReadonlySet<string> = new Set(['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE', 'ETXTBSY'])

const notStarted = ({ code, message }: NotStarted, task: TaskEntry, command: Command): StepFailure => {
  const error = StepError.make('NotStarted', code === 'E2BIG' ? tooBig(command) : `could not be started: ${message}`, {
    code
  })
  return task.retry !== undefined && PASSING.has(code)
    ? Failure.transient(error, 'notApplied')
    : Failure.permanent(error, 'notApplied')
}

const tooBig = ({ env }: Command): string => {
  const [biggest] = Object.entries(env).sort(([, a], [, b]) => Buffer.byteLength(b) - Buffer.byteLength(a))
  const named =
    biggest === undefined ? '' : ` (the biggest: "${biggest[0]}" with ${Buffer.byteLength(biggest[1])} bytes)`
  return `could not be started: its variables and arguments exceed the limit of the system${named}; use a file instead`
}
