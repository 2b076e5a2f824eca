import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clear, type Faults, run, typeCheck } from './examples.js'
import { drivers } from './adapters/sqlite/kit.js'
import { type Fence, fences } from './fences.js'

const all = fences()
// It is built for one version of Node.
const hasDriver = drivers.some(({ name }) => name === 'better-sqlite3')
const running = all.filter(({ runs, code }) => runs && (hasDriver || !code.includes("'better-sqlite3'")))
const names = (which: readonly Fence[]): readonly string[] => which.map(({ name }) => name)

let wrongTypes: Faults
let wrongRuns: Faults
beforeAll(async () => {
  wrongTypes = typeCheck(all)
  wrongRuns = await run(running)
})
afterAll(clear)

describe('the documentation', () => {
  test('the documentation has code', () => {
    expect(running).not.toEqual([])
  })

  test.each(names(all))('the code at %s type-checks', (name) => {
    expect(wrongTypes.get(name) ?? '').toBe('')
  })

  test.each(names(running))('the code at %s runs', (name) => {
    expect(wrongRuns.get(name) ?? '').toBe('')
  })
})
