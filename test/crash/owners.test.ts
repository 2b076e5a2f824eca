/** A live owner keeps its run, even against other threads and against processes that cannot see it. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Running, World } from './world.js'
import { inWorld, launch, perform, reportOf, start, untilTestEnds, workerFile } from './world.js'

interface Threads {
  readonly holder: { readonly end: string }
  readonly other: { readonly end: string; readonly holder?: { readonly pid: number } }
  readonly third: { readonly end: string }
  readonly after?: { readonly end: string; readonly epoch: number }
}

const threads = async (world: World, first: 'main' | 'worker'): Promise<Threads & { readonly pid: number }> => {
  const running = launch(process.execPath, [workerFile('threads'), JSON.stringify({ world: world.folder, first })])
  const ended = await running.ended
  return { ...(reportOf(ended) as never as Threads), pid: running.pid }
}

describe('threads of one process', () => {
  test('a second thread is refused while the first holds the run', async () => {
    await inWorld('the main thread first', async (world) => {
      const { holder, other, third, pid } = await threads(world, 'main')
      assert.deepEqual([holder.end, other.end, third.end], ['Claimed', 'HeldBy', 'HeldBy'])
      assert.equal(other.holder?.pid, pid)
    })
  })

  test('the main thread is refused while a worker thread holds the run, and takes the run over when that thread has ended', async () => {
    await inWorld('a worker first', async (world) => {
      const { holder, other, third, after } = await threads(world, 'worker')
      assert.deepEqual([holder.end, other.end, third.end], ['Claimed', 'HeldBy', 'HeldBy'])
      assert.deepEqual(after, { end: 'Claimed', epoch: 2 })
    })
  })
})

const CONTAINER = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
const [unshare = '', ...flags] = CONTAINER
const whyNot = spawnSync(unshare, [...flags, 'true'], { encoding: 'utf8' })
const hasNamespaces = whyNot.status === 0
if (!hasNamespaces) console.log(`no pid namespaces here: ${whyNot.stderr || String(whyNot.error)}`)

/** The processes that a process started. */
const childrenOf = (pid: number): ReadonlyArray<number> =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number)

describe.skipIf(!hasNamespaces)('processes of different pid namespaces', () => {
  const slow = { program: 'rerunnable', pace: 60_000, tell: true, stoppable: true } as const
  const quick = { program: 'rerunnable' } as const

  const holding = async (world: World, around: ReadonlyArray<string>): Promise<Running> => {
    const owner = untilTestEnds(start(world, { ...slow, op: 'run', life: 1 }, around))
    await owner.line('at')
    return owner
  }

  test('a process in a container is refused while an owner outside lives, and resumes after its release', async () => {
    await inWorld('owner outside', async (world) => {
      const owner = await holding(world, [])
      const refused = reportOf(await perform(world, { ...quick, op: 'resume', life: 2 }, CONTAINER))
      assert.equal(refused.error?._tag, 'HeldBy')
      assert.equal((refused.error?.['holder'] as { readonly pid: number }).pid, owner.pid)
      owner.signal('SIGTERM')
      assert.equal(reportOf(await owner.ended).outcome, 'Interrupted')
      const gone = reportOf(await perform(world, { ...quick, op: 'resume', life: 3 }, CONTAINER))
      assert.equal(gone.outcome, 'Completed', JSON.stringify(gone))
    })
  })

  test('a process outside a container is refused while the owner inside lives, and resumes at once when it was killed', async () => {
    await inWorld('owner inside', async (world) => {
      const owner = await holding(world, CONTAINER)
      const refused = reportOf(await perform(world, { ...quick, op: 'resume', life: 2 }))
      assert.equal(refused.error?._tag, 'HeldBy')
      // It sees itself as process 1, as does nearly every other container's owner.
      assert.equal((refused.error?.['holder'] as { readonly pid: number }).pid, 1)
      for (const pid of childrenOf(owner.pid)) process.kill(pid, 'SIGKILL')
      await owner.ended
      assert.equal(reportOf(await perform(world, { ...quick, op: 'resume', life: 3 })).outcome, 'Completed')
    })
  })

  test('processes with the same pid in two containers are different owners', async () => {
    await inWorld('two containers', async (world) => {
      const owner = await holding(world, CONTAINER)
      const refused = reportOf(await perform(world, { ...quick, op: 'resume', life: 2 }, CONTAINER))
      assert.equal(refused.error?._tag, 'HeldBy')
      for (const pid of childrenOf(owner.pid)) process.kill(pid, 'SIGTERM')
      await owner.ended
      const gone = reportOf(await perform(world, { ...quick, op: 'resume', life: 3 }, CONTAINER))
      expect(gone.outcome).toBe('Completed')
      assert.equal(world.effects().filter(({ life }) => life === 2).length, 0)
    })
  })
})
