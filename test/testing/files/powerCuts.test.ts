/** The power is cut after each operation of the JSON store, and a resume from each possible state works. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { crashFiles } from './CrashFiles.js'
import { isSweep, killAndSweep, lead, opening, PROCESSES, SEED, sweep, TIMEOUT_MILLIS, withoutTime } from './lives.js'

withoutTime()

describe('power cuts', { timeout: TIMEOUT_MILLIS }, () => {
  test('after a power cut, a run is exactly its last acknowledged save or the one in flight, and can be claimed and saved', async () => {
    const files = crashFiles()
    const open = opening()
    const lives = await lead(files, open)
    assert.deepEqual(lives.errors, [])
    const { states, violation } = await sweep(files, lives, open, { limit: isSweep ? 1_000 : 10 })
    assert.equal(violation, undefined)
    assert.ok(states > 800, `${states} states are too few`)
  })

  test('a power cut during the resume after a kill loses nothing acknowledged', async () => {
    const files = crashFiles()
    const lives = await lead(files, opening())
    const { states, violation } = await killAndSweep(
      files,
      lives,
      opening(),
      isSweep ? { limit: 16 } : { limit: 4, first: SEED % 40, stride: 40 }
    )
    assert.equal(violation, undefined)
    assert.ok(states > 150, `${states} states are too few`)
  })

  test('the simulated processes perform every kind of operation', async () => {
    const files = crashFiles()
    await lead(files, opening())
    const done = files.operations.join('\n')
    for (const operation of ['mkdir', 'create', 'link', 'unlink', 'rename', 'write', 'make', 'sync'])
      assert.match(done, new RegExp(`^${operation} `, 'm'))
    const unlinked = /^unlink \S+e00000(\d).jsonl$/gm
    assert.ok([...done.matchAll(unlinked)].length >= 3, 'it prunes')
    const journals = [...done.matchAll(/^link .+ to \S+e\d+\.jsonl$/gm)]
    assert.ok(journals.length > PROCESSES + 1, 'it compacts')
    const found = [...done.matchAll(/^write (\d+) bytes at (\d+) of \S+jsonl$/gm)].map(([, ...at]) => at.map(Number))
    const isAcross = ([length = 0, at = 0]: ReadonlyArray<number>): boolean =>
      at < 512 && at + length > 512 && length < 100
    assert.ok(found.some(isAcross), 'what a claim found has a part in each of two sectors')
  })
})
