import * as E from 'fp-ts/lib/Either.js'
import { afterEach, describe, expect, test } from 'vitest'
import { decode } from '../../src/cli/workflow/decode.js'
import { parse } from '../../src/cli/workflow/Source.js'
import { unknownVariables } from '../../src/cli/workflow/unknownVariables.js'
import { MAX_STEPS } from '../../src/cli/workflow/WorkflowFile.js'
import { linesOf, type Sandbox, sandbox } from './dogear.js'
import { quickestOfBoth } from '../quickest.js'

let place: Sandbox | undefined
afterEach(() => place?.remove())

const times = (n: number, of: (index: number) => string, between = ''): string =>
  Array.from({ length: n }, (_, index) => of(index)).join(between)

const steps = (n: number, of: (index: number) => string): string =>
  `name: w\nsteps:\n${times(n, (index) => `- { ${of(index)} }\n`)}`

const groups = (n: number, of: (index: number) => string): string =>
  `name: w\nsteps:\n- wave: v\n  groups:\n${times(n, (index) => `    g${index}: { ${of(index)} }\n`)}`

/** A chain of groups, each of which captures a variable and uses that of another group. */
const chain = (n: number, usedBy: (index: number) => number): string =>
  groups(n, (index) => {
    const used = usedBy(index) < 0 ? '' : `, '\${c${usedBy(index)}}'`
    return `run: [x${used}], capture: c${index}${index === 0 ? '' : `, needs: [g${index - 1}]`}`
  })

/** Files with this many problems or groups of each kind. */
const files: Readonly<Record<string, (n: number) => string>> = {
  'aliases where names belong': (n) => groups(1, () => `shell: x, needs: [${times(n, () => '*x', ', ')}]`),
  'numbers beyond double precision': (n) =>
    `name: w\ninput: { a: [${'99999999999999999999, '.repeat(n)}] }\nsteps: [{ shell: x }]`,
  'a mapping with many keys': (n) =>
    `name: w\ninput:\n${times(n, (index) => `  k${index}: ${index}\n`)}steps: [{ shell: x }]`,
  'groups with unknown needs': (n) => groups(n, (index) => `shell: x, needs: [x${index}]`),
  'variables that are captured twice': (n) => steps(n, (index) => `shell: x, capture: c${index >> 1}`),
  'invalid escapes': (n) => `a: "${'\\q'.repeat(n)}"`,
  'unset variables': (n) => steps(n, (index) => `run: [x, '\${vxr${index}}'], capture: var${index}`),
  'a chain of groups that capture': (n) =>
    groups(n, (index) => `run: [x], capture: c${index}${index === 0 ? '' : `, needs: [g${index - 1}]`}`),
  'a chain of groups that use the first capture': (n) => chain(n, (index) => (index === 0 ? -1 : 0)),
  'a chain of groups that use the last capture': (n) => chain(n, (index) => index - 1),
  'a chain of groups that use the last capture but one': (n) => chain(n, (index) => index - 2),
  'a chain of groups that use the next capture': (n) => chain(n, (index) => index + 1),
  'groups that each use another capture through a group that needs all': (n) => {
    const half = n >> 1
    const all = times(half, (index) => `g${index}`, ', ')
    return groups(n, (index) => {
      if (index < half) return `run: [x], capture: c${index}`
      return index === half ? `run: [x], needs: [${all}]` : `run: [x, '\${c${index - half - 1}}'], needs: [g${half}]`
    })
  },
  'a check after a sequence that uses all its captures four times': (n) => {
    const uses = times(4 * n, (index) => `'\${c${index % n}}'`, ', ')
    const captures = times(n, (index) => `  - { run: [x], capture: c${index} }\n`)
    return `name: w\nsteps:\n- name: s\n  after: [[x, ${uses}]]\n  steps:\n${captures}`
  }
}

const decoded = (text: string): ReturnType<typeof decode> =>
  decode({ path: '/w.yml', shown: 'w.yml', name: 'w', source: parse(text) }, () => E.left('no other file'))

/** Looks up the variables of the largest file of a kind. */
const looking = (kind: string): (() => number) => {
  const file = decoded(files[kind]?.(MAX_STEPS - 1) ?? '')
  return E.isRight(file) ? () => unknownVariables(file.right, []).length : expect.fail(file.left[0]?.message)
}

let chainOfGroups: (() => number) | undefined

