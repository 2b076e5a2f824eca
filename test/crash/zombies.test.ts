/** A superseded owner that wakes changes nothing that any process reads. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { jsonFileStorage } from '../../src/adapters/json-file/index.js'
import type { Running, World } from './world.js'
import {
  chanceOf,
  inWorld,
  launch,
  linesOf,
  newWorld,
  perform,
  reportOf,
  seed,
  sleep,
  start,
  sweep,
  until,
  untilTestEnds,
  workerFile
} from './world.js'

// Owners whose liveness cannot be checked, as if each ran on its own machine: their heartbeats decide, or the test.
const STORE = { heartbeat: { updateMillis: 1000, staleMillis: 2000 }, checkIntervalMillis: 100 }

const runFolder = (world: World, runId: string): string => join(world.state, 'runs', runId)

const isStopped = (pid: number): boolean => / [Tt] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))

const stop = async (running: Running): Promise<void> => {
  running.signal('SIGSTOP')
  await until(() => isStopped(running.pid), 'it stops')
}

// ---------------------------------------------------------------------------------------------------------------------
// through the port
// ---------------------------------------------------------------------------------------------------------------------

interface Grant {
  readonly runId: string
  readonly name: string
  readonly epoch: number
  readonly tags: ReadonlyArray<string>
  readonly found: string
}

interface Tagged {
  readonly runId: string
  readonly name: string
  readonly epoch: number
  readonly revision: number
  readonly tag: string
}

const tagsOf = async (world: World, runId: string): Promise<ReadonlyArray<string>> => {
  const loaded = await jsonFileStorage(world.state).load(runId)()
  if (E.isLeft(loaded)) return assert.fail(JSON.stringify(loaded.left))
  if (O.isNone(loaded.right)) return []
  const { checkpoint, changes, found } = loaded.right.value as never as {
    readonly checkpoint: { readonly tags: ReadonlyArray<string> }
    readonly changes: ReadonlyArray<{ readonly unit: string }>
    readonly found: unknown
  }
  assert.deepEqual(found, { _tag: 'Exact' })
  return [...checkpoint.tags, ...changes.map(({ unit }) => unit)]
}

/** Each number has one owner, and every later read contains what was acknowledged and nothing in its place. */
const checkLineage = async (world: World, runId: string, what = runId): Promise<number> => {
  const of = <A extends { readonly runId: string }>(file: string): ReadonlyArray<A> =>
    (linesOf(join(world.folder, file)) as ReadonlyArray<A>).filter((entry) => entry.runId === runId)
  const grants = of<Grant>('grants.log')
  const acks = of<Tagged>('tags.log')
  const epochs = grants.map(({ epoch }) => epoch)
  assert.equal(new Set(epochs).size, epochs.length, `${what}: numbers were given twice: ${JSON.stringify(grants)}`)
  const revisions = new Set(acks.map(({ revision }) => revision))
  assert.equal(revisions.size, acks.length, 'two saves of one revision were acknowledged')
  for (const { epoch, tags, found } of grants) {
    assert.equal(found, 'Exact')
    for (const ack of acks.filter((one) => one.epoch < epoch)) {
      assert.equal(
        tags[ack.revision],
        ack.tag,
        `claim ${epoch} did not find what was acknowledged: ${JSON.stringify(ack)}`
      )
    }
  }
  const final = await tagsOf(world, runId)
  for (const ack of acks) assert.equal(final[ack.revision], ack.tag, `lost: ${JSON.stringify(ack)}`)
  return acks.length
}

const writer = (world: World, name: string, store: object = STORE): Running =>
  launch(process.execPath, [
    workerFile('writer'),
    JSON.stringify({ world: world.folder, name, machine: `machine-${name}`, store })
  ])

