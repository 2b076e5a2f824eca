/** Explains a wrong command line and suggests the probable one. */
import type { Command, CommanderError, Option } from 'commander'
import * as E from 'fp-ts/lib/Either.js'
import type { CliError } from './CliError.js'
import { usage } from './CliError.js'
import type { StoreFlags } from './commands/Context.js'
import { dogearCommand, locate } from './commands/Context.js'
import { withoutValues } from './commands/hints/ofError.js'
import type { Hint } from './report/Hint.js'
import { withoutPassword } from './store/Location.js'
import { commandOf } from './terminal/shellQuote.js'
import { didYouMean, likeliest } from '../domain/data/Suggestion.js'

/** Commander answers `help UNKNOWN` with the general help, so only the name is passed on. `list runs` is the alias `list`. */
export const normalized = (program: Command, words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const operands = operandsOf(program, words)
  const [name, topic] = operands
  if (topic !== undefined && isListRuns(operands)) return words.toSpliced(topic.at, 1)
  const asked = name?.word === 'help' ? topic : name
  if (asked === undefined || asked.word === 'help' || commandNamed(program, asked.word) !== undefined) return words
  // The asked name may be the value of an unknown option.
  const options = allOptions(program)
  const isUnclear = words.slice(0, asked.at).some((word) => word.startsWith('-') && !options.some(isNamed(word)))
  return isUnclear ? words : [asked.word]
}

const allOptions = (program: Command): ReadonlyArray<Option> =>
  [program, ...program.commands].flatMap((one) => one.options)

export const usageError = (
  host: Pick<NodeJS.Process, 'cwd' | 'env'>,
  program: Command,
  words: ReadonlyArray<string>,
  { code, message }: CommanderError
): CliError => {
  const operands = operandsOf(program, words)
  const [name = '', topic] = operands.map(({ word }) => word)
  const command = commandNamed(program, name)
  const help: Hint = { text: 'Print help with:', command: `dogear help ${command?.name() ?? ''}`.trim() }
  switch (code) {
    case 'commander.help':
      return usage('a command is missing', [help])
    case 'commander.unknownCommand':
      return usage(
        unknown(name === 'help' ? (topic ?? name) : name, program, name === 'status' && topic !== undefined),
        [...runHints(name, words), help]
      )
    case 'commander.unknownOption':
      return early(command, operands, words) ?? unknownOption(program, command, typedIn(words, message), help)
    case 'commander.excessArguments': {
      const extra = operands
        .slice((isListRuns(operands) ? 2 : 1) + (command?.registeredArguments.length ?? 0))
        .map(({ word }) => word)
      return usage(`${textOf(message).replace(/\..*/, '')}; remove ${extra.map(quoted).join(', ')}`, [help])
    }
    case 'commander.missingArgument':
      return usage(textOf(message), [...listHints(host, program, message, topic), help])
    default:
      return usage(textOf(message), [help])
  }
}

/** A word that is neither an option nor its value, and its index. */
interface Operand {
  readonly word: string
  readonly at: number
}

/** The operands, wherever the options of the command stand. Commander takes all that follows an unknown option as unknown. */
const operandsOf = (program: Command, words: ReadonlyArray<string>): ReadonlyArray<Operand> => {
  const operands: Array<Operand> = []
  let options = allOptions(program)
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (word === '--') return [...operands, ...words.slice(at + 1).map((one, n) => ({ word: one, at: at + 1 + n }))]
    if (word.startsWith('-') && word !== '-' && !NEGATIVE.test(word)) {
      if (!word.includes('=') && options.find(isNamed(word))?.required === true) at += 1
      continue
    }
    const command = operands.length === 0 ? commandNamed(program, word) : undefined
    if (command !== undefined) options = [...program.options, ...command.options]
    operands.push({ word, at })
  }
  return operands
}

/** To commander, a negative number is an operand. */
const NEGATIVE = /^-(\d+|\d*\.\d+)(e[+-]?\d+)?$/

const isListRuns = ([name, topic]: ReadonlyArray<Operand>): boolean => name?.word === 'list' && topic?.word === 'runs'

const isNamed =
  (word: string) =>
  ({ short, long }: Pick<Option, 'short' | 'long'>): boolean =>
    word === short || nameOf(word) === long

/** `--status` of `--status=failed`. */
const nameOf = (word: string): string => word.replace(/=.*/s, '')

/** Refuses an option of a command that stands before the command. */
const early = (
  command: Command | undefined,
  [name]: ReadonlyArray<Operand>,
  words: ReadonlyArray<string>
): CliError | undefined => {
  if (command === undefined || name === undefined) return undefined
  const flag = words.slice(0, name.at).find((word) => command.options.some(isNamed(word)))
  if (flag === undefined) return undefined
  const ordered = [command.name(), ...withoutValues(words.toSpliced(name.at, 1).map(withoutPassword))]
  return usage(`"${nameOf(flag)}" belongs after the command`, [
    { text: 'Type:', command: commandOf(['dogear', ...ordered]) }
  ])
}

const commandNamed = (program: Command, name: string): Command | undefined =>
  program.commands.find((command) => command.name() === name || command.aliases().includes(name))

const quoted = (word: string): string => `"${withoutPassword(word)}"`

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

/** Commander takes the letters off a word of short flags, and names the rest: `-=1` of `-v=1`. */
const typedIn = (words: ReadonlyArray<string>, message: string): string => {
  const [, flag = ''] = /'(.*)'/s.exec(message) ?? []
  return words.find((word) => /^-[^-]/.test(word) && flag.startsWith('-=') && word.endsWith(flag.slice(1))) ?? flag
}

const unknownOption = (program: Command, command: Command | undefined, typed: string, takes: Hint): CliError => {
  const options = [...(command?.options ?? []), ...program.options]
  const flag = nameOf(typed)
  const longs = [...options.flatMap(({ long }) => long ?? []), '--help'].map((one) => one.slice(2))
  const isShort = typed !== flag && (flag === '-h' || options.some(({ short }) => short === flag))
  const near = flag.startsWith('--') ? likeliest(flag.slice(2), longs) : undefined
  const meant = isShort ? flag : near === undefined ? undefined : `--${near}`
  return usage(`unknown option ${quoted(typed)}${meant === undefined ? '' : `. Did you mean "${meant}"?`}`, [takes])
}

const runHints = (name: string, words: ReadonlyArray<string>): ReadonlyArray<Hint> =>
  /\.ya?ml$/i.test(name)
    ? [
        {
          text: 'To run this file:',
          command: commandOf(['dogear', 'run', ...withoutValues(words.map(withoutPassword))])
        }
      ]
    : []

/** For a message about a missing id or unit. `runId`: the run that was named. */
const listHints = (
  host: Pick<NodeJS.Process, 'cwd' | 'env'>,
  program: Command,
  message: string,
  runId = ''
): ReadonlyArray<Hint> => {
  const isOf = (argument: string): boolean => message.includes(`'${argument}'`)
  if (!isOf('id') && !isOf('unit')) return []
  const located = locate(program.opts<StoreFlags>(), host.env, host.cwd())
  const words = isOf('id') ? ['runs'] : ['show', runId]
  const command = E.isLeft(located) ? commandOf(['dogear', ...words]) : dogearCommand(located.right, words)
  return [{ text: isOf('id') ? 'List the runs with:' : 'List the units with:', command }]
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
