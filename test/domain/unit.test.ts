import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import {
  ancestors,
  childToward,
  fromTop,
  isWithin,
  join,
  nameOf,
  names,
  nth,
  parent,
  top,
  withoutNumber
} from '../../src/domain/workflow/Unit.js'
import { law } from './law.js'

/** Any string, including lone surrogates and escape characters. */
const name = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('a', '/', '%', '#', 'u', '2', 'F', '\ud800', '.') })
)
const path = fc.array(name, { minLength: 1, maxLength: 5 })

const joined = ([first = '', ...more]: ReadonlyArray<string>): string =>
  more.reduce((unit, one) => join(unit, one), join(undefined, first))

describe('the path of a unit', () => {
  law('a path can be split into the names that it was joined from', path, (all) => {
    const unit = joined(all)
    assert.deepEqual(names(unit), all)
    assert.equal(nameOf(unit), all.at(-1))
    assert.equal(top(unit), joined(all.slice(0, 1)))
    assert.equal(parent(unit), all.length === 1 ? undefined : joined(all.slice(0, -1)))
  })

  law('a unit is within its ancestors and itself, and in no other unit', fc.tuple(path, path), ([all, others]) => {
    const isPrefix = others.length <= all.length && others.every((one, index) => one === all[index])
    assert.equal(isWithin(joined(all), joined(others)), isPrefix)
  })

  law('the path from any ancestor to a unit leads down one level at a time', path, (all) => {
    const unit = joined(all)
    const above = all.map((_, index) => joined(all.slice(0, index + 1)))
    assert.deepEqual(fromTop(unit), above)
    for (const [index, one] of above.entries()) assert.equal(childToward(above[index - 1], unit), one)
    assert.equal(childToward(unit, unit), undefined)
    assert.equal(childToward(`${unit}x`, unit), undefined)
  })

  law(
    'the path of a repeated sub-step without its number is the path of the first call',
    fc.tuple(path, fc.nat(99)),
    ([all, number]) => {
      const unit = joined(all)
      assert.equal(withoutNumber(nth(unit, number + 1)), unit)
    }
  )

  test.each([
    ['/ship', ['']],
    ['//ship', ['/', '']],
    ['ship/', ['ship']],
    ['/', ['']]
  ])('a path with an empty name, as a user may type it, has finitely many ancestors: %s', (unit, expected) => {
    const found: Array<string> = []
    for (const one of ancestors(unit)) if (found.push(one) > expected.length) break
    assert.deepEqual(found, expected)
  })

  test('a path keeps plain characters of a name, and escapes all others', () => {
    assert.equal(joined(['checks', 'unit-1.x_Y']), 'checks/unit-1.x_Y')
    assert.equal(joined(['pages', 'a/b', 'ü', '€', '']), 'pages/a%2Fb/%FC/%u20AC/%')
  })
})
