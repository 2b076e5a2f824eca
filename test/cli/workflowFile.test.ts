import * as E from 'fp-ts/lib/Either.js'
import { expect, test } from 'vitest'
import type { Json } from '../../src/domain/data/Json.js'
import { standard } from '../../src/domain/workflow/RetryPolicy.js'
import { decode } from '../../src/cli/workflow/decode.js'
import * as Duration from '../../src/cli/workflow/Duration.js'
import * as Problem from '../../src/cli/workflow/Problem.js'
import { parse } from '../../src/cli/workflow/Source.js'
import { didYouMean } from '../../src/domain/data/Suggestion.js'
import * as Template from '../../src/cli/workflow/Template.js'
import { toProgram } from '../../src/cli/workflow/toProgram.js'
import { unknownVariables } from '../../src/cli/workflow/unknownVariables.js'
import { objection } from '../../src/cli/workflow/Variable.js'
import type { WorkflowFile } from '../../src/cli/workflow/WorkflowFile.js'

const read = (
  text: string,
  others: Readonly<Record<string, string>> = {}
): E.Either<readonly Problem.Problem[], WorkflowFile> =>
  decode({ path: '/w.yml', shown: 'w.yml', name: 'fallback', source: parse(text) }, (_, name) => {
    const other = others[name]
    if (other === undefined) return E.left(`Cannot read workflow ${name}`)
    return E.right({ path: name, shown: name, name: name.replace('.yml', ''), source: parse(other, name) })
  })

const problemsOf = (text: string): readonly string[] => {
  const file = read(text)
  return E.isLeft(file) ? file.left.map((problem) => Problem.describe('w.yml', problem)) : []
}

const valid = (text: string): WorkflowFile => {
  const file = read(text)
  if (E.isLeft(file)) throw new Error(problemsOf(text).join('\n'))
  return file.right
}

const nothing = () => () => Promise.resolve(E.left(null))

const fingerprintsOf = (text: string): readonly string[] =>
  toProgram(valid(text), '/w.yml', {
    run: () => nothing,
    job: () => ({ submit: nothing, poll: nothing, collect: nothing })
  }).steps.map(({ fingerprint }) => fingerprint)

const releaseFile = `
name: release
input: { channel: beta }
steps:
  - name: version
    shell: node -p "require('./package.json').version"
    capture: version
  - wave: checks
    groups:
      unit: { shell: npm test }
      lint: { shell: npm run lint, needs: [unit] }
  - run: [npm, pack]
    name: pack
    retry: { strategy: linear, attempts: 5, delay: 5s, maxDelay: 2m, jitter: 0.25 }
    timeout: 10m
  - shell: npm publish "dist-$channel"
    idempotent: false
`

test('a workflow file is read with all its keys, and defaults for the others', () => {
  const { name, input, steps, warnings } = valid(releaseFile)
  expect({ name, input, warnings }).toEqual({ name: 'release', input: { channel: 'beta' }, warnings: [] })
  expect(steps.map((step) => [step.name, step.summary])).toEqual([
    ['version', 'version'],
    ['checks', 'checks'],
    ['pack', 'pack'],
    ['step-4', 'npm publish "dist-$channel"']
  ])
  expect(steps[0]).toMatchObject({ capture: 'version', timeoutMillis: 600_000, idempotent: true })
  expect(steps[0]).not.toHaveProperty('retry')
  expect(steps[1]).toMatchObject({
    groups: [
      { name: 'unit', needs: [] },
      { name: 'lint', needs: ['unit'] }
    ]
  })
  expect(steps[2]).toMatchObject({
    retry: { _tag: 'Linear', attempts: 5, delayMillis: 5_000, maxDelayMillis: 120_000, jitter: 0.25 },
    timeoutMillis: 600_000
  })
  expect(steps[3]).toMatchObject({ idempotent: false })
})

test('a definition keeps its fingerprint across releases', () => {
  expect(fingerprintsOf(releaseFile)).toMatchInlineSnapshot(`
    [
      "v1:6e318436334445118830c4aa7a7cdf6ab2c1967962d61d042a148c25d148e9da",
      "v1:257f9e30419e5ef0124ebdf44aaff1777bd0a89fae57dbd02f007e234c1d01d4",
      "v1:dde8430e35a8f650f81fa8da761459feceb5772c5a6bfcc701b2382a05d15ede",
      "v1:9a2b259fbded290942ce99a84640c6dd3ea847091a018e235e591705ad94a894",
    ]
  `)
})

test.each([['summary: other'], ['retry: { attempts: 9 }'], ['retry: false'], ['timeout: 1s'], ['timeout: false']])(
  '%s does not change the fingerprint of a step',
  (line) => {
    const step = (more: string): string => `steps:\n  - name: a\n    shell: x\n${more}`
    expect(fingerprintsOf(step(`    ${line}`))).toEqual(fingerprintsOf(step('')))
  }
)

test.each([['concurrency: 1'], ['onFailure: halt'], ['summary: other']])(
  '%s does not change the fingerprint of a wave',
  (line) => {
    const wave = (more: string): string => `steps:\n  - wave: a\n    groups: { g: { shell: x } }\n${more}`
    expect(fingerprintsOf(wave(`    ${line}`))).toEqual(fingerprintsOf(wave('')))
  }
)

