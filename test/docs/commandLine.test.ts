import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { jsonSchema } from '../../src/cli/workflow/schema/workflow.js'
import { blocks, codes, column, read, table, tables } from './markdown.js'
import { open, type Seen } from './terminal.js'

const guide = read('docs/guide/command-line.md')

const terminal = open()
afterAll(terminal.close)

const sorted = (all: Iterable<string>): readonly string[] => [...new Set(all)].sort()

/** The table under a heading whose first column has this name. */
const tableOf = (under: string, first: string): ReturnType<typeof table> => {
  const found = tables(guide).find((one) => one.under === under && one.head[0] === first)
  if (found === undefined) throw new Error(`no table of ${first} under ${under}`)
  return found
}

describe('the commands and flags in the guide', () => {
  const commands = column(tableOf('Commands', 'command'), 'command').map((cell) => codes(cell)[0]?.split(' ')[1] ?? '')
  const helps = new Map<string, string>()
  beforeAll(async () => {
    for (const command of commands) helps.set(command, (await terminal.type(`dogear ${command} --help`)).stdout)
    helps.set('', (await terminal.type('dogear --help')).stdout)
  })

  /** `--id <id>` yields --id; the descriptions in the help are ignored. */
  const flagsIn = (help: string): readonly string[] =>
    help.split('\n').flatMap((line) => /^ {2}(?:-\w, )?(--[a-z-]+)/.exec(line)?.[1] ?? [])

  test('the guide has every command', () => {
    const [, listed = ''] = /^Commands:\n((?: {2}.*\n)+)/m.exec(helps.get('') ?? '') ?? []
    const names = listed.split('\n').flatMap((line) => /^ {2}([a-z]+)/.exec(line)?.[1] ?? [])
    expect(sorted(commands)).toEqual(sorted(names))
  })

  test('the guide lists each flag under the commands that have it', () => {
    const flags = tableOf('Commands', 'flag')
    const said = new Map<string, Set<string>>(commands.map((command) => [command, new Set(['--home', '--version'])]))
    for (const [cell = '', of = ''] of flags.rows) {
      const names = codes(cell).flatMap((code) => /--[a-z-]+/.exec(code)?.[0] ?? [])
      const but = of.startsWith('all but') ? codes(of) : []
      const having = of.startsWith('all') ? commands.filter((command) => !but.includes(command)) : codes(of)
      for (const command of having) for (const name of names) said.get(command)?.add(name)
    }
    for (const command of commands.filter((one) => one !== 'help')) {
      expect(sorted(said.get(command) ?? []), command).toEqual(sorted(flagsIn(helps.get(command) ?? '')))
    }
  })

  test('the source reads or sets every environment variable of the guide', () => {
    const sets = [
      ...read('src/cli/steps/stepEnvironment.ts').matchAll(/set\('(\w+)'/g),
      ...read('src/cli/commands/Context.ts').matchAll(/^ +(DOGEAR_\w+):/gm)
    ].map(([, name]) => name ?? '')
    expect(sorted(column(table(guide, 'Variables'), 'variable').flatMap(codes))).toEqual(sorted(sets))
    const sources = ['src/cli/terminal/Style.ts', 'src/cli/terminal/Symbols.ts', 'src/cli/commands/Context.ts']
    const read_ = sources.map(read).join('')
    const named = column(tableOf('Commands', 'environment variable'), 'environment variable').flatMap(codes)
    expect(named.filter((name) => !read_.includes(name))).toEqual([])
  })
})

describe('the keys of a workflow file in the guide', () => {
  interface Mapping {
    readonly properties: Readonly<Record<string, Mapping>>
  }
  const { definitions, ...root } = jsonSchema() as unknown as Mapping & {
    readonly definitions: Readonly<Record<string, Mapping>>
  }
  const keysOf = (mapping: Mapping | undefined): readonly string[] => Object.keys(mapping?.properties ?? {})
  const task = definitions['step:task']
  const said = (under: string, first = 'key'): readonly string[] =>
    sorted(column(tableOf(under, first), first).flatMap(codes))

  test('the guide lists the keys of a workflow', () => {
    expect(sorted([...said('The workflow'), 'commands'])).toEqual(sorted(keysOf(root)))
  })
  test('the guide lists the keys of a step and of a group', () => {
    const others = ['wave', 'steps', 'workflow']
    expect(said('A step, or a group')).toEqual(
      sorted([...keysOf(task).filter((key) => !others.includes(key)), 'needs'])
    )
  })
  test('the guide lists the keys of a sequence', () => {
    expect(said('A sequence')).toEqual(sorted(keysOf(definitions['step:sequence'])))
  })
  test('the guide lists the keys of a wave and of a map', () => {
    expect(sorted([...said('A wave'), ...said('A map')])).toEqual(sorted(keysOf(definitions['step:wave'])))
  })
  test('the guide lists the keys of a retry', () => {
    expect(said('A step, or a group', 'key of `retry`')).toEqual(sorted(keysOf(definitions['retry'])))
  })
})

/** Changes every journal, so that the checksums of lines about a step are wrong. */
const damage = (history: string): void => {
  for (const name of readdirSync(history)) {
    const file = join(history, name)
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('"send"', '"SEND"'))
  }
}

