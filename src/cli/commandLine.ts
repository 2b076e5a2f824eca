/** Parses the command line, runs the command, and reports its error. */
import { Command, CommanderError } from 'commander'
import * as E from 'fp-ts/lib/Either.js'
import type { CliError } from './CliError.js'
import { describe, notDone, usage } from './CliError.js'
import type { Context, Result, Store, StoreFlags } from './commands/Context.js'
import { forSteps, locate } from './commands/Context.js'
import { nextActions, withoutValues } from './commands/hints/ofError.js'
import * as Table from './commands/commandTable.js'
import { ExitCode, ofError } from './ExitCode.js'
import { usageError, normalized } from './usageError.js'
import { withoutPassword } from './store/Location.js'
import type { Hint } from './report/Hint.js'
import { linesOf } from './report/Hint.js'
import { cliErrorJson, printedResult } from './report/runJson.js'
import * as Output from './terminal/Output.js'
import * as Screen from './terminal/Screen.js'

/** The flags that `dogear` itself reads. */
interface Flags extends StoreFlags {
  readonly json?: boolean
  readonly events?: boolean
  readonly output?: string
  readonly verbose?: boolean
}

/** The parts of the process that the command uses; a test passes its own. */
export type Host = Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr' | 'env' | 'cwd' | 'exit'>

/** `args`: the arguments of an action, which are the operands and the flags of its command. */
type Perform = (command: Table.Command, args: ReadonlyArray<unknown>, flags: Flags) => Promise<void>

/** Runs a command line and returns the exit code. The process ends once all output is written. */
export const main = async (words: ReadonlyArray<string>, version: string, host: Host = process): Promise<ExitCode> => {
  let code: ExitCode = ExitCode.done
  if (!hasFolder(host)) return refuse(host, words, usage('the current folder was deleted; change to one that exists'))
  const program = programOf(host, version, async (command, args, flags) => {
    code = await perform(host, words, command, args, flags)
    if (command._tag === 'Plain' && command.endsProcess === true) await Output.endWith(host, code)
  })
  try {
    await program.parseAsync(normalized(program, words), { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? ExitCode.done : refuseUsage(host, program, words, error)
    const trace = error instanceof Error ? (error.stack ?? error.message) : String(error)
    printError(screenOf(host, false), ['this is a bug in dogear:', ...trace.split('\n')])
    return ExitCode.bug
  }
}

/** Commander has already printed its help for a command line without a command. */
const refuseUsage = (host: Host, program: Command, words: ReadonlyArray<string>, error: CommanderError): ExitCode =>
  error.code === 'commander.help' && !asksForJson(words)
    ? ExitCode.wrongUse
    : refuse(host, words, usageError(host, program, words, error))

const refuse = (host: Host, words: ReadonlyArray<string>, error: CliError): ExitCode => {
  const json = asksForJson(words)
  return report(screenOf(host, json), { json, events: beforeDashes(words).includes('--events') }, error)
}

const hasFolder = (host: Host): boolean => {
  try {
    return host.cwd() !== ''
  } catch {
    return false
  }
}

/** Detects a request for JSON in words that commander rejects. */
const asksForJson = (words: ReadonlyArray<string>): boolean => {
  const typed = beforeDashes(words)
  return typed.some(
    (word, index) =>
      word === '--json' ||
      word === '--events' ||
      word === '--output=json' ||
      (word === '--output' && typed[index + 1] === 'json')
  )
}

const beforeDashes = (words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const end = words.indexOf('--')
  return end === -1 ? words : words.slice(0, end)
}

const perform = async (
  host: Host,
  typed: ReadonlyArray<string>,
  command: Table.Command,
  args: ReadonlyArray<unknown>,
  flags: Flags
): Promise<ExitCode> => {
  const events = flags.events === true
  const json = events || flags.json === true || flags.output === 'json'
  const screen = screenOf(host, json)
  const { stdin, stderr, env } = host
  const folder = host.cwd()
  const interactive = stdin.isTTY && stderr.isTTY && Screen.isAttended(env)
  const words = typed.map(withoutPassword)
  const common = { words, screen, json, events, stdin, interactive, folder }
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
  if (E.isRight(result)) return result.right
  const store = E.isRight(located) ? located.right.store : NO_STORE
  return report(screen, { json, events }, result.left, nextActions({ words: withoutValues(words), store }, result.left))
}

const NO_STORE: Store = { location: { _tag: 'Files', path: '.dogear' }, shown: '.dogear', words: [] }

const WITHOUT_STORE: ReadonlySet<string> = new Set(['schema', 'conformance'])

const withStore = async (
  store: Store,
  folder: string,
  { name }: Table.Command,
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
  command: Table.Command,
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
  { json, events }: Pick<Context, 'json' | 'events'>,
  error: CliError,
  next: ReadonlyArray<Hint> = []
): ExitCode => {
  printError(screen, [...describe(error), ...linesOf(next, screen.style)])
  if (json) screen.out(printedResult({ events }, cliErrorJson(error, next)))
  return ofError(error)
}

const programOf = ({ stdout, stderr }: Host, version: string, perform: Perform): Command => {
  const program = new Command('dogear')
    .description('Runs a workflow step by step, records each step, and resumes at the right one.')
    .version(version, Table.VERSION.syntax, Table.VERSION.text)
    .helpOption(Table.HELP.syntax, Table.HELP.text)
    .helpCommand('help [command]', 'print help for a command')
    .showSuggestionAfterError(false)
    .option(Table.HOME.syntax, Table.HOME.text)
    .option(Table.STORE.syntax, Table.plain(Table.STORE.text))
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
      outputError: () => undefined
    })
    .exitOverride()
    .addHelpText('after', OVERVIEW)
  for (const row of Table.COMMANDS) {
    const command = program.command(row.name)
    if (row.alias !== undefined) command.alias(row.alias)
    fill(command, row, program, perform)
  }
  return program
}