/** The number of problems in a file, through all of parsing. */
const problemsOf = (text: string): number => {
  const file = decoded(text)
  return E.isLeft(file) ? file.left.length : unknownVariables(file.right, []).length
}

describe('the time to check a workflow file', () => {
  test.each([
    ['aliases where names belong', 4_000],
    ['numbers beyond double precision', 2_000],
    ['a mapping with many keys', 2_000],
    ['invalid escapes', 5_000],
    ['groups with unknown needs', 500],
    ['variables that are captured twice', 500],
    ['unset variables', 500],
    ['a chain of groups that capture', 400],
    ['a chain of groups that use the first capture', 400]
  ])('a workflow file is checked in linear time: %s', (kind, count) => {
    const [small = '', large = ''] = [files[kind]?.(count), files[kind]?.(4 * count)]
    // Linear time would be four times as much, quadratic time sixteen.
    problemsOf(small)
    const [short, long] = quickestOfBoth(
      4,
      () => problemsOf(small),
      () => problemsOf(large)
    )
    expect(long / short).toBeLessThan(9)
  })

  test.each([
    'a chain of groups that use the last capture but one',
    'a chain of groups that use the next capture',
    'groups that each use another capture through a group that needs all',
    'a check after a sequence that uses all its captures four times'
  ])(
    'the variables of the largest file are looked up in at most four times the time of a chain of groups: %s',
    (kind) => {
      chainOfGroups ??= looking('a chain of groups that use the last capture')
      const [short, long] = quickestOfBoth(2, chainOfGroups, looking(kind))
      expect(long / short).toBeLessThan(4)
    },
    120_000
  )
})

describe('many problems', () => {
  test.each([
    ['aliases where names belong', 6_000],
    ['groups with unknown needs', 1_000],
    ['unset variables', 1_000]
  ])('the first of many problems are printed with the number of others: %s', async (kind, count) => {
    const text = files[kind]?.(count) ?? ''
    place = sandbox({ 'w.yml': text })
    const { code, stdout, stderr } = await place.dogear(['run', 'w.yml', '--json'])
    expect(code).toBe(2)
    const all = problemsOf(text)
    expect(all).toBeGreaterThanOrEqual(count)
    const lines = linesOf(stderr)
    expect(lines[0]).toBe(`dogear: w.yml has ${all} problems:`)
    expect(lines.slice(1, -1).every((line) => /^w\.yml:\d+:\d+: /.test(line))).toBe(true)
    expect(lines).toHaveLength(22)
    expect(lines.at(-1)).toBe(`and ${all - 20} more`)
    expect(stderr.length).toBeLessThan(20_000)
    const { error } = JSON.parse(stdout) as { error: { problems: unknown[]; problems_total: number } }
    expect([error.problems.length, error.problems_total]).toEqual([20, all])
  })

  test('the longest name is cut in the middle, and the remedy is still shown', async () => {
    place = sandbox({ 'w.yml': `name: ${'k'.repeat(100_000)}\nsteps: [{ shell: x }]` })
    const { stderr } = await place.dogear(['run', 'w.yml'])
    expect(stderr.length).toBeLessThan(1_000)
    expect(stderr).toMatch(
      /w\.yml:1:7: "k+ … k+" is not a valid name of a workflow: use letters, .*, at most 128 characters\n/
    )
  })

  test('the first of many warnings are printed with the number of others', async () => {
    place = sandbox({
      'w.yml': steps(500, () => 'shell: "true", retry: { strategy: linaer }').replace(
        'steps:',
        'steps:\n- { shell: "false" }'
      )
    })
    const { stderr } = await place.dogear(['run', 'w.yml'])
    const warnings = linesOf(stderr).filter((line) => line.startsWith('warning:'))
    expect(warnings).toHaveLength(21)
    expect(warnings.at(-1)).toBe('warning: and 480 more')
  })

  test('a message about many groups or captures names only some of them', async () => {
    place = sandbox({
      'cycle.yml': groups(2_000, (index) => `shell: x, needs: [g${(index + 1) % 2_000}]`),
      'captures.yml': steps(2_000, () => 'shell: x, capture: c')
    })
    for (const file of ['cycle.yml', 'captures.yml']) {
      const { code, stderr } = await place.dogear(['run', file])
      expect(code).toBe(2)
      expect(stderr).toMatch(/ and 1,?990 more( of wave "v" depend on each other [^\n]*)?\n$/)
      expect(stderr.length).toBeLessThan(1_000)
    }
  })
})
