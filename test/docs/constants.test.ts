import * as CheckpointState from '../../src/domain/checkpoint/CheckpointState.js'
import * as Json from '../../src/domain/data/Json.js'
import * as StepError from '../../src/domain/data/StepError.js'
import * as RetryPolicy from '../../src/domain/workflow/RetryPolicy.js'
import { memoryStorage } from 'dogear/memory'
import { nodeEnvironment } from 'dogear/node'
import { describe, expect, test } from 'vitest'
import { MIN_PREFIX } from '../../src/cli/commands/find/find.js'
import { CAPTURE_BYTES, VARIABLE_BYTES } from '../../src/cli/steps/commandStep.js'
import { MAX_BYTES } from '../../src/cli/workflow/Source.js'
import { DEFAULT_TIMEOUT_MILLIS, MAX_STEPS } from '../../src/cli/workflow/WorkflowFile.js'
import { read, tables } from './markdown.js'

const guide = read('docs/guide/command-line.md')

/** The number of a private constant in a source file. */
const hidden = (file: string, pattern: RegExp): number =>
  Number(pattern.exec(read(`src/${file}`))?.[1]?.replaceAll('_', '') ?? Number.NaN)

const MEBIBYTE = 1_048_576

/** The numbers in a string, without the commas between thousands. */
const numbers = (text: string): readonly number[] =>
  [...text.matchAll(/\d[\d,]*(\.\d+)?/g)].map(([digits]) => Number(digits.replaceAll(',', '')))

/** The cell of a table under a heading, by row and column. */
const cell = (markdown: string, under: string, row: string, name: string): string | undefined => {
  for (const { under: heading, head, rows } of tables(markdown)) {
    const cells = heading === under ? rows.find(([first]) => first === row) : undefined
    if (cells !== undefined) return cells[head.indexOf(name)]
  }
  return undefined
}

describe('the numbers in the documentation', () => {
  test.each([
    ['captured output of a step on Linux', VARIABLE_BYTES],
    ['captured output of a step on other systems', CAPTURE_BYTES],
    ['timeout of an attempt, unless the file sets another', DEFAULT_TIMEOUT_MILLIS],
    ['from SIGTERM to SIGKILL', hidden('cli/steps/commandStep.ts', /const GRACE_MILLIS = ([\d_]+)/)],
    ['attempts of a step', RetryPolicy.MAX_ATTEMPTS],
    ['failed attempts kept of a step', CheckpointState.MAX_ATTEMPTS_KEPT],
    ['stored error', StepError.MAX_BYTES],
    ['nesting of a value', Json.MAX_DEPTH],
    ['steps and groups of a file', MAX_STEPS],
    ['size of a workflow file', MAX_BYTES],
    ['checkpoint', hidden('adapters/json-file/index.ts', /checkpointBytes \?\? (\d+) \* MEBIBYTE/) * MEBIBYTE],
    ['journals kept of a run', hidden('adapters/json-file/index.ts', /options\.keep \?\? (\d+)/)],
    ['shortest beginning of an id', MIN_PREFIX]
  ])('the limit "%s" in the guide equals the one in the code', (limit, value) => {
    expect(numbers(cell(guide, 'What is preserved, and what is lost', limit, 'value') ?? '')[0]).toBe(value)
  })

  test('the standard retry policy equals the one in the guide', () => {
    const page = read('docs/guide/steps-and-outputs.md')
    const said = (field: string): string | undefined => cell(page, 'Retries', `\`${field}\``, '`RetryPolicy.standard`')
    const { _tag, ...rest } = RetryPolicy.standard
    expect(said('_tag')).toBe(`\`${_tag}\``)
    for (const [field, value] of Object.entries(rest)) expect(numbers(said(field) ?? ''), field).toEqual([value])
    expect(said('withinMillis')).toBe('none')
  })

  test('the defaults of a workflow file equal those in the code', () => {
    const { attempts, jitter, delayMillis, maxDelayMillis } = RetryPolicy.standard
    const said = (row: string): string | undefined => cell(guide, 'A step, or a group', row, 'default')
    expect(said('`attempts`')).toBe(String(attempts))
    expect(said('`jitter`')).toBe(String(jitter))
    expect(said('`delay`')).toBe(`\`${delayMillis / 1_000}s\``)
    expect(said('`maxDelay`')).toBe(`\`${maxDelayMillis / 60_000}m\``)
    expect(said('`timeout`')).toBe(`\`${DEFAULT_TIMEOUT_MILLIS / 60_000}m\``)
  })

  test('the default grace period of the environment equals the one in the guide', () => {
    expect(numbers(cell(read('docs/guide/embedding.md'), 'The environment', '`graceMillis`', 'default') ?? '')).toEqual(
      [nodeEnvironment(memoryStorage()).graceMillis]
    )
  })
})
