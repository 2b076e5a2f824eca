/** The JSON Schema of workflow files: editors and `dogear` agree on a file, except on the rules listed here. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import { afterAll, describe, expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { decode } from '../../src/cli/workflow/decode.js'
import * as Duration from '../../src/cli/workflow/Duration.js'
import { jsonSchema } from '../../src/cli/workflow/schema/workflow.js'
import { parse } from '../../src/cli/workflow/Source.js'
import * as Template from '../../src/cli/workflow/Template.js'
import * as Variable from '../../src/cli/workflow/Variable.js'
import { blocks, pages, read, root } from '../docs/markdown.js'
import { sandbox } from './dogear.js'

const place = sandbox({})
afterAll(() => place.remove())

const schema = jsonSchema()
const validate = new Ajv({ strict: true, allErrors: true }).compile(schema)

/** Returns the errors of JSON Schema for a file. */
const byEditor = (text: string): readonly string[] => {
  validate(parseYaml(text))
  return (validate.errors ?? []).map(({ instancePath, message = '' }) => `${instancePath} ${message}`)
}

/** Returns the problems that `dogear` reports. Any other file may be included. */
const byDogear = (text: string): readonly string[] => {
  const other = { path: '/b.yml', shown: 'b.yml', name: 'b', source: parse('steps: [{ shell: x }]', 'b.yml') }
  const file = decode({ path: '/w.yml', shown: 'w.yml', name: 'w', source: parse(text) }, () => E.right(other))
  return E.isLeft(file) ? file.left.map(({ message }) => message) : []
}

test('the schema compiles with all strict checks', () => {
  expect(validate).toBeTypeOf('function')
  expect(schema).toMatchObject({ $schema: 'http://json-schema.org/draft-07/schema#', title: 'Dogear workflow' })
})

test('every key has a description that is a sentence', () => {
  const keys: Array<readonly [string, string | undefined]> = []
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const { title, properties = {} } = value as {
      title?: string
      properties?: Record<string, { description?: string }>
    }
    if (title !== undefined)
      for (const [key, { description }] of Object.entries(properties)) keys.push([`${title}.${key}`, description])
    Object.values(value).forEach(visit)
  }
  visit(schema)
  expect(keys.length).toBeGreaterThan(60)
  expect(keys.filter(([, description]) => !/^\S.*\.$/.test(description ?? ''))).toEqual([])
})

test('dogear schema prints the schema, and the package contains it as a file', async () => {
  const { code, stdout, stderr } = await place.dogear(['schema'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout)).toEqual(schema)
  expect(JSON.parse(readFileSync(join(root, 'dist/workflow.schema.json'), 'utf8'))).toEqual(schema)
  const { exports } = JSON.parse(read('package.json')) as { readonly exports: Readonly<Record<string, string>> }
  expect(exports['./workflow.schema.json']).toBe('./dist/workflow.schema.json')
})

const files: ReadonlyArray<readonly [string, string]> = [
  ...readdirSync(join(root, 'examples'))
    .filter((name) => name.endsWith('.yml'))
    .map((name) => [`examples/${name}`, read(`examples/${name}`)] as const),
  ...pages.flatMap((page) =>
    ['yaml', 'yml'].flatMap((info) =>
      blocks(read(page), info).map((text, index) => [`${page}, ${info} ${index + 1}`, text] as const)
    )
  )
]

test.each(files)('the workflow in %s is accepted', (_, text) => {
  expect({ editor: byEditor(text), dogear: byDogear(text) }).toEqual({ editor: [], dogear: [] })
})

test.each([
  [
    'every key of a task',
    'retry: { strategy: linear, attempts: 2, delay: 1s, maxDelay: 1.5m, jitter: 0.5 }, timeout: 1h'
  ],
  ['false for a retry and a timeout', 'retry: false, timeout: false, idempotent: false, version: 1.5'],
  [
    'checks and evidence',
    'before: x, after: [x, [a, 1]], expect: { files: [a], commits: true, cleanTree: true }, artifacts: [a]'
  ],
  ['an unknown retry strategy, which is only warned about', 'retry: { strategy: exponental }'],
  ['a folder of its own without commits', 'workspace: fresh, commits: [], onCheckFailure: ask']
])('editors and dogear accept a step with %s', (_, keys) => {
  const text = `steps: [{ shell: x, ${keys} }]`
  expect({ editor: byEditor(text), dogear: byDogear(text) }).toEqual({ editor: [], dogear: [] })
})

