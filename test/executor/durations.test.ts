import assert from 'node:assert/strict'
import { test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import type { Json } from '../../src/domain/data/Json.js'
import * as RetryPolicy from '../../src/domain/workflow/RetryPolicy.js'
import type * as Program from '../../src/executor/program/Program.js'
import type { RunOutcome } from '../../src/index.js'
import { runOutcome, workflow } from '../../src/promise/index.js'
import { right } from './fixtures.js'

type Ended = Exclude<RunOutcome, { readonly _tag: 'Fenced' }>

const START = Date.parse('2026-01-02T03:04:05.000Z')

/** A run over several processes, on a clock that only `takes` and `rest` move. */
const world = () => {
  let now = START
  const storage = memoryStorage()
  const completed = new Map<string, number>()
  const broken = new Set<string>()
  const environment = {
    // Nothing sleeps here while time passes.
    clock: { now: () => now, sleep: () => () => Promise.resolve() },
    events: {
      report: (event: { readonly _tag: string; readonly unit?: string; readonly durationMillis?: number }) => {
        if (event._tag === 'StepCompleted') completed.set(event.unit ?? '', event.durationMillis ?? NaN)
      }
    }
  }
  const takes = (name: string, millis: number) => () => {
    now += millis
    if (broken.has(name)) throw new Error(`${name} is broken`)
  }
  const process = (program: Program.Program<unknown, Json>) =>
    runOutcome(program, { id: 'run-1', storage, environment })
  return {
    broken,
    completed,
    process,
    rest: (millis: number) => void (now += millis),
    takes
  }
}

const ended = (outcome: { readonly _tag: string }, tag: Ended['_tag']): Ended => {
  assert.equal(outcome._tag, tag)
  return outcome as Ended
}

/** Each record: when it started after the run, and how long it took, in milliseconds. */
const timesOf = ({ checkpoint }: Ended): Readonly<Record<string, readonly [number, number]>> =>
  Object.fromEntries(
    [...checkpoint.completedSteps].map(({ unit, startedAt, durationMillis }) => [
      unit,
      [Date.parse(startedAt) - START, durationMillis]
    ])
  )

/** A step whose first attempt fails and is retried at once. */
const failingOnce = (run: () => void) => {
  let isFirst = true
  return {
    retry: right(RetryPolicy.make({ attempts: 2, delayMillis: 0, jitter: 0 })),
    run: () => {
      run()
      if (!isFirst) return
      isFirst = false
      throw Object.assign(new Error('500 error'), { status: 500 })
    }
  }
}

test('the duration of a wave that waited covers its work and its wait, whichever process completes it', async () => {
  const { process, rest, takes, completed } = world()
  const checks = workflow('checks').wave('checks', {
    a: takes('a', 1_000),
    c: { steps: (c) => c.sleep('nap', { millis: 4_000 }) }
  })
  ended(await process(checks), 'Pending')
  rest(4_000)
  assert.deepEqual(timesOf(ended(await process(checks), 'Completed')), {
    'checks/a': [0, 1_000],
    'checks/c/nap': [1_000, 4_000],
    'checks/c': [1_000, 4_000],
    checks: [0, 5_000]
  })
  assert.equal(completed.get('checks'), 5_000)
})

test('the duration of a sequence that two processes ran is the work of both, without the time between them', async () => {
  const { process, rest, takes, broken } = world()
  const ship = workflow('ship').sequence('ship', (ship) =>
    ship.step('build', takes('build', 2_000)).step('push', takes('push', 1_500))
  )
  broken.add('push')
  ended(await process(ship), 'Failed')
  broken.clear()
  rest(3_600_000)
  assert.deepEqual(timesOf(ended(await process(ship), 'Completed'))['ship'], [0, 3_500])
})

test('the duration of a composite is at least that of a unit inside it that an earlier process completed', async () => {
  const { process, takes, broken, rest } = world()
  const flaky = failingOnce(takes('b', 700))
  const site = workflow('site').sequence('build', (build) =>
    build
      .sequence('pages', (pages) => pages.step('a', takes('a', 100)).step('b', flaky))
      .step('index', takes('index', 50))
  )
  broken.add('index')
  ended(await process(site), 'Failed')
  broken.clear()
  rest(1_000)
  const { build, 'build/pages': pages } = timesOf(ended(await process(site), 'Completed'))
  assert.deepEqual(pages, [0, 1_500])
  assert.deepEqual(build, [0, 1_550])
})

test.each([
  ['after the previous process has ended', 1_000],
  ['earlier than the previous process, because the clock was set back', -3_600_000]
])(
  'the durations of a composite and of a nested composite count the work of each process once: a process begins %s',
  async (_, millis) => {
    const { process, takes, broken, rest } = world()
    const site = workflow('site').sequence('build', (build) =>
      build
        .sequence('pages', (pages) => pages.step('a', takes('a', 100)).step('b', takes('b', 200)))
        .step('index', takes('index', 50))
    )
    for (const part of ['b', 'index']) {
      broken.add(part)
      ended(await process(site), 'Failed')
      broken.clear()
      rest(millis)
    }
    const { build, 'build/pages': pages } = timesOf(ended(await process(site), 'Completed'))
    assert.deepEqual([pages?.[1], build?.[1]], [300, 350])
  }
)

test('the duration of a composite includes sub-steps of an earlier process', async () => {
  const { process, takes, broken, rest } = world()
  const site = workflow('site').sequence('build', (build) =>
    build.step('pages', async ({ step }) => {
      await step('a', takes('a', 100))
      await step('b', takes('b', 200))
    })
  )
  broken.add('b')
  ended(await process(site), 'Failed')
  broken.clear()
  rest(1_000)
  assert.equal(timesOf(ended(await process(site), 'Completed'))['build']?.[1], 300)
})

test('in one process the duration of a composite is the time from its start to its completion, retries included', async () => {
  const { process, takes } = world()
  const checks = workflow('checks').wave('checks', {
    flaky: failingOnce(takes('flaky', 300))
  })
  const { 'checks/flaky': flaky, checks: all } = timesOf(ended(await process(checks), 'Completed'))
  assert.deepEqual(
    [flaky, all],
    [
      [300, 300],
      [0, 600]
    ]
  )
})
