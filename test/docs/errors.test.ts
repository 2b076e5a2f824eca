import { describe, expect, test } from 'vitest'
import * as O from 'fp-ts/lib/Option.js'
import type { RunOutcome } from 'dogear'
import { exitCode, type StopSignal } from 'dogear/node'
import type { CliError } from '../../src/cli/CliError.js'
import { ExitCode, ofError, ofOutcome } from '../../src/cli/ExitCode.js'
import { codes, column, read, table, tables } from './markdown.js'
import { errorTags, fieldsOf, literals, stepErrors } from './source.js'

const page = read('docs/errors.md')

const listed = (under: string, first = '`_tag`'): readonly string[] => column(table(page, under), first).flatMap(codes)

const sorted = (all: Iterable<string>): readonly string[] => [...new Set(all)].sort()

/** The fields in a cell: of `holder {host, pid}` holder, and nothing of what stands in parentheses. */
const fieldsIn = (cell: string): readonly string[] => {
  const plain = cell.replace(/\]\([^()]*\)/g, ']').replace(/\([^()]*\)/g, '')
  return sorted(codes(plain).flatMap((code) => /^\w+\??/.exec(code) ?? []))
}

const storage = literals('ports/CheckpointStorage.ts', 'StorageError')

describe('docs/errors.md', () => {
  test.each([
    ['StorageError', 'ports/CheckpointStorage.ts'],
    ['WorkflowProblem', 'domain/workflow/WorkflowProblem.ts'],
    ['PlanProblem', 'domain/plan/PlanProblem.ts'],
    ['CodecError', 'domain/change/restore.ts'],
    ['StepFailure', 'domain/data/StepFailure.ts'],
    ['RunOutcome', 'executor/RunOutcome.ts'],
    ['CliError', 'cli/CliError.ts']
  ])('docs/errors.md lists exactly the members of %s', (name, file) => {
    const members = literals(file, name)
    expect(members).not.toEqual([])
    expect(sorted(listed(name))).toEqual(sorted(members))
  })

  test('docs/errors.md lists each RunError that is not a StorageError', () => {
    const own = literals('executor/errors/RunError.ts', 'RunError').filter((tag) => !storage.includes(tag))
    expect(sorted(listed('RunError'))).toEqual(sorted(own))
  })

  test('docs/errors.md lists every reason of a TransitionError', () => {
    expect(sorted(listed('TransitionError', '`why`'))).toEqual(
      sorted(literals('domain/change/Transition.ts', 'TransitionError', 'why'))
    )
  })

  test('docs/errors.md lists every edit that can be refused', () => {
    const changed = column(table(page, 'PlanProblem'), 'means').flatMap(codes)
    for (const edit of literals('domain/plan/PlanProblem.ts', 'PlanProblem', 'edit')) expect(changed).toContain(edit)
  })

  test('docs/errors.md lists each error of a refused value', () => {
    const refused = [
      ...literals('domain/checkpoint/RunId.ts', 'InvalidRunId'),
      ...literals('domain/workflow/RetryPolicy.ts', 'InvalidRetryPolicy'),
      ...literals('domain/data/Json.ts', 'NotJson'),
      ...literals('adapters/node/subprocess.ts', 'NotStarted')
    ]
    expect(sorted(listed('Values that are refused'))).toEqual(sorted(refused))
  })

  test.each([
    ['StorageError', 'ports/CheckpointStorage.ts'],
    ['ArtifactError', 'ports/ArtifactStore.ts'],
    ['RunError', 'executor/errors/RunError.ts'],
    ['PlanProblem', 'domain/plan/PlanProblem.ts'],
    ['WorkflowProblem', 'domain/workflow/WorkflowProblem.ts']
  ])('docs/errors.md lists the fields of each member of %s', (name, file) => {
    const carried = column(table(page, name), 'carries').map(fieldsIn)
    const tags = listed(name)
    const fields = fieldsOf(file, name)
    expect(tags.map((tag, index) => [tag, carried[index]])).toEqual(
      tags.map((tag) => [tag, sorted(fields.get(tag) ?? [])])
    )
  })

  test('docs/errors.md omits no type in the category errors', () => {
    const everywhere = tables(page).flatMap(({ rows }) => rows.flatMap(([first]) => codes(first ?? '')))
    expect([...errorTags()].filter((tag) => !everywhere.includes(tag))).toEqual([])
  })

  test('docs/errors.md lists the errors that steps fail with, by name and code', () => {
    const errors = table(page, 'Errors of steps that Dogear makes')
    const rows = errors.rows.map(([name = '', code = '']) => ({ name: codes(name)[0], code }))
    const made = stepErrors()
    expect(sorted(rows.flatMap(({ name }) => name ?? []))).toEqual(sorted(made.map(({ name }) => name)))
    for (const { name, code } of made) {
      if (code !== undefined) expect(rows).toContainEqual({ name, code: `\`${code}\`` })
    }
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// exit codes
// ---------------------------------------------------------------------------------------------------------------------

const signals: readonly StopSignal[] = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM']

/** The page's codes for each tag under a heading: `130, 143` yields both. */
const exits = (under: string): readonly (readonly [string, readonly number[]])[] => {
  const found = table(page, under)
  const tags = column(found, '`_tag`')
  return column(found, 'exit').map((cell, index) => [
    codes(tags[index] ?? '')[0] ?? '',
    cell.split(', ').map((code) => (/^\d+$/.test(code) ? Number(code) : Number.NaN))
  ])
}

/** The exit codes in the help, which has two columns. */
function* helpCodes(source: string): Iterable<readonly [string, string]> {
  const [, listed = ''] = /^Exit codes:\n((?: {2}.*\n?)+)/m.exec(source) ?? []
  for (const [, codes = '', meaning = ''] of listed.matchAll(/ {2}((?:\d+, )*\d+) +([^ ].*?)(?= {2}|`|$)/gm)) {
    for (const code of codes.split(', ')) yield [code, meaning]
  }
}

describe('the exit codes', () => {
  test.each([...exits('StorageError'), ...exits('RunError')])(
    'docs/errors.md lists the exit code of the command for %s, an error of the library',
    (_tag, said) => {
      expect(said).toEqual([ofError({ _tag: 'NotDone', error: { _tag }, hints: [] } as unknown as CliError)])
    }
  )

  test.each(exits('CliError').filter(([tag]) => tag !== 'NotDone'))(
    'docs/errors.md lists the exit codes of the command for %s, an error of the command',
    (_tag, said) => {
      const each = signals.map((signal) => ofError({ _tag, signal } as unknown as CliError))
      expect(said).toEqual([...new Set(each)])
    }
  )

  test.each(exits('RunOutcome'))(
    'docs/errors.md lists the exit code of the command for a run that ended as %s',
    (_tag, said) => {
      const each = signals.map((signal) => ofOutcome({ _tag } as unknown as RunOutcome, O.some(signal)))
      expect(said).toEqual([...new Set(each)])
    }
  )

  test('README, guide and source list the same exit codes', () => {
    const inSource = table(read('src/cli/ExitCode.ts').replace(/^ \* ?/gm, ''), '').rows
    const inReadme = table(read('README.md'), 'Exit codes').rows
    const inGuide = table(read('docs/guide/command-line.md'), 'Exit codes').rows
    expect(inReadme).toEqual(inSource)
    expect(inGuide).toEqual(inSource)
    const codesOf = (cell = ''): readonly string[] => cell.split(', ')
    const inHelp = [...helpCodes(read('src/cli/help.ts'))]
    const means = new Map(inSource.flatMap(([code, meaning = '']) => codesOf(code).map((one) => [one, meaning])))
    for (const [code, meaning] of inHelp) {
      for (const word of meaning.match(/^\w+/) ?? []) expect(means.get(code), code).toContain(word)
    }
    const unsaid = [...means.keys()].filter((code) => !inHelp.some(([said]) => said === code))
    expect(unsaid).toEqual([])
    const numbers = inSource.flatMap(([code = '']) => code.split(', ').map(Number))
    expect(new Set(numbers)).toEqual(new Set([...Object.values(ExitCode), ...signals.map(exitCode)]))
  })
})
