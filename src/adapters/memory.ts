/**
 * Checkpoints and artifacts in memory: for tests, and for runs that need not outlive their process.
 *
 * It follows every law of the ports except durability. Checkpoints are held as JSON strings and artifacts as copies,
 * so what was saved and what is loaded share nothing.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as ArtifactId from '../domain/data/ArtifactId.js'
import { sha256 } from '../domain/data/Digest.js'
import type { Check } from '../domain/data/Options.js'
import { describeInvalid, fieldsOf, kindOf, oneOf } from '../domain/data/Options.js'
import * as RunId from '../domain/checkpoint/RunId.js'
import { sameFor } from '../domain/data/portMethods.js'
import type { ContinueHere } from '../domain/request/Pause.js'
import type { Request } from '../domain/request/Request.js'
import { byTime, isSameRequest, slotOf } from '../domain/request/Request.js'
import type { ArtifactError, ArtifactInfo, ArtifactStore } from '../ports/ArtifactStore.js'
import type {
  CheckpointStorage,
  Claim,
  Fenced,
  HeldBy,
  Holder,
  Revision,
  StorageError,
  Stored
} from '../ports/CheckpointStorage.js'
import type { Requests } from '../ports/Requests.js'
import { conflictOf } from '../domain/checkpoint/RevisionConflict.js'
import { changedSince } from '../domain/checkpoint/RunChanged.js'
import * as Segments from './memory/Segments.js'

// --- model

/** `by`: the store that granted the claim. */
interface HeldClaim {
  readonly epoch: number
  readonly holder: Holder
  readonly lost: AbortController
  readonly by: symbol
}

/** `epoch` outlives release and removal, so that an old claim stays superseded. */
interface Run {
  epoch: number
  held: HeldClaim | undefined
  segments: Segments.Segments
  /** Builds the summary of the newest revision. */
  summary: Revision['summary'] | undefined
}

interface StoredArtifact {
  readonly info: ArtifactInfo
  readonly bytes: Uint8Array
}

type Artifacts = Map<string, StoredArtifact>

/** The requests of one run, as JSON, by `slotOf`. */
type Inbox = Map<string, string>

/**
 * What a memory store holds, separate from the store, so that a test can hand it to a second one.
 *
 * @category model
 */
export interface MemoryData {
  /** @internal */
  readonly runs: Map<string, Run>
  /** @internal */
  readonly artifacts: Map<string, Artifacts>
  /** @internal */
  readonly inboxes: Map<string, Inbox>
  /** @internal The newest store with `formerOwners: 'dead'`: stores created before it count as killed. */
  lastStart: symbol
}

/**
 * `formerOwners`: the liveness of owners from earlier stores on the same data. `dead` (default): killed. `undecided`: like
 * owners on an unreachable host; they keep working and hold their runs until they release them or a claim with `takeOver`
 * supersedes them.
 *
 * @category model
 */
export interface MemoryOptions {
  readonly formerOwners?: 'dead' | 'undecided'
}

// --- constructors

/**
 * Data without any run.
 *
 * @category constructors
 */
export const memoryData = (): MemoryData => ({
  runs: new Map(),
  artifacts: new Map(),
  inboxes: new Map(),
  lastStart: Symbol()
})

