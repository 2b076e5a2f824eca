import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import type { Change } from '../../src/domain/change/Change.js'
import { decode as decodeChange } from '../../src/domain/change/ChangeCodec.js'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import { start } from '../../src/domain/checkpoint/Checkpoint.js'
import type { CodecError } from '../../src/domain/change/restore.js'
import { decode, encode } from '../../src/domain/checkpoint/CheckpointCodec.js'
import { describe as describeError, restore } from '../../src/domain/change/restore.js'
import type { Json, JsonObject } from '../../src/domain/data/Json.js'
import { planResume } from '../../src/domain/plan/planResume.js'
import { replay } from '../../src/domain/change/Transition.js'
import * as W from '../../src/domain/workflow/Workflow.js'
import * as Identity from '../../src/domain/workflow/WorkflowIdentity.js'
import * as arb from '../../src/testing/planning/arbitrary/Arbitrary.js'
import { law } from './law.js'
import { startedRun } from '../../src/testing/planning/arbitrary/RunRecorder.js'

const printed = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const textOf = (checkpoint: Checkpoint): string => JSON.stringify(encode(checkpoint))

const decoded = (content: unknown): Checkpoint => {
  const found = decode(content)
  return E.isRight(found) ? found.right : assert.fail(describeError(found.left))
}

const refused = (content: unknown): CodecError => {
  const found = decode(content)
  return E.isLeft(found) ? found.left : assert.fail('it was taken')
}

const parse = (text: string): Json => JSON.parse(text) as Json

// ---------------------------------------------------------------------------------------------------------------------
// round trips
// ---------------------------------------------------------------------------------------------------------------------

