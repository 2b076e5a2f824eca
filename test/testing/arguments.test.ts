/** Calls of the kit with misspelled, invalid or empty options fail, because they would test less than their caller believes. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { MemoryData } from '../../src/adapters/memory.js'
import { memoryArtifacts, memoryData, memoryStorage } from '../../src/adapters/memory.js'
import * as Workflow from '../../src/domain/workflow/Workflow.js'
import { workflow } from '../../src/promise/index.js'
import type { ArtifactSpec, FaultSchedule, StorageSpec, VirtualClock } from '../../src/testing/index.js'
import {
  PlanLawReport,
  artifactConformanceTests,
  checkModel,
  checkPlanLaws,
  ConformanceReport,
  conformanceTests,
  crashCase,
  crashEverywhere,
  planLaws,
  runArtifactConformance,
  runConformance,
  virtualClock,
  withFaults
} from '../../src/testing/index.js'

const spec: StorageSpec<MemoryData> = {
  name: 'the memory store',
  create: () => Promise.resolve(memoryData()),
  reopen: (data) => Promise.resolve(memoryStorage(data)),
  capabilities: []
}

const artifacts: ArtifactSpec<MemoryData> = {
  ...spec,
  reopen: (data) => Promise.resolve(memoryArtifacts(data)),
  capabilities: []
}

const job = workflow('job').step('one', () => 1)

/** As an untyped host passes them. */
const untyped = (value: unknown): never => value as never

const messageOf = async (call: () => unknown): Promise<string> => {
  try {
    await call()
  } catch (error) {
    return (error as Error).message
  }
  return 'it did not fail'
}

test.each([
  [[NaN], 'tick must be a finite number'],
  [['1'], 'tick must be a finite number'],
  [[0, NaN], 'start must be milliseconds since 1970-01-01 UTC, not the number NaN'],
  [[0, new Date(0)], 'start must be milliseconds since 1970-01-01 UTC, not an object']
])('a virtual clock with the arguments %j fails', async (args, why) => {
  const untypedClock = virtualClock as (...args: ReadonlyArray<unknown>) => VirtualClock
  expect(await messageOf(() => untypedClock(...args))).toBe(`virtualClock: ${why}`)
})

test('a virtual clock with a negative tick is set back by each reading', () => {
  const clock = virtualClock(-5, 100)
  expect([clock.now(), clock.now()]).toEqual([95, 90])
})

test.each([NaN, Infinity, '5'])('a virtual clock does not advance by %j', async (millis) => {
  const clock = virtualClock()
  const before = clock.now()
  expect(await messageOf(() => clock.advance(untyped(millis)))).toBe('advance: millis must be a finite number')
  expect(clock.now()).toBe(before)
})

describe('a selection of conformance cases', () => {
  test.each([
    [
      { only: ['CS-FENC'] },
      'only must be an array of at least one case or family of cases; the string "CS-FENC" is unknown; did you mean "CS-FENCE"?'
    ],
    [{ only: [] }, 'only must be an array of at least one case or family of cases'],
    [{ only: 'CS-FENCE' }, 'not the string "CS-FENCE"'],
    [{ levels: ['coer'] }, 'the string "coer" is unknown; did you mean "core"?'],
    [{ levels: ['fast'] }, 'the string "fast" is unknown; use core, capability or stress'],
    [{ levels: [] }, 'levels must be an array of at least one level'],
    [{ levels: ['stress'], only: ['CS-ID'] }, 'CS-ID has no stress case; select another level'],
    [{ limit: 5 }, 'unknown option "limit"; did you mean "limitMillis"?'],
    [{ limitMillis: '5s' }, 'limitMillis must be a whole number ≥ 1, not the string "5s"']
  ])('an empty or invalid selection fails: %j', async (options, why) => {
    const runner = { describe: () => assert.fail('it ran'), test: () => assert.fail('it ran') }
    expect(await messageOf(() => runConformance(spec, untyped(options)))).toContain(why)
    expect(await messageOf(() => conformanceTests(runner, spec, untyped(options)))).toContain(why)
  })

  test('an invalid selection of cases of an artifact store fails, too', async () => {
    const why = 'the string "CS-ID" is unknown; did you mean "AS-ID"?'
    const runner = { describe: () => assert.fail('it ran'), test: () => assert.fail('it ran') }
    expect(await messageOf(() => runArtifactConformance(artifacts, { only: ['CS-ID'] }))).toContain(why)
    expect(await messageOf(() => artifactConformanceTests(runner, artifacts, { only: ['CS-ID'] }))).toContain(why)
  })

  test('a report without results is not conformant', () => {
    const report = { store: 'mine', capabilities: [], results: [], hints: [], untried: [] }
    expect(ConformanceReport.isConformant(report)).toBe(false)
  })
})

