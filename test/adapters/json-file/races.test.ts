/** What others do between two calls of ours: each case is one in which a protocol with one rule less fails. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import type { FileSystem } from '../../../src/adapters/json-file/index.js'
import { nodeFileSystem } from '../../../src/adapters/json-file/index.js'
import { assertLoads, claimed, left, OTHER, revisions, right, some } from '../storageFixture.js'
import { folder, journalName, journalOf, journalsOf, next, placesOf, work } from './kit.js'

type Asynchronous = 'readdir' | 'link' | 'open' | 'read' | 'fsyncFolder' | 'rename'

/** A file system in which something happens once, before or after the first call that fits. */
const meanwhile = (
  call: Asynchronous,
  fits: (target: string | number) => boolean,
  happens: () => Promise<unknown>,
  when: 'before' | 'after' = 'before'
): FileSystem => {
  let pending = true
  const original = nodeFileSystem[call] as unknown as (...args: ReadonlyArray<unknown>) => Promise<unknown>
  const replaced = async (...args: ReadonlyArray<unknown>): Promise<unknown> => {
    const now = pending && fits(args[0] as string | number)
    if (now) pending = false
    if (now && when === 'before') await happens()
    const result = await original(...args)
    if (now && when === 'after') await happens()
    return result
  }
  return { ...nodeFileSystem, [call]: replaced }
}

const upTo = (n: number): ReadonlyArray<number> => Array.from({ length: n }, (_, index) => index)

const isFile =
  (name: string) =>
  (target: string | number): boolean =>
    basename(String(target)) === name

describe('while somebody claims', () => {
  test('what the former owner still has acknowledged before the new file has its name is what the claim finds', async () => {
    const root = folder()
    const former = next(root)
    const claim = await work(former, [0, 1])
    const fs = meanwhile(
      'link',
      () => true,
      () => right(former.save(claim, revisions(upTo(3))))
    )
    const storage = next(root, { fs })
    const { claim: second, stored } = await right(storage.claim('a', OTHER))
    assert.equal(some(stored).revision, 2)
    await right(storage.save(second, revisions(upTo(4))))
    await assertLoads(next(root), 'a', upTo(4))
  })

  test('somebody else takes the number: the slower one takes none, or the next', async () => {
    const root = folder()
    await work(next(root), [0])
    const fs = meanwhile(
      'link',
      () => true,
      () => claimed(next(root), 'a')
    )
    await left(next(root, { fs }).remove('a'), 'HeldBy')
    await assertLoads(next(root), 'a', [0])
  })
})