test.each([
  ['shell: y'],
  ['run: [x]'],
  ['shell: x\n    version: 2'],
  ['shell: x\n    idempotent: false'],
  ['shell: x\n    capture: v']
])('%j changes the fingerprint of a step', (lines) => {
  const step = (action: string): string => `steps:\n  - name: a\n    ${action}`
  expect(fingerprintsOf(step(lines))).not.toEqual(fingerprintsOf(step('shell: x')))
})

test('a plain number is passed as an argument exactly as it is written', () => {
  const [step] = valid('steps: [{ run: [sleep, 1.50, true, 0x10] }]').steps
  expect(step).toMatchObject({
    action: { argv: [{ text: 'sleep' }, { text: '1.50' }, { text: 'true' }, { text: '0x10' }] }
  })
})

test('`commands` is an alias of `steps`, and a workflow without a name is named after its file', () => {
  expect(valid('commands: [{ shell: x }]')).toMatchObject({ name: 'fallback', steps: [{ name: 'step-1' }] })
})

test('a misspelt key is reported once: its problem names the key, and none says that the key is missing', () => {
  expect(problemsOf('nam: x\nstep:\n  - shel: x\n')).toEqual([
    'w.yml:1:1: a workflow has no key "nam". Did you mean "name"?',
    'w.yml:2:1: a workflow has no key "step". Did you mean "steps"?'
  ])
  expect(problemsOf('steps:\n  - shel: x\n  - constructor: x\n')).toEqual([
    'w.yml:2:5: a step has no key "shel". Did you mean "shell"?',
    'w.yml:3:5: a step has no key "constructor"; "dogear schema" prints the keys',
    'w.yml:3:5: a task needs "shell" (a script), "run" (a command and its arguments), "job" or "reuse"; a wait needs "sleep" or "waitFor"'
  ])
})

test('if a misspelt key would make a step a wave, sequence or wait, the message suggests the correct key', () => {
  const found = (step: string): ReadonlyArray<string> =>
    problemsOf(`steps:\n  - ${step}\n`).map((one) => one.replace(/^w\.yml:\d+:\d+: /, ''))
  expect(found('{ name: w, grups: { a: { shell: x } } }')).toEqual([
    'a wave or map has no key "name"; its name is the value of "wave"',
    'a wave or map has no key "grups". Did you mean "groups"?'
  ])
  expect(found('{ name: s, stesp: [{ shell: x }] }')).toEqual(['a sequence has no key "stesp". Did you mean "steps"?'])
  expect(found('{ slep: 5s }')).toEqual(['a wait has no key "slep". Did you mean "sleep"?'])
  expect(found('{ wave: w, groups: { a: { grups: { b: { shell: x } } } } }')).toEqual([
    'a group has no key "grups". Did you mean "groups"?'
  ])
  expect(found('{ shell: x, slep: 5s }')).toEqual(['a step has no key "slep". Did you mean "sleep"?'])
})

test('a misspelt key that conflicts with another key is reported once', () => {
  const once = (step: string): ReadonlyArray<string> =>
    problemsOf(`steps:\n  - ${step}\n`).map((one) => one.replace(/^w\.yml:\d+:\d+: /, ''))
  expect(once('{ shel: x, run: [x] }')).toEqual(['a step has no key "shel". Did you mean "shell"?'])
  expect(once('{ sleep: 5s, waitfor: {} }')).toEqual(['a wait has no key "waitfor". Did you mean "waitFor"?'])
  expect(once('{ waitFor: {}, captur: x }')).toEqual(['a wait has no key "captur". Did you mean "capture"?'])
  expect(once('{ wave: w, groups: { a: { shell: x } }, foreach: [1] }')).toEqual([
    'a wave or map has no key "foreach". Did you mean "forEach"?'
  ])
  expect(once('{ shell: x, run: [x], timeot: 5s }')).toEqual([
    'a task has either "shell" or "run", not both',
    'a step has no key "timeot". Did you mean "timeout"?'
  ])
})

