/** The revisions that cases save, a client of the store under test, and the checks of what a store returns. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Change } from '../../domain/change/Change.js'
import type { Summary } from '../../domain/checkpoint/Summary.js'
import type { Json } from '../../domain/data/Json.js'
import type {
  CheckpointStorage,
  Claim,
  Claimed,
  ClaimOptions,
  Holder,
  ListOptions,
  Owner,
  RemoveOptions,
  Revision,
  Stored
} from '../../ports/CheckpointStorage.js'
import { callOf } from './checkedStore.js'
import { assertSame, inWords } from './difference.js'

type Payloads = ReadonlyArray<Json>

export const OWNER = { host: 'build-1', pid: 100 }
export const OTHER = { host: 'build-2', pid: 200 }

/** The owner without the other fields of a holder. */
export const asOwner = ({ host, pid }: Owner): Owner => ({ host, pid })

/** The time of each change. */
export const AT = '2026-01-02T03:04:05.678Z'

/** A time after {@link AT}. */
export const LATER = '2026-01-02T03:04:06.789Z'

const change = (payload: Json): Change => ({
  _tag: 'UnitCompleted',
  at: AT,
  unit: 'pack',
  output: payload,
  captured: [],
  attempts: 1,
  startedAt: '2026-01-02T03:04:05.000Z',
  durationMillis: 678,
  evidence: []
})

/** A checkpoint lists the payload of each revision, so that a mixture of two histories differs from both. */
const checkpoint = (payloads: Payloads): Json => ({ format: 1, revision: payloads.length - 1, payloads })

/** The last `count` of the revisions with these payloads. */
export const revisions = (payloads: Payloads, count = 1): ReadonlyNonEmptyArray<Revision> => {
  const first = payloads.length - count
  const made = payloads.slice(first).map((payload, index) => ({
    revision: first + index,
    change: change(payload),
    checkpoint: () => checkpoint(payloads.slice(0, first + index + 1)),
    summary: () => summary(payloads.slice(0, first + index + 1))
  }))
  return made as unknown as ReadonlyNonEmptyArray<Revision>
}

/** The removal option that names this revision as the newest. */
export const newest = (revision: number, at = AT): RemoveOptions => ({ newest: { revision, at } })

/** The newest revision, with this time of its change. */
export const revisionsAt = (at: string, payloads: Payloads): ReadonlyNonEmptyArray<Revision> => {
  const [one] = revisions(payloads)
  return [{ ...one, change: { ...one.change, at } }]
}

const STATUSES = ['queued', 'interrupted', 'failed', 'paused', 'completed'] as const

/** The summary of a run with these payloads. */
export const summary = (payloads: Payloads): Summary => ({
  revision: payloads.length - 1,
  workflow: { name: `kit of ${payloads.length}`, ...(payloads.length % 2 === 0 ? { path: 'kit.yaml' } : {}) },
  status: STATUSES[payloads.length % STATUSES.length] ?? 'queued',
  heldStatus: 'running',
  steps: { completed: payloads.length, total: 100 },
  createdAt: '2026-01-02T03:04:05.600Z',
  updatedAt: AT
})

/** The listed ids. */
export const idsIn = async (storage: CheckpointStorage, options?: ListOptions): Promise<ReadonlyArray<string>> =>
  (await right(storage.list(options))).map(({ runId }) => runId)

/** Asserts that the stored run has these payloads and was found exactly. */
export const assertHolds = (stored: Stored, payloads: Payloads, what = 'the stored run'): void => {
  assertSame(stored.found, { _tag: 'Exact' }, `\`found\` of ${what}`)
  assertCarries(stored, payloads, what)
}

