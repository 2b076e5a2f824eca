/** Reads a command line: the command, its arguments and its flags, or what is wrong and the probable line. */
import { parseArgs } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import { defined } from '../domain/data/defined.js'
import { didYouMean, likeliest } from '../domain/data/Suggestion.js'
import type { CliError } from './CliError.js'
import { usage } from './CliError.js'
import type { StoreFlags } from './commands/Context.js'
import { dogearCommand, locate } from './commands/Context.js'
import type { Command, Word } from './commands/commandTable.js'
import { COMMANDS, HELP, HOME, STORE, VERSION } from './commands/commandTable.js'
import { withoutValues } from './commands/hints/ofError.js'
import type { Hint } from './report/Hint.js'
import { withoutPassword } from './store/Location.js'
import { commandOf } from './terminal/shellQuote.js'

/** The flags that `dogear` itself reads. */
export interface Flags extends StoreFlags {
  readonly json?: boolean
  readonly events?: boolean
  readonly output?: string
  readonly verbose?: boolean
}

/** What to do. `Nothing`: no command is named. */
export type Request =
  | { readonly _tag: 'Run'; readonly command: Command; readonly args: ReadonlyArray<unknown>; readonly flags: Flags }
  | { readonly _tag: 'Help'; readonly command?: Command }
  | { readonly _tag: 'Version' | 'Nothing' }

/** A flag as it is typed. `word` is undefined if no such flag exists, `at` is the index in the command line. */
interface Given {
  readonly at: number
  readonly word: Word | undefined
  readonly value: string | undefined
}

/** A command line in parts. `at`: the index of the first operand. */
interface Line {
  readonly words: ReadonlyArray<string>
  readonly given: ReadonlyArray<Given>
  readonly operands: ReadonlyArray<string>
  readonly at: number
}

/** `flags`: all flags of the line, also if it is wrong. */
export const parse = (
  words: ReadonlyArray<string>,
  host: Pick<NodeJS.Process, 'cwd' | 'env'>
): { readonly request: E.Either<CliError, Request>; readonly flags: Flags } => {
  const every = lineOf(words, [...GLOBAL, ...COMMANDS.flatMap(({ flags }) => flags)])
  const command = commandNamed(every.operands[0])
  const line = command === undefined ? every : lineOf(words, [...GLOBAL, ...command.flags])
  const flags = flagsOf(line.given)
  return { request: requestOf(line, command, flags, host), flags }
}

const GLOBAL: ReadonlyArray<Word> = [VERSION, HOME, STORE, HELP]

const commandNamed = (name: string | undefined): Command | undefined =>
  COMMANDS.find((command) => command.name === name || (name !== undefined && command.alias === name))

const lineOf = (words: ReadonlyArray<string>, flags: ReadonlyArray<Word>): Line => {
  const options = flags.map((flag) => {
    const type = takesValue(flag) ? ('string' as const) : ('boolean' as const)
    return [longOf(flag), { type, multiple: true, ...defined({ short: shortOf(flag) }) }] as const
  })
  const { tokens } = parseArgs({
    args: words,
    options: Object.fromEntries(options),
    strict: false,
    allowPositionals: true,
    tokens: true
  })
  const operands = tokens.flatMap((token) => (token.kind === 'positional' ? [token] : []))
  const given = tokens.flatMap((token): ReadonlyArray<Given> => {
    if (token.kind !== 'option') return []
    const word = flags.find((flag) => longOf(flag) === token.name)
    const isKnown = word !== undefined && (takesValue(word) || token.value === undefined)
    return [{ at: token.index, word: isKnown ? word : undefined, value: token.value }]
  })
  return { words, given, operands: operands.map(({ value }) => value), at: operands[0]?.index ?? 0 }
}

const takesValue = ({ syntax }: Word): boolean => syntax.includes('<')

const longOf = ({ syntax }: Word): string => /--([\w-]+)/.exec(syntax)?.[1] ?? ''

const shortOf = ({ syntax }: Word): string | undefined => /^-(\w)/.exec(syntax)?.[1]

/** `fromStep` of `--from-step`; `--no-merge` sets `merge`. */
const keyOf = (flag: Word): string =>
  longOf(flag)
    .replace(/^no-/, '')
    .replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

const flagsOf = (given: ReadonlyArray<Given>): Flags => {
  const found: Record<string, unknown> = {}
  for (const { word, value } of given) {
    if (word === undefined) continue
    const key = keyOf(word)
    const known = (found[key] as ReadonlyArray<string> | undefined) ?? []
    if (!takesValue(word)) found[key] = !longOf(word).startsWith('no-')
    else found[key] = word.repeats === true ? [...known, value] : value
  }
  return found
}