test('all problems are listed at once, each with its place, in the order of the file', () => {
  expect(
    problemsOf(`name: 5
nam: x
input: { PATH: /x, v: 1.10, big: 12345678901234567890, ok: 1, ok: 2 }
steps:
  - shel: npm test
  - shell: ""
    timeout: 10
    retry: { strategy: [], attempts: 0, delay: 5, jitter: 2, foo: 1 }
    idempotent: yes
  - run: [npm, "\${", null]
    name: a b
  - run: []
    shell: x
  - wave: checks
    onFailure: stop
    concurrency: 0
    groups:
      unit: { shell: npm test, needs: [lint, nope], capture: x }
      lint: { shell: npm run lint, needs: [unit], capture: x }
  - wave: empty
    groups: {}
  - { name: dup, shell: a }
  - { name: dup, shell: b, capture: LD_PRELOAD }
  - just text
  - &a { shell: x }
  - *a
  - { shell: x, colour: [y] }
`)
  ).toMatchInlineSnapshot(`
    [
      "w.yml:1:7: "name" must be a string, not the number 5; put it in quotes",
      "w.yml:2:1: a workflow has no key "nam". Did you mean "name"?",
      "w.yml:3:10: "PATH" cannot be a variable: it would change how commands are found or started",
      "w.yml:3:23: 1.10 is read as the number 1.1; write that, or put it in quotes",
      "w.yml:3:34: 12345678901234567890 cannot be stored exactly as a number; put it in quotes",
      "w.yml:3:63: the key "ok" is set twice, first in line 3; remove one",
      "w.yml:5:5: a step has no key "shel". Did you mean "shell"?",
      "w.yml:6:12: "shell" must not be empty",
      "w.yml:7:14: "timeout" must be false, or a duration like 250ms, 5s, 2m or 1h, not the number 10",
      "w.yml:8:24: "strategy" must be a string, not a list",
      "w.yml:8:38: "attempts" must be a whole number from 1 to 1000, not the number 0",
      "w.yml:8:48: "delay" must be a duration like 250ms, 5s, 2m or 1h, not the number 5",
      "w.yml:8:59: "jitter" must be a number from 0 to 1, not the number 2",
      "w.yml:8:62: "retry" has no key "foo"; use one of "strategy", "attempts", "delay", "maxDelay", "jitter"",
      "w.yml:9:17: "idempotent" must be true or false, not the string "yes"",
      "w.yml:10:16: only \${name} is replaced here, not "\${"; write "$\${" for a plain "\${"",
      "w.yml:10:22: an argument must be a string, not nothing",
      "w.yml:11:11: "a b" is not a valid name: use letters, digits, ".", "_" and "-", first a letter or digit, at most 128 characters; the "summary" of a step may have spaces",
      "w.yml:12:5: a task has either "shell" or "run", not both",
      "w.yml:12:10: "run" needs a command",
      "w.yml:14:11: groups unit, lint of wave "checks" depend on each other in a cycle; remove one of their needs",
      "w.yml:15:16: "onFailure" must be finish, continue or halt, not "stop"",
      "w.yml:16:18: "concurrency" must be a whole number from 1 to 10000, not the number 0",
      "w.yml:18:7: group "unit" of wave "checks" needs "nope", which is not a group of that wave; fix its needs",
      "w.yml:19:7: variable "x" is captured by more than one step; rename all but one: checks/unit, checks/lint",
      "w.yml:20:11: wave "empty" needs at least one group",
      "w.yml:23:13: the name "dup" is used more than once in "fallback"; rename all but one: 22:13 and 23:13",
      "w.yml:23:37: "LD_PRELOAD" cannot be a variable: it would change how commands are found or started",
      "w.yml:24:5: a step is a mapping like "shell: npm test", not the string "just text"",
      "w.yml:26:5: this begins with "*", which marks an alias (not supported); put it in quotes",
      "w.yml:27:17: a step has no key "colour"; "dogear schema" prints the keys",
    ]
  `)
})

