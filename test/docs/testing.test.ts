import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { afterAll, expect, test } from 'vitest'
import { blocks, codes, column, read, root, tables } from './markdown.js'

const guide = read('docs/guide/testing.md')

// Inside the repository, so that `dogear` is this package as it was last built.
const folder = join(root, `test/.tmp/testing-guide-${process.pid}`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the code block that contains this text and returns its output. */
const printedBy = (text: string): string => {
  const code = blocks(guide, 'ts').find((block) => block.includes(text)) ?? ''
  const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 }
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'code.mjs'), ts.transpile(code, options))
  return execFileSync(process.execPath, [join(folder, 'code.mjs')], { encoding: 'utf8' })
}

test('the guide lists every law of a crash test', () => {
  const type = /export type CrashLaw =([^]*?)\n\n/.exec(read('src/testing/crash/CrashReport.ts'))?.[1] ?? ''
  const laws = [...type.matchAll(/'(\w+)'/g)].map(([, law]) => law)
  const table = tables(guide).find(({ head }) => head[0] === 'law')
  expect(laws.length).toBeGreaterThan(10)
  expect(table === undefined ? [] : column(table, 'law').flatMap(codes).sort()).toEqual([...laws].sort())
})

test.each([
  ['ModelReport.toText(report)', 'differs from the model'],
  ['CrashReport.toText(report)', 'SameEnd: the outcome differs']
])('the guide shows the output of %s', (code, shown) => {
  const printed = printedBy(code).split('\n')
  const lines = (blocks(guide, 'text').find((block) => block.includes(shown)) ?? '')
    .split('\n')
    .filter((one) => one !== '')
  expect(lines.length).toBeGreaterThan(5)
  const begins = (line: string): boolean => printed.some((one) => one.startsWith(line.replace(/…$/, '')))
  expect(lines.filter((line) => !begins(line))).toEqual([])
})
