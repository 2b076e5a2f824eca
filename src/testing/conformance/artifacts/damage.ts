/** Cases about damaged artifacts. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ArtifactStore } from '../../../ports/ArtifactStore.js'
import { left, right } from '../fixtures.js'
import type { ArtifactCaseContext } from './ArtifactCase.js'
import { lawsNeeding } from './ArtifactCase.js'
import { assertGets, BINARY, putAll } from './contents.js'
import { assertSame } from '../difference.js'

const law = lawsNeeding('damage')

export const damageCases = [
  law(
    'AS-DAMAGE-01',
    'reading a damaged artifact fails with Corrupt, and other artifacts stay readable',
    async (context) => {
      const { store } = context
      await damaged(context)
      for (const one of [store, await context.reopen()]) {
        const { runId } = await left(one.get('a', 'x'), 'Corrupt')
        assertSame(runId, 'a', 'the run id in Corrupt')
        await assertGets(one, 'a', 'y', 'y')
        await assertGets(one, 'b', 'x', BINARY)
      }
    }
  ),

  law('AS-DAMAGE-02', 'a damaged artifact can be replaced, removed and cleared', async (context) => {
    for (const repair of [
      (store: ArtifactStore) => right(store.put('a', 'x', 'repaired')),
      (store: ArtifactStore) => right(store.remove('a', 'x')),
      (store: ArtifactStore) => right(store.clear('a'))
    ]) {
      await damaged(context)
      await repair(context.store)
      const found = await context.store.get('a', 'x')()
      assert.ok(
        E.isRight(found),
        'an artifact that was replaced, removed or cleared: expected it undamaged, found Corrupt'
      )
      if (O.isSome(found.right)) await assertGets(context.store, 'a', 'x', 'repaired')
    }
  })
]

const damaged = async ({ store, damage }: ArtifactCaseContext): Promise<void> => {
  await putAll(store, 'a', { x: BINARY, y: 'y' })
  await right(store.put('b', 'x', BINARY))
  await damage('a', 'x')
}
