import { realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { blocks, read, table, tables } from './markdown.js'
import { timeless } from '../cli/dogear.js'
import type { Terminal } from './terminal.js'
import { open } from './terminal.js'

interface Typed {
  readonly line: string
  readonly output: string
}

/** The commands in a terminal example and their output. */
const storyOf = (block: string): readonly Typed[] =>
  block
    .split(/^\$ /m)
    .filter((part) => part !== '')
    .map((part) => {
      const [line = '', ...output] = part.trimEnd().split('\n')
      return { line, output: output.join('\n') }
    })

const stories = blocks(read('README.md'), 'console').map(storyOf)

const terminals = stories.map(() => open())
afterAll(() => terminals.forEach(({ close }) => close()))

/** Progress and a step's output use two pipes, so their lines are compared in any order, and without durations. */
const shape = (output: string): readonly string[] => timeless(output.trimEnd()).split('\n').sort()

describe('the pictures in the README', () => {
  test('the pictures show a crash, a plan and a resume; and a failure, an edit and missing evidence', () => {
    const lines = stories.map((story) => story.map(({ line }) => line.split(' ').slice(0, 2).join(' ')))
    expect(lines).toEqual([
      ['cat release.yml', 'dogear run', 'dogear plan', 'dogear resume'],
      ['cat site.yml', 'dogear run', 'sed -i', 'dogear resume', 'rm out/site.css', 'dogear plan']
    ])
  })

  test.each(stories.map((story, index) => ({ story, terminal: terminals[index] as Terminal })))(
    'the picture shows the real output of $story.0.line',
    async ({ story, terminal }) => {
      for (const { line, output } of story) {
        const [, shown] = /^cat (\S+)$/.exec(line) ?? []
        if (shown !== undefined) {
          writeFileSync(join(terminal.folder, shown), `${output}\n`)
          continue
        }
        // A reader waits two seconds before the kill; a busy machine may need longer.
        const [, killed] = /^(.*) & sleep \d+; kill -9 \$!$/.exec(line) ?? []
        const last = output.split('\n').at(-1)
        const seen = await (killed === undefined ? terminal.type(line) : terminal.type(killed, last))
        const said = seen.all.replaceAll(realpathSync(terminal.folder), '/home/me/site')
        expect(shape(said), line).toEqual(shape(output))
        expect(seen.code, line).toBe(killed === undefined ? (output.includes(' failed: ') ? 1 : 0) : null)
      }
    }
  )
})

describe('the comparison', () => {
  const measured = read('benchmarks/peers/results.md')

  /** The measured row of an engine: share at 1,000 steps, fsyncs a step, resume in milliseconds. */
  const rowOf = (name: string): readonly [share: string, fsyncs: number, resume: string] => {
    const line = measured.split('\n').find((one) => one.startsWith(`${name} `)) ?? ''
    const [, thousand = ''] = [...line.matchAll(/([\d.]+) \([\d,]+\)/g)].map(([, share]) => share)
    const [fsyncs = '', resume = ''] = line.replace(/.*(\)|fails|> 120 s) +/, '').split(/ +/)
    return [thousand, Number(fsyncs), resume]
  }

  test.each([
    ['Dogear, JSON files', 'dogear, JSON files'],
    ['openworkflow, SQLite', 'openworkflow, SQLite'],
    ['LangGraph, SQLite', 'LangGraph, SqliteSaver *'],
    ['LangGraph, SQLite, made to sync', 'LangGraph, SqliteSaver, forced'],
    ['DBOS, PostgreSQL', 'DBOS, PostgreSQL'],
    ['Effect, SQLite', 'Effect, SQLite *'],
    ['Effect, SQLite, made to sync', 'Effect, SQLite, forced'],
    ['Mastra, LibSQL', 'Mastra, LibSQL *'],
    ['Mastra, LibSQL, made to sync', 'Mastra, LibSQL, forced']
  ])('the README has the measured numbers of %s', (name, row) => {
    const [share, fsyncs, resume] = rowOf(row)
    const cells = tables(read('docs/guide/comparison.md'))
      .flatMap(({ rows }) => rows)
      .find(([first]) => first === name)
    expect(cells?.[1]).toBe(share)
    expect(Math.abs(Number(cells?.[2]) - fsyncs)).toBeLessThanOrEqual(0.05)
    expect(cells?.[3]).toBe(`${resume} ms`)
  })

  test('every engine of the table in the README has a source for what it needs', () => {
    const engines = table(read('README.md'), 'How it compares').rows.map(([first = '']) => first.replaceAll('*', ''))
    const sources = table(read('docs/guide/comparison.md'), 'Needs').rows.map(([first = '']) => first)
    expect(engines.map((name) => name.split(', ')[0])).toEqual(sources.map((name) => name.split(', ')[0]))
    expect(engines.length).toBe(8)
  })
})
