import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import { describe, test } from 'vitest'
import * as ArtifactId from '../../src/domain/data/ArtifactId.js'

describe('an artifact id', () => {
  test.each([
    ['', 'it is empty'],
    ['../x', 'it has a segment "." or ".."'],
    ['a/../../b', 'it has a segment "." or ".."'],
    ['./x', 'it has a segment "." or ".."'],
    ['/x', 'it begins with "/"'],
    ['x/', 'it has an empty segment'],
    ['a//b', 'it has an empty segment'],
    ['a\\b', 'it has a backslash'],
    ['a\0', 'it has a control character'],
    ['\ud800', 'it has half a character (a lone surrogate)'],
    ['a'.repeat(513), 'it has more than 512 characters']
  ])('%j is not a valid artifact id', (id, why) => {
    assert.deepEqual(ArtifactId.parse(id), E.left({ _tag: 'InvalidArtifactId', id, why }))
  })

  test('the path of a valid artifact id stays inside its folder', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('..', '.', '/', 'a', '\\', 'é', '')).map((parts) => parts.join('')),
        (id) => {
          const accepted = E.isRight(ArtifactId.parse(id))
          const segments = id.split('/')
          assert.equal(accepted, segments.every((one) => !['', '.', '..'].includes(one)) && !id.includes('\\'))
        }
      )
    )
  })

  test.each(['a', 'reports/unit.txt', '...', 'a..b', ' ', '日本語/レポート', 'a'.repeat(512), '_own/x'])(
    '%j is a valid artifact id',
    (id) => {
      assert.deepEqual(ArtifactId.parse(id), E.right(id))
    }
  )
})