test('the kit refuses an invalid runner before it checks the spec', async () => {
  const runner = 'the first argument must be an object with the functions `describe` and `test`'
  expect(await messageOf(() => conformanceTests(untyped(undefined), spec))).toBe(
    `conformanceTests: ${runner}, not undefined`
  )
  expect(await messageOf(() => conformanceTests(untyped(spec), untyped({ describe, test })))).toBe(
    `conformanceTests: ${runner}; it has no describe and no test`
  )
  expect(await messageOf(() => conformanceTests(untyped({ describe }), spec))).toBe(
    `conformanceTests: ${runner}; it has no test`
  )
  expect(await messageOf(() => artifactConformanceTests(untyped(undefined), artifacts))).toContain(runner)
})

test('the kit refuses an invalid spec, and says what the spec lacks', async () => {
  const { create: _, ...noCreate } = spec
  expect(await messageOf(() => runConformance(untyped(undefined)))).toBe(
    'runConformance: the spec: it must be an object, not undefined'
  )
  expect(await messageOf(() => checkModel(untyped(noCreate)))).toBe(
    'checkModel: the spec: create must be a function that creates an empty place for runs, not undefined'
  )
  expect(await messageOf(() => checkModel(untyped({ ...spec, capabilities: undefined })))).toContain(
    'capabilities must be an array, possibly empty, of history, '
  )
  expect(await messageOf(() => runArtifactConformance(untyped({ ...artifacts, capabilities: ['history'] })))).toContain(
    'capabilities must be an array, possibly empty, of large, damage, not of the string "history"'
  )
})

test.each([
  [{ numruns: 5 }, 'unknown option "numruns"; did you mean "numRuns"?'],
  [{ numRuns: 0 }, 'numRuns must be a whole number ≥ 1, not the number 0'],
  [{ seed: 'x' }, 'seed must be a whole number, not the string "x"']
])('checkModel refuses invalid options: %j', async (options, why) => {
  expect(await messageOf(() => checkModel(spec, untyped(options)))).toBe(`checkModel: ${why}`)
})

test.each([
  [{ twise: 0 }, 'unknown option "twise"; did you mean "twice"?'],
  [{ answers: 'yes' }, "answers must be 'again', 'done' or 'both'"],
  [{ only: {} }, 'only must be the `only` of a violation: schedule must be an array of crash points'],
  [{ only: { schedule: [{}], answer: 'again' } }, 'schedule must be an array of crash points'],
  [
    { only: { schedule: [{ _tag: 'AtUnit', unit: 'one', n: 0, how: 'after' }], answer: 'again' } },
    'each with `n` (from 1) and a `how` of its kind'
  ],
  [
    { only: { schedule: [{ _tag: 'AtUnit', unit: 'one', n: 1, how: 'torn' }], answer: 'again' } },
    'each with `n` (from 1) and a `how` of its kind'
  ],
  [{ only: { schedule: [], answer: 'yes' } }, "answer must be 'again' or 'done'"],
  [{ invariants: { mine: 5 } }, 'an object of functions by name; that of "mine" is the number 5'],
  [{ storage: memoryStorage() }, 'storage must be an object with the functions `create` and `reopen`']
])('crashEverywhere refuses invalid options: %j (%s)', async (options, why) => {
  expect(await messageOf(() => crashEverywhere(job, untyped(options)))).toContain(why)
})

