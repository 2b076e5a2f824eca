/** Hosts that resume all runs of a storage at once: killed, held and cancelled ones. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { fileRequests, jsonFileStorage } from '../../src/adapters/json-file/index.js'
import { cancel } from '../../src/promise/index.js'
import type { Running, World } from './world.js'
import { inWorld, kept, launch, linesOf, untilTestEnds, workerFile } from './world.js'

const host = (world: World, order: object): Running =>
  untilTestEnds(launch(process.execPath, [workerFile('host'), JSON.stringify({ world: world.folder, ...order })]))

/** Begins a run, and returns its process once it hangs in the second step. */
const begun = async (world: World, id: string): Promise<Running> => {
  const running = host(world, { op: 'begin', id })
  await running.line('at')
  return running
}

const killed = async (world: World, id: string): Promise<void> => {
  const running = await begun(world, id)
  running.signal('SIGKILL')
  await running.ended
}

interface Note {
  readonly runId: string
  readonly unit: string
  readonly op: string
}

const notesOf = (world: World, runId: string): ReadonlyArray<string> =>
  (linesOf(join(world.folder, 'notes.log')) as ReadonlyArray<Note>)
    .filter((note) => note.runId === runId)
    .map(({ op, unit }) => `${op} ${unit}`)

const reports = (lines: ReadonlyArray<Readonly<Record<string, unknown>>>): ReadonlyArray<string> =>
  lines.flatMap(({ run }) => (typeof run === 'string' ? [run] : []))

const KILLED = ['killed-1', 'killed-2', 'killed-3']

describe('hosts that resume all runs', () => {
  test('two concurrent hosts finish each of three killed runs once, and leave a live and a cancelled run alone', async () => {
    await inWorld('two hosts', async (world) => {
      for (const id of [...KILLED, 'cancelled']) await killed(world, id)
      const requests = fileRequests(world.state)
      await cancel({ id: 'cancelled', storage: jsonFileStorage(world.state), environment: { requests } })
      const live = await begun(world, 'live')
      const hosts = await Promise.all([1, 2].map(() => host(world, { op: 'resumeAll' }).ended))
      const found = hosts.map(({ lines }) => reports(lines))
      for (const id of KILLED) {
        const ends = found.flat().filter((one) => one.startsWith(`${id} `))
        assert.ok(ends.includes(`${id} Completed`), ends.join(', '))
        for (const one of ends) assert.match(one, / (Completed|Held)$/)
        assert.deepEqual(notesOf(world, id), ['begin first', 'begin second', 'resumeAll second', 'resumeAll third'])
        assert.equal((await kept(world, id))?.completed.size, 3)
      }
      for (const one of found) {
        assert.ok(one.includes('live Held'), one.join(', '))
        assert.ok(one.includes('cancelled Cancelled'), one.join(', '))
      }
      assert.deepEqual(notesOf(world, 'live'), ['begin first', 'begin second'])
      assert.deepEqual(notesOf(world, 'cancelled'), ['begin first', 'begin second'])
      live.signal('SIGKILL')
      await live.ended
    })
  })

  test('a watching host takes over the run of a process that is killed, and ends at SIGTERM', async () => {
    await inWorld('a watching host', async (world) => {
      const watching = host(world, { op: 'resumeAll', watch: true })
      await watching.line('ready')
      const doomed = await begun(world, 'doomed')
      assert.equal((await watching.line('run'))['run'], 'doomed Held')
      doomed.signal('SIGKILL')
      assert.equal((await watching.line('run'))['run'], 'doomed Completed')
      watching.signal('SIGTERM')
      const { code, lines } = await watching.ended
      assert.equal(code, 0)
      assert.deepEqual(lines.at(-1), { outcome: 'Ended', found: ['doomed'] })
      assert.deepEqual(notesOf(world, 'doomed'), ['begin first', 'begin second', 'resumeAll second', 'resumeAll third'])
    })
  })
})
