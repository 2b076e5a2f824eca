/**
 * A small sound store with the places of all flaws: a mutant has one of them. Each run is one string on a {@link Disk}: see
 * `sampleTexts.ts`. One call at a time reads and writes it as a whole.
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as RunId from '../../../src/domain/checkpoint/RunId.js'
import type {
  CheckpointStorage,
  Claim,
  HistoryEntry,
  Listed,
  ListOptions,
  RemoveOptions,
  StorageError,
  Stored
} from '../../../src/ports/CheckpointStorage.js'
import type { Disk } from './Disk.js'
import type { Flaw } from './flaws.js'
import { shortTime } from './flaws.js'
import { claim, release } from './sampleClaims.js'
import { changedSince, fenced, holderOf } from './sampleHolders.js'
import { save } from './sampleSaves.js'
import {
  claimInStatements,
  IN_STATEMENTS,
  releaseInStatements,
  removeInStatements,
  saveInStatements
} from './sampleStatements.js'
import type { Answer, Instance, Run } from './sampleTexts.js'
import { EMPTY, foundOf, lookUp, read, textOf, write } from './sampleTexts.js'

/** The functions that skip mutual exclusion, or part of it. */
const WITHOUT_TURN: Readonly<Record<'claim' | 'save' | 'release' | 'remove', ReadonlyArray<Flaw>>> = {
  claim: ['grants two claims at once'],
  save: [
    'stores two saves of one revision',
    'lets saves overtake one another',
    'checks its claim before it has the lock',
    'trusts its cached claim'
  ],
  release: [],
  remove: [
    'checks the holder before it has the lock to remove',
    'checks the revision before it has the lock to remove',
    'fails if two processes remove at once'
  ]
}

const instanceOn = (disk: Disk, flaw: Flaw | undefined, isUnsure: boolean): Instance => {
  const has = (one: Flaw): boolean => one === flaw
  const held: Instance['held'] = new Map()
  const process = disk.processes.start((runId, epoch) => {
    const mine = held.get(runId)
    if (mine === undefined || mine.epoch >= epoch || has('never reports a claim as lost')) return
    mine.lost.abort(fenced(runId, mine.epoch, O.some(epoch)))
  })
  return {
    disk,
    process,
    isUnsure,
    has,
    held,
    givenUp: new Set(),
    remembered: new Map(),
    histories: new Map(),
    counted: new Map(),
    free: new Set(),
    summaries: new Map(),
    savedBy: new Set(),
    removing: new Set(),
    hasSlept: false,
    busy: false
  }
}

/** The id that the store mistakes for another. */
const takenFor = (has: Instance['has'], given: string): string => {
  if (has('folds the case of ids')) return given.toLowerCase()
  return has('treats similar ids as equal') ? given.normalize('NFKC') : given
}

const IN_TURN = { claim, save, release, remove: (...given: Parameters<typeof remove>) => remove(...given) }

const AT_ONCE = {
  claim: claimInStatements,
  save: saveInStatements,
  release: releaseInStatements,
  remove: removeInStatements
}

interface HowToSee {
  readonly inStatements?: boolean | undefined
  readonly isUnsure?: boolean
}

/** The store as a new process on a disk sees it, with an optional flaw. `isUnsure`: it cannot know whether others live. */
export const sampleStorage = (
  disk: Disk,
  flaw?: Flaw,
  { inStatements = IN_STATEMENTS.some((one) => one === flaw), isUnsure = false }: HowToSee = {}
): { readonly storage: CheckpointStorage; readonly process: number; readonly instance: Instance } => {
  const instance = instanceOn(disk, flaw, isUnsure)
  const { has, process } = instance

  /** The id is checked first; then one call at a time changes a run. Readers need not wait, because a string is written at once. */
  const on =
    <A>(given: string, act: (runId: string) => Answer<A>, call?: keyof typeof WITHOUT_TURN): (() => Answer<A>) =>
    () => {
      const runId = takenFor(has, given)
      const valid = RunId.parse(runId)
      if (E.isLeft(valid)) return Promise.resolve(valid)
      const isAlone = call !== undefined && !inStatements && !WITHOUT_TURN[call].some(has)
      return isAlone ? disk.exclusively(runId, () => act(runId)) : act(runId)
    }
  const when = <A>(task: () => Answer<A>): (() => Answer<A>) => {
    if (!has('starts before its TaskEither is executed')) return task
    const begun = task()
    return () => begun
  }
  const claimed = (given: Claim, runId: string): Claim => ({ ...given, runId })
  const does = inStatements ? AT_ONCE : IN_TURN

  return {
    process,
    instance,
    storage: {
      claim: (runId, owner, options = {}) =>
        when(on(runId, (id) => does.claim(instance, id, owner, options, storedAt), 'claim')),
      save: (given, revisions) =>
        when(on(given.runId, (runId) => does.save(instance, claimed(given, runId), revisions), 'save')),
      release: (given) => when(on(given.runId, (runId) => does.release(instance, claimed(given, runId)), 'release')),
      load: (runId) => on(runId, (id) => load(instance, id)),
      history: (runId) => on(runId, (id) => look(instance, id, (run) => E.right(history(instance, id, run)))),
      loadRevision: (runId, revision) => {
        const wanted = revision - (has('is off by one in its history') ? 1 : 0)
        return on(runId, (id) => look(instance, id, (run) => storedAt(instance, id, run, wanted)))
      },
      list:
        (page = {}) =>
        () =>
          list(instance, page),
      remove: (runId, options) => when(on(runId, (id) => does.remove(instance, id, options), 'remove'))
    }
  }
}

