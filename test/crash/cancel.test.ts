/** An acknowledged cancel survives kill -9: nothing more starts, and the run becomes cancelled. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { chanceOf, eachOf, inWorld, sweep, workerFile } from './world.js'

const WORKER = workerFile('canceller')

interface End {
  readonly isKilled: boolean
  readonly end?: string
  readonly calls: number
}

/** Runs a process that dies before its nth call, if it makes that many. */
const life = (folder: string, how: 'run' | 'die' | 'resume' | 'reopen', at = 0): Promise<End> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [WORKER, folder, how, String(at)], { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    let wrong = ''
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (wrong += chunk.toString()))
    child.once('close', (code, signal) => {
      if (signal === 'SIGKILL') resolve({ isKilled: true, calls: at })
      else if (code === 0) resolve({ isKilled: false, ...(JSON.parse(said) as { end: string; calls: number }) })
      else reject(new Error(`it ended with ${code}:\n${wrong}`))
    })
  })

const effectsIn = (folder: string): ReadonlyArray<string> =>
  readFileSync(join(folder, 'effects'), 'utf8').trim().split('\n')

const STARTED = new Set(['one', 'two', 'acknowledged'])

/** The run is cancelled and stays so; reopened, it runs the missing steps. */
const staysCancelled = async (folder: string): Promise<void> => {
  assert.ok(effectsIn(folder).every((one) => STARTED.has(one)))
  assert.equal((await life(folder, 'resume')).end, 'RunCancelled')
  assert.equal((await life(folder, 'reopen')).end, 'Completed')
  assert.deepEqual(effectsIn(folder).slice(-2).sort(), ['a', 'b'])
  assert.equal(existsSync(join(folder, 'state/runs/r/requests')), false)
}

const someOf = (calls: number, count: number, salt: number): ReadonlyArray<number> => {
  const all = [...Array(calls).keys()]
  return sweep ? all : chanceOf(salt).sample(all, count)
}

/** Every second element, so that each part takes half of the time. */
const partOf = <A>(all: ReadonlyArray<A>, part: number): ReadonlyArray<A> =>
  all.filter((_, index) => index % 2 === part - 1)

describe('killed processes of a cancelled run', () => {
  let acknowledged = 0

  test.each([1, 2])(
    'after a kill during or after a cancel, the next process runs no further step (part %i)',
    async (part) => {
      const calls = await inWorld('without a kill', async ({ folder }) => {
        const ended = await life(folder, 'run')
        assert.equal(ended.end, 'cancelled')
        await staysCancelled(folder)
        return ended.calls
      })
      await eachOf(partOf(someOf(calls, 16, 7), part), (index) =>
        inWorld(`killed before call ${index + 1}`, async ({ folder }) => {
          await life(folder, 'run', index + 1)
          if (!effectsIn(folder).includes('acknowledged')) return
          acknowledged += 1
          const next = await life(folder, 'resume')
          assert.ok(next.end === 'cancelled' || next.end === 'RunCancelled', next.end)
          await staysCancelled(folder)
        })
      )
    }
  )

  test('the sample has more than three kills of a cancelled run after its cancel was acknowledged', () => {
    assert.ok(acknowledged > 3, `only ${acknowledged} were acknowledged`)
  })

  test.each([1, 2])(
    'a cancel request left by a killed process is recorded, even if the next process is killed while it records the cancel (part %i)',
    async (part) => {
      const calls = await inWorld('without a kill', async ({ folder }) => {
        assert.ok((await life(folder, 'die')).isKilled)
        assert.ok(existsSync(join(folder, 'state/runs/r/requests/cancel.json')))
        const next = await life(folder, 'resume')
        assert.equal(next.end, 'cancelled')
        await staysCancelled(folder)
        return next.calls
      })
      await eachOf(partOf(someOf(calls, 8, 8), part), (index) =>
        inWorld(`killed before call ${index + 1}`, async ({ folder }) => {
          await life(folder, 'die')
          await life(folder, 'resume', index + 1)
          await life(folder, 'resume')
          await staysCancelled(folder)
        })
      )
    }
  )
})
