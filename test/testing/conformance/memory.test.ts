import { describe, test } from 'vitest'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { MemoryData } from '../../../src/adapters/memory.js'
import { memoryData, memoryStorage } from '../../../src/adapters/memory.js'
import type { CheckpointStorage } from '../../../src/ports/CheckpointStorage.js'
import type { Gate, StorageSpec } from '../../../src/testing/index.js'
import { conformanceTests, stallGate } from '../../../src/testing/index.js'
import { waitingTogether } from './waitingTogether.js'

/** Each function of the memory store is one operation, which waits at the gate. */
const behind = (storage: CheckpointStorage, { pass }: Gate): CheckpointStorage => {
  const late =
    <E, A>(task: TaskEither<E, A>): TaskEither<E, A> =>
    () =>
      pass().then(task)
  return {
    claim: (runId, owner, options) => late(storage.claim(runId, owner, options)),
    save: (claim, revisions) => late(storage.save(claim, revisions)),
    release: (claim) => late(storage.release(claim)),
    load: (runId) => late(storage.load(runId)),
    history: (runId) => late(storage.history(runId)),
    loadRevision: (runId, revision) => late(storage.loadRevision(runId, revision)),
    list: () => late(storage.list()),
    remove: (runId, options) => late(storage.remove(runId, options))
  }
}

const memorySpec: StorageSpec<MemoryData> = {
  name: 'the memory store',
  create: () => Promise.resolve(memoryData()),
  reopen: (data) => Promise.resolve(memoryStorage(data)),
  undecided: (data) => Promise.resolve(memoryStorage(data, { formerOwners: 'undecided' })),
  stall: (data) => {
    const gate = stallGate()
    return Promise.resolve({ ...gate, storage: behind(memoryStorage(data), gate) })
  },
  capabilities: ['history', 'large', 'watch', 'stalls', 'takeOver']
}

conformanceTests({ describe, test: waitingTogether(test) }, memorySpec)
