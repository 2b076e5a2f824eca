/** A completed step that an edit renames is another unit. */
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { runOutcome, workflow } from '../../src/promise/index.js'

const failing = (name: string, ran: Array<string>, isFixed: boolean) =>
  workflow('w')
    .step(name, { idempotent: false, run: () => ran.push(name) && 'paid' })
    .step('ship', ({ outputs }) => {
      if (!isFixed) throw new Error('no')
      return { ...outputs }
    })

test.each([
  ['runs under its new name if the edit is ignored', {}, ['pay', 'charge']],
  [
    'keeps its result if that is passed under its new name',
    { fromStep: 'ship', outputs: new Map([['charge', 'paid']]) },
    ['pay']
  ]
])('a completed step that is renamed %s', async (_, options, expected) => {
  const ran: Array<string> = []
  const same = { id: 'r', storage: memoryStorage() }
  assert.equal((await runOutcome(failing('pay', ran, false), same))._tag, 'Failed')
  const outcome = await runOutcome(failing('charge', ran, true), { ...same, changes: 'ignore', ...options })
  assert.deepEqual(outcome._tag === 'Completed' ? outcome.outputs.ship : outcome, { charge: 'paid' })
  assert.deepEqual(ran, expected)
})