describe('suspended owners', () => {
  let world: World
  let o: Running
  let a: Running
  let b: Running

  beforeAll(async () => {
    console.log(`zombies: seed ${seed}`)
    world = newWorld()
    o = writer(world, 'o')
    a = writer(world, 'a')
    b = writer(world, 'b')
    await Promise.all([o, a, b].map((one) => one.line('ready')))
  })

  afterAll(async () => {
    for (const one of [o, a, b]) {
      one.signal('SIGCONT')
      one.signal('SIGKILL')
      await one.ended
    }
    rmSync(world.folder, { recursive: true, force: true })
  })

  test('if a suspended owner wakes while two others claim its run, each claim number has one owner and nothing acknowledged is lost', async () => {
    const chance = chanceOf(3)
    let acknowledged = 0
    for (let round = 0; round < (sweep ? 500 : 20); round++) {
      const runId = `amid-${round}`
      o.send({ do: 'write', runId })
      await o.line('claimed')
      await sleep(chance.below(15))
      await stop(o)
      const at = Date.now() + 5
      a.send({ do: 'write', runId, at, dead: ['machine-o'], saves: 1 + chance.below(5) })
      b.send({ do: 'write', runId, at, dead: ['machine-o'], saves: 1 + chance.below(5) })
      await sleep(chance.below(40))
      o.signal('SIGCONT')
      const [ended] = await Promise.all([o.line('wrote'), a.line('wrote'), b.line('wrote')])
      assert.equal(ended['end'], 'Fenced', `round ${round}, seed ${seed}: ${JSON.stringify(ended)}`)
      assert.equal(ended['lost'], 'Fenced', 'its signal tells it too')
      acknowledged += await checkLineage(world, runId)
    }
    console.log(`zombies: ${acknowledged} acknowledgements, none lost`)
    expect(acknowledged).toBeGreaterThan(40)
  })

  const grantsOf = (runId: string): ReadonlyArray<Grant> =>
    (linesOf(join(world.folder, 'grants.log')) as ReadonlyArray<Grant>).filter((one) => one.runId === runId)

  /** Every call of an owner, from its claim to its release. */
  const callsOf = async (runId: string): Promise<ReadonlyArray<string>> => {
    o.send({ do: 'write', runId, saves: 4 })
    return (await o.line('wrote'))['calls'] as ReadonlyArray<string>
  }

  interface Stopped {
    /** False if it ended before. */
    readonly isStopped: boolean
    /** Wakes it and waits for its end. */
    readonly wake: () => Promise<unknown>
  }

  /** Stops a writer before its n-th call. */
  const writeUntil = async (writer: Running, command: object, stop: number): Promise<Stopped> => {
    writer.send({ do: 'write', ...command, stop })
    let isOver = false
    const over = writer.line('wrote').then(({ end }) => {
      isOver = true
      return end
    })
    await until(() => isOver || isStopped(writer.pid), 'it stops')
    return {
      isStopped: !isOver,
      wake: async () => {
        writer.signal('SIGCONT')
        return await over
      }
    }
  }

  const isNaming = (call: string | undefined): boolean => /^(link|renameSync|replace)$/.test(call ?? '')

  test('an owner suspended before any call is fenced, and the next owner starts with everything acknowledged', async () => {
    const calls = await callsOf('calls-1')
    const all = calls.map((_, index) => index + 1)
    const some = [...all.filter((at) => isNaming(calls[at - 1])), ...chanceOf(5).sample(all, 12)]
    for (const at of sweep ? all : some) {
      const runId = `stopped-${at}`
      const owner = await writeUntil(o, { runId, saves: 4, patient: false }, at)
      if (owner.isStopped) {
        a.send({ do: 'write', runId, saves: 2, patient: false, dead: ['machine-o'] })
        assert.equal((await a.line('wrote'))['end'], 'Released', `stopped before call ${at}, ${calls[at - 1]}`)
      }
      await owner.wake()
      await checkLineage(world, runId)
    }
  })

  /** An owner stops at one call and wakes when the next owner of the id is at another; 0: before that one starts. */
  const proveReuse = async (calls: ReadonlyArray<string>, at: number, wakeAt: number): Promise<void> => {
    const runId = `reused-${at}-${wakeAt}`
    const what = `stopped before call ${at}, ${calls[at - 1]}; woken before ${wakeAt}, ${calls[wakeAt - 1]}, of the next`
    const owner = await writeUntil(o, { runId, saves: 4, patient: false }, at)
    if (!owner.isStopped) return void (await owner.wake())
    const hadClaim = grantsOf(runId).length > 0
    a.send({ do: 'remove', runId, dead: ['machine-o'] })
    assert.equal((await a.line('removed'))['end'], 'Removed')
    const early = wakeAt === 0 ? await owner.wake() : undefined
    const next = await writeUntil(b, { runId, saves: 3 }, wakeAt)
    const end = early ?? (await owner.wake())
    await next.wake()
    // A process without a claim when it was stopped may claim the new run and write to it.
    if (!hadClaim && end !== 'Fenced') return void (await checkLineage(world, runId, `${what}; it ${String(end)}`))
    const tags = await tagsOf(world, runId)
    assert.ok(tags.length === 3 && tags.every((tag) => tag.startsWith('b-')), `${what}: ${tags.join(' ')}`)
    assert.equal(grantsOf(runId).find(({ name }) => name === 'b')?.found, 'Exact', what)
  }

  test('an owner suspended before any call writes nothing into a new run with the id of its removed run', async () => {
    const chance = chanceOf(6)
    const calls = await callsOf('calls-2')
    const all = calls.map((_, index) => index + 1)
    const claiming = [0, ...all.slice(0, calls.indexOf('replace'))]
    const copying = all.filter((at) => isNaming(calls[at - 1]) && at > calls.indexOf('link') + 1)
    const cases = [
      ...copying.flatMap((at) => (sweep ? claiming : chance.sample(claiming, 8)).map((wakeAt) => ({ at, wakeAt }))),
      ...(sweep ? [...all, ...all, ...all] : chance.sample(all, 10)).map((at) => ({
        at,
        wakeAt: chance.oneOf([0, ...all])
      }))
    ]
    const done = new Set<string>()
    for (const { at, wakeAt } of cases) {
      if (done.has(`${at} ${wakeAt}`)) continue
      done.add(`${at} ${wakeAt}`)
      await proveReuse(calls, at, wakeAt)
    }
  })

  test('a suspended owner of a removed run whose id is reused is fenced, and the new run is unaffected', async () => {
    const chance = chanceOf(4)
    for (let round = 0; round < (sweep ? 200 : 10); round++) {
      const runId = `again-${round}`
      o.send({ do: 'write', runId })
      await o.line('claimed')
      await sleep(chance.below(15))
      await stop(o)
      a.send({ do: 'remove', runId, dead: ['machine-o'] })
      const early = chance.below(3) === 0
      if (early) o.signal('SIGCONT')
      const removed = (await a.line('removed'))['end']
      b.send({ do: 'write', runId, saves: 3, patient: false })
      if (!early) {
        await sleep(chance.below(20))
        o.signal('SIGCONT')
      }
      const [ended, wrote] = await Promise.all([o.line('wrote'), b.line('wrote')])
      assert.equal(removed, 'Removed')
      assert.equal(wrote['end'], 'Released', `round ${round}, seed ${seed}: ${JSON.stringify(wrote)}`)
      assert.equal(ended['end'], 'Fenced', `round ${round}, seed ${seed}: ${JSON.stringify(ended)}`)
      const tags = await tagsOf(world, runId)
      assert.equal(tags.length, 3, `round ${round}, seed ${seed}: ${tags.join(' ')}`)
      assert.ok(
        tags.every((tag) => tag.startsWith('b-')),
        tags.join(' ')
      )
    }
  })
})