test.each([
  ['', 'w.yml:1:1: the file is empty; write a workflow with "steps", "dogear help" shows one'],
  ['# only a comment', 'the file is empty'],
  ['- a', 'this is a list'],
  ['name: x', 'a workflow needs "steps"'],
  ['steps: []', 'a workflow needs at least one step'],
  ['steps: x', '"steps" must be a list, not the string "x"'],
  ['steps: [{run: echo hi}]', '"run" must be a list, not the string "echo hi"; for a command line use "shell"'],
  ['steps: [{shell: x}]\ncommands: [{shell: y}]', 'use "steps" or "commands", not both'],
  ['steps: [{shell: x}]\n---\nsteps: []', 'a workflow file holds one document, and this is a second; remove it'],
  ['%YAML 1.1\n---\nsteps: [{shell: x}]', 'only YAML 1.2 is supported; remove the directive'],
  [
    'steps:\n  - name: a\n   shell: x',
    'w.yml:3:4: this line is neither a list item ("- …") nor aligned with the keys of the item above; check its indentation'
  ],
  ['steps:\n  - name: a\n  shell: x', 'w.yml:3:3: this line is not aligned with the keys above; align them'],
  [
    'steps:\n  - shell: x\n    name: a\n   - shell: y',
    'w.yml:4:4: this list item is not aligned with the items above; align them'
  ],
  ['steps:\n  - name: w\n    forEach: [1]', 'w.yml:3:5: "forEach" needs "each": the work for each item'],
  ['steps: [{shell: "x}]', 'w.yml:1:17: this string has no closing "; add it'],
  ['steps:\n  - shell: "x\n  - shell: y\n  - shell: z', 'w.yml:2:12: this string has no closing "; add it'],
  ["steps:\n  - shell: 'x\n\n  - shell: y", "w.yml:2:12: this string has no closing '; add it"],
  ['steps:\n  - run: [a, [b]\n  - shell: y', 'w.yml:2:10: this list has no closing ]; add it'],
  ['steps:\n  - { shell: x\n  - shell: y', 'w.yml:2:5: this mapping has no closing }; add it'],
  [
    'steps:\n  - { name: a,\n  shell: x }',
    'w.yml:2:5: this mapping has no closing }; add it, or indent the lines up to it'
  ],
  ['steps:\n\t- shell: x', 'w.yml:2:1: this line is indented with a tab; indent with spaces, not tabs'],
  ['steps: [{shell: !!js/function x}]', 'tags are not supported; remove "!!js/function"'],
  ['steps: [{shell: !important x}]', 'this begins with "!", which marks a tag; put it in quotes'],
  ['steps:\n  - shell: ! test -e x', 'w.yml:2:14: this begins with "!", which marks a tag; put it in quotes'],
  ['steps:\n  - run: [!, x]', 'this begins with "!", which marks a tag; put it in quotes'],
  ['steps: [{shell: !!str echo}]', 'tags are not supported; remove "!!str"'],
  ['steps: !!seq [{shell: x}]', 'tags are not supported; remove "!!seq"'],
  ['steps: ! [{shell: x}]', 'tags are not supported'],
  ['steps: [!!map {shell: x}]', 'tags are not supported; remove "!!map"'],
  ['steps: [{!!str shell: x}]', 'tags are not supported; remove "!!str"'],
  ['!!map {steps: [{shell: x}]}', 'tags are not supported; remove "!!map"'],
  ['steps: [{shell: x, 1: y}]', 'w.yml:1:20: a key must be a string, not the number 1; put it in quotes'],
  ['steps: [{shell: x, 1e400: y}]', 'w.yml:1:20: a key must be a string, not the number 1e400; put it in quotes'],
  ['steps: [{shell: x, true: y}]', 'w.yml:1:20: a key must be a string, not the boolean true; put it in quotes'],
  ['steps: [{shell: x, ? [a] : y}]', 'a key must be a string, not a list; put it in quotes'],
  ['steps: [{shell: x, : y}]', 'a key must be a string, not nothing; put it in quotes'],
  ['steps: [{shell: x}]\ninput: { a: .inf }', '.inf cannot be stored exactly as a number; put it in quotes'],
  ['steps: [{shell: x}]\ninput: { a: "\\0" }', 'a value cannot contain a NUL character'],
  ['steps: [{shell: "a\\0b"}]', '"shell" contains a NUL character'],
  ['steps: [{groups: {a: {shell: x}}}]', 'a wave needs a name, such as "wave: checks"'],
  ['steps: [{wave: a}]', 'a wave needs "groups"'],
  ['steps: [{shell: x, timeout: 0s}]', '"timeout" must be longer than 0; write false for no limit'],
  ['steps: [{shell: x, retry: {delay: 5m, maxDelay: 1m}}]', '"maxDelay" must not be shorter than "delay"'],
  ['steps: [{shell: x, retry: {maxDelay: 1s}}]', '"maxDelay" must not be shorter than "delay" (default: 5s)'],
  ['steps: [{shell: x, artifacts: [""]}]', 'w.yml:1:32: "artifacts" must not list an empty name'],
  ['steps: [{shell: x, commits: [" "]}]', 'w.yml:1:30: "commits" must not list an empty name'],
  ['steps: [{shell: x, expect: {files: [""]}}]', 'w.yml:1:37: "files" must not list an empty name'],
  ['steps: [{shell: x, onCheckFailure: abort}]', 'w.yml:1:20: "onCheckFailure" has no effect'],
  ['steps: [{shell: x, expect: {commits: yes}}]', '"commits" must be true, or a whole number from 0 to 10000'],
  [
    'steps: [{shell: x, retry: true}]',
    '"retry" must be false, or a mapping like { attempts: 3 }, not the boolean true'
  ],
  [
    'jobs: {build: {runs-on: ubuntu-latest, steps: [{run: make}]}}',
    'a workflow has no key "jobs"; list the steps under "steps", and what runs in parallel as groups of a "wave": "dogear help" shows a workflow'
  ],
  [
    'on: [push]\nsteps: [{shell: x}]',
    'a workflow has no key "on"; start it with "dogear run", for example from cron or CI'
  ],
  ['env: {A: b}\nsteps: [{shell: x}]', 'a workflow has no key "env"; use "input" in its place'],
  ['steps: [{uses: actions/checkout@v4}]', 'a step has no key "uses"; write a command under "shell"'],
  ['steps: [{shell: x, if: always()}]', 'a step has no key "if"; write the condition into the script'],
  [
    'steps: [{waitFor: {}, timeout: 5m}]',
    'a wait has no key "timeout"; a wait for an answer has it inside, as in waitFor: { question: "Publish?", timeout: 5m }'
  ],
  ['steps: [{script: make}]', 'a step has no key "script"; use "shell" in its place'],
  ['steps: [{shell: x, command: y}]', 'a step has no key "command"; remove it, because "shell" is there'],
  ['steps: [a', 'this list has no closing ]; add it'],
  ['steps: {a: b', 'this mapping has no closing }; add it'],
  ['steps: [{shell: x, timeout-minutes: 5}]', 'a step has no key "timeout-minutes"; use "timeout" in its place'],
  ['steps: [{wave: w, groups: {a: {shell: x, env: {A: b}}}}]', 'a group has no key "env"; set it in the script'],
  [
    'steps: [{name: a, shell: x, needs: [b]}]',
    'a step has no key "needs"; steps run in order, and groups of a "wave" in parallel'
  ],
  [
    'steps: [{name: lots, forEach: [a], each: {shell: x}}]',
    'w.yml:1:10: a wave or map has no key "name"; its name is the value of "wave"'
  ],
  [
    'steps: [{map: pages, forEach: [a], each: {shell: x}}]',
    'w.yml:1:10: a wave or map has no key "map"; a map is a "wave" with "forEach" and "each"'
  ],
  [
    'steps: [{map: pages, items: [a], shell: x}]',
    'w.yml:1:10: a step has no key "map"; a map is a "wave" with "forEach" and "each"'
  ],
  [
    'steps: [{map: pages, over: [a], step: {shell: x}}]',
    'w.yml:1:10: a sequence has no key "map"; a map is a "wave" with "forEach" and "each"'
  ],
  [
    'steps: [{wave: w, forEach: {}, each: {shell: x}}]',
    '"forEach" must be the name of a variable or a list, such as [1, 2], not a mapping'
  ],
  [
    'steps: [{shell: x, before: [{shell: "false"}]}]',
    'each entry of "before" must be a string (a script) or a list (a command), not a mapping'
  ],
  [
    'steps: [{shell: x, before: {}}]',
    '"before" must be a string (a script) or a list of scripts and commands, not a mapping'
  ],
  [
    'steps: [{job: {submit: {}, poll: x}}]',
    '"submit" must be a string (a script) or a list (a command), not a mapping'
  ],
  ['steps: [{shell: x, version: []}]', '"version" must be a string or a number, not a list']
])('the file %j is refused: %s', (text, message) => {
  expect(problemsOf(text).join('\n')).toContain(message)
})

