import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { jsonFileStorage } from '../../src/adapters/json-file/index.js'
import { memoryStorage } from '../../src/adapters/memory.js'
import { interruptFrom, nodeEnvironment } from '../../src/adapters/node/index.js'
import { make as makeRecorder, revisionOf } from '../../src/executor/storage/Recorder.js'
import type { CheckpointStorage } from '../../src/index.js'
import type * as Change from '../../src/domain/change/Change.js'
import type * as ProgramType from '../../src/executor/program/Program.js'
import { Checkpoint, poll, Program, resume, run } from '../../src/index.js'
import { workflow } from '../../src/promise/index.js'
import type { LooseSpec } from './fixtures.js'
import { ended, group, newProcess, newWorld, policy, quiet, right, stored, task } from './fixtures.js'
import { nameOf } from '../../src/domain/workflow/Unit.js'
import { quickest } from '../quickest.js'
import { sweep } from '../sweep.js'

const warnings: Array<string> = []
const files = mkdtempSync(join(tmpdir(), 'dogear-scale-'))
const onWarning = (warning: Error): void => void warnings.push(`${warning.name}: ${warning.message}`)

beforeAll(() => void process.on('warning', onWarning))
afterAll(async () => {
  await quiet()
  process.off('warning', onWarning)
  rmSync(files, { recursive: true })
  assert.deepEqual(warnings, [])
})

const long = (length: number, run: ProgramType.ProgramTask['run'] = () => TE.right(1)): ProgramType.Program<unknown> =>
  Program.fromSteps(
    'long',
    Array.from({ length }, (_, index) => task(`s${index}`, { run }))
  )

/** Microseconds of CPU and of wall time for each step. */
const cost = async (
  program: ProgramType.Program<unknown>
): Promise<{ readonly cpu: number; readonly wall: number }> => {
  void program.identity
  const environment = nodeEnvironment(memoryStorage())
  const cpu = process.cpuUsage()
  const begun = performance.now()
  const outcome = await run(program, 'r', {})(environment)()
  const wall = (1000 * (performance.now() - begun)) / program.steps.length
  ended(outcome, 'Completed')
  return { cpu: process.cpuUsage(cpu).user / program.steps.length, wall }
}

/** The number of steps of the longest run. */
const LONGEST = sweep ? 100_000 : 40_000

/** Collects garbage, and returns what is left. */
const heapBytes = (): number => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed
}

describe('a large wave', () => {
  test.each([
    [
      'a group of a wave',
      (names: ReadonlyArray<string>, spec: LooseSpec) =>
        Program.waveOf(
          'all',
          names.map((name) => group(name, spec))
        )
    ],
    [
      'an item of a map',
      (names: ReadonlyArray<string>, spec: LooseSpec) =>
        Program.mapOf('all', task('it', spec), { forEach: () => E.right(names), key: (item) => E.right(String(item)) })
    ]
  ] as const)(
    '%s in flight holds less than 2.3 KB of heap, the record of its start included',
    { timeout: 120_000 },
    async (_, build) => {
      const count = 5_000
      const held = async (): Promise<number> => {
        let [begun, before, most] = [0, 0, 0]
        let release = (): void => undefined
        const gate = new Promise<E.Either<never, number>>((resolve) => (release = () => resolve(E.right(1))))
        const hold: LooseSpec['run'] = () => () => {
          if (++begun === count) {
            most = heapBytes()
            release()
          }
          return gate
        }
        const names = Array.from({ length: count }, (_, n) => `n${n}`)
        const program = Program.fromSteps('large', [build(names, { run: hold })])
        const environment = nodeEnvironment(memoryStorage())
        before = heapBytes()
        ended(await run(program, 'r', {})(environment)(), 'Completed')
        return (most - before) / count
      }
      // The first run compiles.
      await held()
      const bytes = await held()
      assert.ok(bytes < 2_300, `${bytes.toFixed(0)} bytes`)
    }
  )
})