/**
 * A store in memory. A new store on the data of an older one models a restart of the process: the older one counts as
 * killed, unless the options say otherwise. Its claims are lost at once (`lost` fires, saves fail with `Fenced`), and its runs
 * can be claimed.
 *
 * A save takes time in proportion to what it adds, however long the run is. Each whole checkpoint starts a new segment of history; a segment ends
 * when its changes outgrow its checkpoint and 1 MiB, and the newest 10 are kept. So a run's memory is bounded by the size of its checkpoint,
 * however many revisions it has.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { memoryData, memoryStorage } from 'dogear/memory'
 * import assert from 'node:assert/strict'
 *
 * const data = memoryData()
 * const killed = memoryStorage(data)
 * const first = await killed.claim('release-42', { host: 'build-1', pid: 100 })()
 * assert.ok(E.isRight(first))
 *
 * const refused = await killed.claim('release-42', { host: 'build-1', pid: 200 })()
 * assert.equal(E.isLeft(refused) && refused.left._tag, 'HeldBy')
 *
 * const restarted = memoryStorage(data)
 * assert.ok(first.right.claim.lost.aborted)
 * assert.ok(E.isRight(await restarted.claim('release-42', { host: 'build-1', pid: 300 })()))
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { memoryData, memoryStorage } from 'dogear/memory'
 * import assert from 'node:assert/strict'
 *
 * const data = memoryData()
 * const first = await memoryStorage(data).claim('release-42', { host: 'build-1', pid: 100 })()
 * assert.ok(E.isRight(first))
 *
 * const other = memoryStorage(data, { formerOwners: 'undecided' })
 * const refused = await other.claim('release-42', { host: 'build-2', pid: 100 })()
 * assert.ok(E.isLeft(refused) && refused.left._tag === 'HeldBy')
 * assert.equal(refused.left.holder.liveness, 'undecided')
 * assert.ok(E.isRight(await other.claim('release-42', { host: 'build-2', pid: 100 }, { takeOver: true })()))
 * assert.ok(first.right.claim.lost.aborted)
 *
 * @category constructors
 */
export const memoryStorage = (data: MemoryData = memoryData(), options: MemoryOptions = {}): CheckpointStorage => {
  const invalid = notData('memoryStorage', data) ?? describeInvalid('memoryStorage', options, OPTIONS)
  return invalid === undefined ? storageOn(data, options) : refusing(invalid, storageOn(memoryData(), {}))
}

const notData = (call: string, data: unknown): string | undefined =>
  fieldsOf(data)['runs'] instanceof Map
    ? undefined
    : `${call}: the data must be made by memoryData(), not ${kindOf(data)}`

/** A port of this shape whose calls all fail with the reason. */
const refusing = <Port extends object>(invalid: string, port: Port): Port => {
  const where = 'the store in memory'
  const cause = new Error(invalid)
  const error = { _tag: 'ReadFailed', where, operation: 'open', code: 'INVALID_OPTIONS', cause } as const
  return sameFor(Object.keys(port), () => TE.left(error)) as unknown as Port
}

const OPTIONS: Readonly<Record<keyof MemoryOptions, Check>> = { formerOwners: oneOf('dead', 'undecided') }

const storageOn = (data: MemoryData, { formerOwners = 'dead' }: MemoryOptions): CheckpointStorage => {
  const self = Symbol()
  if (formerOwners === 'dead') {
    data.lastStart = self
    data.runs.forEach((run, runId) => evict(run, runId))
  }
  const { lastStart } = data
  /** Returns a copy, because callers may change it. */
  const holderOf = ({ held }: Run): Holder | undefined => {
    if (held === undefined) return undefined
    return held.by === self || formerOwners === 'dead' ? { ...held.holder } : { ...held.holder, liveness: 'undecided' }
  }

  const on = <A>(runId: string, act: (run: Run) => E.Either<StorageError, A>): TE.TaskEither<StorageError, A> =>
    TE.fromIOEither(() => E.chain(() => act(data.runs.get(runId) ?? newRun()))(RunId.parse(runId)))

  return {
    claim: (runId, owner, { takeOver = false } = {}) =>
      on(runId, (run) => {
        const former = holderOf(run)
        if (former !== undefined && !(takeOver && former.liveness === 'undecided')) return E.left(heldBy(runId, former))
        if (former !== undefined) evict(run, runId, O.some(run.epoch + 1))
        const found = stored(run)
        const lost = new AbortController()
        const holder: Holder = { host: owner.host, pid: owner.pid, since: new Date().toISOString(), liveness: 'alive' }
        run.epoch += 1
        run.held = { epoch: run.epoch, holder, lost, by: self }
        data.runs.set(runId, run)
        // A killed store still grants claims, and loses them at once.
        if (lastStart !== data.lastStart) evict(run, runId)
        return E.right({ claim: { runId, epoch: run.epoch, lost: lost.signal }, stored: found })
      }),

    save: (claim, revisions) =>
      on(claim.runId, (run) => {
        if (!isCurrent(run, claim)) return E.left(superseded(run, claim))
        const conflict = conflictOf(claim.runId, Segments.newestRevision(run.segments), revisions)
        if (conflict !== undefined) return E.left(conflict)
        run.segments = Segments.append(run.segments, revisions)
        run.summary = (revisions.at(-1) as Revision).summary
        return E.right(undefined)
      }),

    release: (claim) =>
      on(claim.runId, (run) => {
        if (isCurrent(run, claim)) run.held = undefined
        return E.right(undefined)
      }),

    load: (runId) => on(runId, (run) => E.right(stored(run, holderOf(run)))),

    history: (runId) => on(runId, (run) => E.right(Segments.entries(run.segments))),

    loadRevision: (runId, revision) => on(runId, (run) => E.right(stored(run, holderOf(run), revision))),

    list: ({ after = '', limit } = {}) =>
      TE.fromIO(() =>
        [...data.runs]
          .filter(([runId, { segments }]) => segments.length > 0 && runId > after)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .slice(0, limit)
          .map(([runId, run]) => {
            const summary = run.summary?.()
            const heldBy = O.fromNullable(holderOf(run))
            return summary === undefined ? { runId } : { runId, summary: { ...summary, heldBy } }
          })
      ),

    remove: (runId, options = {}) =>
      on(runId, (run) => {
        const holder = holderOf(run)
        if (holder !== undefined) return E.left(heldBy(runId, holder))
        const changed = changedSince(runId, options, Segments.newest(run.segments))
        if (changed !== undefined) return E.left(changed)
        run.segments = []
        data.artifacts.delete(runId)
        data.inboxes.delete(runId)
        return E.right(undefined)
      })
  }
}

