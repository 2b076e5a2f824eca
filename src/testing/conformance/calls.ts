/** Records which store call a task comes from and which calls are in flight, so that a failure can name them. */
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ArtifactStore } from '../../ports/ArtifactStore.js'
import type { CheckpointStorage } from '../../ports/CheckpointStorage.js'
import { inWords } from './difference.js'

const calls = new WeakMap<object, string>()

/** What a store returned in place of a task, by the object that stands for it. */
const returned = new WeakMap<object, unknown>()

export const returnedBy = (task: object): unknown => (returned.has(task) ? returned.get(task) : task)

export const callOf = (task: unknown): string => (isObject(task) && calls.get(task)) || 'it'

const isObject = (value: unknown): value is object => Object(value) === value

/** The store calls in flight. */
export type InFlight = Set<{ readonly call: string }>

/** Stores may be written in plain JavaScript, so `task` may be anything. */
const namedIn =
  (inFlight: InFlight) =>
  <E, A>(call: string, task: TaskEither<E, A>): TaskEither<E, A> => {
    if (typeof task !== 'function') {
      const given: unknown = task
      const named = isObject(given) ? given : {}
      if (named !== given) returned.set(named, given)
      calls.set(named, call)
      return named as typeof task
    }
    const watched: TaskEither<E, A> = () => {
      const result: unknown = task()
      // Any other thenable could do its work again.
      if (result instanceof Promise) {
        const entry = { call }
        const end = (): void => void inFlight.delete(entry)
        inFlight.add(entry)
        result.then(end, end)
      }
      return result as ReturnType<typeof task>
    }
    calls.set(watched, call)
    return watched
  }

export const withNames = (storage: CheckpointStorage, inFlight: InFlight): CheckpointStorage => {
  const named = namedIn(inFlight)
  return {
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
    remove: (runId, options) =>
      named(
        `remove(${text(runId)}${options === undefined ? '' : `, ${inWords(options)}`})`,
        storage.remove(runId, options)
      )
  }
}

export const withArtifactNames = (store: ArtifactStore, inFlight: InFlight): ArtifactStore => {
  const named = namedIn(inFlight)
  return {
    put: (runId, id, data) => named(`put(${text(runId)}, ${text(id)})`, store.put(runId, id, data)),
    get: (runId, id) => named(`get(${text(runId)}, ${text(id)})`, store.get(runId, id)),
    has: (runId, id) => named(`has(${text(runId)}, ${text(id)})`, store.has(runId, id)),
    remove: (runId, id) => named(`remove(${text(runId)}, ${text(id)})`, store.remove(runId, id)),
    list: (runId) => named(`list(${text(runId)})`, store.list(runId)),
    clear: (runId) => named(`clear(${text(runId)})`, store.clear(runId))
  }
}

const text = (runId: string): string => JSON.stringify(runId)
