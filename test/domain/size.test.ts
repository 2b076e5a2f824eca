/** Finding the largest values must not need more time or memory than the values themselves. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, test } from 'vitest'
import { bundled } from '../bundled.js'
import { growth, RESUME_BYTES, slack } from '../../src/domain/change/sizeBound.js'
import { encode } from '../../src/domain/checkpoint/CheckpointCodec.js'
import { biggest } from '../../src/domain/data/Size.js'
import type { Json } from '../../src/domain/data/Json.js'
import * as arb from '../../src/testing/planning/arbitrary/Arbitrary.js'
import { quickest } from '../quickest.js'
import { law } from './law.js'

const text = (bytes: number): string => 'x'.repeat(bytes - 2)

test('a save may exceed the size limit if it belongs to a move, or is the first of a claim and neither begins the run nor starts an attempt', () => {
  const first = { baseBytes: 0, revision: 7 }
  const sizes = (['Answered', 'Interrupted', 'AttemptStarted'] as const).map((_tag) => slack(first, [{ _tag }]))
  assert.deepEqual(sizes, [RESUME_BYTES, RESUME_BYTES, 0])
  assert.equal(slack(first, [{ _tag: 'Rewound' }, { _tag: 'AttemptStarted' }]), 0)
  assert.equal(slack({ baseBytes: 9, revision: 7 }, [{ _tag: 'Answered' }]), 0)
  const begins = { baseBytes: 0, revision: -1 }
  assert.equal(slack(begins, [{ _tag: 'Started' }]), 0)
  for (const save of [begins, { baseBytes: 9, revision: 0 }])
    assert.equal(slack(save, [{ _tag: 'Moved' }]), RESUME_BYTES, 'a run at its limit moves to a store with that limit')
})

describe('the biggest values', () => {
  test('at most five values are reported, largest first', () => {
    const variables = Object.fromEntries([300, 100, 500, 200, 600, 400].map((bytes) => [`of${bytes}`, text(bytes)]))
    assert.deepEqual(
      biggest({ variables, other: 1 }),
      [600, 500, 400, 300, 200].map((bytes) => ({ path: `$.variables.of${bytes}`, bytes }))
    )
  })

  test('the largest strings are reported, not their containers', () => {
    const value: Json = { steps: [{ output: { list: [text(90), { deep: text(1000) }], small: 1 } }, text(50)] }
    assert.deepEqual(biggest(value).slice(0, 2), [
      { path: '$.steps[0].output.list[1].deep', bytes: 1000 },
      { path: '$.steps[0].output.list[0]', bytes: 90 }
    ])
  })

  test('the path of a value quotes names that are no identifiers', () => {
    const found = biggest({ output: { 'odd name': text(1000) } })
    assert.deepEqual(found, [{ path: '$.output["odd name"]', bytes: 1000 }])
  })

  test('a container of many small values is reported itself', () => {
    const many = Array.from({ length: 1000 }, (_, index) => index)
    const [first, ...rest] = biggest({ outputs: { many, few: [1, 2] }, at: 'x' })
    assert.equal(first?.path, '$.outputs.many')
    assert.deepEqual(
      rest.map(({ path }) => path),
      ['$.outputs.few', '$.at']
    )
  })

  test('the largest values are found in one pass at any depth', () => {
    let value: Json = Array.from({ length: 20_000 }, () => text(100))
    for (let n = 0; n < 480; n++) value = [value]
    const millis = quickest(1, () => biggest(value))
    assert.ok(millis < 1000, `${millis} ms`)
    assert.equal(biggest(value)[0]?.path, `$${'[0]'.repeat(480)}`)
  })

  test('the largest values among millions are found with little memory', () => {
    const source = fileURLToPath(new URL('../../src/domain/data/Size.ts', import.meta.url))
    const { href: url } = pathToFileURL(bundled(source))
    const program = `const { biggest } = await import('${url}')
      const many = []
      for (let n = 0; n < 4e6; n++) many.push(n % 10)
      console.log(biggest({ a: { many } })[0].path)`
    const args = ['--max-old-space-size=200', '--input-type=module', '-e', program]
    const { stdout, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    assert.deepEqual([status, stdout.trim()], [0, '$.a.many'])
  })
})

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

law(
  'the computed growth of a change is an upper bound for the growth of the stored checkpoint',
  arb.run(),
  ({ changes, trail }) => {
    const sizes = trail.map(({ checkpoint }) => sizeOf(encode(checkpoint)))
    for (const [revision, change] of changes.entries()) {
      if (revision === 0) continue
      const grown = (sizes[revision] as number) - (sizes[revision - 1] as number)
      const most = growth([change], sizeOf(change))
      assert.ok(grown <= most, `revision ${revision}: ${grown} > ${most}: ${JSON.stringify(change)}`)
    }
  }
)