test.each([
  ['a sleep', 'sleep: 14d'],
  ['a sleep with a name and a summary', 'name: nap, sleep: 1.5h, summary: a nap'],
  ['a wait for an answer', 'waitFor: {}'],
  ['every key of a wait', 'name: a, waitFor: { question: "Publish?", timeout: 3d }, capture: v, summary: approval']
])('editors and dogear accept %s as a step, a group and a body', (_, keys) => {
  const inWave = keys.replace(/name: \w+, /, '')
  const inMap = inWave.replace(' capture: v,', '')
  for (const text of [
    `steps: [{ ${keys} }]`,
    `steps: [{ wave: w, groups: { g: { ${inWave}, needs: [h] }, h: { shell: x } } }]`,
    `steps: [{ wave: w, forEach: [1], each: { ${inMap} } }]`
  ])
    expect({ editor: byEditor(text), dogear: byDogear(text) }, text).toEqual({ editor: [], dogear: [] })
})

const task = (keys: string): string => `steps: [{ ${keys} }]`

test.each([
  ['an empty file', ''],
  ['a list', '- x'],
  ['no steps', 'name: w'],
  ['an empty list of steps', 'steps: []'],
  ['both steps and commands', 'steps: [{ shell: x }]\ncommands: [{ shell: x }]'],
  ['an unknown key', 'steps: [{ shell: x }]\nnam: w'],
  ['a name of the wrong type', 'name: 5\nsteps: [{ shell: x }]'],
  ['an invalid name', 'name: a b\nsteps: [{ shell: x }]'],
  ['an input that is a list', 'input: [x]\nsteps: [{ shell: x }]'],
  ['an input that sets PATH', 'input: { PATH: x }\nsteps: [{ shell: x }]'],
  ['a secret with a name that Dogear reserves', 'secrets: [DOGEAR_X]\nsteps: [{ shell: x }]'],
  ['a secret listed twice', 'secrets: [A, A]\nsteps: [{ shell: x }]'],
  ['an unknown workspace', 'workspace: folder\nsteps: [{ shell: x }]'],
  ['an unknown onSuccess', 'onSuccess: drop\nsteps: [{ shell: x }]'],
  ['a step that is a string', 'steps: [npm test]'],
  ['an unknown key of a step', task('shell: x, colour: red')],
  ['a step that does nothing', task('name: a')],
  ['an empty script', task('shell: " "')],
  ['a script that is a number', task('shell: 5')],
  ['both shell and run', task('shell: x, run: [x]')],
  ['both job and reuse', task('job: { submit: x, poll: x }, reuse: { fromRun: a, artifact: b }')],
  ['an empty command', task('run: []')],
  ['a command that is a string, not a list of words', task('run: npm test')],
  ['an argument that is a list', task('run: [a, [b]]')],
  ['an argument with an unclosed variable', task('run: [a, "${b"]')],
  ['a job without poll', task('job: { submit: x }')],
  ['a job with an unknown key', task('job: { submit: x, poll: x, cancel: x }')],
  ['a captured job without collect', task('job: { submit: x, poll: x }, capture: v')],
  ['a job that counts commits', task('job: { submit: x, poll: x }, expect: { commits: 1 }')],
  ['a reuse without artifact', task('reuse: { fromRun: a }')],
  ['an invalid variable name', task('shell: x, capture: a-b')],
  ['a retry that is true', task('shell: x, retry: true')],
  ['too many attempts', task('shell: x, retry: { attempts: 1001 }')],
  ['a number of attempts that is not whole', task('shell: x, retry: { attempts: 1.5 }')],
  ['a duration without a unit', task('shell: x, timeout: 10')],
  ['a duration in days', task('shell: x, timeout: 1d')],
  ['a timeout of zero', task('shell: x, timeout: 0s')],
  ['a string in place of true or false', task('shell: x, idempotent: "no"')],
  ['a worktree as the workspace of a task', task('shell: x, workspace: worktree')],
  ['commits in a folder of its own', task('shell: x, workspace: fresh, commits: [a]')],
  ['a clean tree in a folder of its own', task('shell: x, workspace: fresh, expect: { cleanTree: true }')],
  ['an artifact with an empty path', task('shell: x, artifacts: [" "]')],
  ['a check that is a mapping', task('shell: x, before: [{ run: x }]')],
  ['a negative number of commits', task('shell: x, expect: { commits: -1 }')],
  ['onCheckFailure without a check', task('shell: x, onCheckFailure: ask')],
  ['an unknown onCheckFailure', task('shell: x, before: x, onCheckFailure: stop')],
  ['needs in a step outside of a wave', task('shell: x, needs: [a]')],
  ['a task and a sequence in one step', task('name: a, shell: x, steps: [{ shell: x }]')],
  ['a sequence and a wave in one step', task('name: a, steps: [{ shell: x }], groups: { a: { shell: x } }')],
  ['a task and a wave in one step', task('wave: a, shell: x, groups: { a: { shell: x } }')],
  ['a sleep and a wait for an answer', task('sleep: 1s, waitFor: {}')],
  ['a sleep with a command', task('sleep: 1s, shell: x')],
  ['a sleep that is a number', task('sleep: 10')],
  ['a sleep without a unit', task('sleep: "10"')],
  ['a sleep that captures a variable', task('sleep: 1s, capture: v')],
  ['a waitFor that is a string', task('waitFor: Publish?')],
  ['a wait with an unknown key', task('waitFor: { quest: x }')],
  ['a wait with an empty question', task('waitFor: { question: " " }')],
  ['a wait with an invalid timeout', task('waitFor: { timeout: soon }')],
  ['a wait with a timeout outside of waitFor', task('waitFor: {}, timeout: 1h')],
  ['a wait that is retried', task('sleep: 1s, retry: {}')],
  ['a sequence without a name', task('steps: [{ shell: x }]')],
  ['a sequence with both steps and a file', task('name: a, steps: [{ shell: x }], workflow: b.yml')],
  ['a wave without a name', task('groups: { a: { shell: x } }')],
  ['a wave without groups', task('wave: a')],
  ['a wave with empty groups', task('wave: a, groups: {}')],
  ['a wave with a list of groups', task('wave: a, groups: [{ shell: x }]')],
  ['a group with a name', task('wave: a, groups: { a: { name: b, shell: x } }')],
  ['a group with an invalid name', task('wave: a, groups: { "a b": { shell: x } }')],
  ['a group that is a string', task('wave: a, groups: { a: x }')],
  ['needs that are a string', task('wave: a, groups: { a: { shell: x, needs: b } }')],
  ['a concurrency of 0', task('wave: a, groups: { a: { shell: x } }, concurrency: 0')],
  ['an unknown onFailure', task('wave: a, groups: { a: { shell: x } }, onFailure: stop')],
  ['both groups and items', task('wave: a, groups: { a: { shell: x } }, forEach: v, each: { shell: x }')],
  ['items without a body', task('wave: a, forEach: v')],
  ['a body without items', task('wave: a, each: { shell: x }')],
  ['a key without items', task('wave: a, groups: { a: { shell: x } }, key: id')],
  ['items that are a number', task('wave: a, forEach: 5, each: { shell: x }')],
  ['needs in the body of a map', task('wave: a, forEach: v, each: { shell: x, needs: [a] }')]
])('editors and dogear refuse a workflow file: %s', (_, text) => {
  expect(byEditor(text)).not.toEqual([])
  expect(byDogear(text)).not.toEqual([])
})