const requestOf = (
  line: Line,
  command: Command | undefined,
  flags: Flags,
  host: Pick<NodeJS.Process, 'cwd' | 'env'>
): E.Either<CliError, Request> => {
  const { given, operands } = line
  const [name, topic] = operands
  const has = (flag: Word): boolean => given.some(({ word }) => word === flag)
  if (has(VERSION)) return E.right({ _tag: 'Version' })
  if (name === 'help') {
    const about = commandNamed(topic)
    if (topic !== undefined && topic !== 'help' && about === undefined) return E.left(unknownCommand(line, topic))
    return E.right({ _tag: 'Help', ...(about === undefined ? {} : { command: about }) })
  }
  // A word after an unknown flag may be the value of that.
  const isUnclear = given.some(({ at, word }) => word === undefined && at < line.at)
  if (name !== undefined && command === undefined && !isUnclear) return E.left(unknownCommand(line, name))
  const wrong = wrongFlag(line, command)
  if (wrong !== undefined) return E.left(wrong)
  if (has(HELP)) return E.right({ _tag: 'Help', ...(command === undefined ? {} : { command }) })
  if (command === undefined) return E.right({ _tag: 'Nothing' })
  // `list runs` is `runs`.
  const args = operands.slice(name === 'list' && topic === 'runs' ? 2 : 1)
  const problem = wrongArguments(command, args, flags, host)
  if (problem !== undefined) return E.left(problem)
  const initial = command.flags.flatMap((flag) => (flag.initial === undefined ? [] : [[keyOf(flag), flag.initial]]))
  const all = { ...(Object.fromEntries(initial) as Flags), ...flags }
  return E.right({ _tag: 'Run', command, args: [...command.args.map((_, at) => args[at]), all], flags })
}

export const helpHint = (command?: Command): Hint => ({
  text: 'Print help with:',
  command: `dogear help ${command?.name ?? ''}`.trim()
})

const unknownCommand = ({ words, operands: [name = '', topic] }: Line, asked: string): CliError => {
  const known = name === 'status' && topic !== undefined ? 'show' : SYNONYMS.get(asked)
  const hint = known === undefined ? didYouMean(asked, [...COMMANDS.map((one) => one.name), 'help']) : meaning(known)
  const run: Hint = {
    text: 'To run this file:',
    command: commandOf(['dogear', 'run', ...withoutValues(words.map(withoutPassword))])
  }
  return usage(`unknown command ${quoted(asked)}${hint}`, [...(/\.ya?ml$/i.test(name) ? [run] : []), helpHint()])
}

const quoted = (word: string): string => `"${withoutPassword(word)}"`

const meaning = (word: string): string => `. Did you mean "${word}"?`

const wrongFlag = ({ words, given, at: start }: Line, command: Command | undefined): CliError | undefined => {
  const refused = (message: string): CliError => usage(message, [helpHint(command)])
  const unknown = given.find(({ word }) => word === undefined)
  if (unknown !== undefined)
    return refused(unknownFlag(words[unknown.at] ?? '', [...(command?.flags ?? []), ...GLOBAL]))
  const known = given.flatMap(({ at, word, value }) => (word === undefined ? [] : [{ at, word, value }]))
  const open = known.find(({ word, value }) => takesValue(word) && value === undefined)
  if (open !== undefined) return refused(`option "${open.word.syntax}" argument missing`)
  const early = known.find(({ at, word }) => at < start && command?.flags.includes(word) === true)
  if (early !== undefined) {
    const ordered = [command?.name ?? '', ...withoutValues(words.toSpliced(start, 1).map(withoutPassword))]
    return usage(`"${nameOf(words[early.at] ?? '')}" belongs after the command`, [
      { text: 'Type:', command: commandOf(['dogear', ...ordered]) }
    ])
  }
  const typed = new Set(known.map(({ word }) => longOf(word)))
  const both = [...typed].find((one) => typed.has(`no-${one}`))
  return both === undefined ? undefined : refused(`--${both} and --no-${both} cannot be combined; use one of them`)
}

/** `--status` of `--status=failed`. */
const nameOf = (typed: string): string => typed.replace(/=.*/s, '')

const unknownFlag = (typed: string, flags: ReadonlyArray<Word>): string => {
  const name = nameOf(typed)
  const isShort = name !== typed && flags.some((flag) => name === `-${shortOf(flag)}`)
  const near = name.startsWith('--') ? likeliest(name.slice(2), flags.map(longOf)) : undefined
  const hint = isShort ? meaning(name) : near === undefined ? '' : meaning(`--${near}`)
  return `unknown option ${quoted(typed)}${hint}`
}

const wrongArguments = (
  command: Command,
  args: ReadonlyArray<string>,
  flags: Flags,
  host: Pick<NodeJS.Process, 'cwd' | 'env'>
): CliError | undefined => {
  const extra = args.slice(command.args.length).map(quoted)
  if (extra.length > 0)
    return usage(`too many arguments for "${command.name}"; remove ${extra.join(', ')}`, [helpHint(command)])
  const lacking = command.args.slice(args.length).find(({ syntax }) => syntax.startsWith('<'))?.syntax
  if (lacking === undefined) return undefined
  const located = locate(flags, host.env, host.cwd())
  const list = (text: string, words: ReadonlyArray<string>): ReadonlyArray<Hint> => [
    { text, command: E.isLeft(located) ? commandOf(['dogear', ...words]) : dogearCommand(located.right, words) }
  ]
  return usage(`missing required argument "${lacking.slice(1, -1)}"`, [
    ...(lacking === '<id>' ? list('List the runs with:', ['runs']) : []),
    ...(lacking === '<unit>' ? list('List the units with:', ['show', ...args]) : []),
    helpHint(command)
  ])
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
