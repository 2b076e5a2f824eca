/** A process killed while it pauses or resumes from a pause loses nothing and repeats nothing. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import { jsonFileStorage } from '../../src/adapters/json-file/index.js'
import { restoreStored } from '../../src/executor/storage/stored.js'
import { chanceOf, eachOf, inWorld, sweep, workerFile } from './world.js'

const WORKER = workerFile('pauser')

interface End {
  readonly signal: NodeJS.Signals | null
  readonly calls: number
}

/** Runs a process that dies before its nth call, if it makes that many. */
const life = (folder: string, how: 'run' | 'resume', at = 0): Promise<End> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [WORKER, folder, how, String(at)], { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    let wrong = ''
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (wrong += chunk.toString()))
    child.once('close', (code, signal) =>
      code === 0 || signal === 'SIGKILL'
        ? resolve({ signal, calls: Number(said) })
        : reject(new Error(`it ended with ${code}:\n${wrong}`))
    )
  })

const effectsIn = (folder: string): ReadonlyArray<string> =>
  readFileSync(join(folder, 'effects'), 'utf8').trim().split('\n')

const completedIn = async (folder: string): Promise<ReadonlySet<string>> => {
  const loaded = await jsonFileStorage(join(folder, 'state')).load('r')()
  if (E.isLeft(loaded)) return assert.fail(JSON.stringify(loaded.left))
  const checkpoint = O.isSome(loaded.right) ? restoreStored(loaded.right.value) : assert.fail('nothing is stored')
  if (E.isLeft(checkpoint)) return assert.fail(JSON.stringify(checkpoint.left))
  return new Set([...checkpoint.right.completedSteps].map(({ unit }) => unit))
}

/** One resume completes it: recorded units did not run again, all others ran, and nothing of the pause is left. */
const endsWell = async (folder: string): Promise<void> => {
  const recorded = await completedIn(folder)
  const before = effectsIn(folder)
  assert.equal((await life(folder, 'resume')).signal, null)
  const after = effectsIn(folder).slice(before.length)
  const due = [
    ['one', 'one'],
    ['two', 'two'],
    ['three/a', 'a'],
    ['three/b', 'b']
  ].flatMap(([unit = '', effect]) => (recorded.has(unit) ? [] : [effect]))
  assert.deepEqual([...after].sort(), [...due].sort())
  assert.ok((await completedIn(folder)).has('three'))
  assert.equal(existsSync(join(folder, 'state/runs/r/requests')), false)
  assert.equal(existsSync(join(folder, 'state/continue-here.json')), false)
}

/** A request to an owner that has died. */
const leaveOutdated = (folder: string): void => {
  const addressee = { host: 'build-1', pid: 1, since: '2026-01-02T03:04:05.000Z' }
  const request = {
    format: 1,
    _tag: 'Pause',
    runId: 'r',
    addressee,
    commit: true,
    requestedAt: '2026-01-02T03:04:06.000Z'
  }
  const inbox = join(folder, 'state/runs/r/requests')
  mkdirSync(inbox, { recursive: true })
  writeFileSync(join(inbox, 'pause.json'), JSON.stringify(request))
}

const callsOf = (how: 'run' | 'resume'): Promise<number> =>
  inWorld('without a kill', async ({ folder }) => {
    const paused = await life(folder, 'run')
    if (how === 'run') return paused.calls
    leaveOutdated(folder)
    return (await life(folder, 'resume')).calls
  })

/** All calls in a sweep, otherwise a sample of them. */
const someOf = (calls: number, count: number, salt: number): ReadonlyArray<number> => {
  const all = [...Array(calls).keys()]
  return sweep ? all : chanceOf(salt).sample(all, count)
}

describe('killed processes of a paused run', () => {
  test('after a kill at any call of a pause the next process continues, and nothing is lost or repeated', async () => {
    const calls = await callsOf('run')
    const killed = new Set<number>()
    await eachOf(someOf(calls, 14, 5), (index) =>
      inWorld(`killed before call ${index + 1}`, async ({ folder }) => {
        const ended = await life(folder, 'run', index + 1)
        // The number of whole copies depends on time, so processes may make different numbers of calls.
        if (ended.signal === 'SIGKILL') killed.add(index)
        else assert.ok(ended.calls <= index, `it made ${ended.calls} calls, and lives`)
        await endsWell(folder)
      })
    )
    assert.ok(killed.size > 10, `only ${killed.size} were killed`)
  })

  test('after a kill at any call of a resume that ignores an outdated pause request, the next process continues', async () => {
    const calls = await callsOf('resume')
    assert.ok(calls > 4, `only ${calls} calls`)
    await eachOf(someOf(calls, 6, 6), (index) =>
      inWorld(`killed before call ${index + 1}`, async ({ folder }) => {
        await life(folder, 'run')
        leaveOutdated(folder)
        assert.equal((await life(folder, 'resume', index + 1)).signal, 'SIGKILL')
        await endsWell(folder)
      })
    )
  })
})
