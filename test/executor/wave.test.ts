import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import type * as ProgramType from '../../src/executor/program/Program.js'
import { CheckpointState, Program, resume, run, StepError, StepFailure } from '../../src/index.js'
import { nameOf } from '../../src/domain/workflow/Unit.js'
import type { LooseSpec, Process, World } from './fixtures.js'
import {
  ended,
  group,
  killingAt,
  newLife,
  newProcess,
  newWorld,
  patiently,
  policy,
  quiet,
  refused,
  stored,
  task
} from './fixtures.js'

interface Behaviour extends Partial<Omit<LooseSpec, 'run'>> {
  readonly millis?: number
  readonly fails?: unknown
  readonly needs?: ReadonlyArray<string>
}

/** A group that logs its start and end, works for a while in virtual time, and obeys its signal. */
const worker = (
  process: Process,
  name: string,
  { millis = 0, fails, ...spec }: Behaviour = {}
): ProgramType.ProgramGroup =>
  group(name, {
    ...spec,
    run: ({ signal }) => {
      process.world.log.push(`+${name}`)
      return pipe(
        TE.fromTask(process.clock.sleep(millis, signal)),
        TE.chain(() => {
          process.world.log.push(`${signal.aborted ? '!' : '-'}${name}`)
          return signal.aborted ? TE.left('told to stop') : fails === undefined ? TE.right(name) : TE.left(fails)
        })
      )
    }
  })

const waveOf = (
  process: Process,
  groups: Readonly<Record<string, Behaviour>>,
  options: ProgramType.WaveOptions<ProgramType.StepContext<unknown, unknown>> = {}
): ProgramType.Program<unknown> =>
  Program.fromSteps('w', [
    Program.waveOf(
      'all',
      Object.entries(groups).map(([name, behaviour]) => worker(process, name, behaviour)),
      options
    ),
    task('after', { run: () => TE.right(process.world.log.push('after')) })
  ])

const startsOf = (log: ReadonlyArray<string>): ReadonlyArray<string> =>
  log.filter((line) => line.startsWith('+')).map((line) => line.slice(1))

const recordedGroups = async (process: Process): Promise<ReadonlyArray<string>> =>
  [...(await stored(process.storage)).completedSteps]
    .flatMap(({ unit }) => (unit.startsWith('all/') ? [nameOf(unit)] : []))
    .sort()

describe('the concurrency of a wave', () => {
  test('a wave runs as many groups at once as its limit allows, and never more', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(0, 10, 10, 20), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 9 }),
        async (durations, concurrency) => {
          const process = newProcess()
          const groups = Object.fromEntries(durations.map((millis, index) => [`g${index}`, { millis }]))
          ended(await process.perform(run(waveOf(process, groups, { concurrency }), 'r', {})), 'Completed')
          let running = 0
          let most = 0
          for (const line of process.world.log) {
            running += line.startsWith('+') ? 1 : line.startsWith('-') ? -1 : 0
            most = Math.max(most, running)
          }
          assert.equal(most, Math.min(concurrency, durations.length))
        }
      ),
      { numRuns: 100 }
    )
  })

  test.each([0, -1, Number.NaN, 0.5])('a wave with a limit of %d is refused and nothing runs', async (concurrency) => {
    const process = newProcess()
    const outcome = await process.perform(run(waveOf(process, { a: {}, b: {} }, { concurrency }), 'r', {}))
    assert.ok(E.isLeft(outcome) && outcome.left._tag === 'PlanError')
    const problem = {
      _tag: 'InvalidSetting',
      place: 'all',
      field: 'concurrency',
      expected: `a whole number ≥ 1, not the number ${concurrency}`
    }
    assert.deepEqual(outcome.left.problems, [{ _tag: 'InvalidWorkflow', problem }])
    assert.deepEqual(process.world.log, [])
  })

  test.each([0, null, undefined, '2'])('a wave whose limit was changed to %j is refused', (concurrency) => {
    const process = newProcess()
    const [wave] = waveOf(process, { a: {} }).steps
    const changed = { ...wave, concurrency } as never
    const [problem] = Program.problems(Program.fromSteps('w', [changed]))
    assert.deepEqual(problem?._tag === 'InvalidSetting' && problem.field, 'concurrency')
  })

  test('a limit above the number of groups is valid', () => {
    const process = newProcess()
    assert.deepEqual(Program.problems(waveOf(process, { a: {} }, { concurrency: 2 ** 60 })), [])
  })

  test('without a limit all groups start together', async () => {
    const process = newProcess()
    ended(await process.perform(run(waveOf(process, { a: { millis: 5 }, b: {}, c: {} }), 'r', {})), 'Completed')
    assert.deepEqual(process.world.log.slice(0, 3), ['+a', '+b', '+c'])
  })
})

