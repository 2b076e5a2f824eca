/** A completed step that an edit renames is another unit. */
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { runOutcome, workflow } from '../../src/promise/index.js'

const paying = (ran: Array<string>, name: string) => ({
  idempotent: false,
  run: () => {
    ran.push(name)
    return 'paid'
  }
})

test.each([
  ['runs again under its new name if changes are ignored', {}, ['pay', 'charge']],
  [
    'keeps its output if `outputs` has it under the new name',
    { fromStep: 'ship', outputs: new Map([['charge', 'paid']]) },
    ['pay']
  ]
])('a completed step that an edit renames %s', async (_, options, expected) => {
  const ran: Array<string> = []
  const same = { id: 'r', storage: memoryStorage() }
  const before = workflow('w')
    .step('pay', paying(ran, 'pay'))
    .step('ship', () => Promise.reject(new Error('no')))
  assert.equal((await runOutcome(before, same))._tag, 'Failed')
  const after = workflow('w')
    .step('charge', paying(ran, 'charge'))
    .step('ship', ({ outputs }) => ({ charge: outputs.charge }))
  const outcome = await runOutcome(after, { ...same, changes: 'ignore', ...options })
  assert.deepEqual(outcome._tag === 'Completed' ? outcome.outputs.ship : outcome, { charge: 'paid' })
  assert.deepEqual(ran, expected)
})
