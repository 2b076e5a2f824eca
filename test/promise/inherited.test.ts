/** Options that an object inherits count as its own ones do. */
import { assert, describe, expect, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { answer, resume, run, runOutcome, workflow } from '../../src/promise/index.js'

class Checked {
  get onCheckFailure(): 'abort' {
    return 'abort'
  }
  after(): never {
    throw new Error('not this')
  }
}

const withDefaults = Object.create({ after: () => Promise.reject(new Error('not this')) }) as object

class Items extends Checked {
  forEach(): ReadonlyArray<number> {
    return [1, 2]
  }
}

const steps: ReadonlyArray<readonly [string, (options: object) => unknown]> = [
  ['a step', (options) => workflow('w').step('q', Object.assign(options, { run: () => 1 }))],
  ['a sequence', (options) => workflow('w').sequence('q', (part) => part.step('one', () => 1), options)],
  [
    'a group that is a sequence',
    (options) =>
      workflow('w').wave('c', { q: Object.assign(options, { steps: (part: never) => added(part, 'one') }) as never })
  ],
  [
    'a group with needs',
    (options) =>
      workflow('w').wave('c', { a: () => 1, q: Object.assign(options, { needs: ['a'], run: () => 1 }) as never })
  ],
  ['a wave', (options) => workflow('w').wave('c', { q: () => 1 }, options)],
  ['a map', (options) => workflow('w').map('m', Object.assign(options, { forEach: () => [1] }), () => 1)]
]

const added = (part: { readonly step: (name: string, run: () => number) => unknown }, name: string): unknown =>
  part.step(name, () => 1)

describe('inherited options', () => {
  test.each(
    steps.flatMap(([name, add]) => [
      [name, 'a class', add, () => new Checked()] as const,
      [name, 'an object with defaults', add, () => Object.create(withDefaults) as object] as const
    ])
  )('the checks of %s may be inherited from %s', async (_, __, add, options) => {
    const flow = add(options()) as Parameters<typeof runOutcome>[0]
    const outcome = await runOutcome(flow, { id: 'r', storage: memoryStorage() })
    expect(JSON.stringify(outcome)).toContain('CHECK_FAILED')
  })

  test('forEach of a map may be a method of a class', async () => {
    const items = Object.assign(new Items(), { after: () => undefined })
    const outputs = await run(
      workflow('w').map('m', items, ({ item }) => item),
      { id: 'r', storage: memoryStorage() }
    )
    assert.deepEqual(outputs.m, [1, 2])
  })

  test('options may be accessors that read private fields', async () => {
    class Wait {
      readonly #millis = 1
      readonly #question = 'who?'
      get millis(): number {
        return this.#millis
      }
      get question(): string {
        return this.#question
      }
      get summary(): string {
        return this.#question
      }
    }
    class Group {
      readonly #needs = ['a']
      get needs(): ReadonlyArray<string> {
        return this.#needs
      }
      get steps() {
        return this.#needs.length === 1 ? (part: never) => added(part, 'one') : undefined
      }
    }
    const flow = workflow('w')
      .waitFor('q', new Wait() as never)
      .sleep('s', new Wait())
      .wave('c', { a: () => 1, q: new Group() as never })
    const options = { id: 'r', storage: memoryStorage() }
    const outcome = await runOutcome(flow, options)
    assert.deepInclude(outcome._tag === 'Pending' ? outcome.units[0] : {}, { question: 'who?' })
    await answer({ ...options, unit: 'q', value: 'me' })
    assert.deepEqual((await resume(flow, { ...options, wait: true })).c, { a: 1, q: { one: 1 } })
  })

  test('a job may be an instance of a class with methods and fields', async () => {
    class Batch {
      readonly client = { name: 'batch' }
      submit(): string {
        return 'job-1'
      }
      poll(): { readonly status: 'done' } {
        return { status: 'done' }
      }
      collect(): number {
        return 42
      }
    }
    const flow = workflow('w').step('q', { job: new Batch() as never })
    const outcome = await runOutcome(flow, { id: 'r', storage: memoryStorage() })
    assert.equal(outcome._tag, 'Pending')
  })
})