/** Rules that JSON Schema cannot express, or only at length: an editor accepts these files. */
const BEYOND: ReadonlyArray<readonly [string, RegExp, string]> = [
  ['names are unique', /is used more than once/, 'steps: [{ name: a, shell: x }, { name: a, shell: x }]'],
  ['a needed group exists', /which is not a group of/, task('wave: a, groups: { a: { shell: x, needs: [b] } }')],
  ['no group needs itself', / of wave "[^"]+" needs itself/, task('wave: a, groups: { a: { shell: x, needs: [a] } }')],
  [
    'needs have no cycle',
    /depend on each other in a cycle/,
    task('wave: a, groups: { a: { shell: x, needs: [b] }, b: { shell: x, needs: [a] } }')
  ],
  [
    'only one step captures a variable',
    /captured by more than one/,
    `steps: [${'{ shell: x, capture: v }, '.repeat(2)}]`
  ],
  ['an item captures no variable', /must be absent/, task('wave: a, forEach: v, each: { shell: x, capture: v }')],
  ['no step captures a secret', /the name of a secret/, 'secrets: [A]\nsteps: [{ shell: x, capture: A }]'],
  ['no secret is in the input', /is a secret and a field/, 'secrets: [A]\ninput: { A: x }\nsteps: [{ shell: x }]'],
  [
    'steps nest at most 16 levels deep',
    /nested too deeply/,
    `steps: [${'{ name: a, steps: ['.repeat(16)}{ shell: x }${'] }'.repeat(16)}]`
  ],
  ['a sleep takes at most 1,000 years', /at most 1,000 years/, task('sleep: 999999d')],
  [
    'a delay is not longer than its maximum',
    /must not be shorter/,
    task('shell: x, retry: { delay: 5m, maxDelay: 1m }')
  ],
  ['a timeout is longer than 0 once rounded', /must be longer/, task('shell: x, timeout: 0.4ms')],
  ['a command is not empty', /command must not be empty/, task('run: [""]')],
  ['ids are valid', /cannot be "/, task('reuse: { fromRun: "a b", artifact: b }')],
  ['numbers are read as they are written', /is read as the number/, 'input: { v: 1.10 }\nsteps: [{ shell: x }]'],
  ['no string has a NUL character', /NUL/, task('shell: "a\\0b"')]
]

test.each(BEYOND)('only dogear checks this rule, not editors: %s', (_, message, text) => {
  expect(byEditor(text)).toEqual([])
  expect(byDogear(text)).toContainEqual(expect.stringMatching(message))
})

describe('random files', () => {
  const text = fc.constantFrom('x', 'npm test', '', ' ', '5s', '2m', '0s', 'a b', '${v}', '${', 'fresh', 'keep', 'ask')
  const any = fc.oneof(
    text,
    fc.constantFrom(null, true, false, 0, 1, -1, 0.5, 20_000),
    fc.array(text, { maxLength: 2 }),
    fc.constant({})
  )
  /** A mapping that always has some of these keys, sometimes others, and seldom a value of another kind. */
  const mapping = (keys: Readonly<Record<string, fc.Arbitrary<unknown>>>, ...always: readonly string[]) =>
    fc.record(
      Object.fromEntries(
        Object.entries(keys).map(([key, value]) => [
          key,
          fc.oneof(
            { weight: always.includes(key) ? 0 : 400, arbitrary: fc.constant(undefined) },
            { weight: 100, arbitrary: value },
            { weight: 1, arbitrary: any }
          )
        ])
      )
    )
  /** Few names, so that every run has files with the same name twice, needs that exist, and cycles. */
  const name = fc.constantFrom('aa', 'bb', 'cc')
  const argv = fc.tuple(fc.constantFrom('ls', 'x'), fc.constantFrom('a', '${v}', 1, true))
  const command = fc.oneof(fc.constantFrom('x', 'npm test'), argv)
  const duration = fc.constantFrom('5s', '1.5m', '1h')
  const longDuration = fc.constantFrom('5s', '1.5m', '14d')
  const checks = {
    before: fc.oneof(fc.constant('x'), fc.array(command, { maxLength: 2 })),
    after: fc.oneof(fc.constant('x'), fc.array(command, { maxLength: 2 })),
    expect: mapping({
      files: fc.constant(['a']),
      commits: fc.constantFrom(true, 0, 3),
      cleanTree: fc.boolean()
    }),
    onCheckFailure: fc.constantFrom('retry', 'continue', 'abort', 'ask')
  }
  const { step } = fc.letrec<Record<'step' | 'group' | 'each', unknown>>((tie) => {
    const at = (naming: Readonly<Record<string, fc.Arbitrary<unknown>>>, wave: string) => {
      const work = (key: string, value: fc.Arbitrary<unknown>) =>
        mapping(
          {
            ...naming,
            [key]: value,
            capture: fc.constantFrom('v', 'w'),
            retry: fc.oneof(
              fc.constant(false),
              mapping({ strategy: fc.constant('linear'), delay: duration, attempts: fc.constant(2) })
            ),
            timeout: fc.oneof(fc.constant(false), duration),
            idempotent: fc.boolean(),
            version: fc.constantFrom('a', 2),
            workspace: fc.constant('fresh'),
            artifacts: fc.constant(['a', 1]),
            commits: fc.constant(['${v}']),
            ...checks
          },
          key
        )
      const groups = fc.dictionary(name, tie('group'), { minKeys: 1, maxKeys: 2 })
      const forEach = fc.constantFrom<unknown>('v', ['a', { b: 1 }])
      return fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.oneof(
          work('shell', fc.constant('x')),
          work('run', argv),
          work('reuse', fc.constant({ fromRun: 'r', artifact: 'a' })),
          mapping({ ...naming, sleep: longDuration, summary: fc.constant('x') }, 'sleep'),
          mapping(
            {
              ...naming,
              waitFor: mapping({ question: fc.constant('x'), timeout: longDuration }),
              capture: fc.constantFrom('v', 'w')
            },
            'waitFor'
          ),
          work('job', mapping({ submit: command, poll: command, collect: command }, 'submit', 'poll'))
        ),
        mapping(
          { ...naming, steps: fc.array(tie('step'), { minLength: 1, maxLength: 2 }), ...checks },
          'steps',
          'name'
        ),
        mapping({ ...naming, workflow: fc.constant('b.yml'), ...checks }, 'workflow'),
        mapping({ [wave]: name, groups, concurrency: fc.constantFrom(1, 4), ...checks }, 'groups', wave),
        mapping({ [wave]: name, forEach, each: tie('each'), key: fc.constant('item') }, 'forEach', 'each', wave)
      )
    }
    const needs = fc.array(name, { maxLength: 1 })
    return { step: at({ name }, 'wave'), group: at({ needs }, 'summary'), each: at({}, 'summary') }
  })
  const file = mapping(
    {
      input: fc.dictionary(fc.constantFrom('v', 'A'), any, { maxKeys: 1 }),
      secrets: fc.uniqueArray(fc.constantFrom('A', 'B', 'IFS')),
      workspace: fc.constantFrom('none', 'directory'),
      steps: fc.array(step, { minLength: 1, maxLength: 3 })
    },
    'steps'
  )
  const runs = { numRuns: 2_000 }

  test('editors accept every file that dogear accepts, and dogear refuses more only by the rules that JSON Schema cannot express', () => {
    let accepted = 0
    fc.assert(
      fc.property(file, (document) => {
        const text = JSON.stringify(document)
        const [editor, dogear] = [byEditor(text), byDogear(text)]
        if (dogear.length === 0) accepted += 1
        if (dogear.length === 0) expect(editor, text).toEqual([])
        if (editor.length === 0)
          expect(dogear.filter((message) => !BEYOND.some(([, rule]) => rule.test(message)))).toEqual([])
      }),
      runs
    )
    expect(accepted).toBeGreaterThan(runs.numRuns / 10)
  })

  test('the patterns for arguments, durations and variables match what dogear reads', () => {
    const word = fc.string({
      unit: fc.constantFrom('$', '{', '}', 'a', '1', '.', 's', 'm', 'd', '_', '\n', 'PATH', 'DOGEAR_', '-')
    })
    const variable = new Ajv({ strict: true }).compile({ type: 'string', ...Variable.JSON_SCHEMA })
    fc.assert(
      fc.property(word, (text) => {
        expect(new RegExp(Template.PATTERN, 'u').test(text)).toBe(Template.unreadableIn(text) === undefined)
        expect(new RegExp(Duration.PATTERN, 'u').test(text)).toBe(Duration.parse(text)._tag === 'Some')
        const age = [Duration.PATTERN, Duration.DAYS].some((pattern) => new RegExp(pattern, 'u').test(text))
        expect(age).toBe(Duration.parseAge(text)._tag === 'Some')
        expect(variable(text)).toBe(Variable.objection(text)._tag === 'None')
      }),
      runs
    )
  })
})