/** The calls of an owner that prunes. */
const PRUNING = [
  { call: 'unlinkSync', on: 'e000001.jsonl' },
  { call: 'link', on: 'e000001.jsonl' }
] as const

/** Invalidates a checksum. */
const damage = (path: string): void => writeFileSync(path, readFileSync(path, 'utf8').replace(/"sum":"./, '"sum":"-'))

describe('an owner suspended while pruning', () => {
  for (const stop of PRUNING) {
    test(`an owner suspended before it calls ${stop.call} while pruning changes nothing of a new run with the same id`, async () => {
      await inWorld('pruning', async (world) => {
        const store = { ...STORE, keep: 1 }
        const [o, a, b] = ['o', 'a', 'b'].map((name) => untilTestEnds(writer(world, name, store))) as [
          Running,
          Running,
          Running
        ]
        await Promise.all([o, a, b].map((one) => one.line('ready')))
        a.send({ do: 'write', runId: 'r', saves: 1 })
        assert.equal((await a.line('wrote'))['end'], 'Released')
        if (stop.call === 'link') damage(join(runFolder(world, 'r'), 'history/e000001.jsonl'))
        let isOver = false
        // Without an end, because on a slow machine it prunes late.
        o.send({ do: 'write', runId: 'r', stop })
        const over = o.line('wrote').then(({ end }) => {
          isOver = true
          return end
        })
        await until(() => isOver || isStopped(o.pid), 'it stops')
        assert.ok(!isOver, 'it was to stop while it prunes')
        a.send({ do: 'remove', runId: 'r', dead: ['machine-o'] })
        assert.equal((await a.line('removed'))['end'], 'Removed')
        b.send({ do: 'write', runId: 'r', saves: 3 })
        assert.equal((await b.line('wrote'))['end'], 'Released')
        o.signal('SIGCONT')
        assert.equal(await over, 'Fenced')
        const tags = await tagsOf(world, 'r')
        assert.ok(tags.length === 3 && tags.every((tag) => tag.startsWith('b-')), tags.join(' '))
        assert.deepEqual(readdirSync(join(runFolder(world, 'r'), 'history')), ['e000001.jsonl'])
      })
    })
  }
})

// ---------------------------------------------------------------------------------------------------------------------
// through the executor
// ---------------------------------------------------------------------------------------------------------------------

/** All files of a run with their content, except the journal of one owner. */
const filesOf = (world: World, runId: string, but: string): Readonly<Record<string, string>> => {
  const folder = runFolder(world, runId)
  const names = (readdirSync(folder, { recursive: true }) as Array<string>).filter(
    (name) => statSync(join(folder, name)).isFile() && name !== but
  )
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
}

describe('a superseded process', () => {
  test('a superseded process is fenced when it wakes, reports it, starts no further step, and changes no readable state', async () => {
    await inWorld('taken over', async (world) => {
      const slow = { program: 'rerunnable', pace: 40, tell: true, store: STORE } as const
      const owner = untilTestEnds(start(world, { ...slow, op: 'run', life: 1, elsewhere: 'first' }))
      while ((await owner.line('at'))['at'] !== 'five');
      await stop(owner)
      const atStop = world.effects().length
      const second = { op: 'resume', life: 2, elsewhere: 'second', program: 'rerunnable', store: STORE } as const
      const refused = reportOf(await perform(world, second))
      assert.equal(refused.error?._tag, 'HeldBy', 'one look at its heartbeat proves nothing')
      const holder = refused.error?.['holder'] as { readonly pid: number; readonly liveness: string }
      assert.deepEqual([holder.pid, holder.liveness], [owner.pid, 'undecided'])
      // Without a simulated clock: it sleeps longer than an owner may.
      assert.equal(reportOf(await perform(world, { ...second, patient: true })).outcome, 'Completed')
      const before = filesOf(world, 'r', 'history/e000001.jsonl')
      owner.signal('SIGCONT')
      const ended = reportOf(await owner.ended)
      assert.equal(ended.outcome, 'Fenced')
      assert.deepEqual(filesOf(world, 'r', 'history/e000001.jsonl'), before)
      const late = world
        .effects()
        .slice(atStop)
        .filter(({ life }) => life === 1)
      assert.ok(late.length <= 1, `only the step that was in flight may end: ${JSON.stringify(late)}`)
      assert.equal(reportOf(await perform(world, { ...second, life: 3 })).outcome, 'Completed')
      assert.ok(world.effects().every(({ life }) => life !== 3))
    })
  })
})
