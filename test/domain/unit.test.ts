import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import { isWithin, join, nameOf, names, parent, top } from '../../src/domain/workflow/Unit.js'
import { law } from './law.js'

/** Any text, lone surrogates and the signs that escape among them. */
const name = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('a', '/', '%', '#', 'u', '2', 'F', '\ud800', '.') })
)
const path = fc.array(name, { minLength: 1, maxLength: 5 })

const joined = ([first = '', ...more]: ReadonlyArray<string>): string =>
  more.reduce((unit, one) => join(unit, one), join(undefined, first))

describe('the path of a unit', () => {
  law('has the names that it was joined from', path, (all) => {
    const unit = joined(all)
    assert.deepEqual(names(unit), all)
    assert.equal(nameOf(unit), all.at(-1))
    assert.equal(top(unit), joined(all.slice(0, 1)))
    assert.equal(parent(unit), all.length === 1 ? undefined : joined(all.slice(0, -1)))
  })

  law('is within its ancestors and itself, and in no other unit', fc.tuple(path, path), ([all, others]) => {
    const isPrefix = others.length <= all.length && others.every((one, index) => one === all[index])
    assert.equal(isWithin(joined(all), joined(others)), isPrefix)
  })

  test('has plain names as they are, and escapes all other signs', () => {
    assert.equal(joined(['checks', 'unit-1.x_Y']), 'checks/unit-1.x_Y')
    assert.equal(joined(['pages', 'a/b', 'ü', '€', '']), 'pages/a%2Fb/%FC/%u20AC/%')
  })
})