describe('a long run', () => {
  test('a step of a long run costs about as much as one of a shorter run', { timeout: 120_000 }, async () => {
    await cost(long(1_000))
    const [short, middle, whole] = [await cost(long(1_000)), await cost(long(10_000)), await cost(long(LONGEST))]
    const line = (length: string, { cpu, wall }: { cpu: number; wall: number }): string =>
      `${length}: ${cpu.toFixed(1)} µs CPU, ${wall.toFixed(1)} µs wall`
    console.log([line('1k', short), line('10k', middle), line(`${LONGEST / 1_000}k`, whole)].join(' · '))
    // A cost that grows with the run would be fourfold, in a sweep tenfold; the load of the machine does not affect the ratio.
    assert.ok(whole.cpu < 3 * middle.cpu, `${whole.cpu.toFixed(1)} µs against ${middle.cpu.toFixed(1)} µs`)
  })

  test(
    'reading variables, outputs, key, input and signal does not slow down a growing run',
    { timeout: 120_000 },
    async () => {
      const look: ProgramType.ProgramTask['run'] = (context) => {
        const outputs = context.outputs as Readonly<Record<string, unknown>>
        void [context.variables.size, outputs['s0'], context.idempotencyKey, context.input, context.signal.aborted]
        return TE.right(1)
      }
      await cost(long(1_000, look))
      const short = await cost(long(1_000, look))
      const whole = await cost(long(10_000, look))
      assert.ok(whole.cpu < 4 * short.cpu, `${whole.cpu.toFixed(1)} µs against ${short.cpu.toFixed(1)} µs`)
    }
  )

  test('a step that reads the variables makes at most two clones, however many variables there are', async () => {
    const clone = globalThis.structuredClone
    let clones = 0
    globalThis.structuredClone = ((...given: Parameters<typeof clone>): unknown => {
      clones += 1
      return clone(...given)
    }) as typeof clone
    try {
      const steps = Array.from({ length: 300 }, (_, index) =>
        task(`s${index}`, { capture: `v${index}`, run: ({ variables }) => TE.right(`text ${variables.size}`) })
      )
      const process = newProcess()
      const { checkpoint } = ended(await process.perform(run(Program.fromSteps('p', steps), 'r', {})), 'Completed')
      assert.equal([...checkpoint.completedSteps].at(-1)?.output, 'text 299')
      assert.ok(clones <= 2 * 300, `${clones} clones`)
    } finally {
      globalThis.structuredClone = clone
    }
  })

  test('an item reads its own variables, not those of all other items', { timeout: 120_000 }, async () => {
    const items = (count: number): ProgramType.Program<unknown> => {
      const look: ProgramType.ProgramTask['run'] = ({ variables }) => TE.right(`${variables.size}`)
      const body = Program.sequenceOf('item', [
        task('one', { capture: 'one', run: look }),
        task('two', { capture: 'two', run: look })
      ])
      const keys = Array.from({ length: count }, (_, index) => index)
      const source = { forEach: () => E.right(keys), key: (item: unknown) => E.right(`i${String(item)}`) }
      return Program.fromSteps('p', [Program.mapOf('items', body, source, { concurrency: 10 })])
    }
    await cost(items(1_000))
    const many = sweep ? 12_000 : 6_000
    const [short, whole] = [(await cost(items(1_000))).cpu / 1_000, (await cost(items(many))).cpu / many]
    assert.ok(whole < 4 * short, `${whole.toFixed(1)} µs against ${short.toFixed(1)} µs`)
  })

  test('a step that succeeds after a failed attempt leaves no timer and nothing else that accumulates', async () => {
    const world = newWorld()
    const process = newProcess(world)
    const steps = Array.from({ length: 300 }, (_, index) =>
      task(`s${index}`, {
        retry: policy({ attempts: 2, delayMillis: 0 }),
        timeoutMillis: 1000,
        run: ({ attempt, signal }) => {
          signal.addEventListener('abort', () => undefined)
          return attempt === 1 ? TE.left({ status: 500 }) : TE.right(index)
        }
      })
    )
    ended(await process.perform(run(Program.fromSteps('p', steps), 'r', {})), 'Completed')
    assert.deepEqual(process.clock.sleeping(), [])
  })

  test("neither the host's signal nor the claim keeps a listener after the run", async () => {
    const stop = new AbortController()
    let listening = 0
    let added = 0
    const heard = {
      add: stop.signal.addEventListener.bind(stop.signal),
      remove: stop.signal.removeEventListener.bind(stop.signal)
    }
    Object.assign(stop.signal, {
      addEventListener: (...args: Parameters<typeof heard.add>) => {
        listening += 1
        added += 1
        heard.add(...args)
      },
      removeEventListener: (...args: Parameters<typeof heard.remove>) => {
        listening -= 1
        heard.remove(...args)
      }
    })
    const environment = nodeEnvironment(memoryStorage(), { interrupt: interruptFrom(stop.signal) })
    ended(await run(long(2_000), 'r', {})(environment)(), 'Completed')
    assert.equal(added, 1)
    assert.equal(listening, 0)
  })
})