describe('the examples of the guide', () => {
  const typed = (line: string): Promise<Seen> => terminal.type(line)
  const parsed = (seen: Seen): object => JSON.parse(seen.stdout) as object

  test('the workflow files of the guide run', async () => {
    const files = blocks(guide, 'yaml')
    expect(files).not.toEqual([])
    for (const file of files) {
      writeFileSync(join(terminal.folder, 'hello.yml'), file)
      const seen = await typed('dogear run hello.yml')
      expect(seen.all).toContain('Run completed')
      expect(seen.code).toBe(0)
    }
  })

  test('the guide warns to resume before cleaning up', () => {
    const [, troubles = ''] = guide.split('## Troubleshooting')
    expect(troubles).toMatch(/\*\*Resume first, clean up later\.\*\*[^*]*Delete nothing of an unfinished run\./)
  })

  test('the guide distinguishes the pause pointer from the state', () => {
    const [, pausing = ''] = guide.split('## Pausing')
    expect(pausing).toMatch(
      /`continue-here\.json` is a pointer\s+to the paused run and no state: only the id in it is used\./
    )
  })

  test('the JSON output has the fields that the guide names', async () => {
    writeFileSync(join(terminal.folder, 'one.yml'), 'steps:\n  - { name: one, shell: "test -e there" }\n')
    const documents = table(guide, 'For programs')
    const of = (command: string): readonly string[] => {
      const row = documents.rows.find(([first]) => codes(first ?? '').includes(command))
      return codes(row?.[1] ?? '').filter((code) => /^[a-z_]+$/.test(code))
    }
    const summary = of('runs')
    const run = await typed('dogear run one.yml --id one-1 --json')
    expect(run.code).toBe(1)
    expect(sorted(Object.keys(parsed(run)))).toEqual(sorted([...summary, ...of('run')]))
    const plan = parsed(await typed('dogear plan one-1 --json'))
    expect(sorted(Object.keys(plan))).toEqual(sorted([...summary, ...of('plan')]))
    const show = parsed(await typed('dogear show one-1 --json --history'))
    expect(sorted(Object.keys(show))).toEqual(sorted([...summary, ...of('show')]))
    const [first] = parsed(await typed('dogear runs --json')) as readonly object[]
    expect(sorted(Object.keys(first ?? {}))).toEqual(sorted(summary))
    const wrong = await typed('dogear show nothing --json')
    expect(wrong.code).toBe(3)
    expect(parsed(wrong)).toMatchObject({ error: { code: 'NoSuchRun' } })
  })

  test('where a terminal shows a prompt, a command in a pipe exits with the code in the guide', async () => {
    const questions = table(guide, 'Questions')
    const exit = (question: string): number => {
      const index = column(questions, 'question').findIndex((cell) => cell.includes(question))
      return Number(/exit (\d+)/.exec(column(questions, 'in a pipe')[index] ?? '')?.[1])
    }
    writeFileSync(
      join(terminal.folder, 'ask.yml'),
      'name: ask\nsteps:\n  - { name: first, shell: "true" }\n  - { name: send, shell: "test -e sent", idempotent: false }\n'
    )
    await typed('dogear run ask.yml --id ask-1')
    expect((await typed('dogear resume ask-1 --force')).code).toBe(exit('--force runs'))
    expect((await typed('dogear resume ask-1 --yes')).code).toBe(exit('Run it again'))
    expect((await typed('dogear run ask.yml')).all).toContain('dogear resume ask-1')
    expect((await typed('dogear resume ask-1 --confirm send=done')).code).toBe(0)
    damage(join(terminal.folder, '.dogear/runs/ask-1/history'))
    expect((await typed('dogear resume ask-1')).code).toBe(exit('Continue from the recovered state'))
    expect((await typed('dogear resume ask-1 --yes')).code).toBe(0)
  })
})