/**
 * Artifacts in memory. On the data of a memory store they belong to its runs and are deleted with them.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import * as O from 'fp-ts/lib/Option.js'
 * import { memoryArtifacts } from 'dogear/memory'
 * import assert from 'node:assert/strict'
 *
 * const artifacts = memoryArtifacts()
 * const put = await artifacts.put('release-42', 'reports/unit.txt', '12 passed')()
 * assert.equal(E.isRight(put) && put.right.size, 9)
 *
 * const found = await artifacts.get('release-42', 'reports/unit.txt')()
 * assert.ok(E.isRight(found) && O.isSome(found.right))
 * assert.equal(Buffer.from(found.right.value).toString(), '12 passed')
 *
 * @category constructors
 */
export const memoryArtifacts = (data: MemoryData = memoryData()): ArtifactStore => {
  const invalid = notData('memoryArtifacts', data)
  return invalid === undefined ? artifactsOn(data) : refusing(invalid, artifactsOn(memoryData()))
}

const artifactsOn = (data: MemoryData): ArtifactStore => {
  const on = <A>(runId: string, act: (run: Artifacts) => A): TE.TaskEither<ArtifactError, A> =>
    TE.fromIOEither(() =>
      E.map(() => act(data.artifacts.get(runId) ?? new Map<string, StoredArtifact>()))(RunId.parse(runId))
    )
  const at = <A>(runId: string, id: string, act: (run: Artifacts) => A): TE.TaskEither<ArtifactError, A> =>
    pipe(
      TE.fromEither<ArtifactError, string>(ArtifactId.parse(id)),
      TE.chain(() => on(runId, act))
    )

  return {
    put: (runId, id, content) =>
      at(runId, id, (run) => {
        const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : new Uint8Array(content)
        const info = { id, size: bytes.length, sha256: sha256(bytes) }
        data.artifacts.set(runId, run.set(id, { info, bytes }))
        return { ...info }
      }),
    get: (runId, id) =>
      at(runId, id, (run) =>
        pipe(
          O.fromNullable(run.get(id)),
          O.map(({ bytes }) => new Uint8Array(bytes))
        )
      ),
    has: (runId, id) => at(runId, id, (run) => run.has(id)),
    remove: (runId, id) => at(runId, id, (run) => void run.delete(id)),
    list: (runId) =>
      on(runId, (run) => [...run.values()].map(({ info }) => ({ ...info })).sort((a, b) => (a.id < b.id ? -1 : 1))),
    clear: (runId) => on(runId, (run) => [...run.keys()].forEach((id) => ArtifactId.isReserved(id) || run.delete(id)))
  }
}