test.each(['[', '- '])('a file that repeats %j 100,000 times is refused', (text) => {
  expect(problemsOf(text.repeat(100_000)).join('\n')).toContain('nested more than 100 levels deep')
})

test('any wave may set onCheckFailure, which also applies to missing evidence of earlier steps', () => {
  expect(problemsOf('name: w\nsteps: [{wave: w, onCheckFailure: continue, groups: {a: {shell: x}}}]')).toEqual([])
})

test.each([
  ['commands: [echo one]', ['1:12: a step is a mapping like "shell: npm test", not the string "echo one"']],
  ['steps: x', ['1:8: "steps" must be a list, not the string "x"']],
  [
    'steps: [{ wave: w, groups: { a: echo a, b: { shell: x, needs: [a] } } }]',
    ['1:33: a group is a mapping like "shell: npm test", not the string "echo a"']
  ],
  ['steps: [{ wave: w, groups: x }]', ['1:28: "groups" must be a mapping, not the string "x"']],
  ['steps: [{ wave: w }]', ['1:9: a wave needs "groups", or "forEach" and "each"']],
  [
    'steps:\n  - { wave: w, groups: {} }\n  - { wave: w, groups: {} }',
    [
      '2:13: wave "w" needs at least one group',
      '3:13: wave "w" needs at least one group',
      '3:13: the name "w" is used more than once in "fallback"; rename all but one: 2:13 and 3:13'
    ]
  ],
  [
    'steps:\n  - wave: w\n    groups:\n      1: { shell: x }\n      b: { shell: y, needs: [1] }',
    [
      '4:7: a key must be a string, not the number 1; put it in quotes',
      '5:30: "needs" must be a list of names of groups, not the number 1; put it in quotes'
    ]
  ],
  [
    "secrets: ['']\nsteps:\n  - wave: w\n    groups:\n      b: { shell: y, needs: [' '] }",
    ['1:11: "secrets" must not list an empty name', '5:30: "needs" must not list an empty name']
  ],
  [
    'steps:\n  - { job: { submit: x, poll: y }, shell: x, run: [x], reuse: { fromRun: r, artifact: a } }',
    ['2:7: "job" cannot be combined with "shell", "run" or "reuse"; use one of them']
  ],
  [
    'steps:\n  - { shell: x, run: [x], reuse: { fromRun: r, artifact: a } }',
    ['2:27: "reuse" cannot be combined with "shell" or "run"; use one of them']
  ],
  ['steps:\n  - { sleep: 1s, waitFor: {}, capture: v }', ['2:7: a step has either "sleep" or "waitFor", not both']],
  [
    'steps:\n  - timeout: 5s\n    name: a\n  - wave: w\n    groups:\n      g:\n        timeout: 5s',
    [expect.stringContaining('3:11: a task needs "shell"'), expect.stringContaining('6:7: a task needs "shell"')]
  ],
  [
    'steps:\n  - wave: w\n    forEach: [a]\n    each: { shell: x, capture: v }',
    [expect.stringContaining('4:5: capture of "w" must be absent')]
  ],
  [
    'secrets: [v]\nsteps:\n  - wave: w\n    forEach: [a]\n    each:\n      forEach: [b]\n      each: { shell: x, capture: v }',
    [
      expect.stringContaining('7:7: capture of "w/*" must be absent'),
      expect.stringContaining('7:7: capture of "w/*" must be a name other than "v"')
    ]
  ],
  [
    'steps:\n  - wave: w\n    groups:\n      1.10: { shell: x }',
    ['4:7: a key must be a string, not the number 1.10; put it in quotes']
  ],
  [
    'steps:\n  - { name: a b, shell: x }\n  - { name: a b, shell: x }',
    [
      expect.stringContaining('2:13: "a b" is not a valid name'),
      expect.stringContaining('3:13: "a b" is not a valid name'),
      '3:13: the name "a b" is used more than once in "fallback"; rename all but one: 2:13 and 3:13'
    ]
  ]
])('each mistake in the file %j is reported once, without errors that only follow from it', (text, problems) => {
  expect(problemsOf(text)).toEqual(
    problems.map((problem: unknown) => (typeof problem === 'string' ? `w.yml:${problem}` : problem))
  )
})

test('the problem of 9,000 steps with one name lists the first two places and counts the others', () => {
  const step = '  - { name: a, shell: x }\n'
  expect(problemsOf(`steps:\n${step.repeat(9_000)}`)).toEqual([
    'w.yml:3:13: the name "a" is used more than once in "fallback"; rename all but one: 2:13, 3:13 and 8998 more'
  ])
})

const WITH_COLON = 'a string with ": " in it, or ":" at its end, needs quotes, or "|" and the string on the next lines'
const AFTER_END =
  'this follows the end of a quoted string, a list or a mapping; put all of it in quotes, or use "|" and the next lines'

