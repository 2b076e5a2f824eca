/** Naming the biggest values of what is too large must not take more than there is. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, test } from 'vitest'
import { bundled } from '../../bundled.js'
import { biggest } from '../../../src/adapters/json-file/journal/Size.js'
import type { Json } from '../../../src/domain/data/Json.js'

const text = (bytes: number): string => 'x'.repeat(bytes - 2)

describe('the biggest values', () => {
  test('are named, biggest first, five at most', () => {
    const variables = Object.fromEntries([300, 100, 500, 200, 600, 400].map((bytes) => [`of${bytes}`, text(bytes)]))
    assert.deepEqual(
      biggest({ variables, other: 1 }),
      [600, 500, 400, 300, 200].map((bytes) => ({ path: `$.variables.of${bytes}`, bytes }))
    )
  })

  test('are those that hold most, not what is around them', () => {
    const value: Json = { steps: [{ output: { list: [text(90), { deep: text(1000) }], small: 1 } }, text(50)] }
    assert.deepEqual(biggest(value).slice(0, 2), [
      { path: '$.steps[0].output.list[1].deep', bytes: 1000 },
      { path: '$.steps[0].output.list[0]', bytes: 90 }
    ])
  })

  test('of many small things are what holds them', () => {
    const many = Array.from({ length: 1000 }, (_, index) => index)
    const [first, ...rest] = biggest({ outputs: { many, few: [1, 2] }, at: 'x' })
    assert.equal(first?.path, '$.outputs.many')
    assert.deepEqual(
      rest.map(({ path }) => path),
      ['$.outputs.few', '$.at']
    )
  })

  test('are found in one pass, however deep they are', () => {
    let value: Json = Array.from({ length: 20_000 }, () => text(100))
    for (let n = 0; n < 480; n++) value = [value]
    const begun = performance.now()
    const [first] = biggest(value)
    assert.ok(performance.now() - begun < 1000, `${performance.now() - begun} ms`)
    assert.equal(first?.path, `$${'[0]'.repeat(480)}`)
  })

  test('are found with little memory, however many there are', () => {
    const source = fileURLToPath(new URL('../../../src/adapters/json-file/journal/Size.ts', import.meta.url))
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
