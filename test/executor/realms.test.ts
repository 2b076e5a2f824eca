/** Values of another realm, as a host that loads code in a `vm` context passes them. */
import assert from 'node:assert/strict'
import { runInNewContext } from 'node:vm'
import { describe, test } from 'vitest'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { memoryArtifacts, memoryStorage } from '../../src/adapters/memory.js'
import { sleepOf } from '../../src/executor/program/awaits.js'
import { runOutcome, workflow } from '../../src/promise/index.js'

const wakeAt = (until: unknown): unknown => {
  const awaits = sleepOf({ until } as never)
  return E.isRight(awaits) ? awaits.right(0) : awaits.left.option
}

describe('values of another realm', () => {
  test('a Date of another realm is accepted as the end of a sleep', () => {
    const date: unknown = runInNewContext("new Date('2030-01-02T03:04:05Z')")
    assert.deepEqual(wakeAt(date), { _tag: 'Timer', wakeAt: '2030-01-02T03:04:05.000Z' })
  })

  test('a Uint8Array of another realm is accepted as an artifact', async () => {
    const bytes = runInNewContext('new Uint8Array([1, 2])') as Uint8Array
    const program = workflow('w').step('one', ({ artifacts }) => artifacts.put('x', bytes).then(({ size }) => size))
    const outcome = await runOutcome(program, {
      id: 'r',
      storage: memoryStorage(),
      environment: { artifacts: memoryArtifacts() }
    })
    assert.equal(outcome._tag === 'Completed' && outcome.outputs.one, 2)
  })

  test('a map fails if forEach returns a promise of another realm', async () => {
    const items = runInNewContext("Promise.reject(new Error('no'))") as never
    const program = workflow('w').map('m', { forEach: () => items }, () => 1)
    const outcome = await runOutcome(program, { id: 'r', storage: memoryStorage() })
    assert.ok(outcome._tag === 'Failed')
    assert.match(outcome.failures[0]?.error.message ?? '', /not a promise/)
  })
})

describe('the end of a sleep', () => {
  test.each(['2030-01-02T03:04:05', '2030-01-02', '2030-01-02T03:04:05Z and more'])(
    'the end of a sleep must be a time with Z or an offset, not %s',
    (until) => {
      assert.equal(wakeAt(until), 'sleep.until')
    }
  )

  test.each(['2030-01-02T03:04:05Z', '2030-01-02T04:04:05.000+01:00'])('the end of a sleep may be %s', (until) => {
    assert.deepEqual(wakeAt(until), { _tag: 'Timer', wakeAt: '2030-01-02T03:04:05.000Z' })
  })
})

test('data that is not bytes is refused with NotBytes even in a run with secrets', async () => {
  const program = workflow('w', { secrets: ['TOKEN'] }).step('one', ({ artifacts }) =>
    artifacts.put('x', { a: 1 } as never).then(() => 1)
  )
  const outcome = await runOutcome(program, {
    id: 'r',
    storage: memoryStorage(),
    environment: {
      artifacts: memoryArtifacts(),
      secrets: { where: 'here', read: () => TE.right(O.some('hunter2-hunter2')) }
    }
  })
  assert.equal(outcome._tag === 'Failed' && outcome.failures[0]?.error.code, 'NotBytes')
})
