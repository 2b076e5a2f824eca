/** The power is cut after each operation that the JSON store makes, and whatever that may leave is enough to go on. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { crashFiles } from '../../../src/testing/files/CrashFiles.js'
import { isSweep, lead, opening, PROCESSES, sweep, withoutTime } from './lives.js'

withoutTime()

describe('after a power cut', () => {
  test('what was acknowledged last, or was under way, is there exactly; it is claimed at once, and saved on', async () => {
    const files = crashFiles()
    const open = opening()
    const lives = await lead(files, open)
    assert.deepEqual(lives.errors, [])
    const { states, violation } = await sweep(files, lives, open, { limit: isSweep ? 1_000 : 12 })
    assert.equal(violation, undefined)
    assert.ok(states > 1_000, `${states} states are too few`)
  })

  test('in lives that make every kind of operation', async () => {
    const files = crashFiles()
    await lead(files, opening())
    const done = files.operations.join('\n')
    for (const operation of ['mkdir', 'create', 'link', 'unlink', 'rename', 'write', 'make', 'sync'])
      assert.match(done, new RegExp(`^${operation} `, 'm'))
    const unlinked = /^unlink \S+e00000(\d).jsonl$/gm
    assert.ok([...done.matchAll(unlinked)].length >= 3, 'it prunes')
    const journals = [...done.matchAll(/^link .+ to \S+e\d+\.jsonl$/gm)]
    assert.ok(journals.length > PROCESSES + 1, 'it compacts')
  })
})