describe('a group that fails', () => {
  const groups: Readonly<Record<string, Behaviour>> = {
    good: { millis: 5 },
    bad: { millis: 10, fails: 'no' },
    slow: { millis: 100 },
    waiting: {}
  }

  test('with onFailure finish the running groups end and are recorded, and no more are started', async () => {
    const process = newProcess()
    const outcome = ended(
      await process.perform(run(waveOf(process, { ...groups, last: {} }, { concurrency: 3 }), 'r', {})),
      'Failed'
    )
    assert.deepEqual(process.world.log, [
      '+good',
      '+bad',
      '+slow',
      '-good',
      '+waiting',
      '-waiting',
      '+last',
      '-last',
      '-bad',
      '-slow'
    ])
    assert.deepEqual(
      outcome.failures.map((one) => [one.unit, one.error.message]),
      [['all/bad', 'no']]
    )
    const limited = newProcess()
    ended(
      await limited.perform(run(waveOf(limited, { bad: { fails: 'no' }, b: {}, c: {} }, { concurrency: 1 }), 'r', {})),
      'Failed'
    )
    assert.deepEqual(limited.world.log, ['+bad', '-bad'])
  })

  test('with onFailure continue every group that does not need the failed one runs', async () => {
    const process = newProcess()
    const all = { ...groups, needy: { needs: ['bad'] }, needier: { needs: ['needy'] }, fine: { needs: ['good'] } }
    ended(await process.perform(run(waveOf(process, all, { concurrency: 1 }), 'r', {})), 'Failed')
    assert.deepEqual(startsOf(process.world.log), ['good', 'bad', 'slow', 'waiting', 'fine'])
    assert.deepEqual(await recordedGroups(process), ['fine', 'good', 'slow', 'waiting'])
  })

  test('with onFailure halt the running groups are stopped, and fail with an unknown outcome', async () => {
    const process = newProcess()
    const outcome = ended(
      await process.perform(run(waveOf(process, groups, { onFailure: 'halt', concurrency: 3 }), 'r', {})),
      'Failed'
    )
    assert.deepEqual(process.world.log, ['+good', '+bad', '+slow', '-good', '+waiting', '-waiting', '-bad', '!slow'])
    assert.deepEqual(
      outcome.failures.map((one) => [nameOf(one.unit), one.error.name, one.outcome]),
      [
        ['bad', 'Error', 'unknown'],
        ['slow', 'Error', 'unknown']
      ]
    )
    assert.equal(outcome.failures[1]?.error.message, 'told to stop')
    assert.deepEqual(await recordedGroups(process), ['good', 'waiting'])
  })

  test('with onFailure halt a group that fails while it is stopped keeps its failure; a group without a failure counts as stopped', async () => {
    const process = newProcess()
    let reason: unknown
    const late = (name: string, outcome: 'notApplied' | 'unknown'): ProgramType.ProgramGroup =>
      group(name, {
        idempotent: false,
        run: ({ signal, attempt }) =>
          pipe(
            TE.fromTask(process.clock.sleep(100, new AbortController().signal)),
            TE.chain(() => {
              if (!signal.aborted) return TE.right(attempt)
              reason = signal.reason
              return TE.left(StepFailure.permanent(StepError.make('Mine', name), outcome))
            })
          )
      })
    const program = (fails?: string): ProgramType.Program<unknown> =>
      Program.fromSteps('w', [
        Program.waveOf(
          'all',
          [
            worker(process, 'bad', { millis: 10, ...(fails === undefined ? {} : { fails }) }),
            late('rolled-back', 'notApplied'),
            late('unsure', 'unknown'),
            group('deaf', { run: () => (fails === undefined ? TE.right(1) : () => new Promise(() => undefined)) })
          ],
          { onFailure: 'halt' }
        )
      ])
    const outcome = ended(await process.perform(run(program('no'), 'r', {})), 'Failed')
    assert.deepEqual(
      outcome.failures.map((one) => [nameOf(one.unit), one.error.name, one.outcome]),
      [
        ['bad', 'Error', 'unknown'],
        ['rolled-back', 'Mine', 'notApplied'],
        ['unsure', 'Mine', 'unknown'],
        ['deaf', 'Halted', 'unknown']
      ]
    )
    assert.match((reason as Error).message, /another group of the wave failed/)
    const confirm = new Map([['all/unsure', { _tag: 'Again' } as const]])
    const error = refused(await newProcess(process.world).perform(resume(program(), 'r')), 'Unconfirmed')
    assert.deepEqual(
      error.questions.map(({ unit }) => unit),
      ['all/unsure']
    )
    const next = newProcess(process.world, { clock: process.clock })
    ended(await next.perform(resume(program(), 'r', { confirm })), 'Completed')
  })

  test('with onFailure halt a group in its second attempt is stopped, and so is a group that waits for its next attempt', async () => {
    const first = newProcess()
    const program = (process: Process, fails?: string): ProgramType.Program<unknown> =>
      Program.fromSteps('w', [
        Program.waveOf(
          'all',
          [
            worker(process, 'bad', { millis: 1000, ...(fails === undefined ? {} : { fails }) }),
            group('second', {
              retry: policy({ attempts: 5, delayMillis: 10 }),
              run: ({ attempt, signal }) => {
                process.world.log.push(`second#${attempt}`)
                if (attempt === 1) return TE.left({ status: 500 })
                return pipe(
                  TE.fromTask(process.clock.sleep(5000, signal)),
                  TE.chain(() => (signal.aborted ? TE.left('stopped') : TE.right('second')))
                )
              }
            }),
            group('waits', {
              retry: policy({ attempts: 5, delayMillis: 60_000 }),
              run: ({ attempt }) => {
                process.world.log.push(`waits#${attempt}`)
                return attempt === 1 ? TE.left({ status: 500 }) : TE.right('waits')
              }
            })
          ],
          { onFailure: 'halt' }
        )
      ])
    const outcome = ended(await first.perform(run(program(first, 'no'), 'r', {})), 'Failed')
    assert.deepEqual(first.world.log, ['+bad', 'second#1', 'waits#1', 'second#2', '-bad'])
    const failures = new Map(
      outcome.failures.map((one) => [nameOf(one.unit), one.attempts.map(({ attempt }) => attempt)])
    )
    assert.deepEqual(failures.get('second'), [1, 2])
    assert.deepEqual(failures.get('waits'), [1])
    first.world.log.length = 0
    const second = newProcess(first.world)
    ended(await second.perform(resume(program(second), 'r')), 'Completed')
    assert.deepEqual(
      first.world.log.filter((line) => line.startsWith('waits')),
      ['waits#2']
    )
  })

  test('a failed wave is retryable if and only if each failed group is, not counting halted groups', async () => {
    const transient = { status: 503 }
    for (const [fails, retryable] of [
      [transient, true],
      ['permanent', false]
    ] as const) {
      const process = newProcess()
      const all = { bad: { millis: 1, fails: transient }, other: { millis: 1, fails }, halted: { millis: 50 } }
      const outcome = ended(await process.perform(run(waveOf(process, all, { onFailure: 'halt' }), 'r', {})), 'Failed')
      assert.equal(outcome.retryable, retryable)
    }
  })

  test('a group keeps its result even if it ends together with a failing sibling', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ millis: fc.constantFrom(0, 5, 5, 10), fails: fc.constantFrom(undefined, undefined, 'no') }),
          {
            minLength: 1,
            maxLength: 6
          }
        ),
        fc.constantFrom<ProgramType.OnFailure>('finish', 'continue', 'halt'),
        fc.integer({ min: 1, max: 4 }),
        async (behaviours, onFailure, concurrency) => {
          const world = newWorld()
          const groups = Object.fromEntries(behaviours.map((one, index) => [`g${index}`, one]))
          const first = newProcess(world)
          const outcome = await first.perform(run(waveOf(first, groups, { onFailure, concurrency }), 'r', {}))
          const endedWell = world.log
            .filter((line) => line.startsWith('-') && groups[line.slice(1)]?.fails === undefined)
            .map((line) => line.slice(1))
            .sort()
          assert.deepEqual(await recordedGroups(first), endedWell)
          if (behaviours.every(({ fails }) => fails === undefined)) return void ended(outcome, 'Completed')
          ended(outcome, 'Failed')
          assert.deepEqual(CheckpointState.inFlight((await stored(first.storage)).state).records, [])
          world.log.length = 0
          const second = newProcess(world)
          const fixed = Object.fromEntries(behaviours.map(({ millis }, index) => [`g${index}`, { millis }]))
          ended(await second.perform(resume(waveOf(second, fixed, { onFailure, concurrency }), 'r')), 'Completed')
          const missing = Object.keys(groups).filter((name) => !endedWell.includes(name))
          assert.deepEqual([...startsOf(world.log)].sort(), missing)
        }
      ),
      { numRuns: 300 }
    )
  })

  test('a group that was in flight at a kill stays on record even if another group fails before it starts again', async () => {
    const world = newWorld()
    const groups = (fails: boolean): Readonly<Record<string, Behaviour>> => ({
      a: { millis: 5, ...(fails ? { fails: 'no' } : {}) },
      pay: { millis: 50, idempotent: false }
    })
    const life = newLife()
    const first = newProcess(world, { around: killingAt(life, 3, 'before') })
    void run(waveOf(first, groups(false), { concurrency: 2 }), 'r', {})(first.environment)()
    await patiently(first.clock, life.killed)
    const question = newProcess(world)
    refused(await question.perform(resume(waveOf(question, groups(true), { concurrency: 1 }), 'r')), 'Unconfirmed')

    // An idempotent group raises no question: it is recorded as failed with an unknown outcome.
    const tame = (fails: boolean): Readonly<Record<string, Behaviour>> => ({
      a: { millis: 5, ...(fails ? { fails: 'no' } : {}) },
      pay: { millis: 50 }
    })
    const other = newWorld()
    const second = newLife()
    const killed = newProcess(other, { around: killingAt(second, 3, 'before') })
    void run(waveOf(killed, tame(false), { concurrency: 2 }), 'r', {})(killed.environment)()
    await patiently(killed.clock, second.killed)
    const failing = newProcess(other)
    const outcome = ended(await failing.perform(resume(waveOf(failing, tame(true), { concurrency: 1 }), 'r')), 'Failed')
    assert.deepEqual(
      outcome.failures.map((one) => [nameOf(one.unit), one.outcome]),
      [
        ['a', 'unknown'],
        ['pay', 'unknown']
      ]
    )
    const last = newProcess(other)
    ended(await last.perform(resume(waveOf(last, tame(false)), 'r')), 'Completed')
  })
})

