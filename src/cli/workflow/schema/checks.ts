/** The keys for commands and checks. */
import { defined } from '../../../domain/data/defined.js'
import type { JsonObject } from '../../../domain/data/Json.js'
import type { OnCheckFailure } from '../../../executor/program/UnitChecks.js'
import { kindOf } from '../Source.js'
import * as Template from '../Template.js'
import type { Argument, ChecksEntry, CommandAction } from '../WorkflowFile.js'
import { flag, number, textOr, word } from './scalars.js'
import type { Read, Rule, Schema } from './Schema.js'
import {
  either,
  field,
  isList,
  isScalar,
  limited,
  list,
  mapped,
  named,
  object,
  onlyWith,
  or,
  refined
} from './Schema.js'

const argumentJson = (pattern: string): JsonObject => ({
  anyOf: [{ type: 'string', pattern }, { type: 'number' }, { type: 'boolean' }]
})

/** Takes scalars as they are written: `[sleep, 5]` needs no quotes. */
const argument: Schema<Argument> = {
  decode: ({ report }, { value: node }) => {
    const { at } = node
    if (node._tag !== 'Scalar' || node.value === null)
      return void report(at, `an argument must be a string, not ${kindOf(node)}`)
    const text = typeof node.value === 'string' ? node.value : node.source
    if (text.includes('\0')) report(at, 'an argument cannot contain a NUL character')
    const unreadable = Template.unreadableIn(text)
    if (unreadable !== undefined)
      report(at, `only \${name} is replaced here, not "${unreadable}"; write "$\${" for a plain "\${"`)
    return { at, text }
  },
  json: () => argumentJson(Template.PATTERN)
}

const evidence: Schema<ReadonlyArray<Argument>> = named('evidence', () =>
  list(
    refined(argument, argumentJson(`(?=[\\s\\S]*\\S)${Template.PATTERN}`), ({ text }, { key }) =>
      text.trim() === '' ? `"${key}" must not list an empty name` : undefined
    )
  )
)

const scriptOr = (expected: string): Schema<CommandAction> =>
  mapped(textOr(expected), (script) => ({ _tag: 'Shell', script }))

export const script = scriptOr('a string')

export const argv = (otherwise?: (kind: string, key: string) => string): Schema<CommandAction> =>
  named('argv', () =>
    limited(
      mapped(list(argument, otherwise), ([command, ...more], { report }, { key, value }) => {
        if (value._tag === 'List' && value.items.length === 0) report(value.at, `"${key}" needs a command`)
        if (command === undefined) return undefined
        if (command.text === '') report(command.at, 'the command must not be empty')
        return { _tag: 'Argv', argv: [command, ...more] }
      }),
      { minItems: 1 }
    )
  )

export const command: Schema<CommandAction> = either(
  isList,
  argv(),
  scriptOr('a string (a script) or a list (a command)')
)

const commands: Schema<ReadonlyArray<CommandAction>> = named('commands', () =>
  either(
    isScalar,
    mapped(script, (one) => [one]),
    list(
      either(
        isScalar,
        script,
        argv((kind, key) => `each entry of "${key}" must be a string (a script) or a list (a command), not ${kind}`)
      ),
      (kind, key) => `"${key}" must be a string (a script) or a list of scripts and commands, not ${kind}`
    )
  )
)

const ANSWERS: ReadonlyArray<OnCheckFailure> = ['retry', 'continue', 'abort', 'ask']
const MAX_COMMITS = 10_000

const expectation = named('expect', () =>
  object('"expect"', {
    files: field(evidence, 'Files that must be there when the step has ended.'),
    commits: field(
      or(true, number({ from: 0, to: MAX_COMMITS, whole: true }, 'true, or ')),
      'The number of commits that the step makes; true: at least one.'
    ),
    cleanTree: field(flag, 'true: nothing is left uncommitted when the step has ended.')
  })
)

export const compositeChecks = {
  before: field(commands, 'Scripts and commands that must succeed before it starts.'),
  expect: field(expectation, 'What must hold when it has ended.'),
  after: field(commands, 'Scripts and commands that must succeed after it.'),
  onCheckFailure: field(word(...ANSWERS), 'What happens when a check fails. Default: ask on a terminal, else fail.')
}

export const taskChecks = {
  artifacts: field(evidence, 'Paths of files and folders that the task leaves behind.'),
  commits: field(evidence, 'Hashes of commits that the task makes.'),
  ...compositeChecks
}

type Checks = Read<typeof taskChecks>

/** A composite always has a check: its earlier siblings' evidence. */
export const checked: Rule<Checks> = onlyWith(
  'onCheckFailure',
  ['artifacts', 'commits', 'before', 'expect', 'after'],
  '"onCheckFailure" has no effect: the task has no check; add "before", "expect" or "after"'
)

export const checksOf = ({
  artifacts,
  commits,
  before,
  expect,
  after,
  onCheckFailure
}: Partial<Checks>): ChecksEntry | undefined => {
  if ([artifacts, commits, before, expect, after, onCheckFailure].every((one) => one === undefined)) return undefined
  const expected = expect?.value
  return {
    artifacts: artifacts?.value ?? [],
    commits: commits?.value ?? [],
    files: expected?.files?.value ?? [],
    before: before?.value ?? [],
    after: after?.value ?? [],
    expect: defined({ commits: expected?.commits?.value, cleanTree: expected?.cleanTree?.value }),
    ...defined({ onCheckFailure: onCheckFailure?.value })
  }
}
