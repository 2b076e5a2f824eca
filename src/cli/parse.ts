/** Parses a command line by the table of commands, and explains a wrong one. */
import { parseArgs } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import { didYouMean, likeliest } from '../domain/data/Suggestion.js'
import type { CliError } from './CliError.js'
import { wrongUse } from './CliError.js'
import type { Flags, Place } from './commands/Context.js'
import { hintTo, listHint } from './commands/Context.js'
import type { Command, Word } from './commands/commandTable.js'
import { commandNamed, COMMANDS, GLOBAL, namesOf } from './commands/commandTable.js'
import { withoutValues } from './commands/hints/ofError.js'
import type { Hint } from './report/Hint.js'
import { withoutPassword } from './store/Location.js'
import { commandOf } from '../domain/explain/shellQuote.js'

/**
 * `name`: the word that stands for the command; `operands`: those of the command; `unknown`: options that do not exist, or that have a value and
 * take none.
 */
export interface Parsed {
  readonly words: ReadonlyArray<string>
  readonly name: At | undefined
  readonly command: Command | undefined
  readonly operands: ReadonlyArray<string>
  readonly given: ReadonlyArray<Given>
  readonly unknown: ReadonlyArray<At>
  readonly flags: Flags
}

/** A word and its index. */
interface At {
  readonly word: string
  readonly at: number
}

/** A flag. `at`: the index of its word; `name`: as typed, without a value; `value`: undefined if it is missing. */
interface Given {
  readonly at: number
  readonly name: string
  readonly flag: Word
  readonly value: string | true | undefined
}

const flagNamed = (flags: ReadonlyArray<Word>, name: string): Word | undefined =>
  flags.find((one) => namesOf(one).includes(name))

/** A flag of several commands takes a value in all of them or in none. */
const ALL = [...GLOBAL, ...COMMANDS.flatMap(({ flags }) => flags)]

const isNumber = (word: string): boolean => /^-(?:\d+|\d*\.\d+)(?:e[+-]?\d+)?$/.test(word)

const longOf = (flag: Word): string => namesOf(flag).at(-1) ?? ''

const takesValue = ({ syntax }: Word): boolean => syntax.includes('<')

const OPTIONS = Object.fromEntries(
  ALL.map((flag) => {
    const [short] = namesOf(flag).filter((name) => !name.startsWith('--'))
    const type = takesValue(flag) ? ('string' as const) : ('boolean' as const)
    return [longOf(flag).slice(2), { type, ...(short === undefined ? {} : { short: short.slice(1) }) }]
  })
)

export const parse = (words: ReadonlyArray<string>): Parsed => {
  const all: Array<At> = []
  const found: Array<Given> = []
  const unknown: Array<At> = []
  const { tokens } = parseArgs({ args: words, options: OPTIONS, strict: false, tokens: true })
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue
    const { index: at } = token
    const word = words[at] ?? ''
    const flag = token.kind === 'option' ? flagNamed(ALL, token.rawName) : undefined
    if (token.kind === 'positional') all.push({ word, at })
    // Each digit of a negative number is a token.
    else if (isNumber(word)) void (all.at(-1)?.at === at || all.push({ word, at }))
    else if (flag === undefined || (token.value !== undefined && !takesValue(flag))) unknown.push({ word, at })
    else found.push({ at, name: token.rawName, flag, value: takesValue(flag) ? token.value : true })
  }
  // Flags of one letter may share a word.
  const given = found.filter((one) => unknown.every(({ at }) => at !== one.at))
  const [first, second, ...more] = all
  const isHelp = first?.word === 'help'
  const [name, operands] =
    isHelp && second?.word !== 'help'
      ? [second, more]
      : // `list` is another name of `runs`, which may follow it.
        [isHelp ? undefined : first, first?.word === 'list' && second?.word === 'runs' ? more : all.slice(1)]
  return {
    words,
    name,
    command: commandNamed(name?.word),
    operands: operands.map(({ word }) => word),
    given,
    unknown,
    flags: { ...valuesOf(given), ...(isHelp ? { help: true } : {}) }
  }
}