describe('building a program', () => {
  const kinds = ['step', 'sleep', 'waitFor', 'sequence', 'wave', 'map'] as const
  const kindOf = (n: number) => kinds[n % kinds.length] ?? 'step'
  const doIt = { run: () => TE.right(1) }
  const each = { forEach: () => [] }
  const start = () => Program.start<undefined>('chain')
  const add = {
    step: (name: string) => Program.step(name, doIt),
    sleep: (name: string) => Program.sleep(name, { millis: 1 }),
    waitFor: (name: string) => Program.waitFor(name),
    sequence: (name: string) => Program.sequence(name, (parts) => pipe(parts, Program.step('part', doIt))),
    wave: (name: string) => Program.wave(name, { part: doIt }),
    map: (name: string) => Program.map(name, each, doIt)
  }
  type Chain = ReturnType<typeof start>
  const piped = (length: number): Chain => {
    let program = start()
    for (let n = 0; n < length; n++) program = (add[kindOf(n)](`s${n}`) as (self: Chain) => Chain)(program)
    return program
  }
  const chained = (length: number): ProgramType.Program<unknown, never, unknown, unknown> => {
    type Builder = Readonly<Record<(typeof kinds)[number], (...args: ReadonlyArray<unknown>) => Builder>>
    let builder = workflow('chain') as unknown as Builder
    const parts = (of: Builder): Builder => of.step('part', doIt.run)
    for (let n = 0; n < length; n++) {
      const kind = kindOf(n)
      const args = { step: [doIt], sleep: [{ millis: 1 }], waitFor: [], sequence: [parts], wave: [{ part: doIt }] }
      builder = builder[kind](`s${n}`, ...(kind === 'map' ? [each, doIt] : args[kind]))
    }
    return builder as unknown as Chain
  }

  test.each([
    ['by pipe', piped],
    ['by chained calls', chained]
  ] as const)(
    'the cost of adding a step to a program does not grow with the number of its steps: %s',
    { timeout: 120_000 },
    (_, build) => {
      const cost = (length: number): number =>
        quickest(3, () => assert.equal(build(length).steps.length, length)) / length
      cost(2_000)
      const many = sweep ? 100_000 : 20_000
      const [short, whole] = [cost(2_000), cost(many)]
      console.log(`${(1000 * short).toFixed(1)} µs a call of 2,000, ${(1000 * whole).toFixed(1)} µs of ${many}`)
      // Quadratic would be tenfold.
      assert.ok(whole < 3 * short, `${whole} ms a call of ${many}, ${short} ms of 2,000`)
    }
  )

  test('a program stays unchanged when others extend it', () => {
    const first = pipe(Program.start('fork'), Program.step('one', doIt))
    const [left, right] = [pipe(first, Program.step('left', doIt)), pipe(first, Program.step('right', doIt))]
    const spread = pipe({ ...left, secrets: ['TOKEN'] }, Program.step('more', doIt))
    const built = workflow('fork').step('one', doIt)
    const followed = pipe(built, Program.step('two', doIt))
    const names = (program: ProgramType.Program<unknown, never>) => program.steps.map(({ name }) => name)
    assert.deepEqual([first, left, right, spread].map(names), [
      ['one'],
      ['one', 'left'],
      ['one', 'right'],
      ['one', 'left', 'more']
    ])
    assert.deepEqual([built, followed, built.step('three', doIt)].map(names), [
      ['one'],
      ['one', 'two'],
      ['one', 'three']
    ])
    assert.equal(first.steps, first.steps)
    assert.deepEqual(spread.secrets, ['TOKEN'])
    assert.deepEqual(
      left.identity.steps.map(({ name }) => name),
      ['one', 'left']
    )
  })
})