const look = async <A>(instance: Instance, runId: string, view: (run: Run) => E.Either<StorageError, A>): Answer<A> =>
  E.chain((run: Run) =>
    run === EMPTY && instance.has('reports a missing run as an error')
      ? E.left<StorageError>({ _tag: 'ReadFailed', where: runId, operation: 'open', code: 'ENOENT', cause: runId })
      : view(run)
  )(await read(instance, runId))

const load = async (instance: Instance, runId: string): Answer<O.Option<Stored>> => {
  const stored = await look(instance, runId, (run) => storedAt(instance, runId, run))
  if (!instance.has('loads in two statements') || E.isLeft(stored) || O.isNone(stored.right)) return stored
  const { revision } = stored.right.value
  const again = await lookUp(instance, runId)
  if (E.isLeft(again)) return again
  const later = storedAt(instance, runId, again.right)
  return E.map(O.map((found: Stored): Stored => ({ ...found, revision })))(later)
}

const storedAt = (
  instance: Instance,
  runId: string,
  run: Run,
  revision = run.revisions.at(-1)?.revision
): E.Either<StorageError, O.Option<Stored>> => {
  const found = foundOf(runId, run)
  if (E.isLeft(found)) return found
  const kept = run.revisions.find((one) => one.revision === revision)
  if (kept === undefined) return E.right(O.none)
  const isFree = instance.has('caches that a run is free') && instance.free.has(runId)
  const heldBy = isFree ? O.none : O.fromNullable(holderOf(instance, runId, run))
  return E.right(
    O.some({ revision: kept.revision, checkpoint: kept.checkpoint, changes: [], found: found.right, heldBy })
  )
}

const history = ({ has, histories }: Instance, runId: string, { revisions }: Run): ReadonlyArray<HistoryEntry> => {
  const known = histories.get(runId)
  if (known?.length === revisions.length) return known.entries
  const timeOf = (at: string): string => {
    if (has('keeps the times of its history as dates')) return new Date(at).toISOString()
    return has('drops trailing zeros of the times of its history') ? shortTime(at) : at
  }
  const oldestFirst = revisions.map(({ revision, change, at }) => ({ revision, change, at: timeOf(at) }))
  const entries = has('lists its history oldest first') ? oldestFirst : oldestFirst.reverse()
  if (has('returns its own history objects')) histories.set(runId, { length: revisions.length, entries })
  return entries
}

const list = async (instance: Instance, page: ListOptions): Answer<ReadonlyArray<Listed>> => {
  const { disk, has } = instance
  const names = await disk.names()
  if (E.isLeft(names))
    return E.left({ _tag: 'ReadFailed', where: 'the disk', operation: 'list', code: names.left, cause: names.left })
  const found: Array<Listed> = []
  for (const runId of names.right.filter((name) => E.isRight(RunId.parse(name)))) {
    const run = await read(instance, runId)
    const whole = E.chain((one: Run) => foundOf(runId, one))(run)
    const isDamaged = E.isRight(whole) && whole.right._tag === 'Recovered'
    if (isDamaged && has('lists nothing if one run is damaged')) return E.left(damaged(runId))
    if (E.isLeft(run) && run.left._tag === 'ReadFailed') return run
    if (E.isLeft(whole) || E.isLeft(run)) found.push({ runId })
    else if (run.right.revisions.length > 0) found.push(listedRun(instance, runId, run.right, isDamaged))
  }
  if (has('lists runs in no order')) return E.right(found)
  return E.right(pageOf(has, found, page))
}

