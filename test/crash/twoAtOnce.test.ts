/** One run has one writer. */
import assert from 'node:assert/strict'
import { readdirSync, utimesSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Running, World } from './world.js'
import { inWorld, launch, seed, sweep, untilTestEnds, workerFile } from './world.js'

const DAY_SECONDS = 86_400

const historyOf = (world: World, runId: string): string => join(world.state, 'runs', runId)

/** Sets the times of all files of a run, including the heartbeats. */
const setTimes = (world: World, runId: string, seconds: number): number => {
  const folder = historyOf(world, runId)
  const names = readdirSync(folder, { recursive: true }) as Array<string>
  for (const name of names) utimesSync(join(folder, name), seconds, seconds)
  return names.filter((name) => name.endsWith('.lock')).length
}

interface Raced {
  readonly raced: string
  readonly outcome: string
  readonly error?: {
    readonly _tag: string
    readonly holder?: { readonly host: string; readonly pid: number; readonly since: string }
  }
}

const racer = (): Running => launch(process.execPath, [workerFile('racer')])

/** One race. The winner's step lasts until all others were refused. */
const race = async (world: World, all: ReadonlyArray<Running>, runId: string): Promise<{ readonly after: number }> => {
  const begun = Date.now()
  const at = begun + 30
  for (const one of all) one.send({ do: 'race', root: world.state, runId, at })
  const running: Array<{ readonly racer: Running; readonly after: number }> = []
  const ends: Array<{ readonly racer: Running; readonly raced: Raced }> = []
  const waiting = all.map(async (racer) => {
    const line = await racer.line('running', 'raced')
    if ('running' in line) running.push({ racer, after: line['after'] as number })
    else ends.push({ racer, raced: line as unknown as Raced })
  })
  await Promise.all(waiting)
  const [winner, second] = running
  assert.ok(
    winner !== undefined && second === undefined,
    `${running.length} run it: ${JSON.stringify(ends.map((one) => one.raced))}`
  )
  for (const { raced } of ends) {
    assert.equal(raced.error?._tag, 'HeldBy', JSON.stringify(raced))
    assert.equal(raced.error.holder?.pid, winner.racer.pid)
    assert.equal(raced.error.holder?.host, hostname())
    const since = Date.parse(raced.error.holder?.since ?? '')
    assert.ok(since >= begun - 1 && since <= Date.now(), `held since ${raced.error.holder?.since}`)
  }
  winner.racer.send({ do: 'finish' })
  assert.equal((await winner.racer.line('raced'))['outcome'], 'Completed')
  return { after: winner.after }
}

/** A run whose owner was killed in the middle of a step. */
const orphan = async (world: World, runId: string): Promise<number> => {
  const owner = untilTestEnds(racer())
  await owner.line('ready')
  owner.send({ do: 'race', root: world.state, runId })
  await owner.line('running')
  owner.signal('SIGKILL')
  await owner.ended
  return owner.pid
}

describe('ten processes for one run', () => {
  let all: ReadonlyArray<Running>

  beforeAll(async () => {
    console.log(`two at once: seed ${seed}`)
    all = Array.from({ length: 10 }, racer)
    await Promise.all(all.map((one) => one.line('ready')))
  })

  afterAll(async () => {
    for (const one of all) {
      one.signal('SIGCONT')
      one.signal('SIGKILL')
    }
    await Promise.all(all.map((one) => one.ended))
  })

  test('one of ten concurrent processes gets the run, and the nine others report its holder and the time of its claim', async () => {
    await inWorld('ten at once', async (world) => {
      for (let round = 0; round < (sweep ? 200 : 8); round++) await race(world, all, `new-${round}`)
    })
  })

  test('one of ten concurrent processes takes over the run of a killed owner within a second', async () => {
    await inWorld('ten at once, for the run of a dead one', async (world) => {
      const times: Array<number> = []
      for (let round = 0; round < (sweep ? 100 : 3); round++) {
        await orphan(world, `dead-${round}`)
        times.push((await race(world, all, `dead-${round}`)).after)
      }
      expect(Math.min(...times), `takeovers in ${times.map(Math.round).join(', ')} ms`).toBeLessThan(1000)
    })
  })

  test('one of ten concurrent processes takes over the run of a dead owner whose files are a day ahead of the clock', async () => {
    await inWorld('ten at once, times ahead', async (world) => {
      for (let round = 0; round < (sweep ? 100 : 3); round++) {
        const runId = `ahead-${round}`
        await orphan(world, runId)
        assert.equal(setTimes(world, runId, Date.now() / 1000 + DAY_SECONDS), 1, 'it had a heartbeat')
        await race(world, all, runId)
      }
    })
  })

  test('a live owner keeps its run even if all its files are a day old', async () => {
    await inWorld('times behind', async (world) => {
      const [owner, other] = all
      assert.ok(owner !== undefined && other !== undefined)
      const order = { do: 'race', root: world.state, runId: 'old' }
      owner.send(order)
      await owner.line('running')
      assert.equal(setTimes(world, 'old', Date.now() / 1000 - DAY_SECONDS), 1)
      other.send(order)
      const refused = (await other.line('raced')) as unknown as Raced
      assert.equal(refused.error?._tag, 'HeldBy')
      assert.equal(refused.error.holder?.pid, owner.pid)
      owner.send({ do: 'finish' })
      await owner.line('raced')
    })
  })

  test('an owner of this machine that is suspended with SIGSTOP counts as alive and keeps its run', async () => {
    await inWorld('stopped, on this machine', async (world) => {
      const [owner, other] = all
      assert.ok(owner !== undefined && other !== undefined)
      const order = { do: 'race', root: world.state, runId: 'asleep' }
      owner.send(order)
      await owner.line('running')
      owner.signal('SIGSTOP')
      setTimes(world, 'asleep', Date.now() / 1000 - DAY_SECONDS)
      other.send(order)
      assert.equal(((await other.line('raced')) as unknown as Raced).error?._tag, 'HeldBy')
      owner.signal('SIGCONT')
      owner.send({ do: 'finish' })
      assert.equal((await owner.line('raced'))['outcome'], 'Completed')
    })
  })
})
