/** Runs a command line, and reports its error. */
import * as E from 'fp-ts/lib/Either.js'
import type { CliError } from './CliError.js'
import { describe, notDone, usage } from './CliError.js'
import type { Context, Result, Store } from './commands/Context.js'
import { forSteps, locate } from './commands/Context.js'
import { nextActions, withoutValues } from './commands/hints/ofError.js'
import type { Command } from './commands/commandTable.js'
import { ExitCode, ofError } from './ExitCode.js'
import { helpOf } from './help.js'
import type { Flags, Request } from './parse.js'
import { helpHint, parse } from './parse.js'
import { withoutPassword } from './store/Location.js'
import type { Hint } from './report/Hint.js'
import { linesOf } from './report/Hint.js'
import { cliErrorJson, printedResult } from './report/runJson.js'
import * as Output from './terminal/Output.js'
import * as Screen from './terminal/Screen.js'

/** The parts of the process that the command uses; a test passes its own. */
export type Host = Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr' | 'env' | 'cwd' | 'exit'>

/** Runs a command line and returns the exit code. The process ends once all output is written. */
export const main = async (words: ReadonlyArray<string>, version: string, host: Host = process): Promise<ExitCode> => {
  try {
    const { request, flags } = parse(words, host)
    const output = outputOf(flags)
    const refuse = (error: CliError): ExitCode => report(screenOf(host, output.json), output, error)
    if (!hasFolder(host)) return refuse(usage('the current folder was deleted; change to one that exists'))
    if (E.isLeft(request)) return refuse(request.left)
    const help = (command?: Command): string => helpOf(command, host.stdout.isTTY ? host.stdout.columns : undefined)
    switch (request.right._tag) {
      case 'Run':
        return await perform(host, words, request.right, output)
      case 'Nothing':
        if (output.json) return refuse(usage('a command is missing', [helpHint()]))
        host.stderr.write(help())
        return ExitCode.wrongUse
      case 'Help':
        host.stdout.write(help(request.right.command))
        return ExitCode.done
      case 'Version':
        host.stdout.write(`${version}\n`)
        return ExitCode.done
    }
  } catch (error) {
    const trace = error instanceof Error ? (error.stack ?? error.message) : String(error)
    printError(screenOf(host, false), ['this is a bug in dogear:', ...trace.split('\n')])
    return ExitCode.bug
  }
}

type Outputs = Pick<Context, 'json' | 'events'>

const outputOf = ({ json, events = false, output }: Flags): Outputs => ({
  json: events || json === true || output === 'json',
  events
})

const hasFolder = (host: Host): boolean => {
  try {
    return host.cwd() !== ''
  } catch {
    return false
  }
}

const perform = async (
  host: Host,
  typed: ReadonlyArray<string>,
  { command, args, flags }: Request & { readonly _tag: 'Run' },
  output: Outputs
): Promise<ExitCode> => {
  const screen = screenOf(host, output.json)
  const { stdin, stderr, env } = host
  const folder = host.cwd()
  const interactive = stdin.isTTY && stderr.isTTY && Screen.isAttended(env)
  const words = typed.map(withoutPassword)
  const common = { words, screen, ...output, stdin, interactive, folder }
  const located = locate(flags, env, folder)
  const result = E.isLeft(located)
    ? located
    : await withStore(located.right.store, folder, command, (store) =>
        act(
          { ...common, inherited: forSteps(env, located.right.store.location), home: located.right.home, store },
          command,
          args as ReadonlyArray<never>,
          flags.verbose === true
        )
      ).catch(outOfDescriptors)
  const store = E.isRight(located) ? located.right.store : NO_STORE
  const code = E.isRight(result)
    ? result.right
    : report(screen, output, result.left, nextActions({ words: withoutValues(words), store }, result.left))
  if (command._tag === 'Plain' && command.endsProcess === true) await Output.endWith(host, code)
  return code
}

const NO_STORE: Store = { location: { _tag: 'Files', path: '.dogear' }, shown: '.dogear', words: [] }

const WITHOUT_STORE: ReadonlySet<string> = new Set(['schema', 'conformance'])

const withStore = async (
  store: Store,
  folder: string,
  { name }: Command,
  use: (store: Store) => Promise<Result>
): Promise<Result> => {
  const { location } = store
  if (location._tag === 'Files' || WITHOUT_STORE.has(name)) return await use(store)
  const { open } = await import('./store/open.js')
  const opened = await open(location, { folder, mayCreate: name === 'run' })
  if (E.isLeft(opened)) return opened
  try {
    return await use({ ...store, database: opened.right })
  } finally {
    await opened.right.close()
  }
}

const act = async (
  context: Context,
  command: Command,
  args: ReadonlyArray<never>,
  verbose: boolean
): Promise<Result> => {
  if (command._tag === 'Plain') return (await command.load())(context, ...args)
  const [action, { withPrompt }] = await Promise.all([command.load(), import('./actions.js')])
  return withPrompt(context, verbose, async (prompting) => action(prompting, ...args))
}

/** Commands load on demand, and the process may have no descriptor left for the file. */
const outOfDescriptors = (error: Error): Promise<Result> =>
  Output.isShortOfFiles(error)
    ? Promise.resolve(
        E.left(
          notDone({
            _tag: 'ReadFailed',
            where: error.path ?? 'a file of dogear',
            operation: error.syscall ?? 'open',
            code: error.code,
            cause: error
          })
        )
      )
    : Promise.reject(error)

const screenOf = ({ stdout, stderr, env }: Host, json: boolean): Screen.Screen =>
  Screen.make({ stdout, stderr, environment: env }, json ? 'stderr' : 'stdout')

const printError = (screen: Screen.Screen, [first = '', ...more]: ReadonlyArray<string>): void =>
  [`${screen.style.red('dogear:')} ${first}`, ...more].forEach(screen.line)

/** Returns the exit code of the error. */
const report = (
  screen: Screen.Screen,
  { json, events }: Outputs,
  error: CliError,
  next: ReadonlyArray<Hint> = []
): ExitCode => {
  printError(screen, [...describe(error), ...linesOf(next, screen.style)])
  if (json) screen.out(printedResult({ events }, cliErrorJson(error, next)))
  return ofError(error)
}