describe('a wide wave', () => {
  const wide = (
    length: number,
    options: ProgramType.WaveOptions<ProgramType.StepContext<unknown, unknown>>,
    failing = new Set<number>()
  ): ProgramType.Program<unknown> =>
    Program.fromSteps('wide', [
      Program.waveOf(
        'all',
        Array.from({ length }, (_, index) =>
          group(`g${index}`, { run: () => (failing.has(index) ? TE.left('no') : TE.fromTask(() => quiet())) })
        ),
        options
      )
    ])

  test('1,000 parallel groups cause no warning and share their saves', async () => {
    const process = newProcess()
    ended(await process.perform(run(wide(1_000, {}), 'r', {})), 'Completed')
    assert.ok(process.saves.length < 20, `${process.saves.length} saves`)
  })

  /** A wave whose groups count the reads of their names and needs. */
  const watched = (
    length: number,
    needs: (index: number) => ReadonlyArray<string>,
    concurrency: number
  ): { readonly program: ProgramType.Program<unknown>; readonly looks: () => number } => {
    let looks = 0
    const groups = Array.from({ length }, (_, index) => {
      const one = group(`g${index}`, { needs: needs(index), run: () => TE.right(1) })
      const { name, needs: needed } = one
      return Object.defineProperties(
        { ...one },
        {
          name: { get: () => ((looks += 1), name), enumerable: true },
          needs: { get: () => ((looks += 1), needed), enumerable: true }
        }
      )
    })
    return { program: Program.fromSteps('wide', [Program.waveOf('all', groups, { concurrency })]), looks: () => looks }
  }

  test.each<[string, (index: number) => ReadonlyArray<string>, number]>([
    ['all at once', () => [], Infinity],
    ['eight at a time', () => [], 8],
    ['each needs the one before it', (index) => (index === 0 ? [] : [`g${index - 1}`]), 8],
    ['each needs the one after it', (index) => (index === 999 ? [] : [`g${index + 1}`]), 8]
  ])('the executor looks at each of 1,000 groups at most 50 times on average: %s', async (_, needs, concurrency) => {
    const { program, looks } = watched(1_000, needs, concurrency)
    ended(await newProcess().perform(run(program, 'r', {})), 'Completed')
    assert.ok(looks() < 50 * 1_000, `${looks()} looks`)
  })

  test('a recorder accepts any number of changes at once', async () => {
    const workflow = wide(1, {}).identity
    const at = '2026-01-02T03:04:05.000Z'
    const started: Change.Started = { _tag: 'Started', at, runId: 'r', workflow, input: {} }
    const checkpoint = Checkpoint.start(started)
    const storage = memoryStorage()
    const { claim } = right(await storage.claim('r', { host: 'h', pid: 1 })())
    const recorder = makeRecorder(storage, claim, checkpoint, [revisionOf(checkpoint, started)], () => undefined)
    const change: Change.Change = { _tag: 'Recovered', at, from: 'a', lost: 'b', agreedBy: 'c' }
    recorder.stage(Array<Change.Change>(200_000).fill(change))
    const recorded = right(await recorder.commit())
    assert.equal(recorded.revision, 200_000)
  })

  test('a resume of a wave of 3,000 groups runs only the group that failed', { timeout: 60_000 }, async () => {
    const world = newWorld()
    const options = { concurrency: 8, onFailure: 'continue' as const }
    const first = newProcess(world)
    ended(await first.perform(run(wide(3_000, options, new Set([1_234])), 'r', {})), 'Failed')
    assert.equal((await stored(first.storage)).completedSteps.size, 2_999)
    const second = newProcess(world)
    ended(await second.perform(resume(wide(3_000, options), 'r')), 'Completed')
    assert.deepEqual(
      second.events.flatMap((event) => (event._tag === 'StepStarted' ? [nameOf(event.unit)] : [])),
      ['g1234']
    )
  })
})

describe('a map of many items', () => {
  const keys = (count: number) => ({
    forEach: () => Array.from({ length: count }, (_, index) => `i${index}`),
    key: (item: string) => item
  })
  const nap = { millis: 1 }
  const kinds: Readonly<Record<string, (count: number) => ProgramType.Program<unknown>>> = {
    'items that sleep': (count) => workflow('p').map('all', keys(count), { sleep: nap }),
    'jobs, each collected': (count) =>
      workflow('p').map('all', keys(count), {
        job: { submit: () => 'job', poll: () => ({ _tag: 'Finished' }), collect: () => 1 }
      }),
    'sequences that count their commits': (count) =>
      workflow('p').map('all', keys(count), {
        steps: (each) => each.step('one', () => 1),
        expect: { commits: true },
        onCheckFailure: 'continue'
      }),
    'maps of one item each': (count) =>
      workflow('p').map('all', keys(count), { steps: (each) => each.map('inner', keys(1), () => 1) }),
    'tasks that are suspended': (count) =>
      workflow('p').map('all', keys(count), async ({ sleep }) => {
        await sleep('nap', { millis: 50 })
        return 1
      }),
    'tasks that wait, eight at a time': (count) =>
      workflow('p').map('all', { ...keys(count), concurrency: 8 }, ({ sleep }) => sleep('nap', nap)),
    'tasks that fail': (count) =>
      workflow('p').map('all', { ...keys(count), onFailure: 'continue' }, () => Promise.reject(new Error('no')))
  }

  /** Microseconds of CPU for each item, until the run has ended. */
  const costs = async (program: ProgramType.Program<unknown>, count: number): Promise<number> => {
    const environment = nodeEnvironment(memoryStorage())
    const { user } = process.cpuUsage()
    let outcome = right(await run(program, 'r', {}, { wait: true })(environment)())
    if (outcome._tag === 'Pending') {
      right(await poll(program, 'r')(environment)())
      outcome = right(await resume(program, 'r')(environment)())
    }
    assert.ok(outcome._tag === 'Completed' || outcome._tag === 'Failed')
    return (process.cpuUsage().user - user) / count
  }

  test.each(Object.entries(kinds))(
    'the cost of an item does not grow with the number of items: %s',
    { timeout: 240_000 },
    async (_, of) => {
      await costs(of(1_000), 1_000)
      const many = sweep ? 32_000 : 8_000
      const [short, whole] = [await costs(of(1_000), 1_000), await costs(of(many), many)]
      // Quadratic would be eightfold.
      assert.ok(whole < 3 * short, `${whole.toFixed(1)} µs against ${short.toFixed(1)} µs`)
    }
  )
})