describe('an encoded checkpoint', () => {
  law('an encoded checkpoint decodes to the same checkpoint', arb.run(), ({ checkpoint }) => {
    const back = decoded(parse(textOf(checkpoint)))
    assert.deepEqual(encode(back), encode(checkpoint))
    assert.equal(textOf(back), textOf(checkpoint))
    assert.deepEqual(new Map(back.variables), new Map(checkpoint.variables))
    assert.equal(back.completedSteps.steps, checkpoint.completedSteps.steps)
  })

  law('an encoded checkpoint is the same after JSON.stringify and JSON.parse', arb.run(), ({ checkpoint }) => {
    assert.deepEqual(parse(textOf(checkpoint)), encode(checkpoint))
  })

  law('encoded changes decode to the same changes, and replay to the same checkpoint', arb.run(), (run) => {
    const changes = run.changes.map((change) => JSON.parse(JSON.stringify(change)) as unknown)
    for (const [index, change] of changes.entries()) {
      assert.deepEqual(decodeChange(change), E.right(run.changes[index]))
    }
    const base = run.trail[0]?.checkpoint as Checkpoint
    const restored = restore({ checkpoint: parse(textOf(base)), changes: changes.slice(1) })
    assert.ok(E.isRight(restored))
    assert.equal(textOf(restored.right), textOf(run.checkpoint))
  })

  test('variables, steps, groups and keys may be named like members of every object, such as `constructor`', () => {
    const nasty = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']
    const input = parse(`{${nasty.map((name) => `"${name}":{"${name}":1}`).join()}}`)
    const workflow = {
      name: 'constructor',
      steps: [W.task('constructor'), W.wave('toString', [W.group(W.task('valueOf')), W.group(W.task('constructor'))])]
    }
    const { checkpoint } = startedRun(workflow, input)
    const back = decoded(parse(textOf(checkpoint)))
    for (const name of nasty) assert.deepEqual(back.variables.get(name), parse(`{"${name}":1}`))
    assert.equal(textOf(back), textOf(checkpoint))
    assert.deepEqual([...back.variables.keys()].sort(), [...nasty].sort())
    assert.equal(({} as Record<string, unknown>)['1'], undefined)
  })

  test('a checkpoint keeps values that are large and up to 500 levels deep', () => {
    const deep = Array.from({ length: 498 }).reduce<Json>((inner, _, at) => (at % 2 === 0 ? [inner] : { inner }), 1)
    const big = { text: 'x'.repeat(1_000_000), list: Array.from({ length: 100_000 }, (_, at) => at) }
    const { checkpoint } = startedRun({ name: 'release', steps: [W.task('build')] }, { deep, big })
    assert.equal(textOf(decoded(parse(textOf(checkpoint)))), textOf(checkpoint))
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// damage
// ---------------------------------------------------------------------------------------------------------------------

/** The places in a JSON value, as paths. */
const pathsIn = (value: Json, path: ReadonlyArray<string> = []): ReadonlyArray<ReadonlyArray<string>> => [
  path,
  ...(typeof value === 'object' && value !== null
    ? Object.keys(value).flatMap((key) => pathsIn((value as JsonObject)[key] as Json, [...path, key]))
    : [])
]

const REPLACEMENTS: ReadonlyArray<Json | undefined> = [
  undefined,
  null,
  '',
  'x',
  -1,
  0.5,
  7,
  1e308,
  true,
  [],
  {},
  [null],
  { _tag: 'Unknown' },
  { _tag: 'constructor' },
  { _tag: 'Completed' },
  parse('{"__proto__":null,"length":1}')
]

/** A copy with one place replaced; `undefined` drops it, and in an array duplicates the element. */
const mutated = (value: Json, path: ReadonlyArray<string>, by: Json | undefined): Json => {
  if (path.length === 0) return by ?? null
  const [key, ...rest] = path as [string, ...string[]]
  const copy = parse(JSON.stringify(value)) as Record<string, Json> | Array<Json>
  if (Array.isArray(copy)) {
    const at = Number(key)
    if (rest.length === 0 && by === undefined) copy.splice(at, 0, copy[at] as Json)
    else copy[at] = mutated(copy[at] as Json, rest, by)
    return copy
  }
  if (rest.length === 0 && by === undefined) delete copy[key]
  else
    Object.defineProperty(copy, key, {
      value: mutated(copy[key] as Json, rest, by),
      enumerable: true,
      configurable: true,
      writable: true
    })
  return copy
}

/** A step that is only its name is a string. */
const isName = (path: ReadonlyArray<string>, by: Json): boolean =>
  typeof by === 'string' && /^workflow,.*(steps,\d+|groups,\d+|each)$/.test(path.join(','))

const mutations = fc.tuple(arb.run(), fc.nat(), fc.constantFrom(...REPLACEMENTS))

/** The fields that accept any JSON. */
const FREE =
  /^(input|output|data|variables|completedSteps,\d+,output)(,|$)|,(output|data|job|items,\d+,value)(,|$)|^(answers,\d+,)?value(,|$)/

describe('a checkpoint with one value changed', () => {
  law(
    'a checkpoint with one value changed is refused or decodes to exactly that content, and never throws',
    mutations,
    ([run, where, by]) => {
      const whole = parse(textOf(run.checkpoint))
      const paths = pathsIn(whole)
      const path = paths[where % paths.length] as ReadonlyArray<string>
      const content = mutated(whole, path, by)
      const found = decode(content)
      if (E.isLeft(found)) {
        assert.ok(describeError(found.left).length > 0)
        return
      }
      assert.deepEqual(parse(textOf(found.right)), content, path.join('.'))
      planResume(found.right, run.workflow)
    }
  )

  law('a checkpoint in which one value has another type is refused', mutations, ([run, where, by]) => {
    const whole = parse(textOf(run.checkpoint))
    const paths = pathsIn(whole)
    const path = paths[where % paths.length] as ReadonlyArray<string>
    const was = path.reduce<Json>((value, key) => (value as JsonObject)[key] as Json, whole)
    if (by === undefined || kind(was) === kind(by) || FREE.test(path.join(',')) || isName(path, by)) return
    assert.ok(E.isLeft(decode(mutated(whole, path, by))), path.join('.'))
  })

  law(
    'a checkpoint with a count that is not a whole number ≥ 0 is refused',
    fc.tuple(arb.run(), fc.nat()),
    ([run, where]) => {
      const whole = parse(textOf(run.checkpoint))
      const paths = pathsIn(whole).filter((path) =>
        /(stepIndex|revision|generation|attempt|attempts|format)$/.test(path.join(','))
      )
      const numbers = paths.filter(
        (path) => typeof path.reduce<Json>((value, key) => (value as JsonObject)[key] as Json, whole) === 'number'
      )
      const path = numbers[where % numbers.length] as ReadonlyArray<string>
      for (const wrong of [-1, 0.5, 1e308, -0.5, 2 ** 53, '1', null]) {
        assert.ok(E.isLeft(decode(mutated(whole, path, wrong))), `${path.join('.')} ${wrong}`)
      }
    }
  )

  law('a checkpoint with a duplicated record has no plan', fc.tuple(arb.run(), fc.nat()), ([run, where]) => {
    const whole = parse(textOf(run.checkpoint))
    const count = run.checkpoint.completedSteps.size
    if (count === 0) return
    const found = decode(mutated(whole, ['completedSteps', String(where % count)], undefined))
    assert.ok(E.isLeft(found) || E.isLeft(planResume(found.right, run.workflow)))
  })
})

const kind = (value: Json | undefined): string =>
  value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value

describe('a change with one value changed', () => {
  law(
    'a change with one value changed is refused or decodes to exactly that content',
    fc.tuple(arb.run(), fc.nat(), fc.nat(), fc.constantFrom(...REPLACEMENTS)),
    ([run, which, where, by]) => {
      const whole = parse(JSON.stringify(run.changes[which % run.changes.length]))
      const paths = pathsIn(whole)
      const content = mutated(whole, paths[where % paths.length] as ReadonlyArray<string>, by)
      const found = decodeChange(content)
      if (E.isRight(found)) assert.deepEqual(parse(JSON.stringify(found.right)), content)
      const restored = restore({ checkpoint: parse(textOf(run.checkpoint)), changes: [content] })
      if (E.isRight(restored)) assert.equal(restored.right.revision, run.checkpoint.revision + 1)
      else assert.ok(describeError(restored.left).length > 0)
    }
  )
})

const base = (): JsonObject =>
  parse(textOf(startedRun({ name: 'release', steps: [W.task('build')] }, { a: 1 }).checkpoint)) as JsonObject

describe('invalid content', () => {
  test.each([[null], [undefined], [1], ['x'], [{}], [[]], [true], [{ format: 1 }]])(
    'content that is not a checkpoint is refused with a reason: %j',
    (content) => {
      assert.match(describeError(refused(content)), /^(at \$\S+ )?expected /)
    }
  )

  test('content of a newer format is refused as NewerFormat, whatever its other fields', () => {
    for (const format of [2, 3, 1.5, 1e9]) {
      assert.deepEqual(refused({ ...base(), format, state: 'new' }), {
        _tag: 'NewerFormat',
        found: format,
        supported: 1
      })
    }
    assert.equal(
      describeError(refused({ format: 2 })),
      'it has format 2, but this version of Dogear reads only up to 1; upgrade Dogear'
    )
    for (const format of [0, -1, 0.5, '1', null]) assert.equal(refused({ ...base(), format })._tag, 'Malformed')
  })

  test('the error for invalid content names the path', () => {
    const rows: ReadonlyArray<readonly [JsonObject, string]> = [
      [{ ...base(), revision: -1 }, '$.revision'],
      [{ ...base(), state: { _tag: 'Unknown' } }, '$.state'],
      [{ ...base(), state: { _tag: 'Completed', stepIndex: 0.5, step: 'build' } }, '$.state.stepIndex'],
      [{ ...base(), createdAt: 'yesterday' }, '$.createdAt'],
      [{ ...base(), completedSteps: [{}] }, '$.completedSteps[0].unit'],
      [{ ...base(), workspace: null }, '$.workspace'],
      [{ ...base(), renewals: [] }, '$.renewals'],
      [{ ...base(), renewals: [{ unit: 'a', times: 0 }] }, '$.renewals'],
      [{ ...base(), renewals: [1, 2].map((times) => ({ unit: 'a', times })) }, '$.renewals']
    ]
    for (const [content, path] of rows) {
      const error = refused(content)
      assert.equal(error._tag === 'Malformed' && error.path, path)
    }
    const error = restore({
      checkpoint: base(),
      changes: [{ _tag: 'Confirmed', at: '2026-01-02T03:04:05.000Z' }]
    })
    assert.deepEqual(error, E.left({ _tag: 'Malformed', path: 'changes[0] $.unit', expected: 'string' }))
  })

  test('a Confirmed change decodes with the evidence that it keeps', () => {
    const kept = { _tag: 'Confirmed', at: '2026-01-02T03:04:05.000Z', unit: 'build' }
    const evidence = [{ _tag: 'File', path: 'a' }]
    assert.deepEqual(decodeChange({ ...kept, evidence }), E.right({ ...kept, evidence }))
    const wrong = decodeChange({ ...kept, evidence: [{ _tag: 'Artifact', path: 'a' }] })
    assert.equal(E.isLeft(wrong) && wrong.left.path, '$.evidence[0].size')
  })

  test('a checkpoint whose variables differ from its input and records is refused', () => {
    for (const variables of [{}, { a: 2 }, { a: 1, b: 1 }, parse('{"a":1,"__proto__":1}'), { a: [1] }]) {
      const error = refused({ ...base(), variables })
      assert.equal(error._tag === 'Malformed' && error.path, '$.variables')
    }
    assert.equal(textOf(decoded({ ...base(), variables: { a: 1 } })), JSON.stringify(base()))
  })

  test('content that nests too deeply is refused without a stack overflow', () => {
    const deep = (): Json => parse('['.repeat(100_000) + ']'.repeat(100_000))
    assert.equal(refused({ ...base(), input: { a: deep() }, variables: { a: deep() } })._tag, 'Malformed')
  })

  test('changes are refused if the state does not permit one of them, and the error names that change and its revision', () => {
    const found = restore({
      checkpoint: base(),
      changes: [{ _tag: 'Interrupted', at: '2026-01-02T03:04:05.000Z', unit: 'x', reason: 'signal' }]
    })
    assert.ok(E.isLeft(found))
    assert.equal(describeError(found.left), 'change Interrupted of "x" cannot follow revision 0: UnknownUnit')
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// files written earlier stay readable
// ---------------------------------------------------------------------------------------------------------------------

const golden = (name: string): string => readFileSync(new URL(`../golden/domain/${name}`, import.meta.url), 'utf8')

const timeOf = (second: number): string => `2026-01-02T03:04:${String(second).padStart(2, '0')}.678Z`

describe('a checkpoint of format 1', () => {
  const stored = parse(golden('checkpoints.format-1.json')) as JsonObject
  const named = (name: string): Checkpoint => decoded(stored[name])

  test.each(Object.keys(stored))('a checkpoint of format 1 decodes, and encodes unchanged: %s', (name) => {
    assert.deepEqual(encode(named(name)), stored[name])
  })

  test('a stored checkpoint of format 1 still decodes to the same fields', () => {
    const checkpoint = named('completed')
    assert.equal(checkpoint.format, 1)
    assert.equal(checkpoint.runId, 'release-1')
    assert.equal(checkpoint.revision, 9)
    assert.equal(checkpoint.generation, 2)
    assert.equal(checkpoint.createdAt, timeOf(5))
    assert.equal(checkpoint.updatedAt, timeOf(30))
    assert.deepEqual(checkpoint.input, { channel: 'beta', tags: ['näxt', '\u2028'] })
    assert.equal(checkpoint.workspace, undefined)
    assert.deepEqual(named('queued').workspace, { kind: 'directory', path: '/srv/ws' })
    assert.deepEqual(checkpoint.pending.records, [
      { _tag: 'Job', unit: 'publish', key: 'k1', submittedAt: timeOf(11) },
      { _tag: 'Job', unit: 'checks/unit', key: 'k2', submittedAt: timeOf(12) },
      { _tag: 'Timer', unit: 'checks/lint/nap', wakeAt: '2026-01-02T03:14:05.678Z', startedAt: timeOf(13) },
      {
        _tag: 'Answer',
        unit: 'checks/lint/approve',
        question: 'Release it?',
        until: '2026-01-03T03:04:05.678Z',
        startedAt: timeOf(14)
      }
    ])
    assert.deepEqual(checkpoint.answers.records, [
      { unit: 'checks/lint/approve', value: true, by: 'ada', at: timeOf(15) }
    ])
    assert.deepEqual(checkpoint.workflow, {
      name: 'release',
      path: '/srv/release.yaml',
      fingerprint: `v1:${'a'.repeat(64)}`,
      steps: [
        { _tag: 'Task', name: 'build', fingerprint: `v1:${'b'.repeat(64)}`, idempotent: true },
        {
          _tag: 'Wave',
          name: 'checks',
          fingerprint: `v1:${'c'.repeat(64)}`,
          ownFingerprint: `v1:${'7'.repeat(64)}`,
          groups: [
            { _tag: 'Task', name: 'unit', fingerprint: `v1:${'d'.repeat(64)}`, idempotent: true },
            { _tag: 'Task', name: 'lint', fingerprint: `v1:${'e'.repeat(64)}`, idempotent: false }
          ]
        },
        { _tag: 'Task', name: 'publish', fingerprint: `v1:${'f'.repeat(64)}`, idempotent: false }
      ]
    })
  })

  test('the records and variables of a stored checkpoint of format 1 still decode to the same values', () => {
    const { completedSteps, variables } = named('completed')
    const [build, unit, lint, wave] = [...completedSteps]
    assert.deepEqual(build, {
      unit: 'build',
      stepIndex: 0,
      fingerprint: `v1:${'b'.repeat(64)}`,
      output: { files: ['a.tgz'], size: 3 },
      captured: ['dist'],
      attempts: 2,
      startedAt: timeOf(5),
      completedAt: timeOf(7),
      durationMillis: 1999.5,
      evidence: [
        { _tag: 'Artifact', path: 'a.tgz', size: 3, sha256: '0'.repeat(64) },
        { _tag: 'Commit', hash: 'c0ffee' },
        { _tag: 'File', path: 'README.md' }
      ]
    })
    assert.deepEqual([unit?.unit, unit?.output, unit?.assumed], ['checks/unit', undefined, undefined])
    assert.deepEqual([lint?.unit, lint?.output, lint?.assumed], ['checks/lint', null, true])
    assert.deepEqual(wave?.unit, 'checks')
    assert.deepEqual([completedSteps.size, completedSteps.steps], [4, 2])
    assert.deepEqual(
      new Map(variables),
      new Map<string, Json>([
        ['channel', 'beta'],
        ['tags', ['näxt', '\u2028']],
        ['dist', { files: ['a.tgz'], size: 3 }],
        ['__proto__', null]
      ])
    )
  })

  test('omitted fields of steps and records decode to their defaults', () => {
    const plain = { fingerprint: W.task('any').fingerprint, idempotent: true }
    const { workflow, completedSteps } = named('plain')
    assert.deepEqual(workflow.steps, [
      { _tag: 'Task', name: 'build', ...plain },
      {
        _tag: 'Sequence',
        name: 'checks',
        fingerprint: `v1:${'c'.repeat(64)}`,
        ownFingerprint: `v1:${'7'.repeat(64)}`,
        steps: [
          { _tag: 'Task', name: 'unit', ...plain },
          {
            _tag: 'Map',
            name: 'files',
            fingerprint: `v1:${'d'.repeat(64)}`,
            ownFingerprint: `v1:${'8'.repeat(64)}`,
            each: { _tag: 'Task', name: 'lint', ...plain }
          }
        ]
      }
    ])
    const times = { startedAt: timeOf(5), completedAt: timeOf(6), durationMillis: 1000 }
    const usual = { fingerprint: plain.fingerprint, captured: [], attempts: 1, evidence: [] }
    assert.deepEqual([...completedSteps], [{ unit: 'build', stepIndex: 0, output: null, ...times, ...usual }])
  })

  test('a stored step or record that spells out a default is refused, so that each has one stored form', () => {
    const plain = stored['plain'] as JsonObject & { readonly completedSteps: ReadonlyArray<JsonObject> }
    const { fingerprint } = W.task('any')
    const long = { _tag: 'Task', name: 'build', fingerprint, idempotent: true }
    const steps = mutated(plain, ['workflow', 'steps', '0'], long)
    const found = refused(steps)
    assert.equal(found._tag === 'Malformed' && found.path, '$.workflow.steps[0]')
    for (const [key, usual] of Object.entries({ fingerprint, captured: [], attempts: 1, evidence: [] })) {
      const error = refused({ ...plain, completedSteps: [{ ...plain.completedSteps[0], [key]: usual }] })
      assert.equal(error._tag === 'Malformed' && error.path, `$.completedSteps[0].${key}`)
    }
  })

  test('each stored kind of state of format 1 still decodes to the same state', () => {
    const error = {
      name: 'HttpError',
      message: 'Service Unavailable',
      code: '503',
      stack: 'HttpError: Service Unavailable\n    at publish (release.js:1:1)',
      data: { body: ['try later', null, true, 1.5] }
    }
    const brief = { name: 'HttpError', message: 'Service Unavailable', code: '503' }
    const attempt = { attempt: 1, startedAt: timeOf(8), failedAt: timeOf(9), error: brief, outcome: 'unknown' }
    assert.deepEqual(printed(named('queued').state), {
      _tag: 'BeforeStep',
      stepIndex: 0,
      step: 'build',
      inFlight: [],
      failures: []
    })
    assert.deepEqual(printed(named('beforeStep').state), {
      _tag: 'BeforeStep',
      stepIndex: 1,
      step: 'checks',
      inFlight: [{ unit: 'checks/unit', attempt: 3 }],
      failures: [
        {
          unit: 'checks/lint',
          error,
          outcome: 'notApplied',
          attempts: [
            { ...attempt, delayBeforeNextMillis: 5000 },
            { ...attempt, attempt: 2 }
          ]
        }
      ]
    })
    assert.deepEqual(printed(named('completed').state), { _tag: 'Completed', stepIndex: 1, step: 'checks' })
    assert.deepEqual(printed(named('failed').state), {
      _tag: 'Failed',
      stepIndex: 2,
      step: 'publish',
      inFlight: [],
      failures: [{ unit: 'publish', error, outcome: 'unknown', attempts: [attempt] }],
      retryable: true
    })
    assert.deepEqual(printed(named('interrupted').state), {
      _tag: 'Interrupted',
      stepIndex: 0,
      step: 'build',
      inProgress: true,
      inFlight: [{ unit: 'build', attempt: 2, suspended: true }],
      failures: [{ unit: 'build', error, outcome: 'unknown', attempts: [{ ...attempt, delayBeforeNextMillis: 0 }] }],
      reason: 'paused'
    })
  })
})

describe('the validation of stored content', () => {
  const checkpoints = Object.values(parse(golden('checkpoints.format-1.json')) as JsonObject)
  const changes = golden('changes.format-1.jsonl').trimEnd().split('\n').map(parse)
  const readCheckpoint = (content: Json): unknown => decode(content)
  const all = [
    ...checkpoints.map((value) => ({ value, read: readCheckpoint })),
    ...changes.map((value) => ({ value, read: (content: Json): unknown => decodeChange(content) }))
  ]
  const isLeft = (found: unknown): boolean => E.isLeft(found as E.Either<unknown, unknown>)
  const isFree = (path: ReadonlyArray<string>): boolean => FREE.test(path.join(','))
  const at = (value: Json, path: ReadonlyArray<string>): Json =>
    path.reduce<Json>((inner, key) => (inner as JsonObject)[key] as Json, value)

  test('stored content is refused if any value has another type or is null', () => {
    for (const { value, read } of all) {
      for (const path of pathsIn(value)) {
        const was = at(value, path)
        for (const by of REPLACEMENTS) {
          if (by === undefined || kind(was) === kind(by) || isFree(path)) continue
          if (read === readCheckpoint && isName(path, by)) continue
          assert.ok(isLeft(read(mutated(value, path, by))), `${path.join('.')} = ${JSON.stringify(by)}`)
        }
      }
    }
  })

  test('stored content with null in an optional field is refused', () => {
    const optional: ReadonlyArray<readonly [RegExp, string]> = [
      [/^completedSteps,\d+$/, 'assumed'],
      [/^pending,0$/, 'attempt'],
      [/^pending,3$/, 'until'],
      [/inFlight,\d+$/, 'suspended'],
      [/^workflow,steps,0$/, 'wait'],
      [/attempts,\d+$/, 'delayBeforeNextMillis'],
      [/error$/, 'code'],
      [/error$/, 'stack'],
      [/^workflow$/, 'path'],
      [/^$/, 'workspace']
    ]
    for (const [where, key] of optional) {
      let seen = 0
      for (const { value, read } of all) {
        for (const path of pathsIn(value).filter(
          (one) => where.test(one.join()) && kind(at(value, one)) === 'object'
        )) {
          if (key === 'delayBeforeNextMillis' && !('failedAt' in (at(value, path) as object))) continue
          if (key === 'workspace' && '_tag' in (value as object) && (value as JsonObject)['_tag'] !== 'Started')
            continue
          const content = mutated(value, [...path, key], null)
          seen += 1
          assert.ok(isLeft(read(content)), `${path.join('.')} ${key}`)
        }
      }
      assert.ok(seen > 0, `${where.source} ${key}`)
    }
  })

  test('stored content with an invalid time or an unknown value of an enumeration is refused', () => {
    for (const { value, read } of all) {
      for (const path of pathsIn(value)) {
        const key = path.at(-1) ?? ''
        if (isFree(path)) continue
        if (/^(at|\w+At)$/.test(key)) {
          for (const by of ['yesterday', '2026-01-02', '2026-01-02T03:04:05Z', '2026-01-02T03:04:05.678+01:00', ''])
            assert.ok(isLeft(read(mutated(value, path, by))), `${path.join('.')} = ${by}`)
        }
        if (/^(_tag|kind|outcome|reason)$/.test(key)) {
          for (const by of ['', 'x', 'constructor', 'toString', '__proto__'])
            assert.ok(isLeft(read(mutated(value, path, by))), `${path.join('.')} = ${by}`)
        }
      }
    }
  })

  test('stored content that lacks a required field is refused', () => {
    const optional =
      /^(output|code|stack|data|path|workspace|assumed|delayBeforeNextMillis|last|answers|question|until|suspended)$/
    for (const { value, read } of all) {
      for (const path of pathsIn(value)) {
        const key = path.at(-1)
        if (key === undefined || optional.test(key) || isFree(path) || /^\d+$/.test(key)) continue
        if (/^completedSteps,\d+,(fingerprint|captured|attempts|evidence)$/.test(path.join(','))) continue
        if ((value as JsonObject)['_tag'] === 'UnitCompleted' && /^(captured|evidence)$/.test(key)) continue
        assert.ok(isLeft(read(mutated(value, path, undefined))), path.join('.'))
      }
    }
  })
})

describe('a journal of changes of format 1', () => {
  const lines = golden('changes.format-1.jsonl').trimEnd().split('\n').map(parse)
  const changes = lines.map((line): Change => {
    const found = decodeChange(line)
    return E.isRight(found) ? found.right : assert.fail(JSON.stringify(found.left))
  })

  test('each stored kind of change of format 1 still decodes to the same change', () => {
    assert.deepEqual([...new Set(changes.map(({ _tag }) => _tag))].sort(), [
      'Answered',
      'Assumed',
      'AttemptFailed',
      'AttemptStarted',
      'Confirmed',
      'InputReplaced',
      'Interrupted',
      'Recovered',
      'Rewound',
      'Started',
      'Suspended',
      'UnitCompleted',
      'UnitFailed',
      'WaitStarted',
      'WorkflowEdited'
    ])
    assert.deepEqual(changes, lines)
  })

  test('a journal of format 1 replays to the recorded checkpoint', () => {
    const [started, ...more] = changes
    assert.ok(started?._tag === 'Started')
    const restored = replay(start(started), more)
    assert.ok(E.isRight(restored), JSON.stringify(restored))
    const { state, revision, generation, completedSteps, variables, workflow, updatedAt, input } = restored.right
    assert.deepEqual(input, { channel: 'stable', tags: [] })
    assert.equal(revision, 23)
    assert.equal(generation, 1)
    assert.equal(updatedAt, timeOf(9))
    assert.equal(workflow.fingerprint, `v1:${'9'.repeat(64)}`)
    assert.deepEqual(
      [...completedSteps].map(({ unit, assumed }) => [unit, assumed]),
      [
        ['build', undefined],
        ['checks/lint', true]
      ]
    )
    assert.deepEqual([...variables.keys()], ['channel', 'tags', 'dist', '__proto__'])
    assert.deepEqual(printed(state), {
      _tag: 'Interrupted',
      stepIndex: 1,
      step: 'checks',
      inProgress: true,
      inFlight: [{ unit: 'checks/unit', attempt: 1, suspended: true }],
      failures: [],
      reason: 'signal'
    })
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// fingerprints
// ---------------------------------------------------------------------------------------------------------------------

const sha = (text: string): string => `v1:${createHash('sha256').update(text, 'utf8').digest('hex')}`

describe('a fingerprint', () => {
  const build = W.task('build')
  const unit = W.task('unit', { definition: { shell: 'npm test', timeout: 600 }, captures: ['report'] })
  const publish = W.task('publish', { definition: { shell: 'npm publish' }, idempotent: false })
  const checks = W.wave('checks', [W.group(unit), W.group(W.task('lint'), ['unit'])])

  test('a fingerprint never changes between versions of the library', () => {
    assert.equal(build.fingerprint, 'v1:59863056caf42d1c62026ba79d90912b4ee39cd77100abaa6173bf0ab8d2042c')
    assert.equal(unit.fingerprint, 'v1:998784e37be6768dacab3135eacbcbe62fd187c2b11ac08f2b7e138b6ee74106')
    assert.equal(publish.fingerprint, 'v1:53d5eea410c6a4c5b69b8dea1cf802ac4d962388dcf6f7ed54a3add8abb443ef')
    assert.equal(checks.fingerprint, 'v1:0413061f28c79268017e92f0d91741d86d6c8b4ff5692419a11aeaaebd8f1685')
    assert.equal(
      Identity.fingerprintOf({ name: 'release', steps: [build, checks, publish] }),
      'v1:0952e5bd59f8be0d74d3081ad1eac4c5daf61e4030ec5113120e2464814d6532'
    )
  })

  test('a fingerprint is the hash of reproducible canonical JSON', () => {
    assert.equal(build.fingerprint, sha('{"captures":[],"definition":null,"idempotent":true,"kind":"task"}'))
    assert.equal(
      unit.fingerprint,
      sha('{"captures":["report"],"definition":{"shell":"npm test","timeout":600},"idempotent":true,"kind":"task"}')
    )
    const groups = checks.groups.map(
      ({ name, fingerprint, needs }) =>
        `{"fingerprint":"${fingerprint}","name":"${name}","needs":${JSON.stringify(needs)}}`
    )
    assert.equal(checks.fingerprint, sha(`{"groups":[${groups.join()}],"kind":"wave"}`))
    assert.equal(
      Identity.fingerprintOf({ name: 'release', steps: [build] }),
      sha(`{"name":"release","steps":["build","${build.fingerprint}"]}`)
    )
  })

  test('a fingerprint depends on definition, idempotent, captures, needs and the names of parts, and on no other field', () => {
    const same = W.task('build', {
      summary: 'Builds',
      idempotent: true,
      accepts: () => E.right(undefined),
      captures: [],
      definition: null
    })
    assert.equal(same.fingerprint, build.fingerprint)
    assert.equal(W.task('other').fingerprint, build.fingerprint)
    assert.equal(W.wave('checks', checks.groups, 'in words').fingerprint, checks.fingerprint)
    const others = [
      W.task('build', { idempotent: false }),
      W.task('build', { captures: ['x'] }),
      W.task('build', { definition: {} }),
      W.task('build', { definition: 0 }),
      W.wave('build', [W.group(build)]),
      W.wave('build', [W.group(W.task('other'))]),
      W.sequence('build', [build]),
      W.sequence('build', [W.task('other')]),
      W.mapOf('build', build),
      W.mapOf('build', W.task('other')),
      W.wave('checks', [...checks.groups].reverse()),
      W.wave(
        'checks',
        checks.groups.map((group) => ({ ...group, needs: [] }))
      ),
      checks
    ].map(({ fingerprint }) => fingerprint)
    assert.equal(new Set([...others, build.fingerprint]).size, others.length + 1)
  })

  law(
    'two fingerprints are equal if and only if the definitions are the same data',
    fc.tuple(fc.jsonValue(), fc.jsonValue()),
    ([a, b]) => {
      const [one, two] = [a, b].map((definition) => JSON.parse(JSON.stringify(definition)) as Json)
      const equal = JSON.stringify(sorted(one)) === JSON.stringify(sorted(two))
      const print = (definition: Json | undefined) => W.task('a', { definition: definition ?? null }).fingerprint
      assert.equal(print(one) === print(two), equal)
      assert.equal(print(reversed(one)), print(one))
    }
  )

  law(
    'two workflow fingerprints are equal if and only if the names and fingerprints of their steps are',
    fc.tuple(arb.workflow(), arb.workflowEdit),
    ([workflow, change]) => {
      const edited = arb.edit(workflow, change).workflow
      const prints = (of: W.Workflow) => JSON.stringify(of.steps.map(({ name, fingerprint }) => [name, fingerprint]))
      assert.equal(
        Identity.fingerprintOf(edited) === Identity.fingerprintOf(workflow),
        prints(edited) === prints(workflow)
      )
    }
  )
})

const mapKeys = (order: (keys: ReadonlyArray<string>) => ReadonlyArray<string>) => {
  const walk = (value: Json | undefined): Json =>
    Array.isArray(value)
      ? value.map(walk)
      : typeof value === 'object' && value !== null
        ? Object.fromEntries(order(Object.keys(value)).map((key) => [key, walk((value as JsonObject)[key])]))
        : (value ?? null)
  return walk
}

const sorted = mapKeys((keys) => [...keys].sort())
const reversed = mapKeys((keys) => [...keys].reverse())