test.each([
  ['echo foo: bar', '2:12', WITH_COLON],
  ['echo foo:', '2:12', WITH_COLON],
  ['*.js', '2:12', 'this begins with "*", which marks an alias (not supported); put it in quotes'],
  ['&x echo', '2:15', 'this begins with "&", which marks an anchor (not supported); put it in quotes'],
  ['* x', '2:12', 'this begins with "*", which YAML reserves; put it in quotes'],
  ['@foo', '2:12', 'this begins with "@", which YAML reserves; put it in quotes'],
  ['`foo`', '2:12', 'this begins with "`", which YAML reserves; put it in quotes'],
  ['"foo" bar', '2:18', AFTER_END],
  ["'it's'", '2:16', AFTER_END],
  ['[ -e x ] && echo y', '2:21', AFTER_END],
  ['"a" && "b"', '2:16', AFTER_END],
  ['> x', '2:14', '"|" and ">" must end their line; begin the string on the next line, or put it in quotes'],
  ['>> out', '2:13', '"|" and ">" must end their line; begin the string on the next line, or put it in quotes'],
  ['"a" | cat', '2:16', AFTER_END],
  ['[ -f x ] || y', '2:19', 'a "," or ":" is missing before this "]"; add it, or put all of it in quotes'],
  ['{ echo a; } > b', '2:22', 'a "," or ":" is missing before this "}"; add it, or put all of it in quotes'],
  ['!x y', '2:12', 'this begins with "!", which marks a tag; put it in quotes'],
  ['? x', '2:12', 'this begins with "?", which marks a key; put it in quotes'],
  ['- x', '2:12', 'a string that begins with "- " needs quotes; a list starts on the next line'],
  [']x', '2:12', 'this "]" ends nothing; remove it, or put the string in quotes'],
  ['[a]}', '2:15', 'this "}" ends nothing; remove it, or put the string in quotes'],
  ['echo x\n     name: y', '2:12', 'the next line is indented more than the key before it; align them']
])('`shell:` before %j is reported once, with the remedy', (script, at, message) => {
  expect(problemsOf(`steps:\n  - shell: ${script}`)).toEqual([`w.yml:${at}: ${message}`])
})

test('an early end of a mapping is reported without the lines after it', () => {
  const text = 'steps:\n  - { name: a, shell: echo ${x} }\n  - { name: b, shell: y }\n  - name: c\n    shell: z'
  expect(problemsOf(text)).toEqual([`w.yml:2:29: ${AFTER_END}`])
})

test('a number as `forEach` is refused, also in quotes, with what to write', () => {
  const map = (items: string): string => `steps: [{ wave: m, forEach: ${items}, each: { shell: x } }]`
  expect(problemsOf(map('5'))).toEqual([
    'w.yml:1:29: "forEach" must be the name of a variable or a list, such as [1, 2], not the number 5'
  ])
  const [problem] = unknownVariables(valid(map('"5"')), [])
  expect(problem?.message).toMatch(/^"5" cannot be a variable: .*; name another, or write the list here$/)
})

test('a "$" before the name of a variable is named', () => {
  const [problem] = unknownVariables(valid('steps: [{ wave: m, forEach: $items, each: { shell: x } }]'), ['items'])
  expect(problem?.message).toMatch(/; write "items"$/)
})

test('a key like __proto__ is a key like any other', () => {
  expect(Object.keys(valid('input: { __proto__: 1, constructor: 2 }\nsteps: [{ shell: x }]').input)).toEqual([
    '__proto__',
    'constructor'
  ])
})

test('an unknown retry strategy raises a warning and counts as exponential', () => {
  const { steps, warnings } = valid('steps:\n  - shell: x\n    retry: { strategy: exponental }')
  expect(steps[0]).toMatchObject({ retry: standard })
  expect(warnings).toEqual([
    {
      at: { line: 3, column: 24 },
      message: 'unknown retry strategy "exponental", using exponential. Did you mean "exponential"?'
    }
  ])
})

test('retries of a step that is not idempotent raise a warning', () => {
  expect(valid('steps: [{ shell: x, idempotent: false, retry: {} }]').warnings).toHaveLength(1)
})

test.each([
  ['250ms', 250],
  ['5s', 5_000],
  ['1.5s', 1_500],
  ['2m', 120_000],
  ['1h', 3_600_000]
])('%s is a duration', (text, millis) => {
  expect(Duration.parse(text)).toEqual({ _tag: 'Some', value: millis })
})

test('an age may be in days, but a duration of a step may not', () => {
  expect([Duration.parseAge('30d'), Duration.parseAge('12h')]).toEqual([
    { _tag: 'Some', value: 2_592_000_000 },
    { _tag: 'Some', value: 43_200_000 }
  ])
  expect([Duration.parseAge('1.5d'), Duration.parseAge('d'), Duration.parse('30d')]).toEqual(
    Array(3).fill({ _tag: 'None' })
  )
})

test.each(['', '5', 's', '-5s', '5 s', '5d', '1e3s', '9999999999s', '٥s'])('the string %j is no duration', (text) => {
  expect(Duration.parse(text)).toEqual({ _tag: 'None' })
})

test.each([
  'PATH',
  'LD_PRELOAD',
  'DYLD_INSERT_LIBRARIES',
  'NODE_OPTIONS',
  'BASH_ENV',
  'ENV',
  'IFS',
  'SHELLOPTS',
  'PS4'
])('the name %s cannot be a variable: it decides which code runs', (name) => {
  expect(objection(name)).toEqual({ _tag: 'Some', value: 'it would change how commands are found or started' })
})

