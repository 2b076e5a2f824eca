/** Records which store call a task comes from, so that a failure can name it. */
import type { ArtifactStore } from '../../ports/ArtifactStore.js'
import type { CheckpointStorage } from '../../ports/CheckpointStorage.js'
import { inWords } from './difference.js'

const calls = new WeakMap<object, string>()

export const callOf = (task: unknown): string => (typeof task === 'function' && calls.get(task)) || 'it'

const named = <T>(call: string, task: T): T => {
  if (typeof task === 'function') calls.set(task, call)
  return task
}

export const withNames = (storage: CheckpointStorage): CheckpointStorage => ({
  claim: (runId, owner, options) => named(`claim(${text(runId)})`, storage.claim(runId, owner, options)),
  save: (claim, revisions) =>
    named(
      `save(claim ${claim.epoch} of ${text(claim.runId)}, revision${revisions.length === 1 ? '' : 's'} ${revisions.map(({ revision }) => revision).join(', ')})`,
      storage.save(claim, revisions)
    ),
  release: (claim) => named(`release(claim ${claim.epoch} of ${text(claim.runId)})`, storage.release(claim)),
  load: (runId) => named(`load(${text(runId)})`, storage.load(runId)),
  history: (runId) => named(`history(${text(runId)})`, storage.history(runId)),
  loadRevision: (runId, revision) =>
    named(`loadRevision(${text(runId)}, ${revision})`, storage.loadRevision(runId, revision)),
  list: (options) => named(`list(${options === undefined ? '' : inWords(options)})`, storage.list(options)),
  remove: (runId) => named(`remove(${text(runId)})`, storage.remove(runId))
})

export const withArtifactNames = (store: ArtifactStore): ArtifactStore => ({
  put: (runId, id, data) => named(`put(${text(runId)}, ${text(id)})`, store.put(runId, id, data)),
  get: (runId, id) => named(`get(${text(runId)}, ${text(id)})`, store.get(runId, id)),
  has: (runId, id) => named(`has(${text(runId)}, ${text(id)})`, store.has(runId, id)),
  remove: (runId, id) => named(`remove(${text(runId)}, ${text(id)})`, store.remove(runId, id)),
  list: (runId) => named(`list(${text(runId)})`, store.list(runId)),
  clear: (runId) => named(`clear(${text(runId)})`, store.clear(runId))
})

const text = (runId: string): string => JSON.stringify(runId)
