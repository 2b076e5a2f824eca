/** Cases about run ids. */
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { StorageError } from '../../../ports/CheckpointStorage.js'
import { law } from '../Case.js'
import { assertSame } from '../difference.js'
import { left, OWNER, revisions } from '../fixtures.js'

// prettier-ignore
const INVALID = [
  '', '.', '..', '/x', 'a/b', 'a/../../b', '../a', 'a\\b', 'é', ' a', 'a ', '-a', '_a', '.a', 'a.', 'a\0', 'a\n',
  'con', 'con.txt', 'nul', 'com1', 'lpt9.log', '%2e%2e', 'C:', 'a'.repeat(129)
]

/** Look-alikes of `a`, `fi`, `release` and `s`, and a decomposed `é`. */
const LOOK_ALIKES = ['e\u0301', '\uff41', 'releas\uff45', '\u24d0', '\u017f', '\ufb01', 'a\u200b', '\u0430']

const assertInvalid = async (task: TaskEither<StorageError, unknown>, runId: string): Promise<void> =>
  assertSame((await left(task, 'InvalidRunId')).runId, runId, 'the run id in InvalidRunId')

export const idCases = [
  law('CS-ID-01', 'every function refuses an invalid run id and reports it', async ({ storage }) => {
    const lost = new AbortController().signal
    for (const runId of INVALID) {
      await assertInvalid(storage.raw.claim(runId, OWNER), runId)
      await assertInvalid(storage.raw.save({ runId, epoch: 1, lost }, revisions([1])), runId)
      await assertInvalid(storage.raw.load(runId), runId)
      await assertInvalid(storage.raw.history(runId), runId)
      await assertInvalid(storage.raw.loadRevision(runId, 0), runId)
      await assertInvalid(storage.raw.remove(runId), runId)
    }
    await storage.assertLists([])
  }),

  law('CS-ID-02', 'an id in capitals is refused and does not match the one in lower case', async ({ storage }) => {
    await storage.seed('release', [1])
    for (const runId of ['Release', 'RELEASE', 'releasE']) {
      await assertInvalid(storage.raw.load(runId), runId)
      await assertInvalid(storage.raw.claim(runId, OWNER), runId)
      await assertInvalid(storage.raw.remove(runId), runId)
    }
    await storage.assertLoads('release', [1])
  }),

  law(
    'CS-ID-03',
    'the longest run id, and ids that resemble internal names of the store, work like any other',
    async ({ storage, reopen }) => {
      const ids = ['a'.repeat(128), 'checkpoint.json', 'history', 'lock', 'runs', '0', 'constructor', 'x.tmp', 'a.lock']
      for (const runId of ids) await storage.seed(runId, [runId])
      const next = await reopen()
      for (const runId of ids) await next.assertLoads(runId, [runId])
      await next.assertLists([...ids].sort())
    }
  ),

  law('CS-ID-04', 'runs whose ids share a prefix are separate', async ({ storage }) => {
    const ids = ['run1', 'run10', 'run1-b', 'run1.b', 'run1_b', 'run', 'r']
    for (const runId of ids) await storage.seed(runId, [runId, 1])
    await storage.remove('run1')
    await storage.claim('run10')
    await storage.assertLoads('run1', [])
    for (const runId of ids.slice(1)) await storage.assertLoads(runId, [runId, 1])
    await storage.claim('run')
    await storage.assertLists(ids.slice(1).sort())
  }),

  law('CS-ID-05', 'long ids that differ in their last character are separate', async ({ storage, reopen }) => {
    const ids = ['x', 'y'].map((end) => 'a'.repeat(127) + end)
    for (const runId of ids) await storage.seed(runId, [runId.at(-1) ?? ''])
    const next = await reopen()
    for (const runId of ids) await next.assertLoads(runId, [runId.at(-1) ?? ''])
  }),

  law('CS-ID-06', 'ten runs written concurrently are all complete', async ({ storage, reopen }) => {
    const ids = Array.from({ length: 10 }, (_, n) => `run-${n}`)
    await Promise.all(ids.map((runId) => storage.seed(runId, [runId, 1, 2, 3])))
    const next = await reopen()
    for (const runId of ids) await next.assertLoads(runId, [runId, 1, 2, 3])
  }),

  law('CS-ID-07', 'an id is not a pattern: wildcard characters match only themselves', async ({ storage }) => {
    const ids = ['axb', 'a.b', 'a_b', 'a-b', 'ab']
    for (const runId of ids) await storage.seed(runId, [runId])
    for (const runId of ['a.b', 'a_b']) {
      await storage.remove(runId)
      await storage.assertLoads(runId, [])
    }
    for (const runId of ['axb', 'a-b', 'ab']) await storage.assertLoads(runId, [runId])
    await storage.begin('a.b', ['new'])
    await storage.claim('axb')
    await storage.assertLists(['a-b', 'a.b', 'ab', 'axb'])
  }),

  law(
    'CS-ID-08',
    'the store never confuses a run with the internal data of another run',
    async ({ storage, reopen }) => {
      const ends = 'lock json jsonl tmp bak claim epoch history journal meta owner log 0'.split(' ')
      const ids = ['a', ...ends.map((end) => `a.${end}`), 'a-lock', 'a_lock', 'a-history', 'a_history', 'a-1', 'a_2']
      for (const runId of ids) await storage.seed(runId, [runId])
      const claim = await storage.begin('a', ['a', 'more'])
      await claim.release()
      const next = await reopen()
      for (const runId of ids.slice(1)) await next.assertLoads(runId, [runId])
      await next.assertLoads('a', ['a', 'more'])
      await next.remove('a')
      for (const runId of ids.slice(1)) await next.assertLoads(runId, [runId])
      await next.assertLists(ids.slice(1).sort())
    }
  ),

  law(
    'CS-ID-09',
    'an id is never normalized: a look-alike of another id is refused and reported verbatim',
    async ({ storage }) => {
      const ids = ['a', 'fi', 'release', 's']
      for (const runId of ids) await storage.seed(runId, [runId])
      for (const runId of LOOK_ALIKES) {
        await assertInvalid(storage.raw.load(runId), runId)
        await assertInvalid(storage.raw.claim(runId, OWNER), runId)
        await assertInvalid(storage.raw.remove(runId), runId)
      }
      await storage.assertLists(ids)
    }
  )
]