test.each([
  [{ _tag: 'FromStep', life: 1 }],
  [{ _tag: 'Pause', life: 1, unit: 'one', when: 'soon' }],
  [{ _tag: 'EditEvidence', life: 2, unit: 'one', answer: 'redo' }],
  [{ _tag: 'AnswerWait', life: 1, unit: 'one' }]
])('crashEverywhere refuses an intervention with a missing or invalid field: %j', async (one) => {
  const only = { schedule: [], answer: 'again', interventions: [one] }
  expect(await messageOf(() => crashEverywhere(job, untyped({ only })))).toContain('interventions must be an array of')
})

test('crashEverywhere treats an undefined invariant as absent', async () => {
  const { violations } = await crashEverywhere(job, untyped({ invariants: { mine: undefined }, twice: 0 }))
  expect(violations).toEqual([])
})

test('crashEverywhere refuses a first argument that is no workflow', async () => {
  expect(await messageOf(() => crashEverywhere(untyped(undefined)))).toContain('not undefined')
})

test.each([
  ['no function', {}, 'nothing', 'sub-step "pay" has no function to run: step(name, options?, run)'],
  ['no options', null, () => 1, 'sub-step "pay" has no function to run: step(name, options?, run)']
])('a simulated sub-step with %s fails as in a real process', async (_, options, run, why) => {
  const paying = workflow('paying').step('one', ({ step }) => step('pay', untyped(options), untyped(run)))
  const { violations } = await crashEverywhere(paying, { twice: 0 })
  expect(violations.map(({ law, what }) => [law, what.includes(why)])).toEqual([['Undisturbed', true]])
})

test('crashEverywhere refuses a function that makes no workflow', async () => {
  const wrong = untyped(() => undefined)
  expect(await messageOf(() => crashEverywhere(wrong))).toBe(
    'crashEverywhere: the function must return a workflow, not undefined'
  )
})

test.each([
  ['the first argument must be a workflow, not undefined', undefined, {}],
  ['unknown option "foo"; the options are interventions, leaving, items', job, { foo: 1 }],
  ['interventions must be 0 or 1', job, { interventions: 5 }],
  ['leaving must be an array of paths of units', job, { leaving: 'job' }],
  ['items must be an array of paths of units', job, { items: [5] }]
])('crashCase refuses invalid arguments: %s', async (why, program, options) => {
  expect(await messageOf(() => crashCase(untyped(program), untyped(options)))).toBe(`crashCase: ${why}`)
})

test.each([
  [{ laws: ['PL-XX'] }, 'the string "PL-XX" is unknown; use one such as "PL-'],
  [{ laws: [] }, 'laws must be an array of at least one law'],
  [{ numruns: 5 }, 'unknown option "numruns"; did you mean "numRuns"?'],
  [
    { outputs: { one: 5 } },
    'outputs must be an object of fast-check arbitraries by unit; that of "one" is the number 5'
  ],
  [{ outputs: { one: undefined }, input: {} }, 'input must be a fast-check arbitrary, not an object'],
  [{ laws: [undefined] }, 'laws must be an array of at least one law; undefined is unknown'],
  [{ path: 'abc' }, 'path must be the path of a result, such as "12:0:3"'],
  [{ path: '9:9', laws: undefined }, '`path` belongs to one law; add `laws` with the id of that law'],
  [{ path: '9:9', laws: ['PL-PLAN-01', 'PL-PLAN-03'] }, '`path` belongs to one law'],
  [
    { outputs: { one: fc.constant({ at: new Date(0) }) } },
    'the arbitrary of "one" in `outputs` must yield plain JSON at $.at, not a Date'
  ],
  [
    { outputs: { one: fc.constant(1).map(() => assert.fail('boom')) } },
    'the arbitrary of "one" in `outputs` threw: boom; fix it'
  ],
  [{ outputs: { on: fc.constant(1) } }, '`outputs` names "on", which is no task; did you mean "one"?']
])('checkPlanLaws reports invalid options as problems, and checks nothing: %j', (options, why) => {
  const { problems, results } = checkPlanLaws(job, untyped(options))
  expect([problems.join(), results]).toEqual([expect.stringContaining(why), []])
})