/** Asserts that the content of the stored run is that of these payloads, however it was found. */
export const assertCarries = (stored: Stored, payloads: Payloads, what = 'the stored run'): void => {
  assertSame(stored.revision, payloads.length - 1, `the revision of ${what}`)
  const based = payloads.length - stored.changes.length
  assertSame(stored.checkpoint, checkpoint(payloads.slice(0, based)), `the checkpoint of ${what}`)
  assertSame(stored.changes, payloads.slice(based).map(change), `the changes of ${what}`)
}

/** Asserts that these payloads are stored, or nothing if there are none. */
export const assertStored = (stored: O.Option<Stored>, payloads: Payloads, what: string): void => {
  if (payloads.length === 0) assertSame(stored, O.none, what)
  else assertHolds(some(stored, what), payloads, what)
}

export const assertLoads = async (
  storage: CheckpointStorage,
  runId: string,
  payloads: Payloads,
  what = `the run ${runId}, as loaded`
): Promise<void> => {
  assertStored(await right(storage.load(runId)), payloads, what)
}

interface Tagged {
  readonly _tag: string
}

export const right = async <A>(task: TaskEither<Tagged, A>): Promise<A> => {
  const result = await task()
  return E.isRight(result)
    ? result.right
    : assert.fail(`${callOf(task)}: expected success, found ${inWords(result.left)}`)
}

export const left = async <Failure extends Tagged, Tag extends Failure['_tag']>(
  task: TaskEither<Failure, unknown>,
  tag: Tag,
  what = callOf(task)
): Promise<Extract<Failure, { _tag: Tag }>> => {
  const result = await task()
  if (E.isRight(result)) {
    const given = result.right === undefined ? '' : ` with ${inWords(result.right)}`
    return assert.fail(`${what}: expected ${tag}, found success${given}`)
  }
  if (result.left._tag !== tag) assert.fail(`${what}: expected ${tag}, found ${inWords(result.left)}`)
  return result.left as Extract<Failure, { _tag: Tag }>
}

export const some = <A>(option: O.Option<A>, what = 'the stored run'): A =>
  O.isSome(option) ? option.value : assert.fail(`${what}: expected a value, found none`)

export const assertHigherEpoch = ({ epoch }: Claim, than: number): void =>
  assert.ok(epoch > than, `the epoch of a claim: expected one above ${than}, found ${epoch}`)

export const claimed = async (storage: CheckpointStorage, runId: string, owner = OWNER): Promise<Claim> =>
  (await right(storage.claim(runId, owner))).claim

export const seed = async (storage: CheckpointStorage, runId: string, payloads: Payloads): Promise<void> => {
  const claim = await claimed(storage, runId)
  for (let n = 1; n <= payloads.length; n++) await right(storage.save(claim, revisions(payloads.slice(0, n))))
  await right(storage.release(claim))
}

export const upTo = (n: number): ReadonlyArray<number> => Array.from({ length: n }, (_, index) => index)

export const until = async (
  isSo: () => boolean | Promise<boolean>,
  limitMillis: number,
  what: string
): Promise<void> => {
  const end = Date.now() + limitMillis
  while (!(await isSo())) {
    assert.ok(Date.now() < end, `${what}: expected within ${limitMillis} ms, found not yet`)
    await pause(5)
  }
}

export const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** `raw`: the store itself, for calls that may fail. */
export type Client = ReturnType<typeof clientOf>

