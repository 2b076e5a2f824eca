/** Explains a wrong command line and suggests the probable one. */
import type { Command, CommanderError } from 'commander'
import * as E from 'fp-ts/lib/Either.js'
import { identity } from 'fp-ts/lib/function.js'
import type { CliError } from './CliError.js'
import { usage } from './CliError.js'
import type { StoreFlags } from './commands/Context.js'
import { dogearCommand, locate } from './commands/Context.js'
import { withoutValues } from './commands/hints/nextActions.js'
import type { Hint } from './report/Hint.js'
import { withoutPassword } from './store/Location.js'
import { commandOf } from './terminal/shellQuote.js'
import { didYouMean, nearest } from '../domain/data/Suggestion.js'

/** Commander answers `help UNKNOWN` with the general help, so only the name is passed on. `list runs` is the alias `list`. */
export const normalized = (program: Command, words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const [name, topic] = operandsOf(program, words)
  if (name === 'list' && topic === 'runs') return words.toSpliced(words.indexOf(topic, words.indexOf(name)), 1)
  const asked = name === 'help' ? topic : name
  return asked === undefined || asked === 'help' || isCommand(program, asked) ? words : [asked]
}

export const usageError = (
  host: Pick<NodeJS.Process, 'cwd' | 'env'>,
  program: Command,
  words: ReadonlyArray<string>,
  { code, message }: CommanderError
): CliError => {
  const [name = '', topic] = operandsOf(program, words)
  const help = isCommand(program, name) ? `dogear help ${name}` : 'dogear help'
  const takes: Hint = { text: 'Print help with:', command: help }
  switch (code) {
    case 'commander.help':
      return usage('a command is missing', [takes])
    case 'commander.unknownCommand':
      return usage(
        unknown(name === 'help' ? (topic ?? name) : name, program, name === 'status' && topic !== undefined),
        [...running(name, words), takes]
      )
    case 'commander.unknownOption':
      return usage(`${textOf(message)}${nearestFlag(program, name, message)}`, [takes])
    case 'commander.missingArgument':
      return usage(textOf(message), [...(message.includes("'id'") ? [listing(host, program)] : []), takes])
    default:
      return usage(textOf(message), [takes])
  }
}

/** Commander throws if the value of the last flag is missing, and reports the same when it parses. */
const operandsOf = (program: Command, words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const given = words.filter((word) => word !== '--version' && word !== '-V')
  const parse = (some: Array<string>) => E.tryCatch(() => program.parseOptions(some).operands, identity)
  const all = parse(given)
  const parsed = E.isRight(all) ? all : parse(given.slice(0, -1))
  return E.isRight(parsed) ? parsed.right : []
}

const isCommand = (program: Command, name: string): boolean => commandNamed(program, name) !== undefined

const commandNamed = (program: Command, name: string): Command | undefined =>
  program.commands.find((command) => command.name() === name || command.aliases().includes(name))

/** Commander quotes words. */
const textOf = (message: string): string =>
  withoutPassword(message)
    .replace(/^error: /, '')
    .replace(/(?<!\w)'([^']*)'(?!\w)/g, '"$1"')

/** `isOfRun`: the id of a run follows. */
const unknown = (name: string, program: Command, isOfRun: boolean): string => {
  const known = isOfRun ? 'show' : SYNONYMS.get(name)
  const names = program.commands.map((command) => command.name())
  const hint = known === undefined ? didYouMean(name, names) : `. Did you mean "${known}"?`
  return `unknown command "${withoutPassword(name)}"${hint}`
}

const nearestFlag = (program: Command, name: string, message: string): string => {
  const [, flag = ''] = /'(--[^'=]*)/.exec(message) ?? []
  const command = commandNamed(program, name)
  const options = [...(command?.options ?? []), ...program.options].flatMap(({ long }) => long ?? [])
  const meant = nearest(
    flag.slice(2),
    [...options, '--help'].map((one) => one.slice(2))
  )
  return meant === undefined ? '' : `. Did you mean "--${meant}"?`
}

const running = (name: string, words: ReadonlyArray<string>): ReadonlyArray<Hint> =>
  /\.ya?ml$/i.test(name)
    ? [
        {
          text: 'To run this file:',
          command: commandOf(['dogear', 'run', ...withoutValues(words.map(withoutPassword))])
        }
      ]
    : []

const listing = (host: Pick<NodeJS.Process, 'cwd' | 'env'>, program: Command): Hint => {
  const folder = host.cwd()
  const located = locate(program.opts<StoreFlags>(), host.env, folder)
  const command = E.isLeft(located) ? 'dogear runs' : dogearCommand({ folder, store: located.right.store }, ['runs'])
  return { text: 'List the runs with:', command }
}

/** Names of these commands in other tools. */
const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ['version', '--version'],
  ['ls', 'runs'],
  ['ps', 'runs'],
  ['status', 'runs'],
  ['start', 'run'],
  ['exec', 'run'],
  ['continue', 'resume'],
  ['restart', 'resume'],
  ['retry', 'resume'],
  ['stop', 'pause'],
  ['log', 'show'],
  ['logs', 'show'],
  ['delete', 'prune'],
  ['rm', 'prune']
])
