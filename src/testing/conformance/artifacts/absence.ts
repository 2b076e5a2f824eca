/** Cases about missing artifacts. */
import { right } from '../fixtures.js'
import type { ArtifactCase } from './ArtifactCase.js'
import { artifactCase } from './ArtifactCase.js'
import { assertGets, assertLists, assertNone, putAll } from './contents.js'

export const absenceCases: ReadonlyArray<ArtifactCase> = [
  artifactCase('AS-NONE-01', 'reading a missing artifact returns None, and no error', async ({ store }) => {
    await assertNone(store, 'a', 'x')
    await assertLists(store, 'a', [])
    await right(store.put('a', 'x', 'x'))
    await assertNone(store, 'a', 'y')
    await assertNone(store, 'b', 'x')
  }),

  artifactCase('AS-NONE-02', 'removing a missing artifact does nothing', async ({ store }) => {
    await right(store.remove('a', 'x'))
    await right(store.clear('a'))
    await right(store.put('a', 'x', 'x'))
    await right(store.remove('a', 'y'))
    await assertGets(store, 'a', 'x', 'x')
  }),

  artifactCase(
    'AS-REMOVE-01',
    'a removed artifact is missing in every instance and can be put again',
    async ({ store, reopen }) => {
      await putAll(store, 'a', [
        ['x', 'old'],
        ['y', 'y']
      ])
      await right(store.remove('a', 'x'))
      await right(store.remove('a', 'x'))
      const next = await reopen()
      await assertNone(next, 'a', 'x')
      await assertLists(next, 'a', [['y', 'y']])
      await right(next.put('a', 'x', 'new'))
      await assertGets(next, 'a', 'x', 'new')
    }
  )
]
