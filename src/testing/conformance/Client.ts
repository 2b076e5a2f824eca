/** A client of the store under test. Its calls assert that they succeed, and it has the assertions that several cases share. */
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Json } from '../../domain/data/Json.js'
import type {
  CheckpointStorage,
  Claimed,
  ClaimOptions,
  Holder,
  ListOptions,
  Owner,
  RemoveOptions,
  Revision,
  Stored
} from '../../ports/CheckpointStorage.js'
import { assertSame } from './difference.js'
import {
  assertLoads,
  assertStored,
  idsIn,
  left,
  OTHER,
  OWNER,
  revisions,
  revisionsAt,
  right,
  seed,
  some,
  summary
} from './fixtures.js'

type Payloads = ReadonlyArray<Json>

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