const listedRun = (instance: Instance, runId: string, run: Run, isDamaged: boolean): Listed => {
  const { has, summaries } = instance
  const newest = run.revisions.at(-1)
  if (newest === undefined || (isDamaged && !has('summarizes what is left of a damaged run'))) return { runId }
  const summary = summaries.get(runId) ?? newest.summary
  const holder = has('lists every run as free') ? undefined : holderOf(instance, runId, run)
  return { runId, summary: { ...summary, heldBy: O.fromNullable(holder) } }
}

const pageOf = (
  has: Instance['has'],
  runs: ReadonlyArray<Listed>,
  { after = '', limit = Infinity }: ListOptions
): ReadonlyArray<Listed> => {
  const byText = (a: Listed, b: Listed): number => (a.runId < b.runId ? -1 : 1)
  const sorted = [...runs].sort(has('sorts a page by locale') ? (a, b) => a.runId.localeCompare(b.runId, 'en') : byText)
  const isThere = after === '' || runs.some(({ runId }) => runId === after)
  if (has('lists nothing after a run that does not exist') && !isThere) return []
  const isAfter = ({ runId }: Listed): boolean =>
    has('begins a page with the run that it follows') ? runId >= after : runId > after
  if (has('applies `limit` before `after`')) return sorted.slice(0, limit).filter(isAfter)
  return sorted.filter(isAfter).slice(0, has('lists more than was asked') ? limit + 1 : limit)
}

const damaged = (runId: string): StorageError => ({ _tag: 'Corrupt', runId, where: runId, why: 'it is damaged' })

/** Unreadable revisions don't matter: the owner can still be read. */
const remove = async (instance: Instance, runId: string, options: RemoveOptions = {}): Answer<void> => {
  const { disk, has } = instance
  const found = await read(instance, runId)
  if (E.isLeft(found)) {
    if (!has('removes an unreadable run')) return found
    disk.texts.set(runId, textOf(runId, EMPTY, has))
    return E.right(undefined)
  }
  const run = found.right
  const isDamaged = run.damaged.length > 0
  if (isDamaged && has('cannot remove a damaged run')) return E.left(damaged(runId))
  const holder = holderOf(instance, runId, run)
  const isAsked =
    (!has('finds a holder only if something is stored') || run.revisions.length > 0) &&
    !(isDamaged && has('removes a damaged run that is held'))
  if (holder !== undefined && isAsked && !has('removes runs that are held'))
    return E.left({ _tag: 'HeldBy', runId, holder })
  const changed = changedSince(has, runId, run, options)
  if (changed !== undefined) return E.left(changed)
  if (
    has('checks the holder before it has the lock to remove') ||
    has('checks the revision before it has the lock to remove')
  )
    return disk.exclusively(runId, () => empty(instance, runId, run))
  if (instance.removing.has(runId)) return E.left({ _tag: 'RevisionConflict', runId, expected: 0, found: 0 })
  const removed = await empty(instance, runId, run)
  if (E.isLeft(removed) && has('counts a removal without a reply as unfinished')) instance.removing.add(runId)
  return removed
}

const empty = async (instance: Instance, runId: string, run: Run): Answer<void> => {
  const { disk, has, remembered } = instance
  const emptied: Run = { ...run, held: null, revisions: [], damaged: [] }
  const last = run.revisions.at(-1)
  if (has('keeps the summary of a removed run') && last !== undefined) instance.summaries.set(runId, last.summary)
  const alike = (name: string): boolean =>
    (has('removes every run with the same prefix') && name.startsWith(runId)) ||
    (has('treats ids as patterns') && new RegExp(`^${runId}$`).test(name))
  for (const name of disk.texts.keys()) if (alike(name)) disk.texts.set(name, textOf(name, emptied, has))
  if (has('restores removed runs')) {
    remembered.set(runId, emptied)
    return E.right(undefined)
  }
  if (has('fails if two processes remove at once') && instance.busy)
    return E.left({
      _tag: 'WriteFailed',
      committed: 'no',
      where: runId,
      operation: 'unlink',
      code: 'ENOENT',
      cause: runId
    })
  instance.busy = true
  const written = await write(instance, runId, has('forgets the epochs of a removed run') ? EMPTY : emptied)
  instance.busy = false
  return written
}
