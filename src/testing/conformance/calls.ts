/** Which call of a store a task comes from, so that a failure can name it. */
import type { CheckpointStorage } from '../../ports/CheckpointStorage.js'

const calls = new WeakMap<object, string>()

/** The call that a task is of. */
export const callOf = (task: unknown): string => (typeof task === 'function' && calls.get(task)) || 'it'

const named = <T>(call: string, task: T): T => {
  if (typeof task === 'function') calls.set(task, call)
  return task
}

/** The same store, whose tasks can be named. */
export const withNames = (storage: CheckpointStorage): CheckpointStorage => ({
  claim: (runId, owner) => named(`claim(${text(runId)})`, storage.claim(runId, owner)),
  save: (claim, revisions) =>
    named(
      `save(claim ${claim.epoch} of ${text(claim.runId)}, revision ${revisions.map(({ revision }) => revision).join(', ')})`,
      storage.save(claim, revisions)
    ),
  release: (claim) => named(`release(claim ${claim.epoch} of ${text(claim.runId)})`, storage.release(claim)),
  load: (runId) => named(`load(${text(runId)})`, storage.load(runId)),
  history: (runId) => named(`history(${text(runId)})`, storage.history(runId)),
  loadRevision: (runId, revision) =>
    named(`loadRevision(${text(runId)}, ${revision})`, storage.loadRevision(runId, revision)),
  list: () => named('list()', storage.list()),
  remove: (runId) => named(`remove(${text(runId)})`, storage.remove(runId))
})

const text = (runId: string): string => JSON.stringify(runId)
