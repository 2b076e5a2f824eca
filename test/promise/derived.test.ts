import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import { describe, test } from 'vitest'
import * as Program from '../../src/executor/program/Program.js'
import { memoryStorage } from '../../src/adapters/memory.js'
import { runOrResume, workflow } from '../../src/promise/index.js'

const chain = () => workflow('w').step('a', () => 1)

const namesOf = ({ steps }: { readonly steps: ReadonlyArray<{ readonly name: string }> }) =>
  steps.map(({ name }) => name)

const renamed = (key: string | symbol, found: unknown): unknown => (key === 'name' ? 'other' : found)

const wrapped = <A extends object>(one: A): A =>
  new Proxy(one, {
    get: (target, key, receiver) => {
      const found: unknown = Reflect.get(target, key, receiver)
      return typeof found === 'object' && found !== null ? wrapped(found) : found
    }
  })

const deepFrozen = <A extends object>(one: A): A => {
  for (const key of Reflect.ownKeys(one)) {
    const field: unknown = Reflect.get(one, key)
    if (typeof field === 'object' && field !== null && !Object.isFrozen(field)) deepFrozen(field)
  }
  return Object.freeze(one)
}

describe('an object derived from a workflow', () => {
  test('deriving an object with another name from a workflow leaves the identity of the workflow unchanged', () => {
    const copied = (one: object): object =>
      Object.create(Object.prototype, { ...Object.getOwnPropertyDescriptors(one), name: { value: 'other' } }) as object
    const proxied = (one: object): object =>
      new Proxy(one, { get: (target, key, receiver) => renamed(key, Reflect.get(target, key, receiver)) })
    const inherited = (one: object): object => Object.create(one, { name: { value: 'other' } }) as object
    for (const derive of [copied, proxied, inherited]) {
      const original = chain()
      assert.ok('identity' in derive(original) && Reflect.get(derive(original), 'identity'))
      assert.equal(original.identity.name, 'w')
    }
  })

  test('an object derived from a workflow with other steps keeps those steps when a step is added', () => {
    const derived = Object.create(chain(), { steps: { value: [] } }) as ReturnType<typeof chain>
    assert.deepEqual(
      namesOf(
        pipe(
          derived,
          Program.step('b', () => 2)
        )
      ),
      ['b']
    )
  })

  test('a step can be added to a frozen workflow and to an object derived from one', () => {
    const derived = Object.create(Object.freeze(chain())) as ReturnType<typeof chain>
    assert.deepEqual(namesOf(derived.step('b', () => 2).step('c', () => 3)), ['a', 'b', 'c'])
    assert.deepEqual(namesOf(deepFrozen(chain()).step('b', () => 2)), ['a', 'b'])
  })

  test('a step can be added to a proxy of a workflow that wraps every object', () => {
    const derived = wrapped(chain())
    assert.equal(derived.identity.name, 'w')
    assert.deepEqual(namesOf(derived.step('b', () => 2).step('c', () => 3)), ['a', 'b', 'c'])
  })

  test('a step can be added to an instance of a class whose accessors return name and steps', () => {
    const original = pipe(
      Program.start('w'),
      Program.step('a', () => 1)
    )
    class Release {
      get name() {
        return original.name
      }
      get steps() {
        return original.steps
      }
    }
    const derived = new Release() as typeof original
    assert.deepEqual(
      namesOf(
        pipe(
          derived,
          Program.step('b', () => 2)
        )
      ),
      ['a', 'b']
    )
  })

  test('a run of a spread workflow with other steps or another name records no edit', async () => {
    const original = chain().step('b', () => 2)
    for (const [derived, outputs] of [
      [{ ...original, steps: original.steps.slice(0, 1) }, { a: 1 }],
      [
        { ...original, name: 'other' },
        { a: 1, b: 2 }
      ]
    ] as const) {
      const storage = memoryStorage()
      assert.deepEqual(await runOrResume(derived, { id: 'r', storage }), outputs)
      const history = await storage.history('r')()
      assert.ok('right' in history && history.right.every(({ change }) => change !== 'WorkflowEdited'))
    }
  })
})