const valuesOf = (given: ReadonlyArray<Given>): Flags => {
  const values = new Map<string, unknown>()
  for (const { flag, value } of given) {
    const [, no, name = ''] = /^--(no-)?(.*)$/.exec(longOf(flag)) ?? []
    const key = name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
    const before = (values.get(key) ?? []) as ReadonlyArray<unknown>
    values.set(key, flag.repeats === true ? [...before, value] : no === undefined ? value : false)
  }
  return Object.fromEntries(values)
}

/** The command to run, or why there is none. */
export const commandIn = (parsed: Parsed, place: Place): E.Either<CliError, Command> => {
  const { words, name, command, operands, given, unknown } = parsed
  const help: Hint = { text: 'Print help with:', command: `dogear help ${command?.name ?? ''}`.trim() }
  const own = [...(command?.flags ?? []), ...GLOBAL]
  const foreign = command && given.find((one) => flagNamed(own, one.name) === undefined)
  const stray = unknown.find(({ at }) => command !== undefined || name === undefined || at < name.at)
  const wrong = stray?.word ?? foreign?.name
  if (wrong !== undefined) return wrongUse(unknownOption(wrong, own), [help])
  if (name !== undefined && command === undefined)
    return wrongUse(unknownCommand(name.word, operands.length > 0), [...runHints(name.word, words), help])
  const bare = given.find(({ value }) => value === undefined)
  if (bare !== undefined)
    return wrongUse(`option "${flagNamed(own, bare.name)?.syntax ?? bare.name}" argument missing`, [help])
  if (command === undefined) return wrongUse('a command is missing', [help])
  for (const { flag } of given) {
    const no = longOf(flag).replace(/^--/, '--no-')
    if (given.some((one) => longOf(one.flag) === no))
      return wrongUse(`${longOf(flag)} and ${no} cannot be combined; use one of them`, [help])
  }
  const extra = operands.slice(command.args.length).map(quoted).join(', ')
  if (extra !== '') return wrongUse(`too many arguments for "${command.name}"; remove ${extra}`, [help])
  const [missing] = command.args.slice(operands.length).flatMap(({ syntax }) => /^<(.*)>$/.exec(syntax)?.[1] ?? [])
  return missing === undefined
    ? E.right(command)
    : wrongUse(`missing required argument "${missing}"`, [...listHints(place, missing, operands), help])
}

const quoted = (word: string): string => `"${withoutPassword(word)}"`

const unknownOption = (word: string, own: ReadonlyArray<Word>): string => {
  const names = own.flatMap(namesOf)
  const [flag = ''] = word.split('=')
  const longs = own.map((one) => longOf(one).slice(2))
  const near = flag.startsWith('--') ? likeliest(flag.slice(2), longs) : undefined
  const meant = names.includes(flag) ? flag : near && `--${near}`
  return `unknown option ${quoted(word)}${meant === undefined ? '' : `. Did you mean "${meant}"?`}`
}

/** `isOfRun`: the id of a run follows. */
const unknownCommand = (name: string, isOfRun: boolean): string => {
  const [synonym] = Object.keys(SYNONYMS).filter((one) => SYNONYMS[one]?.includes(name))
  const known = name === 'status' && isOfRun ? 'show' : synonym
  const names = COMMANDS.map((one) => one.name)
  return `unknown command ${quoted(name)}${known === undefined ? didYouMean(name, names) : `. Did you mean "${known}"?`}`
}

const runHints = (name: string, words: ReadonlyArray<string>): ReadonlyArray<Hint> => {
  const command = commandOf(['dogear', 'run', ...withoutValues(words.map(withoutPassword))])
  return /\.ya?ml$/i.test(name) ? [{ text: 'To run this file:', command }] : []
}

const listHints = (place: Place, missing: string, [runId = '']: ReadonlyArray<string>): ReadonlyArray<Hint> => {
  if (missing === 'id') return [listHint(place)]
  return missing === 'unit' ? [hintTo(place, 'List the units with:', ['show', runId])] : []
}

/** Names of these commands in other tools. */
const SYNONYMS: Readonly<Record<string, ReadonlyArray<string>>> = {
  '--version': ['version'],
  runs: ['ls', 'ps', 'status'],
  run: ['start', 'exec'],
  resume: ['continue', 'restart', 'retry'],
  pause: ['stop'],
  show: ['log', 'logs'],
  prune: ['delete', 'rm']
}