const fill = (command: Command, row: Table.Command, program: Command, perform: Perform): void => {
  command.summary(row.summary).description(Table.plain(row.text))
  command.addHelpText('after', `\nExample:\n  ${row.example}`)
  for (const { syntax, text } of row.args) command.argument(syntax, Table.plain(text))
  for (const { syntax, text, repeats, initial } of row.flags) {
    if (repeats === true) command.option(syntax, Table.plain(text), collect)
    else command.option(syntax, Table.plain(text), initial)
  }
  refuseContradictions(command, row)
  command.action((...words: ReadonlyArray<unknown>) => {
    const operands = words.slice(0, row.args.length)
    const flags = command.opts<Flags>()
    return perform(row, [...operands, flags], { ...program.opts<Flags>(), ...flags })
  })
}

/** To commander, `--x` and `--no-x` are one flag, of which the last counts. */
const refuseContradictions = (command: Command, { flags }: Table.Command): void => {
  for (const { syntax } of flags) {
    const no = syntax.replace(/^--/, '--no-')
    if (!flags.some((flag) => flag.syntax === no)) continue
    const given = new Set<string>()
    for (const flag of [syntax, no])
      command.on(`option:${flag.slice(2)}`, () => {
        if (given.add(flag).size > 1) command.error(`${syntax} and ${no} cannot be combined; use one of them`)
      })
  }
}

const collect = (value: string, before: ReadonlyArray<string> = []): ReadonlyArray<string> => [...before, value]

const OVERVIEW = `
A workflow file:
  name: release
  steps:
    - name: version
      shell: node -p "require('./package.json').version"
      capture: version                 # its output becomes $version
    - wave: checks                     # groups run in parallel
      groups:
        unit: { shell: npm test }
        lint: { shell: npm run lint }
    - run: [git, tag, "v\${version}"]
      idempotent: false                # ask before it runs twice

When a step fails: fix the cause or the file, then run "dogear resume".

Exit codes:
  0 completed, or nothing left to do    4 refused, or cancelled
  1 a step, or a case, failed           5 state could not be read or written
  2 wrong use, or a bad workflow file   6 fenced: superseded, or files deleted
  3 no such run                         70 a bug in dogear
                                        75 pending (job, timer, answer), or paused
  129, 130, 131, 143 stopped by SIGHUP, Ctrl+C, Ctrl+\\, SIGTERM`