test.each(['', '1a', 'a-b', 'a.b', 'a b', 'ä', 'a=b', 'a\n', 'DOGEAR_X', 'PWD', '_', 'x'.repeat(200)])(
  'the name %j cannot be a variable',
  (name) => {
    expect(objection(name)._tag).toBe('Some')
  }
)

test.each(['a', 'version', '_x', 'path', 'env', 'A1'])('the name %s can be a variable', (name) => {
  expect(objection(name)._tag).toBe('None')
})

test('a variable is replaced as a whole, and its value is not expanded again', () => {
  const values = new Map([
    ['x', '${y}'],
    ['y', '$(z)']
  ])
  expect(Template.fill('a${x}b$${x}$x${y}', values)).toEqual(E.right('a${y}b${x}$x$(z)'))
})

test('a `run:` step that names an unset variable is refused', () => {
  const file = valid(`
input: { given: 1 }
steps:
  - run: [a, "\${given}", "\${late}"]
  - { shell: x, capture: late }
  - wave: w
    groups:
      one: { shell: x, capture: of_one }
      two: { run: [a, "\${late}", "\${of_one}"], needs: [one] }
      three: { run: [a, "\${of_one}"] }
      four: { run: [a, "\${of_one}"], needs: [two] }
  - run: [a, "\${of_one}", "\${flag}", "\${gven}"]
`)
  const problems = unknownVariables(file, ['given', 'flag']).map((problem) => Problem.describe('w.yml', problem))
  expect(problems).toEqual([
    'w.yml:4:26: unknown variable "late". Set here: given, flag',
    'w.yml:10:25: unknown variable "of_one". Set here: given, flag, late',
    'w.yml:12:38: unknown variable "gven". Did you mean "given"?'
  ])
})

test('only the evidence of a task may name what the task itself captures', () => {
  const file = valid(`
steps:
  - { shell: x, capture: own, artifacts: ["\${own}"], expect: { files: ["\${own}"] } }
  - { shell: x, capture: late, after: [[a, "\${late}"]] }
  - wave: w
    after: [[a, "\${own}", "\${part}"]]
    expect: { files: ["\${part}"] }
    groups: { one: { shell: x, capture: part } }
`)
  expect(unknownVariables(file, []).map((problem) => Problem.describe('w.yml', problem))).toEqual([
    'w.yml:4:44: unknown variable "late". Set here: own',
    'w.yml:7:23: unknown variable "part". Set here: own, late',
    'w.yml:6:27: unknown variable "part". Set here: own, late'
  ])
})

test('a name that no variable can have is refused without the advice to set it', () => {
  const file = valid('steps: [{ run: [a, "${DOGEAR_STEP}", "${PATH}"] }]')
  expect(unknownVariables(file, []).map(({ message }) => message)).toEqual([
    '"DOGEAR_STEP" cannot be a variable: names that begin with DOGEAR_ are set by dogear itself; read it from the environment, or use "shell"',
    '"PATH" cannot be a variable: it would change how commands are found or started; read it from the environment, or use "shell"'
  ])
})

test('a step sees captures of its own level and of the outer ones, and captures of an item stay in the item', () => {
  const file = valid(`
steps:
  - name: a
    steps:
      - { shell: x, capture: one }
      - wave: w
        groups:
          g: { steps: [{ run: [a, "\${one}"], capture: two }, { run: [a, "\${two}"] }] }
          h: { run: [a, "\${two}"] }
          i: { run: [a, "\${two}", "\${item}"], needs: [g] }
      - wave: m
        forEach: two
        each: { steps: [{ run: [a, "\${item}", "\${two}"], capture: three }, { run: [a, "\${three}"] }] }
  - run: [a, "\${one}", "\${two}", "\${three}"]
`)
  expect(unknownVariables(file, []).map((problem) => Problem.describe('w.yml', problem))).toEqual([
    'w.yml:9:25: unknown variable "two". Set here: one',
    'w.yml:10:35: unknown variable "item". Set here: one, two',
    'w.yml:14:34: unknown variable "three". Set here: one, two'
  ])
})

test('a problem with a name is reported with its place on every level', () => {
  expect(
    problemsOf(`
name: w
steps:
  - name: a
    steps:
      - { name: x, shell: x, capture: v }
      - { name: x, shell: x }
      - { wave: b, groups: { g: { shell: x, needs: [h] }, i: { steps: [{ name: "-", shell: x, capture: v }] } } }
  - { name: x, shell: x }
  - { wave: m, forEach: v, each: { steps: [{ name: x, shell: x, capture: v }, { name: x, shell: x }] } }
  - { steps: [{ shell: x }] }
  - { name: both, steps: [{ shell: x }], workflow: other.yml }
  - { name: empty, steps: [] }
  - { name: mixed, steps: [{ shell: x }], shell: y }
`)
  ).toEqual([
    'w.yml:7:17: the name "x" is used more than once in "a"; rename all but one: 6:17 and 7:17',
    'w.yml:8:30: group "g" of wave "a/b" needs "h", which is not a group of that wave; fix its needs',
    'w.yml:8:80: "-" is not a valid name: use letters, digits, ".", "_" and "-", first a letter or digit, at most 128 characters',
    'w.yml:8:80: variable "v" is captured by more than one step; rename all but one: a/x, a/b/i/-',
    'w.yml:10:87: the name "x" is used more than once in "m/*"; rename all but one: 10:52 and 10:87',
    'w.yml:11:5: a sequence needs a name, such as "name: deploy"',
    'w.yml:12:42: a sequence has either "steps" or "workflow", not both',
    'w.yml:12:52: Cannot read workflow other.yml',
    'w.yml:13:20: a sequence needs at least one step',
    expect.stringMatching(/^w\.yml:14:43: a sequence has no key "shell"/)
  ])
})