/**
 * Requests and the pointer in memory, for runs that are paused or cancelled from their own process. On the data of a
 * memory store they are deleted with their run.
 *
 * @example
 * import { memoryRequests } from 'dogear/memory'
 * import assert from 'node:assert/strict'
 *
 * const requests = memoryRequests()
 * assert.equal(requests.isAny('release-42'), false)
 *
 * @category constructors
 */
export const memoryRequests = (data: MemoryData = memoryData()): Requests => {
  const invalid = notData('memoryRequests', data)
  if (invalid === undefined) return requestsOn(data)
  const requests = refusing(invalid, requestsOn(memoryData()))
  // `isAny` claims that there are requests, so that a run reads them and fails with this refusal.
  return { ...requests, isAny: () => true, pointer: requests.unpoint('') as unknown as Requests['pointer'] }
}

const requestsOn = ({ inboxes }: MemoryData): Requests => {
  const all = (runId: string): ReadonlyArray<Request> =>
    [...(inboxes.get(runId)?.values() ?? [])].map((text) => JSON.parse(text) as Request)
  const remove = (runId: string, matches: (request: Request) => boolean): void => {
    const inbox = inboxes.get(runId)
    for (const request of all(runId)) if (matches(request)) inbox?.delete(slotOf(request))
    if (inbox?.size === 0) inboxes.delete(runId)
  }
  let pointer: O.Option<ContinueHere> = O.none
  return {
    leave: (request) => () => {
      const { runId } = request
      const inbox = inboxes.get(runId) ?? new Map<string, string>()
      const slot = slotOf(request)
      if (request._tag === 'Answer' && inbox.has(slot))
        return Promise.resolve(E.left({ _tag: 'AlreadyAnswered', runId, unit: request.unit }))
      inbox.set(slot, JSON.stringify(request))
      inboxes.set(runId, inbox)
      return Promise.resolve(E.right(undefined))
    },
    isAny: (runId) => inboxes.has(runId),
    list: (runId) => TE.fromIO(() => [...all(runId)].sort(byTime)),
    withdraw: (request) => TE.fromIO(() => remove(request.runId, (one) => isSameRequest(one, request))),
    clearPause: (runId) => TE.fromIO(() => remove(runId, ({ _tag }) => _tag === 'Pause')),
    point: (to) =>
      TE.fromIO(() => {
        pointer = O.some(to)
        return 'memory'
      }),
    pointer: TE.fromIO(() => pointer),
    unpoint: (runId) =>
      TE.fromIO(() => {
        if (O.isSome(pointer) && pointer.value.runId === runId) pointer = O.none
      })
  }
}

const newRun = (): Run => ({ epoch: 0, held: undefined, segments: [], summary: undefined })

// --- who writes

const isCurrent = (run: Run, claim: Claim): boolean => run.held?.epoch === claim.epoch

/** Ends the current claim, if any, and fires its `lost` signal. */
const evict = (run: Run, runId: string, by: O.Option<number> = O.none): void => {
  const held = run.held
  run.held = undefined
  held?.lost.abort(fenced(runId, held.epoch, by))
}

const heldBy = (runId: string, holder: Holder): HeldBy => ({ _tag: 'HeldBy', runId, holder })

const fenced = (runId: string, epoch: number, by: O.Option<number>): Fenced => ({ _tag: 'Fenced', runId, epoch, by })

const superseded = (run: Run, { runId, epoch }: Claim): Fenced =>
  fenced(runId, epoch, run.epoch > epoch ? O.some(run.epoch) : O.none)

/** What is stored of a run at a revision, by default the newest. */
const stored = ({ segments }: Run, holder?: Holder, revision = Segments.newestRevision(segments)): O.Option<Stored> =>
  O.map((content: Omit<Stored, 'heldBy'>) => ({ ...content, heldBy: O.fromNullable(holder) }))(
    Segments.contentOf(segments, revision)
  )
