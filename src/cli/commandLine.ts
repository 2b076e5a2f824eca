/** Parses the command line, runs the command, and reports its error. */
import * as E from 'fp-ts/lib/Either.js'
import type { CliError } from './CliError.js'
import { describe, notDone, usage } from './CliError.js'
import type { Context, Result, Store } from './commands/Context.js'
import { forSteps, locate } from './commands/Context.js'
import { nextActions, withoutValues } from './commands/hints/ofError.js'
import type * as Table from './commands/commandTable.js'
import { ExitCode, ofError } from './ExitCode.js'
import { helpOf } from './help.js'
import type { Parsed } from './parse.js'
import { commandIn, parse } from './parse.js'
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
  const parsed = parse(words)
  const { flags, command } = parsed
  const events = flags.events === true
  const json = events || flags.json === true || flags.output === 'json'
  const screen = screenOf(host, json)
  const folder = folderOf(host)
  if (folder === undefined)
    return report(screen, { json, events }, usage('the current folder was deleted; change to one that exists'))
  try {
    if (flags.version === true || isForHelp(parsed)) {
      host.stdout.write(flags.version === true ? `${version}\n` : helpOf(command, widthOf(host.stdout)))
      return ExitCode.done
    }
    if (words.length === 0) {
      host.stderr.write(helpOf(undefined, widthOf(host.stderr)))
      return ExitCode.wrongUse
    }
    const code = await perform(host, parsed, { screen, json, events, folder })
    if (command?.endsProcess === true) await Output.endWith(host, code)
    return code
  } catch (error) {
    const trace = error instanceof Error ? (error.stack ?? error.message) : String(error)
    printError(screenOf(host, false), ['this is a bug in dogear:', ...trace.split('\n')])
    return ExitCode.bug
  }
}

/** An unknown command has no help. */
const isForHelp = ({ flags, name, command }: Parsed): boolean =>
  flags.help === true && (name === undefined) === (command === undefined)

const widthOf = ({ columns = 80 }: Partial<NodeJS.WriteStream>): number => columns

const folderOf = (host: Host): string | undefined => {
  try {
    return host.cwd()
  } catch {
    return undefined
  }
}

const perform = async (
  { stdin, stderr, env }: Host,
  parsed: Parsed,
  common: Pick<Context, 'screen' | 'json' | 'events' | 'folder'>
): Promise<ExitCode> => {
  const { flags, operands } = parsed
  const { folder } = common
  const words = parsed.words.map(withoutPassword)
  const interactive = stdin.isTTY && stderr.isTTY && Screen.isAttended(env)
  const located = locate(flags, env, folder)
  const place = { words: withoutValues(words), store: E.isRight(located) ? located.right.store : NO_STORE }
  const command = commandIn(parsed, place)
  const act = async (store: Store, home: string, { name, args }: Table.Command): Promise<Result> => {
    const inherited = forSteps(env, store.location)
    const context = { ...common, words, stdin, interactive, verbose: flags.verbose === true, inherited, home, store }
    return (await actionOf(name))(context, ...args.map((_, index) => operands[index]), flags)
  }
  const result = E.isLeft(command)
    ? command
    : E.isLeft(located)
      ? located
      : await withStore(located.right.store, folder, command.right, (store) =>
          act(store, located.right.home, command.right)
        ).catch(outOfDescriptors)
  return E.isRight(result) ? result.right : report(common.screen, common, result.left, nextActions(place, result.left))
}

const NO_STORE: Store = { location: { _tag: 'Files', path: '.dogear' }, words: [] }

const WITHOUT_STORE: ReadonlySet<string> = new Set(['schema', 'conformance'])

const withStore = async (
  store: Store,
  folder: string,
  { name }: Table.Command,
  use: (store: Store) => Promise<Result>
): Promise<Result> => {
  const { location } = store
  if (location._tag === 'Files' || WITHOUT_STORE.has(name)) return await use(store)
  const { withDatabase } = await import('./store/open.js')
  return withDatabase(location, { folder, mayCreate: name === 'run' }, (database) => use({ ...store, database }))
}

/** An action takes the context, the operands in order, and the flags. */
type Action = (context: Context, ...words: ReadonlyArray<unknown>) => Result | Promise<Result>

const actionOf = async (name: Table.Command['name']): Promise<Action> => {
  if (name === 'conformance') return (await import('./commands/conformance.js')).conformanceCommand as Action
  return (await import('./actions.js'))[name] as Action
}

/** Commands load on demand, and the process may have no descriptor left for the file. */
const outOfDescriptors = async (error: Error): Promise<Result> => {
  if (!Output.isShortOfFiles(error)) return await Promise.reject(error)
  const { path: where = 'a file of dogear', syscall: operation = 'open', code } = error
  return E.left(notDone({ _tag: 'ReadFailed', where, operation, code, cause: error }))
}

const screenOf = ({ stdout, stderr, env }: Host, json: boolean): Screen.Screen =>
  Screen.make({ stdout, stderr, environment: env }, json ? 'stderr' : 'stdout')

const printError = (screen: Screen.Screen, [first = '', ...more]: ReadonlyArray<string>): void =>
  [`${screen.style.red('dogear:')} ${first}`, ...more].forEach(screen.line)

/** Returns the exit code of the error. */
const report = (
  screen: Screen.Screen,
  { json, events }: Pick<Context, 'json' | 'events'>,
  error: CliError,
  next: ReadonlyArray<Hint> = []
): ExitCode => {
  printError(screen, [...describe(error), ...linesOf(next, screen.style)])
  if (json) screen.out(printedResult({ events }, cliErrorJson(error, next)))
  return ofError(error)
}
