/** What a workflow file says is looked at around a step, and what that is to leave behind. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { OnCheckFailure } from '../../executor/program/Guard.js'
import type { Fields } from './Field.js'
import * as Field from './Field.js'
import type { Report } from './Problem.js'
import type { Entry, Node } from './Source.js'
import * as Template from './Template.js'
import type { CommandAction, Argument, ChecksEntry } from './WorkflowFile.js'

/** The keys of a composite that are about checks. */
export const COMPOSITE_CHECK_KEYS = ['before', 'expect', 'after', 'onCheckFailure'] as const

/** Those of a task. */
export const CHECK_KEYS = ['artifacts', 'commits', ...COMPOSITE_CHECK_KEYS] as const

const EXPECT_KEYS = ['files', 'commits', 'cleanTree']
const ANSWERS: ReadonlyArray<OnCheckFailure> = ['retry', 'continue', 'abort', 'ask']
const MAX_COMMITS = 10_000

/** The checks of these fields; none if no field is about any. */
export const decodeChecks = (report: Report, fields: Fields, kind: 'task' | 'composite'): O.Option<ChecksEntry> => {
  if (!CHECK_KEYS.some((key) => fields.has(key))) return O.none
  refuseUnlessChecked(report, fields, kind)
  const expect = Field.mapping(report, fields.get('expect'))
  const expected: Fields = O.isSome(expect)
    ? Field.fieldsOf(report, expect.value, EXPECT_KEYS, '"expect"')
    : new Map<string, Entry>()
  const commitCount = countOf(report, expected.get('commits'))
  const cleanTree = Field.flag(report, expected.get('cleanTree'))
  const onCheckFailure = Field.word(report, fields.get('onCheckFailure'), ANSWERS)
  return O.some({
    artifacts: wordsOf(report, fields.get('artifacts')),
    commits: wordsOf(report, fields.get('commits')),
    files: wordsOf(report, expected.get('files')),
    before: commandsOf(report, fields.get('before')),
    after: commandsOf(report, fields.get('after')),
    expect: {
      ...(O.isSome(commitCount) ? { commits: commitCount.value } : {}),
      ...(O.isSome(cleanTree) ? { cleanTree: cleanTree.value } : {})
    },
    ...(O.isSome(onCheckFailure) ? { onCheckFailure: onCheckFailure.value } : {})
  })
}

/** How many commits, or `true`: at least one. */
const countOf = (report: Report, entry: Entry | undefined): O.Option<number | true> =>
  entry?.value._tag === 'Scalar' && entry.value.value === true
    ? O.some(true)
    : Field.number(report, entry, { from: 0, to: MAX_COMMITS, whole: true }, 'true, or ')

/** Texts in which `${name}` stands for a variable. */
const wordsOf = (report: Report, entry: Entry | undefined): ReadonlyArray<Argument> => {
  const items = Field.list(report, entry)
  if (entry === undefined || O.isNone(items)) return []
  return items.value.items.map((item) => {
    const word = argument(report, item)
    if (item._tag === 'Scalar' && item.value !== null && word.text.trim() === '')
      report(item.at, `"${entry.key}" must not name something empty`)
    return word
  })
}

/** Nothing can fail where nothing is looked at. Before a composite it is always looked whether what earlier steps left is there. */
const refuseUnlessChecked = (report: Report, fields: Fields, kind: 'task' | 'composite'): void => {
  const policy = fields.get('onCheckFailure')
  if (policy === undefined || kind === 'composite') return
  if (CHECK_KEYS.some((key) => key !== 'onCheckFailure' && fields.has(key))) return
  report(policy.at, '"onCheckFailure" is of no use here: the task has no check. Give it "before", "expect" or "after"')
}

/** A text in which `${name}` stands for a variable. Numbers, true and false are taken as they are written: `[sleep, 5]` needs no quotes. */
export const argument = (report: Report, node: Node): Argument => {
  const { at } = node
  if (node._tag !== 'Scalar' || node.value === null) {
    report(at, `an argument must be text, not ${Field.kindOf(node)}`)
    return { at, text: '', template: [] }
  }
  const text = typeof node.value === 'string' ? node.value : node.source
  if (text.includes('\0')) report(at, 'an argument can not contain a NUL character')
  const template = Template.parse(text)
  if (E.isRight(template)) return { at, text, template: template.right }
  report(at, `only \${name} is replaced here, not "${template.left}". Write "$\${" for a plain "\${"`)
  return { at, text, template: [] }
}

/** One script, or a list of scripts and of commands in words. */
const commandsOf = (report: Report, entry: Entry | undefined): ReadonlyArray<CommandAction> => {
  if (entry === undefined) return []
  const { value } = entry
  if (value._tag === 'Scalar') return scriptOf(report, entry)
  const items = Field.list(report, entry)
  if (O.isNone(items)) return []
  return items.value.items.flatMap((item) => {
    if (item._tag === 'Scalar') return scriptOf(report, { ...entry, at: item.at, value: item })
    return item._tag === 'List' ? argvOf(report, item.at, item.items) : mistaken(report, item, entry.key)
  })
}

const scriptOf = (report: Report, entry: Entry): ReadonlyArray<CommandAction> => {
  const script = Field.text(report, entry)
  return O.isSome(script) ? [{ _tag: 'Shell', script: script.value }] : []
}

const argvOf = (report: Report, at: Node['at'], words: ReadonlyArray<Node>): ReadonlyArray<CommandAction> => {
  const [command, ...more] = words.map((word) => argument(report, word))
  if (command !== undefined && command.text !== '') return [{ _tag: 'Argv', argv: [command, ...more] }]
  report(at, 'the command must not be empty')
  return []
}

const mistaken = (report: Report, node: Node, key: string): ReadonlyArray<CommandAction> => {
  report(node.at, `"${key}" lists scripts and commands, not ${Field.kindOf(node)}`)
  return []
}