test('checkPlanLaws treats undefined outputs of a unit as absent', () => {
  const { problems, results } = checkPlanLaws(job, untyped({ outputs: { one: undefined }, numRuns: 1 }))
  expect([problems, results.length]).toEqual([[], planLaws.length])
})

test('checkPlanLaws reports a first argument that is no workflow', () => {
  const report = checkPlanLaws(untyped(undefined))
  expect(report.problems).toEqual(['the first argument must be a workflow, not undefined'])
  expect(PlanLawReport.toText(report)).toMatch(/^no law was checked\n/)
})

test('checkPlanLaws names a task whose accepts throws, for a common value or for one of its outputs', () => {
  const throwing = (when: (output: unknown) => boolean) => ({
    name: 'job',
    steps: [
      Workflow.task('a', { accepts: (output) => (when(output) ? assert.fail('accepts boom') : E.right(undefined)) })
    ]
  })
  const why = ['`accepts` of "a" threw: accepts boom; make it total']
  expect(checkPlanLaws(throwing(() => true)).problems).toEqual(why)
  const outputs = { a: fc.constantFrom(1, 2) }
  expect(
    checkPlanLaws(
      throwing((output) => output === 2),
      { outputs }
    ).problems
  ).toEqual(why)
  expect(checkPlanLaws({ name: 'x y', steps: [Workflow.task('a')] }).problems.join()).not.toContain('_tag')
})

test.each([
  [[{ call: 'sav', fault: { _tag: 'Drop' } }], 'rule 1: call must be'],
  [[{ nht: 1, fault: { _tag: 'Drop' } }], 'rule 1: unknown option "nht"; did you mean "nth"?'],
  [[{ nth: 0, fault: { _tag: 'Drop' } }], 'rule 1: nth must be a whole number ≥ 1, not the number 0'],
  [[{ nth: 1 }], 'rule 1: fault must be a fault with the _tag Fail, Delay, Drop, Duplicate or Hang'],
  [[{ fault: { _tag: 'Delay' } }], 'rule 1: fault must be a valid Delay: millis must be a finite number ≥ 0'],
  [[{ fault: { _tag: 'Fail', when: 'afer' } }], "rule 1: fault must be a valid Fail: when must be 'before' or 'after'"],
  [
    [{ fault: { _tag: 'Hang', wen: 'after', when: 'before' } }],
    'rule 1: fault must be a valid Hang: unknown option "wen"; did you mean "when"?'
  ],
  ['save', 'the schedule must be an array of rules, not the string "save"']
])(
  'withFaults refuses a rule that would match no call, or inject another fault than intended: %j',
  async (schedule, why) => {
    expect(await messageOf(() => withFaults(memoryStorage(), schedule as unknown as FaultSchedule))).toContain(why)
  }
)

test.each([
  ['nope', '"nope"'],
  [new Error('down'), 'Error: down']
])('a Left whose error has no _tag is reported with that error: %s', async (left, shown) => {
  const odd: StorageSpec<MemoryData> = {
    ...spec,
    reopen: (data) =>
      Promise.resolve({
        ...memoryStorage(data),
        save: () => () => Promise.resolve({ _tag: 'Left', left: untyped(left) })
      })
  }
  const { results } = await runConformance(odd, { only: ['CS-TRIP-03'] })
  const [why] = results.map(({ outcome }) => (outcome._tag === 'Failed' ? outcome.why : ''))
  expect(why).toMatch(/^save\(.*\): the left must be an error with a "_tag", found /)
  expect(why?.endsWith(`found ${shown}`)).toBe(true)
})