describe('the needs of groups', () => {
  test('a group starts as soon as everything it needs has completed', async () => {
    const process = newProcess()
    const groups = {
      top: { needs: ['left', 'right'] },
      left: { millis: 10, needs: ['base'] },
      right: { millis: 20, needs: ['base'] },
      base: { millis: 5 },
      alone: { millis: 30 }
    }
    ended(await process.perform(run(waveOf(process, groups), 'r', {})), 'Completed')
    assert.deepEqual(
      process.world.log,
      ['+base', '+alone', '-base', '+left', '+right', '-left', '-right', '+top', '-top', '-alone', 'after'].sort(
        (a, b) => process.world.log.indexOf(a) - process.world.log.indexOf(b)
      )
    )
    const at = (line: string): number => process.world.log.indexOf(line)
    assert.ok(at('-base') < at('+left') && at('-left') < at('+top') && at('-right') < at('+top'))
  })

  test('ready groups start in the order of the wave', async () => {
    const process = newProcess()
    const groups = { late: { needs: ['b'] }, later: { needs: ['late', 'b', 'b'] }, b: {}, c: {} }
    ended(await process.perform(run(waveOf(process, groups, { concurrency: 1 }), 'r', {})), 'Completed')
    assert.deepEqual(startsOf(process.world.log), ['b', 'late', 'later', 'c'])
  })

  test('a needed group is durable before the groups that need it start', async () => {
    const process = newProcess()
    let found: ReadonlyArray<string> = []
    const program = Program.fromSteps('w', [
      Program.waveOf('all', [
        worker(process, 'first'),
        group('second', {
          needs: ['first'],
          run: () =>
            TE.fromTask(async () => {
              found = await recordedGroups(process)
            })
        })
      ])
    ])
    ended(await process.perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(found, ['first'])
  })

  test('a resume runs only missing groups, in the order of their needs', async () => {
    const world = newWorld()
    const groups = (fails: boolean): Readonly<Record<string, Behaviour>> => ({
      a: {},
      b: { needs: ['a'], ...(fails ? { fails: 'no' } : {}) },
      c: { needs: ['b'] },
      d: {}
    })
    const first = newProcess(world)
    ended(await first.perform(run(waveOf(first, groups(true)), 'r', {})), 'Failed')
    assert.deepEqual(startsOf(world.log), ['a', 'd', 'b'])
    world.log.length = 0
    const second = newProcess(world)
    ended(await second.perform(resume(waveOf(second, groups(false)), 'r')), 'Completed')
    assert.deepEqual(startsOf(world.log), ['b', 'c'])
  })
})

describe('a wave as a whole', () => {
  test('a wave has a record for each group and one for itself, and its groups do not count as steps', async () => {
    const process = newProcess()
    const { checkpoint } = ended(await process.perform(run(waveOf(process, { a: {}, b: {} }), 'r', {})), 'Completed')
    assert.deepEqual(
      [...checkpoint.completedSteps].map((one) => [one.stepIndex, one.unit]),
      [
        [0, 'all/a'],
        [0, 'all/b'],
        [0, 'all'],
        [1, 'after']
      ]
    )
    assert.equal(checkpoint.completedSteps.steps, 2)
  })

  test('after a kill before the last group is recorded, a resume runs only that group and completes the wave', async () => {
    const world = newWorld()
    const life = newLife()
    const first = newProcess(world, { around: killingAt(life, 4, 'before') })
    const both = { a: { millis: 5 }, b: { millis: 10 } }
    void run(waveOf(first, both), 'r', {})(first.environment)()
    await patiently(first.clock, life.killed)
    assert.deepEqual(await recordedGroups(newProcess(world)), ['a'])
    world.log.length = 0
    const second = newProcess(world)
    ended(await second.perform(resume(waveOf(second, both), 'r')), 'Completed')
    assert.deepEqual(world.log, ['+b', '-b', 'after'])
  })

  test('restarting a wave runs all of its groups and the later steps again', async () => {
    const world = newWorld()
    const first = newProcess(world)
    ended(await first.perform(run(waveOf(first, { a: {}, b: {} }), 'r', {})), 'Completed')
    world.log.length = 0
    const second = newProcess(world)
    const { checkpoint } = ended(
      await second.perform(resume(waveOf(second, { a: {}, b: {} }), 'r', { restartWave: 'all' })),
      'Completed'
    )
    assert.deepEqual(startsOf(world.log), ['a', 'b'])
    assert.equal(world.log.at(-1), 'after')
    assert.equal(checkpoint.generation, 1)
  })

  test('missing evidence of one group runs it, the groups that need it, and the later steps', async () => {
    const world = newWorld()
    const groups = { a: {}, b: { needs: ['a'] }, c: {} }
    const first = newProcess(world)
    ended(await first.perform(run(waveOf(first, groups), 'r', {})), 'Completed')
    world.log.length = 0
    const second = newProcess(world)
    const evidence = [{ unit: 'all/a', missing: [{ _tag: 'File', path: 'a.txt' }] as const }]
    ended(await second.perform(resume(waveOf(second, groups), 'r', { evidence })), 'Completed')
    assert.deepEqual(startsOf(world.log), ['a', 'b'])
    assert.equal(world.log.at(-1), 'after')
  })

  test('after a stop no group that waits for a free slot starts', async () => {
    const process = newProcess()
    const running = run(
      waveOf(process, { a: { millis: 50 }, b: {}, c: {} }, { concurrency: 1 }),
      'r',
      {}
    )(process.environment)()
    await quiet()
    process.stop()
    ended(await running, 'Interrupted')
    assert.deepEqual(process.world.log, ['+a', '!a'])
  })

  test('a stopped wave with a failed group is interrupted if more groups could have started, and fails if none could', async () => {
    for (const [needs, tag] of [
      [[], 'Interrupted'],
      [['a'], 'Failed']
    ] as const) {
      const world = newWorld()
      const program = (process: Process, fails?: string): ProgramType.Program<unknown> => {
        const ends = TE.fromTask(process.clock.sleep(50, new AbortController().signal))
        const groups = [
          worker(process, 'a', fails === undefined ? {} : { fails }),
          group('b', { run: () => ends }),
          worker(process, 'c', { needs }),
          worker(process, 'd', { needs })
        ]
        return Program.fromSteps('w', [Program.waveOf('all', groups, { concurrency: 1, onFailure: 'continue' })])
      }
      const process = newProcess(world)
      const running = run(program(process, 'no'), 'r', {})(process.environment)()
      await quiet()
      await process.clock.advance(10)
      process.stop()
      const outcome = ended(await patiently(process.clock, running), tag)
      assert.deepEqual(
        CheckpointState.failures(outcome.checkpoint.state).records.map(({ unit }) => unit),
        ['all/a']
      )
      assert.deepEqual(await recordedGroups(process), ['b'])
      world.log.length = 0
      const next = newProcess(world)
      ended(await next.perform(resume(program(next), 'r')), 'Completed')
      assert.deepEqual(startsOf(world.log), ['a', 'c', 'd'])
    }
  })

  test('two runs of the same wave start and end its groups in the same order', async () => {
    const once = async (world: World): Promise<ReadonlyArray<string>> => {
      const process = newProcess(world)
      const groups = { a: { millis: 10 }, b: { millis: 10 }, c: { needs: ['a'] }, d: { needs: ['b'], millis: 3 } }
      ended(await process.perform(run(waveOf(process, groups, { concurrency: 2 }), 'r', {})), 'Completed')
      return world.log
    }
    assert.deepEqual(await once(newWorld()), await once(newWorld()))
  })
})
