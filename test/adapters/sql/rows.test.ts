/** The rows of a run, without a database. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import { describe, test } from 'vitest'
import type { Content } from '../../../src/adapters/sql/Content.js'
import { isWhole, newest, revisionOf } from '../../../src/adapters/sql/Content.js'
import type { Limits, Progress, Row } from '../../../src/adapters/sql/Rows.js'
import { saveOf } from '../../../src/adapters/sql/Rows.js'
import type { Revision } from '../../../src/ports/CheckpointStorage.js'
import { assertCarries, assertHolds, revisions, upTo } from '../../../src/testing/conformance/fixtures.js'

const LIMITS: Limits = { checkpointBytes: 100_000, baseBytes: 1_000 }
const NOTHING: Progress = { revision: -1, head: -1, baseBytes: 0, changeBytes: 0, sizeBytes: 0 }

const right = <A>(result: E.Either<unknown, A>): A =>
  E.isRight(result) ? result.right : assert.fail(JSON.stringify(result.left))

const target = (epoch: number) => ({ runId: 'a', epoch, where: 'revisions' })

/** The rows of a run with these many revisions, each claim saving `perClaim` of them. */
const rowsOf = (count: number, perClaim: number): ReadonlyArray<Row> => {
  const rows: Array<Row> = []
  let progress = NOTHING
  for (let n = 1; n <= count; n++) {
    if ((n - 1) % perClaim === 0) progress = { ...progress, baseBytes: 0, changeBytes: 0, sizeBytes: 0 }
    const save = right(saveOf(target(Math.ceil(n / perClaim)), progress, revisions(upTo(n)), LIMITS))
    rows.push(...save.rows)
    progress = save.progress
  }
  return rows
}

const run = (head: number) => ({ runId: 'a', head, where: 'revisions' })

const found = (result: E.Either<unknown, O.Option<Content>>) => ({
  ...(O.toUndefined(right(result)) ?? assert.fail('expected content')),
  heldBy: O.none
})

const damaged = (rows: ReadonlyArray<Row>, revision: number): ReadonlyArray<Row> =>
  rows.map((row) => (row.revision === revision ? { ...row, change: `${row.change} ` } : row))