export const clientOf = (raw: CheckpointStorage) => {
  const claim = async (runId: string, owner: Owner = OWNER, options?: ClaimOptions): Promise<ClientClaim> =>
    claimOf(raw, await right(raw.claim(runId, owner, options)))
  const stored = async (runId: string, what?: string): Promise<Stored> => some(await right(raw.load(runId)), what)
  /** Returns the revisions of the history, newest first. */
  const kept = async (runId: string): Promise<ReadonlyArray<number>> =>
    (await right(raw.history(runId))).map(({ revision }) => revision)
  return {
    raw,
    claim,
    /** Returns the task of a claim, without asserting that it succeeds. */
    claiming: (runId: string, owner: Owner = OWNER, options?: ClaimOptions) =>
      TE.map((claimed: Claimed) => claimOf(raw, claimed))(raw.claim(runId, owner, options)),
    /** Claims a run and saves the last of these payloads. */
    begin: async (runId: string, payloads: Payloads, owner?: Owner): Promise<ClientClaim> => {
      const begun = await claim(runId, owner)
      await begun.save(payloads)
      return begun
    },
    seed: (runId: string, payloads: Payloads) => seed(raw, runId, payloads),
    remove: (runId: string, options?: RemoveOptions) => right(raw.remove(runId, options)),
    load: (runId: string) => right(raw.load(runId)),
    stored,
    loadRevision: (runId: string, revision: number) => right(raw.loadRevision(runId, revision)),
    history: (runId: string) => right(raw.history(runId)),
    kept,
    list: (options?: ListOptions) => right(raw.list(options)),
    listIds: (options?: ListOptions) => idsIn(raw, options),
    /** The owner that a load reports. */
    holder: async (runId: string): Promise<Holder> => some((await stored(runId, 'the run')).heldBy, 'the holder'),
    assertLoads: (runId: string, payloads: Payloads, what?: string) => assertLoads(raw, runId, payloads, what),
    assertLoadsRevision: async (
      runId: string,
      revision: number,
      payloads: Payloads,
      what = `revision ${revision}`
    ): Promise<void> => assertStored(await right(raw.loadRevision(runId, revision)), payloads, what),
    assertNewest: async (runId: string, revision: number): Promise<void> =>
      assertSame((await kept(runId))[0], revision, 'the newest revision of the history'),
    assertLists: async (runIds: ReadonlyArray<string>): Promise<void> =>
      assertSame(await idsIn(raw), runIds, 'the listing'),
    /** Asserts that the summary of a run is that of these payloads, if the store keeps one. */
    assertSummary: async (runId: string, payloads: Payloads, what: string): Promise<void> => {
      const found = (await right(raw.list())).find((one) => one.runId === runId)?.summary
      if (found === undefined) return
      const { heldBy, ...facts } = found
      assertSame(facts, summary(payloads), what)
      assertSame(
        O.isSome(heldBy),
        O.isSome((await stored(runId, runId)).heldBy),
        `${what} says that an owner holds the run`
      )
    },
    /** Asserts that a claim is refused, and returns the holder that it reports. */
    assertHeld: async (runId: string, owner: Owner = OTHER, what?: string): Promise<Holder> =>
      (await left(raw.claim(runId, owner), 'HeldBy', what)).holder
  }
}

/** A granted claim, with what it found stored. */
export type ClientClaim = ReturnType<typeof claimOf>

const claimOf = (raw: CheckpointStorage, { claim, stored }: Claimed) => {
  const { runId, epoch, lost } = claim
  const savingRevisions = (all: ReadonlyNonEmptyArray<Revision>) => raw.save(claim, all)
  const saving = (payloads: Payloads, count?: number) => savingRevisions(revisions(payloads, count))
  const savingAt = (at: string, payloads: Payloads) => savingRevisions(revisionsAt(at, payloads))
  const releasing = () => raw.release(claim)
  /** `saving…` and `releasing` return the task of a call, without asserting that it succeeds. */
  return {
    ...{ runId, epoch, lost, stored, savingRevisions, saving, savingAt, releasing },
    save: (payloads: Payloads, count?: number) => right(saving(payloads, count)),
    saveAt: (at: string, payloads: Payloads) => right(savingAt(at, payloads)),
    release: () => right(releasing()),
    assertFound: (payloads: Payloads, what = 'the stored run'): void => assertStored(stored, payloads, what),
    assertFenced: (payloads: Payloads, what?: string) => left(saving(payloads), 'Fenced', what),
    assertNotLost: (whose = 'the owner'): void =>
      assertSame(lost.aborted, false, `whether the \`lost\` signal of ${whose} has fired`)
  }
}
