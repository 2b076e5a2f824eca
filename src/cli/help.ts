/** Formats the table of commands as help. */
import type { Command, Word } from './commands/commandTable.js'
import { COMMANDS, HELP, HOME, plain, STORE, VERSION } from './commands/commandTable.js'
import { folded } from './terminal/Style.js'

type Row = readonly [term: string, text: string]

export const helpOf = (command: Command | undefined, width: number): string => {
  const [usage, about, sections, end] = command === undefined ? OF_DOGEAR : partsOf(command)
  const shown = sections.filter(([, rows]) => rows.length > 0)
  const column = Math.max(...shown.flatMap(([, rows]) => rows.map(([term]) => term.length))) + 4
  const lines = shown.flatMap(([title, rows]) => [
    '',
    `${title}:`,
    ...rows.flatMap(([term, text]) => folded(`  ${term.padEnd(column - 2)}${text}`, width, column))
  ])
  return [`Usage: dogear ${usage}`, '', ...folded(about, width, 0), ...lines, '', ...end, ''].join('\n')
}

type Parts = readonly [
  usage: string,
  about: string,
  sections: ReadonlyArray<readonly [title: string, rows: ReadonlyArray<Row>]>,
  end: ReadonlyArray<string>
]

const rowOf = ({ syntax, text }: Word): Row => [syntax, plain(text)]

const usageOf = ({ name, alias, flags, args }: Command): string =>
  [
    alias === undefined ? name : `${name}|${alias}`,
    ...(flags.length === 0 ? [] : ['[options]']),
    ...args.map(({ syntax }) => syntax)
  ].join(' ')

const partsOf = (command: Command): Parts => [
  usageOf({ ...command, flags: [HELP] }),
  plain(command.text),
  [
    ['Arguments', command.args.map(({ syntax, text }) => [syntax.slice(1, -1), plain(text)])],
    ['Options', [...command.flags, HELP].map(rowOf)],
    ['Global Options', [VERSION, HOME, STORE].map(rowOf)]
  ],
  ['Example:', `  ${command.example}`]
]

const OF_DOGEAR: Parts = [
  '[options] [command]',
  'Runs a workflow step by step, records each step, and resumes at the right one.',
  [
    ['Options', [VERSION, HOME, STORE, HELP].map(rowOf)],
    [
      'Commands',
      [
        ...COMMANDS.map((command): Row => [usageOf(command), command.summary]),
        ['help [command]', 'print help for a command']
      ]
    ]
  ],
  `A workflow file:
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
  1 a step or conformance case failed   5 state could not be read or written
  2 wrong use, or a bad workflow file   6 fenced: superseded, or run deleted
  3 no such run                         70 a bug in dogear
                                        75 pending (job, timer, answer), or paused
  129, 130, 131, 143 stopped by SIGHUP, Ctrl+C, Ctrl+\\, SIGTERM`.split('\n')
]