describe('the rows of a run', () => {
  test('the first save of a claim begins with a base', () => {
    assert.deepEqual(
      rowsOf(6, 3).map(({ checkpoint }) => checkpoint !== null),
      [true, false, false, true, false, false]
    )
  })

  test('a claim writes a new base once its changes outgrow the limit and its last base', () => {
    const bases = rowsOf(60, 60).filter(({ checkpoint }) => checkpoint !== null)
    assert.ok(bases.length > 3 && bases.length < 15, `${bases.length} bases`)
  })

  test('a checkpoint that is null is stored as null', () => {
    const [revision] = revisions([0])
    const { rows } = right(saveOf(target(1), NOTHING, [{ ...revision, checkpoint: () => null }], LIMITS))
    assert.equal(rows[0].checkpoint, 'null')
    assert.equal(found(newest(run(0), rows)).checkpoint, null)
  })

  test('a checkpoint above the limit is TooLarge and names its largest values', () => {
    const save = saveOf(target(1), NOTHING, revisions(['x'.repeat(200_000)]), LIMITS)
    assert.ok(E.isLeft(save) && save.left._tag === 'TooLarge')
    assert.ok(save.left.bytes > save.left.limitBytes)
    assert.equal(save.left.biggest[0]?.path, '$.payloads[0]')
  })

  test('a run at its limit is refused only what would exceed it, and the next claim can save', () => {
    let progress = NOTHING
    let measured = 0
    const payloads: Array<string> = []
    const counted = (payload: string): ReadonlyNonEmptyArray<Revision> => {
      const [revision] = revisions([...payloads, payload])
      return [
        {
          ...revision,
          checkpoint: () => {
            measured += 1
            return revision.checkpoint()
          }
        }
      ]
    }
    for (let length = 500; length > 0;) {
      const save = saveOf(target(1), progress, counted('あ'.repeat(length)), { ...LIMITS, baseBytes: 1_000_000 })
      if (E.isLeft(save)) length = Math.floor(length / 2)
      else {
        payloads.push('あ'.repeat(length))
        progress = save.right.progress
      }
    }
    const { checkpoint } = revisions(payloads)[0]
    const bytes = Buffer.byteLength(JSON.stringify(checkpoint()))
    assert.ok(bytes <= LIMITS.checkpointBytes && bytes > LIMITS.checkpointBytes - 10, `${bytes} bytes`)
    assert.ok(measured < payloads.length / 2, `measured at ${measured} of ${payloads.length} saves`)
    right(saveOf(target(2), { ...progress, baseBytes: 0 }, counted('x'), LIMITS))
  })

  test('revisions that do not follow the stored one are a conflict', () => {
    const save = saveOf(target(1), { ...NOTHING, revision: 3, head: 3 }, revisions([1, 2]), LIMITS)
    assert.deepEqual(save, E.left({ _tag: 'RevisionConflict', runId: 'a', expected: 4, found: 1 }))
  })

  test('rows are read back as the revisions that were saved', () => {
    const rows = rowsOf(7, 3)
    assertHolds(found(newest(run(6), rows)), upTo(7))
    assertHolds(found(newest(run(6), rows.slice(-1))), upTo(7))
    for (const revision of upTo(7)) {
      const content = found(revisionOf(run(6), rows.slice(0, revision + 1), revision))
      assertHolds(content, upTo(revision + 1))
      assert.equal(content.changes.length > 0, revision > 0, `the changes of revision ${revision}`)
    }
  })

  test('the rows before a damaged one are recovered, unless a newer base makes it irrelevant', () => {
    const rows = damaged(rowsOf(7, 3), 4)
    assertHolds(found(newest(run(6), rows)), upTo(7))
    const content = found(newest(run(5), rows.slice(0, 6)))
    assert.equal(content.found._tag, 'Recovered')
    assertCarries(content, upTo(4))
    const withoutBase = found(newest(run(5), damaged(rowsOf(6, 3), 3)))
    assert.equal(withoutBase.found._tag, 'Recovered')
    assertCarries(withoutBase, upTo(3))
  })

  test('a missing row is damage', () => {
    const content = found(newest(run(5), rowsOf(5, 5)))
    assert.ok(
      content.found._tag === 'Recovered' &&
        content.found.lost === 'revision 5: it is missing; revisions after 4 are lost'
    )
  })

  test('a run without an intact base is Corrupt', () => {
    const content = newest(run(2), damaged(rowsOf(3, 3), 0))
    assert.ok(E.isLeft(content) && content.left._tag === 'Corrupt')
    assert.equal(isWhole(content), false)
  })

  test('a row of another run, revision or claim is damage', () => {
    const rows = rowsOf(2, 2)
    const [base, second] = rows as [Row, Row]
    assert.ok(E.isLeft(newest({ ...run(1), runId: 'b' }, rows)))
    for (const wrong of [{ revision: 2 }, { epoch: 2 }, { kind: 'UnitFailed' }, { at: 'never' }])
      assert.equal(isWhole(newest(run(2), [base, { ...second, ...wrong }])), false)
  })

  test('a save after a recovery replaces the damaged rows', () => {
    const progress = { revision: 2, head: 5, baseBytes: 0, changeBytes: 0, sizeBytes: 0 }
    const save = right(saveOf(target(3), progress, revisions(upTo(4)), LIMITS))
    assert.deepEqual([save.replaces, save.hasBase, save.head], [true, true, 3])
    assert.equal(right(saveOf(target(3), save.progress, revisions(upTo(5)), LIMITS)).replaces, false)
  })
})
