/** checkpoint.json during slow steps, and after a kill during one. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, renameSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { inWorld, kept, launch, newWorld, sleep, untilTestEnds, workerFile } from './world.js'
import type { Running, World } from './world.js'

/** The maximum age of the copy, and the tolerance of this test. */
const LAG_MILLIS = 1_000
const SLACK_MILLIS = 700

/** Copies take at most this share of a run's time, so a machine on which they are slow delays them. */
const SHARE_OF_TIME = 0.05

const POLL_MILLIS = 50

/** In memory if possible, where copies are quick. */
const quickWorld = (): World =>
  newWorld(mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'dogear-crash-')))

const start = (world: World, steps: ReadonlyArray<number>, wave = false): Running =>
  untilTestEnds(launch(process.execPath, [workerFile('slow'), JSON.stringify({ state: world.state, steps, wave })]))

interface Copy {
  readonly revision: number
  readonly completedSteps: ReadonlyArray<{ readonly unit: string }>
}

const copyIn = (world: World): Copy => {
  const copy = join(world.state, 'runs/r/checkpoint.json')
  return existsSync(copy) ? (JSON.parse(readFileSync(copy, 'utf8')) as Copy) : { revision: -1, completedSteps: [] }
}

const copied = (world: World): number => copyIn(world).revision

const saved = async (world: World): Promise<number> => (await kept(world))?.stored.revision ?? -1

interface Look {
  readonly at: number
  readonly saved: number
  readonly copied: number
}

/** Polls the saved state and the copy until `over` resolves. `allowed` is the maximum age of the copy on this machine. */
const watch = async (
  world: World,
  over: Promise<unknown>
): Promise<{ readonly seen: ReadonlyArray<Look>; readonly allowed: number }> => {
  const seen: Array<Look> = []
  let [slowestCopy, longestPause, before] = [0, 0, performance.now()]
  let isOver = false
  void over.then(() => (isOver = true))
  while (!isOver) {
    const at = performance.now()
    longestPause = Math.max(longestPause, at - before)
    before = at
    seen.push({ at, saved: await saved(world), copied: copied(world) })
    slowestCopy = Math.max(slowestCopy, await copyMillis(world))
    await sleep(POLL_MILLIS)
  }
  const pause = Math.max(0, longestPause - 2 * POLL_MILLIS)
  return { seen, allowed: Math.max(LAG_MILLIS, slowestCopy / SHARE_OF_TIME) + pause + SLACK_MILLIS }
}

/** The time that the file operations of one copy take here and now: other programs may be at work. */
const copyMillis = async ({ folder }: World): Promise<number> => {
  const [made, path] = [join(folder, 'made'), join(folder, 'made.json')]
  const begun = performance.now()
  const file = await open(made, 'w')
  await file.writeFile('{}')
  await file.sync()
  await file.close()
  await readFile(made)
  renameSync(made, path)
  const parent = await open(folder)
  await parent.sync()
  await parent.close()
  return performance.now() - begun
}

describe('slow steps', () => {
  test('checkpoint.json has each save within about a second, in short and in long steps', async () => {
    await inWorld(
      'slow steps',
      async (world) => {
        const steps = [300, 300, 300, 300, 300, 300, 300, 300, 2_500, 300]
        const running = start(world, steps)
        const { seen, allowed } = await watch(world, running.line('done'))
        for (const { at, saved: revision } of seen) {
          const later = seen.find((one) => one.at >= at + allowed)
          if (later === undefined) break
          assert.ok(
            later.copied >= revision,
            `revision ${revision} was there, and ${Math.round(later.at - at)} ms later the copy had ${later.copied}`
          )
        }
        assert.ok(new Set(seen.map((one) => one.copied)).size >= 4, 'it is copied again and again')
      },
      quickWorld()
    )
  })

  test('after a kill, checkpoint.json has every save older than a second', async () => {
    await inWorld(
      'killed',
      async (world) => {
        const running = start(world, [200, 200, 200, 4_000, 200])
        while ((await running.line('step'))['step'] !== 3);
        await sleep(LAG_MILLIS + SLACK_MILLIS)
        running.signal('SIGKILL')
        await running.ended
        const revision = await saved(world)
        assert.ok(revision >= 4, `revision ${revision}`)
        assert.equal(copied(world), revision)
      },
      quickWorld()
    )
  })

  test('checkpoint.json has each completed group of a wave while its siblings still run', async () => {
    await inWorld(
      'a wave',
      async (world) => {
        const running = start(world, [100, 600, 4_000], true)
        await running.line('step')
        await sleep(600 + LAG_MILLIS + SLACK_MILLIS)
        running.signal('SIGKILL')
        await running.ended
        assert.deepEqual(
          copyIn(world).completedSteps.map(({ unit }) => unit),
          ['wave/group-0', 'wave/group-1']
        )
      },
      quickWorld()
    )
  })
})
