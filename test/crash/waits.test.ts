/** A run that sleeps, as a step and in a task, may be killed while it waits, and wakes at the recorded times. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import type { Ended, World } from './world.js'
import { inWorld, launch, linesOf, sleep, workerFile } from './world.js'

const WORKER = workerFile('waiter')
const MILLIS = 2_000

interface Note {
  readonly life: number
  readonly unit: string
  readonly at: number
}

const notesOf = ({ folder }: World): ReadonlyArray<Note> =>
  linesOf(join(folder, 'notes.log')) as unknown as ReadonlyArray<Note>

/** Runs one process. `killedIn`: kills it once this unit waits, and returns the wake time. */
const live = async (world: World, life: number, killedIn?: string): Promise<Ended & { readonly wakeAt: number }> => {
  const order = { world: world.folder, life, millis: MILLIS }
  const running = launch(process.execPath, [WORKER, JSON.stringify(order)])
  if (killedIn === undefined) return { ...(await running.ended), wakeAt: NaN }
  for (;;) {
    const line = (await running.line('waits')) as { readonly waits: string; readonly wakeAt: string }
    if (line.waits !== killedIn) continue
    await sleep(100)
    running.signal('SIGKILL')
    return { ...(await running.ended), wakeAt: Date.parse(line.wakeAt) }
  }
}

describe('kills during a sleep', () => {
  test.each([
    ['wakes at the recorded time', 0],
    ['continues at once if its time passed while no process ran', MILLIS]
  ])('a run killed while it sleeps %s', async (what, downFor) => {
    await inWorld(what, async (world) => {
      const first = await live(world, 1, 'nap')
      await sleep(downFor)
      const second = await live(world, 2, 'trial/two-weeks')
      await sleep(downFor)
      const last = await live(world, 3)
      assert.equal(last.code, 0, last.stderr)
      const notes = notesOf(world)
      assert.deepEqual(
        notes.map(({ unit }) => unit),
        ['before', 'trial/welcome', 'trial/remind', 'after']
      )
      const [, welcome, remind] = notes
      assert.ok(welcome !== undefined && welcome.at >= first.wakeAt && welcome.life === 2)
      assert.ok(remind !== undefined && remind.at >= second.wakeAt && remind.life === 3)
    })
  })
})
