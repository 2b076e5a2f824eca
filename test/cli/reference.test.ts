import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { COMMANDS, type Command, HELP, HOME, STORE, VERSION, type Word } from '../../src/cli/commands/commandTable.js'

const GUIDE = fileURLToPath(new URL('../../docs/guide/command-line.md', import.meta.url))

const BLOCK = /(?<=^<!-- commands: DOGEAR_WRITE=1 npx vitest run [^\n]* writes this block -->\n).*(?=^<!-- end -->$)/ms

/** Names of commands, flags and values are code in the guide. */
const asMarkdown = (text: string): string =>
  text.replace(/"(dogear [^"]+)"/g, '`$1`').replace(/(?<![\w`[-])(--[a-z][a-z-]*)/g, '`$1`')

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('')
    .replaceAll('| --- ', '|---')
    .replaceAll('--- |\n', '---|\n')

const commandRow = ({
  name,
  args,
  text
}: Pick<Command, 'args' | 'text'> & { readonly name: string }): readonly string[] => [
  `\`${['dogear', name, ...args.map(({ syntax }) => syntax)].join(' ')}\``,
  asMarkdown(text)
]

const HELP_COMMAND = { name: 'help', args: [{ syntax: '[command]', text: '' }], text: 'Prints help.' }

/** Each flag once, with the commands that have it. */
const flagRows = (): readonly (readonly string[])[] => {
  const having = new Map<Word, readonly string[]>()
  for (const { name, flags } of COMMANDS)
    for (const flag of flags) having.set(flag, [...(having.get(flag) ?? []), name])
  const row = ({ syntax, text }: Word, of: string): readonly string[] => [
    syntax
      .split(', ')
      .map((word) => `\`${word}\``)
      .join(', '),
    of,
    asMarkdown(text)
  ]
  const commands = (names: readonly string[]): string => {
    const others = COMMANDS.flatMap(({ name }) => (names.includes(name) ? [] : [`\`${name}\``]))
    return others.length < 3 ? `all but \`help\`, ${others.join(', ')}` : names.map((name) => `\`${name}\``).join(', ')
  }
  return [
    row(HOME, 'all'),
    row(STORE, 'all'),
    row(VERSION, '`dogear`'),
    row(HELP, 'all'),
    ...[...having].map(([flag, names]) => row(flag, commands(names)))
  ]
}

const reference = (): string =>
  [
    table(['command', 'does'], [...COMMANDS, HELP_COMMAND].map(commandRow)),
    'A run can be named by the first 4 or more characters of its id, if they fit one run only.\n',
    table(['flag', 'of', 'means'], flagRows())
  ].join('\n')

test('the guide has the commands and flags that the command defines', () => {
  const guide = readFileSync(GUIDE, 'utf8')
  const printed = guide.replace(BLOCK, () => reference())
  if (process.env['DOGEAR_WRITE'] === '1') writeFileSync(GUIDE, printed)
  else expect(guide).toBe(printed)
  expect(printed).toContain(reference())
})