describe('a task with many sub-steps', () => {
  /** Microseconds of CPU for each sub-step: in a first attempt, which fails after the last, and in one that reads all from the record. */
  const costs = async (
    storage: CheckpointStorage,
    count: number
  ): Promise<{ readonly run: number; readonly replay: number }> => {
    let fails = true
    const agent: ProgramType.ProgramTask['run'] = ({ step }) =>
      TE.tryCatch(
        async () => {
          for (let n = 0; n < count; n++) assert.equal(await step(`turn-${n}`, () => n), n)
          if (fails) throw new Error('broken')
        },
        (error) => error
      )
    const program = Program.fromSteps('agents', [task('agent', { run: agent })])
    const environment = nodeEnvironment(storage)
    const first = process.cpuUsage()
    const failed = ended(await run(program, 'r', {})(environment)(), 'Failed')
    const { user } = process.cpuUsage(first)
    assert.equal(failed.checkpoint.completedSteps.size, count)
    fails = false
    const second = process.cpuUsage()
    const { checkpoint } = ended(await resume(program, 'r')(environment)(), 'Completed')
    const again = process.cpuUsage(second).user
    assert.equal(checkpoint.revision - failed.checkpoint.revision, 2)
    return { run: user / count, replay: again / count }
  }

  test.each([
    ['in memory', 3_000, sweep ? 60_000 : 20_000],
    ['in files', 2_000, 10_000]
  ])(
    'a sub-step costs about as much as one of a smaller task, when it runs and when it is replayed: %s',
    { timeout: 120_000 },
    async (store, small, large) => {
      const storage = () =>
        store === 'in memory' ? memoryStorage() : jsonFileStorage(mkdtempSync(join(files, 'runs-')))
      await costs(storage(), small)
      const [short, whole] = [await costs(storage(), small), await costs(storage(), large)]
      for (const what of ['run', 'replay'] as const)
        assert.ok(
          whole[what] < 3 * short[what],
          `${what}: ${whole[what].toFixed(1)} µs against ${short[what].toFixed(1)} µs`
        )
    }
  )
})

describe('many runs in one process', () => {
  test('runs in one process are independent, run at the same time, and may share the program', async () => {
    const environment = nodeEnvironment(memoryStorage(), { interrupt: interruptFrom(new AbortController().signal) })
    const program = pipe(
      Program.start<undefined>('shared'),
      Program.step('one', { capture: 'name', run: ({ runId }) => TE.fromTask(async () => (await quiet(), runId)) }),
      Program.wave('two', {
        a: { run: ({ outputs }) => TE.right([outputs.one, 'a']) },
        b: { run: ({ variables }) => TE.fromTask(async () => (await quiet(), [variables.get('name') ?? null, 'b'])) }
      }),
      Program.step('three', { run: ({ outputs, input }) => TE.right([input, outputs.one, outputs.two]) })
    )
    const ids = Array.from({ length: 200 }, (_, index) => `r${index}`)
    const outcomes = await Promise.all(ids.map((id) => run(program, id, { id })(environment)()))
    for (const [index, outcome] of outcomes.entries()) {
      const id = `r${index}`
      const { checkpoint } = ended(outcome, 'Completed')
      assert.deepEqual([...checkpoint.completedSteps].at(-1)?.output, [{ id }, id, { a: [id, 'a'], b: [id, 'b'] }])
    }
  })

  test('exactly one of 20 concurrent starts of a run with the same id succeeds', async () => {
    const environment = nodeEnvironment(memoryStorage())
    let count = 0
    const program = long(3, () => TE.fromTask(async () => (await quiet(), (count += 1))))
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => run(program, 'r', {})(environment)()))
    assert.equal(outcomes.filter((one) => one._tag === 'Right').length, 1)
    assert.equal(count, 3)
  })
})
