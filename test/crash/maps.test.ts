/** A map of many items may be killed repeatedly. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { test } from 'vitest'
import { jsonFileStorage } from '../../src/adapters/json-file/index.js'
import { restoreStored } from '../../src/executor/storage/stored.js'
import type { World } from './world.js'
import { chanceOf, inWorld, sweep, until, workerFile } from './world.js'

const WORKER = workerFile('mapper')

const ITEMS = sweep ? 10_000 : 2_000
const CONCURRENCY = 10
const KILLS = sweep ? 10 : 4

const linesOf = ({ folder }: World, name: string): ReadonlyArray<string> => {
  const path = join(folder, name)
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []
}

const countOf = (all: ReadonlyArray<string>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const one of all) counts.set(one, (counts.get(one) ?? 0) + 1)
  return counts
}

/** Runs the map until it completes, or is killed once this many items are done in total. */
const live = async (world: World, killAt: number): Promise<string> => {
  const order = JSON.stringify({ state: world.state, folder: world.folder, items: ITEMS })
  const worker = spawn(process.execPath, [WORKER, order], { stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  worker.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  const ended = once(worker, 'close')
  if (killAt < ITEMS) {
    await until(() => linesOf(world, 'effects.log').length >= killAt, `${killAt} items`, 120_000)
    worker.kill('SIGKILL')
  }
  await ended
  return printed
}

test('a map of many items that is killed and resumed many times records each item once, and repeats no recorded item', async () => {
  await inWorld('a map', async (world) => {
    const chance = chanceOf(9)
    for (let kill = 0; kill < KILLS; kill++) {
      const before = new Set(linesOf(world, 'acks.log'))
      const done = linesOf(world, 'effects.log').length
      assert.equal(await live(world, Math.round((ITEMS * (kill + 0.2 + 0.6 * (chance.below(100) / 100))) / KILLS)), '')
      const again = linesOf(world, 'effects.log')
        .slice(done)
        .filter((item) => before.has(item))
      assert.deepEqual(again, [], 'items that were recorded were done again')
    }
    assert.equal(await live(world, Infinity), `${ITEMS}\n`)
    const stored = await jsonFileStorage(world.state).load('many')()
    assert.ok(E.isRight(stored) && O.isSome(stored.right))
    const checkpoint = restoreStored(stored.right.value)
    assert.ok(E.isRight(checkpoint))
    const recorded = [...checkpoint.right.completedSteps].flatMap(({ unit }) =>
      unit.startsWith('each/') ? [unit] : []
    )
    assert.deepEqual([recorded.length, new Set(recorded).size], [ITEMS, ITEMS])
    const effects = linesOf(world, 'effects.log')
    assert.equal(new Set(effects).size, ITEMS)
    const most = Math.max(...countOf(effects).values())
    const repeated = effects.length - ITEMS
    assert.ok(repeated <= KILLS * CONCURRENCY, `${repeated} were done again, one of them ${most} times`)
  })
})