test('a group and the body of a map may be a wave or a map', () => {
  const { steps } = valid(`
input: { list: [] }
steps:
  - wave: w
    groups:
      g: { groups: { x: { shell: x } }, concurrency: 2, needs: [h] }
      h: { forEach: list, each: { forEach: [1, 2], each: { shell: x } } }
`)
  expect(steps).toMatchObject([
    {
      groups: [
        { _tag: 'Wave', name: 'g', concurrency: 2, needs: ['h'], groups: [{ name: 'x' }] },
        { _tag: 'Map', name: 'h', needs: [], each: { _tag: 'Map', each: { _tag: 'Task' } } }
      ]
    }
  ])
})

test('steps nest 16 levels deep, and no deeper', () => {
  const nested = (depth: number): string =>
    depth === 1 ? '{ name: s, shell: x }' : `{ name: s, steps: [${nested(depth - 1)}] }`
  expect(problemsOf(`steps: [${nested(16)}]`)).toEqual([])
  expect(problemsOf(`steps: [${nested(17)}]`)).toEqual([
    expect.stringMatching(
      /^w\.yml:1:\d+: "(s\/){15}s" is nested too deeply: a workflow has at most 16 levels of steps; flatten it$/
    )
  ])
})

test('a file has at most 10,000 steps and groups, counting included files', () => {
  const others = {
    'b.yml': `steps: [${Array.from({ length: 100 }, () => '{ name: c, workflow: c.yml }').join(', ')}]`,
    'c.yml': `steps: [${Array.from({ length: 100 }, () => '{ shell: x }').join(', ')}]`
  }
  const file = read('steps: [{ name: a, workflow: b.yml }]', others)
  expect(E.isLeft(file) ? file.left.map((problem) => Problem.describe('w.yml', problem)) : []).toEqual([
    expect.stringMatching(
      /^b\.yml:1:\d+: a workflow file has at most 10000 steps and groups, counting those of included files$/
    )
  ])
})

test('files include one another at most 16 levels deep', () => {
  const others = Object.fromEntries(
    Array.from({ length: 20 }, (_, n) => [`${n}.yml`, `steps: [{ name: s, workflow: ${n + 1}.yml }]`])
  )
  const file = read('steps: [{ name: s, workflow: 0.yml }]', others)
  expect(E.isLeft(file) ? file.left.map((problem) => Problem.describe('w.yml', problem)) : []).toEqual([
    '14.yml:1:30: files include one another more than 16 levels deep'
  ])
})

test('an included sequence is named by its step, else by its file’s "name", else by its file', () => {
  const others = { 'b.yml': 'name: inner\nsteps: [{ shell: x }]', 'c.yml': 'steps: [{ shell: x }]' }
  const file = read('steps: [{ workflow: b.yml }, { workflow: c.yml }, { name: own, workflow: c.yml }]', others)
  expect(E.isRight(file) ? file.right.steps.map(({ name }) => name) : file.left).toEqual(['inner', 'c', 'own'])
})

test.each([
  ['shel', 'shell'],
  ['sehll', 'shell'],
  ['Timeout', 'timeout'],
  ['retries', 'retry']
])('for the unknown word %s the command suggests %s', (word, known) => {
  expect(didYouMean(word, ['shell', 'timeout', 'retry'])).toBe(`. Did you mean "${known}"?`)
})

test('values of the input keep their types', () => {
  const input: Json = { s: 'x', n: 3, b: true, z: null, l: [1, 'a'], o: { k: false } }
  expect(
    valid('input: { s: x, n: 3, b: true, z: null, l: [1, a], o: { k: false } }\nsteps: [{ shell: x }]').input
  ).toEqual(input)
})

test.each([
  ['sleep: 10', '2:14', '"sleep" must be a duration like 30s, 10m, 12h or 14d, not the number 10'],
  ['sleep: 1s, waitFor: {}', '2:7', 'a step has either "sleep" or "waitFor", not both'],
  ['sleep: 1s, capture: v', '2:18', 'a sleep has no output for "capture"; remove it'],
  [
    'sleep: 1s, idempotent: false',
    '2:18',
    'a wait has no key "idempotent"; use one of "name", "sleep", "waitFor", "summary", "capture"'
  ],
  ['waitFor: Publish?', '2:16', '"waitFor" is a mapping like { question: "Publish?" }, not the string "Publish?"'],
  [
    'sleep: 1s, timeout: 5s',
    '2:18',
    'a wait has no key "timeout"; a wait for an answer has it inside, as in waitFor: { question: "Publish?", timeout: 5m }'
  ],
  [
    'waitFor: {}, timeout: 5s',
    '2:20',
    'a wait has no key "timeout"; a wait for an answer has it inside, as in waitFor: { question: "Publish?", timeout: 5m }'
  ],
  ['sleep: 999999d', '2:14', '"sleep" must be at most 1,000 years']
])('a wait that is written as `%s` is refused with the place', (keys, at, message) => {
  expect(problemsOf(`steps:\n  - { ${keys} }`)).toEqual([`w.yml:${at}: ${message}`])
})

test('a map with "name" in place of "wave" is reported as one problem', () => {
  expect(problemsOf('steps: [{name: lots, forEach: [a], each: {shell: x}}]')).toHaveLength(1)
})
