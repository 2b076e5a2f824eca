import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import { fromHostId, parse } from '../../src/domain/checkpoint/RunId.js'
import * as W from '../../src/domain/workflow/Workflow.js'
import * as WorkflowProblem from '../../src/domain/workflow/WorkflowProblem.js'
import * as arb from '../../src/testing/planning/arbitrary/Arbitrary.js'
import { law } from './law.js'

// ---------------------------------------------------------------------------------------------------------------------
// run ids
// ---------------------------------------------------------------------------------------------------------------------

const texts = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('a', '_', '0', '-', '.', 'A', '/', '\ud800'), maxLength: 6 }),
  fc.string({ unit: fc.constantFrom('a', 'A'), minLength: 20, maxLength: 140 }),
  fc.constantFrom('', '_', '_005f', 'con', 'nul.', 'h-', 'hash-', 'a'.repeat(126), 'a'.repeat(127), 'A'.repeat(126))
)

describe('a run id', () => {
  test.each(['a', '0', 'release-42', 'a.b_c-d', 'a'.repeat(128), 'console', 'com10', 'lpt', 'nul-1', 'conx.txt'])(
    '%s is a valid run id',
    (runId) => {
      assert.deepEqual(parse(runId), E.right(runId))
    }
  )

  test.each([
    '',
    '.',
    '..',
    '...',
    'a.',
    'a..',
    '.hidden',
    '-rf',
    '_a',
    '../x',
    'a/b',
    'a\\b',
    '/etc/passwd',
    'C:x',
    'A',
    'aB',
    'a b',
    'a\n',
    '\na',
    'a\r',
    'a\u0000',
    'a\u0000.json',
    'é',
    'ａ',
    'a\u200d',
    'a\u202e',
    'ı',
    'a*',
    'a?',
    'a%2f',
    '~',
    '$HOME',
    'con',
    'prn',
    'aux',
    'nul',
    'nul.txt',
    'con.a.b',
    'com0',
    'com1',
    'com9.log',
    'lpt1',
    'lpt9.x',
    'a'.repeat(129)
  ])('%j is not a valid run id', (runId) => {
    const parsed = parse(runId)
    assert.ok(E.isLeft(parsed))
    assert.deepEqual([parsed.left._tag, parsed.left.runId], ['InvalidRunId', runId])
    assert.ok(parsed.left.why.length > 0)
  })

  test('a run id must be a string, whatever an untyped caller passes', () => {
    for (const runId of [null, undefined, 7, {}, ['a'], { toString: () => 'a' }]) {
      assert.ok(E.isLeft(parse(runId as string)))
    }
  })

  law('a run id made from any string is valid', texts, (hostId) => {
    assert.deepEqual(parse(fromHostId(hostId)), E.right(fromHostId(hostId)))
  })

  law('run ids made from different strings differ', fc.tuple(texts, texts), ([a, b]) => {
    assert.equal(fromHostId(a) === fromHostId(b), a === b)
  })

  law('a run id made from a string can be decoded to that string, if the string is not too long', texts, (hostId) => {
    const runId = fromHostId(hostId)
    const back = runId.startsWith('h-')
      ? runId.slice(2).replace(/_([0-9a-f]{4})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
      : undefined
    if (runId.startsWith('h-')) assert.equal(back, hostId)
    else assert.match(runId, /^hash-[0-9a-f]{64}$/)
  })

  test('what is made of a host id that is no string is no run id, so that each call refuses it', () => {
    for (const hostId of [null, undefined, 7, {}, ['a']]) {
      assert.ok(E.isLeft(parse(fromHostId(hostId as string))))
    }
  })

  test('a run id made from a string never changes between versions of the library', () => {
    assert.equal(fromHostId('Job:7'), 'h-_004aob_003a7')
    assert.equal(fromHostId('release_1.x'), 'h-release_005f1_002ex')
    assert.equal(fromHostId('A'.repeat(26)), 'hash-7e5f9f8d2222f68cca9ccfcf77c86abc8b1c29bdc44c90215a5e94419196299e')
    assert.equal(fromHostId('A'.repeat(25)), `h-${'_0041'.repeat(25)}`)
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// definitions
// ---------------------------------------------------------------------------------------------------------------------

const group = (name: string, ...needs: ReadonlyArray<string>): W.Group => W.group(W.task(name), needs)

const problemsOf = (...steps: ReadonlyArray<W.Step>): ReadonlyArray<WorkflowProblem.WorkflowProblem> =>
  WorkflowProblem.problems({ name: 'release', steps })

describe('a definition', () => {
  const invalid: ReadonlyArray<readonly [WorkflowProblem.WorkflowProblem, ReadonlyArray<W.Step>, string]> = [
    [{ _tag: 'NoSteps' }, [], 'a workflow needs at least one step'],
    [{ _tag: 'NoGroups', unit: 'w' }, [W.wave('w', [])], 'wave "w" needs at least one group'],
    [
      { _tag: 'DuplicateName', name: 'a', within: 'release' },
      [W.task('a'), W.task('a'), W.wave('a', [group('x')])],
      'the name "a" is used more than once in "release"; rename all but one'
    ],
    [
      { _tag: 'DuplicateName', name: 'x', within: 'w' },
      [W.wave('w', [group('x'), group('x')])],
      'the name "x" is used more than once in "w"; rename all but one'
    ],
    [
      { _tag: 'DuplicateCapture', variable: '__proto__', places: ['a', 'w/x'] },
      [W.task('a', { captures: ['__proto__'] }), W.wave('w', [W.group(W.task('x', { captures: ['__proto__'] }))])],
      'variable "__proto__" is captured by more than one step; rename all but one: a, w/x'
    ],
    [
      { _tag: 'DuplicateCapture', variable: 'v', places: ['a', 'a'] },
      [W.task('a', { captures: ['v', 'v'] })],
      'variable "v" is captured by more than one step; rename all but one: a, a'
    ],
    [
      { _tag: 'UnknownNeed', unit: 'w', group: 'x', need: 'constructor' },
      [W.wave('w', [group('x', 'constructor')])],
      'group "x" of wave "w" needs "constructor", which is not a group of that wave; fix its needs'
    ],
    [
      { _tag: 'NeedCycle', unit: 'w', groups: ['x'] },
      [W.wave('w', [group('x', 'x')])],
      'group "x" of wave "w" needs itself; remove it from its needs'
    ],
    [
      { _tag: 'NeedCycle', unit: 'w', groups: ['x', 'y', 'z'] },
      [
        W.wave('w', [
          group('after', 'x'),
          group('x', 'y'),
          group('y', 'z', 'free'),
          group('z', 'x', 'x'),
          group('free')
        ])
      ],
      'groups x, y, z of wave "w" depend on each other in a cycle; remove one of their needs'
    ]
  ]

  test.each(invalid.map(([problem, steps, text]) => [text, problem, steps] as const))(
    'a definition is refused: %s',
    (text, problem, steps) => {
      assert.deepEqual(problemsOf(...steps), [problem])
      assert.deepEqual(WorkflowProblem.define('release', steps), E.left([problem]))
      assert.equal(WorkflowProblem.describeProblem(problem), text)
    }
  )

  test.each(['', '-a', '.a', '_a', 'a b', 'a/b', 'ä', 'a\n', 'a'.repeat(129)])(
    'a definition may not use the name %j',
    (name) => {
      const invalid = { _tag: 'InvalidName', name } as const
      const ofWorkflow = { ...invalid, isWorkflow: true } as const
      assert.deepEqual(WorkflowProblem.problems({ name, steps: [W.task('a')] }), [ofWorkflow])
      assert.match(WorkflowProblem.describeProblem(ofWorkflow), /is not a valid name of a workflow: [^;]*$/)
      assert.deepEqual(problemsOf(W.task(name)), [invalid])
      assert.deepEqual(problemsOf(W.wave('w', [group(name)])), [invalid])
      assert.match(WorkflowProblem.describeProblem(invalid), /is not a valid name/)
    }
  )

  test.each(['a', '0', 'A.b_c-d', '__proto__'.slice(2), 'constructor', 'a'.repeat(128)])(
    'a definition may use the name %j',
    (name) => {
      assert.deepEqual(
        WorkflowProblem.problems({ name, steps: [W.wave(name, [group(name)]), W.task(`${name.slice(0, 9)}1`)] }),
        []
      )
    }
  )

  test('a field of a definition that is undefined changes no fingerprint', () => {
    const [absent, given] = [{ shell: 'make' }, { shell: 'make', cwd: undefined } as never]
    assert.equal(W.task('a', { definition: given }).fingerprint, W.task('a', { definition: absent }).fingerprint)
    assert.deepEqual(W.sequence('s', [W.task('a')], 's', given), W.sequence('s', [W.task('a')], 's', absent))
  })

  test('all problems of a definition are reported at once', () => {
    const found = WorkflowProblem.problems({
      name: ' ',
      steps: [
        W.task('a', { captures: ['v'] }),
        W.task('a', { captures: ['v'] }),
        W.wave('w', [group('x', 'y', 'nobody'), group('y', 'x')]),
        W.wave('empty', [])
      ]
    })
    assert.deepEqual(found.map(({ _tag }) => _tag).sort(), [
      'DuplicateCapture',
      'DuplicateName',
      'InvalidName',
      'NeedCycle',
      'NoGroups',
      'UnknownNeed'
    ])
  })

  law('a generated workflow is valid', arb.workflow(), (workflow) => {
    assert.deepEqual(WorkflowProblem.problems(workflow), [])
    assert.ok(E.isRight(WorkflowProblem.define(workflow.name, workflow.steps)))
  })

  law(
    'a generated workflow is valid after a generated edit',
    fc.tuple(arb.workflow(), arb.workflowEdit),
    ([workflow, change]) => {
      assert.deepEqual(WorkflowProblem.problems(arb.edit(workflow, change).workflow), [])
    }
  )

  law(
    'a wave has a cycle if and only if its groups cannot be ordered, and its problem names one',
    fc.array(fc.uniqueArray(fc.nat({ max: 5 }), { maxLength: 3 }), { minLength: 6, maxLength: 6 }),
    (needs) => {
      const groups = needs.map((list, index) => group(`g${index}`, ...list.map((need) => `g${need}`)))
      /** The nodes that are unreachable along the arrows, layer by layer, from nodes without successors. */
      const unreached = (edges: ReadonlyArray<ReadonlyArray<number>>, among: ReadonlySet<number>): Set<number> => {
        const left = new Set(among)
        for (let round = 0; round < 6; round++) {
          for (const node of [...left]) if (!edges[node]?.some((other) => left.has(other))) left.delete(node)
        }
        return left
      }
      const stuck = unreached(needs, new Set(needs.keys()))
      const [problem, ...more] = problemsOf(W.wave('w', groups))
      assert.deepEqual(more, [])
      assert.equal(problem?._tag, stuck.size === 0 ? undefined : 'NeedCycle')
      const circle = problem?._tag === 'NeedCycle' ? problem.groups : []
      assert.equal(new Set(circle).size, circle.length)
      for (const [index, name] of circle.entries()) {
        const next = circle[index + 1] ?? circle[0] ?? assert.fail()
        assert.ok(groups.find((one) => one.name === name)?.needs.includes(next), `${name} does not need ${next}`)
      }
    }
  )
})
