/** Cases about artifacts and their runs. */
import type { ArtifactInfo } from '../../../ports/ArtifactStore.js'
import { right } from '../fixtures.js'
import { law } from './ArtifactCase.js'
import { assertGets, assertLists, assertNone, BINARY, named, putAll } from './contents.js'

export const runCases = [
  law('AS-RUN-01', 'artifacts of different runs are separate', async ({ store, reopen }) => {
    const runs = ['a', 'ab', 'a-b', 'a.b', 'b']
    for (const runId of runs) await putAll(store, runId, { x: runId, [`only/${runId}`]: runId })
    await right(store.remove('ab', 'x'))
    await right(store.clear('b'))
    const next = await reopen()
    for (const runId of ['a', 'a-b', 'a.b']) await assertLists(next, runId, { [`only/${runId}`]: runId, x: runId })
    await assertLists(next, 'ab', { 'only/ab': 'ab' })
    await assertLists(next, 'b', {})
  }),

  law('AS-LIST-01', 'the list is sorted by id and has sizes and digests', async ({ store }) => {
    const contents = named(['b', 'a/2', 'a/10', 'a', 'é', 'B', '😀', '～', 'z'])
    await putAll(store, 'a', contents)
    await assertLists(store, 'a', contents)
  }),

  law('AS-LIST-02', 'changing a list does not affect the store', async ({ store }) => {
    await putAll(store, 'a', { x: 'x', y: 'y' })
    const taken = (await right(store.list('a'))) as Array<ArtifactInfo>
    for (const one of taken) Reflect.set(one, 'size', -1)
    if (!Object.isFrozen(taken)) taken.pop()
    await assertLists(store, 'a', { x: 'x', y: 'y' })
  }),

  law(
    'AS-CLEAR-01',
    'clearing deletes all artifacts of steps and keeps those with reserved ids',
    async ({ store, reopen }) => {
      const own = `_own/${'0'.repeat(64)}`
      const long = `_${'語'.repeat(300)}`
      const reserved = { [own]: 'kept', [long]: 'kept' }
      await putAll(store, 'a', { x: 'x', 'own/x': 'x', ...reserved, 'y/_own/z': 'y', ['語'.repeat(300)]: 'x' })
      await right(store.clear('a'))
      const next = await reopen()
      await assertLists(next, 'a', reserved)
      await assertNone(next, 'a', 'x')
      await assertGets(next, 'a', own, 'kept')
    }
  ),

  law('AS-OPEN-01', 'a new instance finds every artifact', async ({ store, reopen }) => {
    await putAll(store, 'a', { x: BINARY, 'y/z': 'text' })
    await assertGets(store, 'a', 'x', BINARY)
    const next = await reopen()
    await assertGets(next, 'a', 'x', BINARY)
    await assertGets(next, 'a', 'y/z', 'text')
    await right(next.put('a', 'x', 'newer'))
    await assertGets(store, 'a', 'x', 'newer')
    await assertLists(await reopen(), 'a', { x: 'newer', 'y/z': 'text' })
  })
]
