/** The help of `dogear` and of its commands, made from their table. */
import type { Command, Word } from './commands/commandTable.js'
import { COMMANDS, HELP, HOME, plain, STORE, VERSION } from './commands/commandTable.js'
import { folded } from './terminal/Style.js'

/** Without a command, the help of `dogear` itself. */
export const helpOf = (command: Command | undefined, width = 80): string =>
  command === undefined ? overview(width) : helpOfCommand(command, width)

type Row = readonly [term: string, text: string]

const overview = (width: number): string =>
  page(
    width,
    'dogear [options] [command]',
    'Runs a workflow step by step, records each step, and resumes at the right one.',
    [
      ['Options', [VERSION, HOME, STORE, HELP].map(flagRow)],
      ['Commands', [...COMMANDS.map((one): Row => [termOf(one), one.summary]), HELP_COMMAND]]
    ],
    OVERVIEW
  )

const HELP_COMMAND: Row = ['help [command]', 'print help for a command']

const helpOfCommand = (command: Command, width: number): string =>
  page(
    width,
    `dogear ${termOf(command)}`,
    plain(command.text),
    [
      ['Arguments', command.args.map(({ syntax, text }): Row => [syntax.slice(1, -1), plain(text)])],
      ['Options', [...command.flags, HELP].map(flagRow)],
      ['Global Options', [VERSION, HOME, STORE].map(flagRow)]
    ],
    `Example:\n  ${command.example}`
  )

const termOf = ({ name, alias, args, flags }: Command): string =>
  [
    alias === undefined ? name : `${name}|${alias}`,
    ...(flags.length === 0 ? [] : ['[options]']),
    ...args.map(({ syntax }) => syntax)
  ].join(' ')

const flagRow = ({ syntax, text, initial }: Word): Row => [
  syntax,
  `${plain(text)}${initial === undefined ? '' : ` (default: ${initial})`}`
]

const page = (
  width: number,
  syntax: string,
  text: string,
  lists: ReadonlyArray<readonly [title: string, rows: ReadonlyArray<Row>]>,
  end: string
): string => {
  const column = Math.max(...lists.flatMap(([, rows]) => rows.map(([term]) => term.length)))
  const parts = [
    `Usage: ${syntax}`,
    folded(text, width, 0).join('\n'),
    ...lists.flatMap(([title, rows]) => {
      const lines = rows.flatMap(([term, what]) => folded(`  ${term.padEnd(column)}  ${what}`, width, column + 4))
      return rows.length === 0 ? [] : [[`${title}:`, ...lines].join('\n')]
    }),
    end
  ]
  return `${parts.join('\n\n')}\n`
}

const OVERVIEW = `A workflow file:
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
